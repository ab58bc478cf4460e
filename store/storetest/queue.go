package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

func queueCases() []rule {
	return []rule{
		{"claims", "a delivery is sent when it is due, by one sender, with what it has to say", claims},
		{"claims of several", "endpoints that fail are many, and share a call", claimsOfSeveral},
		{"the order of claims", "what has waited longest is sent first", claimOrder},
		{"leases", "what a sender that died had claimed is sent by another, and not before", leases},
		{"what is due", "a sender looks at endpoints that have something to send and sleeps until there is more", dues},
		{"outcomes", "what became of an attempt is what the next one starts from", settles},
		{"outcomes of others", "a sender that lost its claim changes nothing", settleStale},
		{"a history", "every attempt is shown, in order, whatever the consumer answered", history},
		{"many outcomes", "a batch is as good as its parts", settleMany},
		{"a heartbeat", "what takes long to send is not sent by another meanwhile", extends},
		{"orphans", "a start does not take away what this very process has claimed", orphans},
		{"a queue that is closed", "a dispatcher that outlives its store is told so", queueClosed},
	}
}

// unclaimed is a post whose deliveries wait in the table.
func unclaimed(b *bench, endpoints ...wish) (*post, []int64) {
	b.Helper()
	p := newPost(b)
	p.Taker.full(0)
	return p, p.Add(endpoints...)
}

func claims(b *bench) {
	p, ids := unclaimed(b, all(), all())
	var seqs []int64
	for range 5 {
		seqs = append(seqs, p.Tell("a.b"))
	}
	list := p.Claim(ids[0], 2)
	b.Same("the first two", deliverySeqs(list), seqs[:2])
	for _, d := range list {
		b.Same("the event", *d.Event, must(p.S.Event(p.ctx, 1, d.Seq))(b))
		b.Same("the claim", []int64{d.Fence, d.Due}, []int64{7, start + store.Lease.Microseconds()})
		d.Event = nil
		b.Same("what is claimed is what is written", d, p.Delivery(d.Seq, ids[0]).Delivery)
	}
	b.Same("by another", deliverySeqs(must(p.S.Queue(8).Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 100}}, time.Second))(b)), seqs[2:])
	b.Same("none is left", len(p.Claim(ids[0], 100)), 0)
	b.Same("of an endpoint that is not there", len(p.Claim(99, 100)), 0)
	b.Same("of the other endpoint", deliverySeqs(p.Claim(ids[1], 100)), seqs)
}

func claimsOfSeveral(b *bench) {
	p, ids := unclaimed(b, all(), all(), all())
	seqs := []int64{p.Tell("a.b"), p.Tell("a.b"), p.Tell("a.b")}
	p.Claim(ids[1], 2)
	wants := []event.Want{{Endpoint: ids[2], N: 1}, {Endpoint: ids[1], N: 5}, {Endpoint: ids[0], N: 2}, {Endpoint: 99, N: 1}}
	list := must(p.Queue().Claim(p.ctx, wants, store.Lease))(b)
	got := make(map[int64][]int64)
	for _, d := range list {
		b.Same("the event", d.Event.Seq, d.Seq)
		got[d.Endpoint] = append(got[d.Endpoint], d.Seq)
	}
	b.Same("each has as many as were wanted and are there", got, map[int64][]int64{ids[0]: seqs[:2], ids[1]: seqs[2:], ids[2]: seqs[:1]})
}

func claimOrder(b *bench) {
	p, ids := unclaimed(b, all())
	var seqs []int64
	for range 4 {
		seqs = append(seqs, p.Tell("a.b"))
	}
	p.Claim(ids[0], 4)
	for i, due := range []int64{300, 100, 200, 100} {
		o := p.outcome(seqs[i], ids[0], event.Retrying)
		o.Due = start + due
		p.Settle(o)
	}
	next := func(at int64, n int) []int64 {
		b.clock.Store(start + at)
		return deliverySeqs(p.Claim(ids[0], n))
	}
	b.Same("before the first", next(99, 9), []int64{})
	b.Same("one of the first two", next(100, 1), []int64{seqs[1]})
	b.Same("the two that have waited longest", next(300, 2), []int64{seqs[2], seqs[3]})
	b.Same("the rest", next(300, 9), []int64{seqs[0]})
}

