package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

func deliveryCases() []rule {
	return []rule{
		{"lists of deliveries", "every filter, direction and start gives what a plain walk gives", deliveryLists},
		{"a redelivery", "a dead letter gets a fresh budget under its old id, and nothing else does", redelivery},
		{"a recovery", "everything that failed since a moment is tried again, slice by slice", recovery},
		{"a recovery since any moment", "since means what it says, to the microsecond", recoverySince},
		{"parking", "a disabled endpoint is left alone and loses nothing", parking},
		{"unparking", "what was parked drains at the rate that was asked for, oldest first", unparking},
		{"burial", "what is left of an endpoint that was deleted is shown as dead, and sent no more", burial},
		{"what waits", "an endpoint shows what waits for it and since when, and what is parked is found again", waiting},
		{"health", "an endpoint shows how it answers, over restarts", health},
		{"a model of health", "attempts add up, whenever they are written", healthModel},
		{"the backlog", "the numbers of open and dead deliveries are known", backlog},
	}
}

// stage makes deliveries in every state: eight endpoints, thirty events, and a
// second account.
func stage(b *bench) (*post, []store.DeliveryRow) {
	p, ids := unclaimed(b, slices.Repeat([]wish{all()}, 4)...)
	p.AddFor(2, all())
	r := rand.New(rand.NewPCG(1, 1))
	for range 12 {
		b.clock.Add(1000)
		p.Tell("a.b", "a.c")
		p.TellFor(2, event.Event{Type: "a.b", Doc: []byte("{}")})
		for _, id := range ids {
			for _, d := range p.Claim(id, 9) {
				o := p.outcome(d.Seq, id, event.State(r.IntN(4)))
				o.Due = b.clock.Load() + r.Int64N(9000)
				p.Settle(o)
			}
		}
	}
	return p, p.Deliveries()
}

func deliveryLists(b *bench) {
	p, rows := stage(b)
	b.Same("rows", len(rows), 12*2*4)
	mid := rows[len(rows)/2]
	none := event.State(0)
	for _, state := range []*event.State{nil, &none, new(event.Retrying), new(event.Delivered), new(event.Dead)} {
		for _, endpoint := range []int64{0, mid.Endpoint, 99} {
			for _, seq := range []int64{0, mid.Seq} {
				for _, mark := range []int64{0, mid.Seq} {
					q := store.DeliveryQuery{Account: 1, State: state, Endpoint: endpoint, Event: seq, Mark: mark}
					selected := slices.DeleteFunc(slices.Clone(rows), func(d store.DeliveryRow) bool {
						return state != nil && d.State != *state || endpoint != 0 && d.Endpoint != endpoint ||
							seq != 0 && d.Seq != seq || mark != 0 && d.Seq > mark
					})
					deliveryWalks(b, selected, q, mid)
				}
			}
		}
	}
	b.Same("of another account", must(p.S.CountDeliveries(p.ctx, store.DeliveryQuery{Account: 2}))(b), int64(12))
}

// deliveryWalks compares every walk over what q selects with a plain one.
func deliveryWalks(b *bench, selected []store.DeliveryRow, q store.DeliveryQuery, mid store.DeliveryRow) {
	b.Helper()
	b.Same(fmt.Sprintf("count of %+v", q), must(b.S.CountDeliveries(b.ctx, q))(b), int64(len(selected)))
	for _, after := range []*store.Position{nil, {Key: mid.Seq, ID: mid.Endpoint}, {Key: mid.Seq, ID: 0}} {
		for _, way := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			for _, window := range [][2]int{{0, 0}, {2, 3}} {
				q.After, q.Desc, q.Back, q.Offset, q.Limit = after, way[0], way[1], window[0], window[1]
				side := func(d store.DeliveryRow) int {
					return cmp.Or(cmp.Compare(d.Seq, after.Key), cmp.Compare(d.Endpoint, after.ID))
				}
				want := walkModel(selected, q.Desc, q.Back, after != nil, side, q.Offset, q.Limit)
				got := must(b.S.Deliveries(b.ctx, q))(b)
				if len(got) != 0 || len(want) != 0 {
					b.Same(fmt.Sprintf("%+v after %+v", q, after), got, want)
				}
			}
		}
	}
}