func leases(b *bench) {
	p, ids := unclaimed(b, all())
	seq := p.Tell("a.b")
	other := p.S.Queue(8)
	must(other.Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 1}}, time.Second))(b)
	b.clock.Add(999_999)
	b.Same("while the lease lasts", len(p.Claim(ids[0], 1)), 0)
	b.clock.Add(1)
	b.Same("when it has ended", deliverySeqs(p.Claim(ids[0], 1)), []int64{seq})
	b.Same("whose it is now", p.Delivery(seq, ids[0]).Fence, int64(7))
	p.Restart()
	b.Same("after a restart the lease lasts", len(must(p.S.Queue(9).Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 1}}, time.Second))(b)), 0)
	b.clock.Add(store.Lease.Microseconds())
	b.Same("until it has ended", len(must(p.S.Queue(9).Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 1}}, time.Second))(b)), 1)
	b.Same("attempts are not spent by it", p.Delivery(seq, ids[0]).Spent, 0)
}

func dues(b *bench) {
	p, ids := unclaimed(b, all("a.*"), all("a.b"), all("c.d"), all("none.such"))
	check := func(what string, endpoints []int64, next int64) {
		b.Helper()
		got, at, err := p.Queue().Due(p.ctx)
		if err != nil {
			b.Fatal(err)
		}
		b.Same(what, append([]int64{}, sorted(got)...), append([]int64{}, endpoints...))
		b.Same(what+": then", at.IsZero() && next == 0 || at.UnixMicro() == next, true)
	}
	check("nothing", nil, 0)
	seq := p.Tell("a.b")
	p.Tell("a.c")
	check("two", ids[:2], 0)
	p.Claim(ids[0], 9)
	p.Claim(ids[1], 9)
	check("claimed", nil, start+store.Lease.Microseconds())
	o := p.outcome(seq, ids[0], event.Retrying)
	o.Due = start + 500
	p.Settle(o)
	check("one waits", nil, start+500)
	b.clock.Add(500)
	check("one is due", ids[:1], start+store.Lease.Microseconds())
	p.Claim(ids[0], 9)
	parked := p.outcome(seq, ids[0], event.Pending)
	parked.Attempt, parked.Due = nil, event.Parked
	p.Settle(parked, p.outcome(seq, ids[1], event.Delivered))
	b.clock.Add(store.Lease.Microseconds())
	check("a claim that has ended", ids[:1], 0)
	for _, d := range p.Claim(ids[0], 9) {
		p.Settle(p.outcome(d.Seq, ids[0], event.Dead))
	}
	check("parked and done ones are not due", nil, 0)
	p.Tell("c.d")
	check("another endpoint", ids[2:3], 0)
}

func settles(b *bench) {
	p, ids := unclaimed(b, all())
	const due = start + 5000
	for _, c := range []struct {
		why     string
		outcome event.Outcome
		want    store.DeliveryRow
	}{
		{"a success ends it", event.Outcome{State: event.Delivered, Attempt: &event.Attempt{Number: 1, Status: 200}, Due: due},
			store.DeliveryRow{Delivery: event.Delivery{State: event.Delivered, Tries: 1, Spent: 1}, Done: start}},
		{"a failure that is final keeps its reason", event.Outcome{State: event.Dead, Attempt: &event.Attempt{Number: 1, Status: 404}, Reason: "refused"},
			store.DeliveryRow{Delivery: event.Delivery{State: event.Dead, Tries: 1, Spent: 1}, Done: start, Reason: "refused"}},
		{"a failure that is not is tried again", event.Outcome{State: event.Retrying, Attempt: &event.Attempt{Number: 1, Error: "timeout"}, Due: due, Reason: "retry"},
			store.DeliveryRow{Delivery: event.Delivery{State: event.Retrying, Tries: 1, Spent: 1, Due: due}, Reason: "retry"}},
		{"one that is given back has spent nothing", event.Outcome{State: event.Pending, Due: start},
			store.DeliveryRow{Delivery: event.Delivery{State: event.Pending, Due: start}}},
		{"one of a disabled endpoint is parked", event.Outcome{State: event.Pending, Due: event.Parked, Reason: "disabled"},
			store.DeliveryRow{Delivery: event.Delivery{State: event.Pending, Due: event.Parked}, Reason: "disabled"}},
		{"one of a deleted endpoint dies without an attempt", event.Outcome{State: event.Dead, Reason: "gone"},
			store.DeliveryRow{Delivery: event.Delivery{State: event.Dead}, Done: start, Reason: "gone"}},
	} {
		seq := p.Tell("a.b")
		claimed := p.Claim(ids[0], 1)[0]
		c.outcome.Seq, c.outcome.Endpoint, c.outcome.Account, c.outcome.Fence = seq, ids[0], 1, 7
		p.Settle(c.outcome)
		c.want.Seq, c.want.Endpoint, c.want.Account, c.want.Version, c.want.Born = seq, ids[0], 1, "v1", claimed.Born
		got := p.Delivery(seq, ids[0])
		attempts := 0
		if c.outcome.Attempt != nil {
			attempts = 1
		}
		b.Same(c.why+": attempts", len(p.attempts(seq, ids[0])), attempts)
		got.Attempts = nil
		b.Same(c.why, got, c.want)
		if got.State == event.Pending && got.Due == start { // out of the way of the next
			p.Claim(ids[0], 1)
		}
	}
}