func redelivery(b *bench) {
	p := newPost(b)
	id := p.Add(all())[0]
	dead := p.Kill(id)
	p.Taker.full(0)
	open := p.Tell("a.b")
	was := p.Delivery(dead, id)
	b.Is(p.Redeliver(1, open, id), store.ErrStale)
	b.Is(p.Redeliver(2, dead, id), store.ErrNotFound)
	b.Is(p.Redeliver(1, dead, id+1), store.ErrNotFound)
	b.Same("untouched", p.Delivery(dead, id), was)
	p.Taker.told()
	b.clock.Add(1000)
	if err := p.Redeliver(1, dead, id); err != nil {
		b.Fatal(err)
	}
	want := was
	want.State, want.Spent, want.Due, want.Done, want.Reason = event.Pending, 0, start+1000, 0, ""
	b.Same("with a fresh budget", p.Delivery(dead, id), want)
	_, _, woken, _ := p.Taker.told()
	b.Same("the dispatcher is told", woken, []int64{id})
	b.Is(p.Redeliver(1, dead, id), store.ErrStale)
	p.Claim(id, 9)
	p.Settle(p.outcome(dead, id, event.Delivered))
	d := p.Delivery(dead, id)
	b.Same("tries go on", []int{d.Tries, d.Spent, len(p.attempts(dead, id))}, []int{2, 1, 2})
	b.Is(p.Redeliver(1, dead, id), store.ErrStale)
}

func recovery(b *bench) {
	p := newPost(b)
	ids := p.Add(all(), all("none.such"))
	var dead []int64
	for range 3 {
		dead = append(dead, p.Kill(ids[0]))
	}
	since := b.clock.Add(1_000_000)
	for range 7 {
		dead = append(dead, p.Kill(ids[0]))
		b.clock.Add(10)
	}
	open := p.Tell("a.b")
	done := p.Tell("a.b")
	p.Settle(p.outcome(done, ids[0], event.Delivered))
	b.Same("recoverable", must(p.S.Recoverable(p.ctx, ids[0], since))(b), int64(7))
	b.Same("recoverable of all times", must(p.S.Recoverable(p.ctx, ids[0], 0))(b), int64(10))
	p.Taker.told()
	var counts []int
	for after := int64(0); ; {
		last, n, err := p.S.Recover(p.ctx, ids[0], since, after, start+77, 3)
		if err != nil {
			b.Fatal(err)
		}
		counts = append(counts, n)
		if n < 3 {
			break
		}
		after = last
	}
	b.Same("slices", counts, []int{3, 3, 1})
	_, _, woken, _ := p.Taker.told()
	b.Same("the dispatcher is told", woken, []int64{ids[0], ids[0], ids[0]})
	for i, seq := range dead {
		d := p.Delivery(seq, ids[0])
		want := []int64{int64(event.Dead), 1, 1, 0}
		if i >= 3 {
			want = []int64{int64(event.Pending), 1, 0, start + 77}
		}
		b.Same(fmt.Sprint("delivery ", i), []int64{int64(d.State), int64(d.Tries), int64(d.Spent), d.Due}, want)
	}
	b.Same("an open one", p.Delivery(open, ids[0]).Due, b.clock.Load()+store.Lease.Microseconds())
	b.Same("a delivered one", p.Delivery(done, ids[0]).State, event.Delivered)
	last, n, err := p.S.Recover(p.ctx, ids[1], 0, 5, 0, 3)
	b.Same("an endpoint without any", []any{last, n, err}, []any{int64(5), 0, nil})
}