// attempts reads the history of a delivery.
func (p *post) attempts(seq, endpoint int64) []map[string]any {
	p.Helper()
	var list []map[string]any
	if err := json.Unmarshal(p.Delivery(seq, endpoint).Attempts, &list); err != nil {
		p.Fatalf("attempts: %v", err)
	}
	return list
}

func settleStale(b *bench) {
	p, ids := unclaimed(b, all())
	seq := p.Tell("a.b")
	before := p.Delivery(seq, ids[0])
	stale := p.outcome(seq, ids[0], event.Delivered)
	for _, fence := range []int64{0, 7, 8} {
		stale.Fence = fence
		p.Settle(stale)
		b.Same("nobody had claimed it", p.Delivery(seq, ids[0]), before)
	}
	p.Claim(ids[0], 1)
	claimed := p.Delivery(seq, ids[0])
	for _, fence := range []int64{0, 8} {
		stale.Fence = fence
		p.Settle(stale)
		b.Same("another had claimed it", p.Delivery(seq, ids[0]), claimed)
	}
	stale.Fence = 7
	stale.Seq = seq + 1
	p.Settle(stale)
	stale.Seq, stale.Endpoint = seq, ids[0]+1
	p.Settle(stale)
	stale.Endpoint, stale.Account = ids[0], 2
	p.Settle(stale)
	b.Same("another delivery, or account", p.Delivery(seq, ids[0]), claimed)
	p.Settle()
	p.Settle(p.outcome(seq, ids[0], event.Delivered))
	done := p.Delivery(seq, ids[0])
	b.Same("the right one", done.State, event.Delivered)
	p.Settle(p.outcome(seq, ids[0], event.Dead))
	b.Same("once is enough", p.Delivery(seq, ids[0]), done)
}

func history(b *bench) {
	p, ids := unclaimed(b, all())
	seq := p.Tell("a.b")
	for n, a := range []event.Attempt{
		{Status: 500, Response: []byte("oops, \"quoted\"\n")},
		{Error: "timeout"},
		{Status: 200, Response: []byte("\x00\xff\xfe</script>\u2028ü")},
		{Status: 503, Error: "weird \x00\xff"},
		{Status: 204},
	} {
		p.Claim(ids[0], 1)
		a.Number, a.Started, a.Duration = n+1, b.clock.Load(), int64(n)*1500
		o := event.Outcome{Seq: seq, Endpoint: ids[0], Account: 1, Fence: 7, State: event.Retrying, Attempt: &a, Due: b.clock.Add(1000), Reason: "bad \x00 \xff reason"}
		if n == 4 {
			o.State = event.Delivered
		}
		p.Settle(o)
	}
	d := p.Delivery(seq, ids[0])
	b.Same("tries, spent, done", []int64{int64(d.Tries), int64(d.Spent), d.Done}, []int64{5, 5, start + 5000})
	b.Same("the reason", d.Reason, "bad \uFFFD \uFFFD reason")
	var got []string
	for _, a := range p.attempts(seq, ids[0]) {
		got = append(got, fmt.Sprintf("%v %v %v %v %q", a["number"], a["status_code"], a["error"], a["duration_ms"], a["response"]))
	}
	b.Same("attempts", got, []string{
		`1 500 <nil> 0 "oops, \"quoted\"\n"`, `2 <nil> timeout 1.5 ""`, `3 200 <nil> 3 "\x00` + "\uFFFD\uFFFD" + `</script>\u2028ü"`,
		"4 503 weird \x00\uFFFD 4.5 \"\"", `5 204 <nil> 6 ""`})
}

func settleMany(b *bench) {
	p, ids := unclaimed(b, slices.Repeat([]wish{all()}, 8)...)
	var events []string
	for i := range 40 {
		events = append(events, fmt.Sprint("a.", i))
	}
	p.Tell(events...)
	states := []event.State{event.Delivered, event.Dead, event.Retrying, event.Pending}
	var outcomes []event.Outcome
	want := map[string]event.State{}
	for _, id := range ids {
		for i, d := range p.Claim(id, 100) {
			o := p.outcome(d.Seq, id, states[i%4])
			o.Due = start + 10
			outcomes = append(outcomes, o)
			want[d.ID()] = o.State
		}
	}
	p.Settle(outcomes...)
	got := map[string]event.State{}
	for _, d := range p.Deliveries() {
		got[d.ID()] = d.State
	}
	b.Same("states", got, want)
	b.Same("how many", len(got), 320)
}

func extends(b *bench) {
	p, ids := unclaimed(b, all())
	p.Tell("a.b")
	p.Tell("a.b")
	p.Tell("a.b")
	mine := p.Claim(ids[0], 1)
	theirs := must(p.S.Queue(8).Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 1}}, store.Lease))(b)
	free := p.Deliveries()[2].Delivery
	b.clock.Add(store.Lease.Microseconds() / 2)
	if err := p.Queue().Extend(p.ctx, append(append(mine, theirs...), free), store.Lease); err != nil {
		b.Fatal(err)
	}
	if err := p.Queue().Extend(p.ctx, nil, store.Lease); err != nil {
		b.Fatal(err)
	}
	var due []int64
	for _, d := range p.Deliveries() {
		due = append(due, d.Due-start)
	}
	lease := store.Lease.Microseconds()
	b.Same("due", due, []int64{lease + lease/2, lease, 0})
	b.clock.Store(start + lease)
	b.Same("what others can claim", len(must(p.S.Queue(9).Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 9}}, time.Second))(b)), 2)
	p.Settle(p.outcome(mine[0].Seq, ids[0], event.Delivered))
	if err := p.Queue().Extend(p.ctx, mine, store.Lease); err != nil {
		b.Fatal(err)
	}
	b.Same("one that is done stays so", p.Delivery(mine[0].Seq, ids[0]).Due, int64(0))
}

func orphans(b *bench) {
	p, ids := unclaimed(b, all())
	p.Tell("a.b")
	p.Tell("a.b")
	p.Settle(p.outcome(p.Claim(ids[0], 1)[0].Seq, ids[0], event.Dead))
	p.Claim(ids[0], 1)
	before := p.Deliveries()
	if err := p.Queue().Orphans(p.ctx); err != nil {
		b.Fatal(err)
	}
	b.Same("deliveries", p.Deliveries(), before)
}

func queueClosed(b *bench) {
	p, ids := unclaimed(b, all())
	q := p.Queue()
	p.S.Close()
	_, err := q.Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 1}}, time.Second)
	b.Is(err, store.ErrClosed)
	_, _, err = q.Due(p.ctx)
	b.Is(err, store.ErrClosed)
	b.Is(q.Settle(p.ctx, []event.Outcome{{Fence: 1}}), store.ErrClosed)
	b.Is(q.Extend(p.ctx, []event.Delivery{{}}, time.Second), store.ErrClosed)
	b.Is(p.Redeliver(1, 1, 1), store.ErrClosed)
	b.Is(p.S.Bury(p.ctx, 1, "gone"), store.ErrClosed)
	_, err = p.S.Parked(p.ctx)
	b.Is(err, store.ErrClosed)
	_, _, err = p.S.Waiting(p.ctx, 1)
	b.Is(err, store.ErrClosed)
	_, err = p.S.Endpoint(p.ctx, 1)
	b.Is(err, store.ErrClosed)
	b.Is(p.S.Park(p.ctx, 1), store.ErrClosed)
	b.Is(p.S.Unpark(p.ctx, 1, 1), store.ErrClosed)
	_, err = p.S.Health(p.ctx, 1)
	b.Is(err, store.ErrClosed)
	_, err = p.S.Deliveries(p.ctx, store.DeliveryQuery{Account: 1})
	b.Is(err, store.ErrClosed)
}