// recoverySince kills deliveries over several minutes of the clock, whose
// beginnings the store notes, and counts them since every moment that matters.
func recoverySince(b *bench) {
	p := newPost(b)
	id := p.Add(all())[0]
	var born []int64
	for range 25 {
		b.clock.Add(17_000_000)
		seq := p.Kill(id)
		born = append(born, p.Delivery(seq, id).Born)
	}
	for _, at := range born {
		for _, since := range []int64{at - 1, at, at + 1} {
			want := int64(len(slices.DeleteFunc(slices.Clone(born), func(b int64) bool { return b < since })))
			b.Same(fmt.Sprint("since ", since-start), must(p.S.Recoverable(p.ctx, id, since))(b), want)
		}
	}
	_, n, err := p.S.Recover(p.ctx, id, born[9], 0, 1, 100)
	b.Same("recovered", []any{n, err}, []any{16, nil})
	b.Same("left", must(p.S.Recoverable(p.ctx, id, 0))(b), int64(9))
}

func parking(b *bench) {
	p, ids := unclaimed(b, all(), all())
	for range 3 {
		p.Tell(slices.Repeat([]string{"a.b"}, 500)...)
	}
	claimed := p.Claim(ids[0], 3)
	p.Settle(p.outcome(claimed[0].Seq, ids[0], event.Dead), p.outcome(claimed[1].Seq, ids[0], event.Delivered))
	if err := p.S.Park(p.ctx, ids[0]); err != nil {
		b.Fatal(err)
	}
	parked := map[int64]int{}
	for _, d := range p.Deliveries() {
		if d.Due == event.Parked {
			parked[d.Endpoint]++
		}
	}
	b.Same("parked", parked, map[int64]int{ids[0]: 1497})
	b.Same("the claimed one is its claimer's", p.Delivery(claimed[2].Seq, ids[0]).Fence, int64(7))
	b.clock.Add(1 << 50)
	b.Same("only that one comes back", len(p.Claim(ids[0], 1<<20)), 1)
}

func burial(b *bench) {
	p, ids := unclaimed(b, all(), all())
	for range 3 {
		p.Tell(slices.Repeat([]string{"a.b"}, 400)...)
	}
	claimed := p.Claim(ids[0], 2)
	p.Settle(p.outcome(claimed[0].Seq, ids[0], event.Delivered))
	b.clock.Add(1000)
	if err := p.S.Bury(p.ctx, ids[0], "endpoint deleted"); err != nil {
		b.Fatal(err)
	}
	for _, d := range p.Deliveries() {
		want := []any{event.Dead, int64(0), int64(0), int64(start + 1000), "endpoint deleted"}
		switch {
		case d.Endpoint == ids[1]:
			want = []any{event.Pending, int64(0), int64(start), int64(0), ""}
		case d.Seq == claimed[0].Seq:
			want = []any{event.Delivered, int64(0), int64(0), int64(start), ""}
		}
		b.Same(d.ID(), []any{d.State, d.Fence, d.Due, d.Done, d.Reason}, want)
	}
	p.Settle(p.outcome(claimed[1].Seq, ids[0], event.Retrying))
	b.Same("one that was being sent stays dead", p.Delivery(claimed[1].Seq, ids[0]).State, event.Dead)
}

func waiting(b *bench) {
	off := all()
	off.Enabled = false
	p, ids := unclaimed(b, all(), off, all("none.such"), off)
	first := p.Delivery(p.Tell("a.b"), ids[0]).Born
	b.clock.Add(5000)
	p.Tell("a.b")
	b.Same("parked", must(p.S.Parked(p.ctx))(b), []int64{ids[1], ids[3]})
	check := func(what string, id, want, since int64) {
		b.Helper()
		n, oldest, err := p.S.Waiting(p.ctx, id)
		b.Same(what, []any{n, oldest, err}, []any{want, since, nil})
	}
	check("due ones", ids[0], 2, first)
	check("parked ones", ids[1], 2, first)
	check("none", ids[2], 0, 0)
	p.Settle(p.outcome(p.Claim(ids[0], 1)[0].Seq, ids[0], event.Dead))
	check("one is done", ids[0], 1, first+5000)
	if err := p.S.Unpark(p.ctx, ids[1], 10); err != nil {
		b.Fatal(err)
	}
	b.Same("parked, after", must(p.S.Parked(p.ctx))(b), []int64{ids[3]})
}

func unparking(b *bench) {
	w := all()
	w.Enabled = false
	p, ids := unclaimed(b, w)
	for range 3 {
		p.Tell(slices.Repeat([]string{"a.b"}, 500)...)
	}
	b.clock.Add(10_000)
	if err := p.S.Unpark(p.ctx, ids[0], 250); err != nil {
		b.Fatal(err)
	}
	_, _, woken, _ := p.Taker.told()
	b.Same("the dispatcher is told", len(woken) > 0 && woken[0] == ids[0], true)
	rows := p.Deliveries()
	b.Same("how many", len(rows), 1500)
	for i, d := range rows {
		if want := int64(start + 10_000 + i*4000); d.Due != want {
			b.Fatalf("delivery %d is due at %d, want %d", i, d.Due-start, want-start)
		}
	}
	b.clock.Add(999_999)
	b.Same("within a second", len(p.Claim(ids[0], 1<<20)), 250)
	b.Same("again: nothing is parked", p.S.Unpark(p.ctx, ids[0], 0), nil)
	b.Same("an endpoint without any", p.S.Unpark(p.ctx, 99, 10), nil)
}

func health(b *bench) {
	p, ids := unclaimed(b, all(), all())
	b.Same("at first", must(p.S.Health(p.ctx, ids[0]))(b), store.Health{})
	step := func(state event.State) int64 {
		p.Tell("a.b")
		b.clock.Add(60_000_000)
		d := p.Claim(ids[0], 1)[0]
		o := p.outcome(d.Seq, ids[0], state)
		o.Due = event.Parked
		p.Settle(o)
		return o.Attempt.Started + o.Attempt.Duration
	}
	good := step(event.Delivered)
	b.Same("a success", must(p.S.Health(p.ctx, ids[0]))(b), store.Health{Delivered: 1, LastSuccess: good})
	bad := step(event.Retrying)
	p.Restart()
	worse := step(event.Dead)
	want := store.Health{Delivered: 1, Failed: 2, LastSuccess: good, LastFailure: worse, Failing: bad}
	b.Same("failing since the first failure, over a restart", must(p.S.Health(p.ctx, ids[0]))(b), want)
	p.Restart()
	b.Same("after another", must(p.S.Health(p.ctx, ids[0]))(b), want)
	good = step(event.Delivered)
	p.Restart()
	want = store.Health{Delivered: 2, Failed: 2, LastSuccess: good, LastFailure: worse}
	b.Same("well again", must(p.S.Health(p.ctx, ids[0]))(b), want)
	p.Tell("a.b")
	o := p.outcome(p.Claim(ids[0], 1)[0].Seq, ids[0], event.Pending)
	o.Attempt = nil
	p.Settle(o)
	b.Same("what is given back is no attempt", must(p.S.Health(p.ctx, ids[0]))(b), want)
	b.Same("another endpoint", must(p.S.Health(p.ctx, ids[1]))(b), store.Health{})
}

func healthModel(b *bench) {
	p, ids := unclaimed(b, all())
	r := rand.New(rand.NewPCG(3, 3))
	var want store.Health
	for i := range 60 {
		b.clock.Add(1000)
		state := event.Delivered
		if r.IntN(3) > 0 {
			state = event.Retrying
		}
		o := p.outcome(1, ids[0], state) // health counts attempts, whoever's claim it was by then
		p.Settle(o)
		at := o.Attempt.Started + o.Attempt.Duration
		if state == event.Delivered {
			want.Delivered, want.LastSuccess, want.Failing = want.Delivered+1, at, 0
		} else {
			want.Failed, want.LastFailure = want.Failed+1, at
			want.Failing = cmp.Or(want.Failing, at)
		}
		if i%7 == 0 {
			p.Restart()
		}
		b.Same(fmt.Sprint("after ", i), must(p.S.Health(p.ctx, ids[0]))(b), want)
	}
}

func backlog(b *bench) {
	p, rows := stage(b)
	var want [2]int64
	for _, d := range slices.Concat(rows, p.DeliveriesFor(2)) {
		switch d.State {
		case event.Pending, event.Retrying:
			want[0]++
		case event.Dead:
			want[1]++
		}
	}
	open, dead, err := p.S.Backlog(p.ctx)
	b.Same("open and dead", []any{open, dead, err}, []any{want[0], want[1], nil})
}
