package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

func fanoutCases() []rule {
	return []rule{
		{"who gets an event", "a consumer is told what it asked for, all of it and nothing else", fanTypes},
		{"a fresh delivery", "the row says everything that the dispatcher has to know", fanRow},
		{"accounts are apart", "nobody is told what happens in another account", fanAccounts},
		{"disabled endpoints", "what happens while an endpoint is disabled is kept for it", fanDisabled},
		{"the version is frozen", "a delivery does not change its shape between two attempts", fanVersion},
		{"an event for one endpoint", "a ping reaches the endpoint that was pinged, whatever it subscribed to, and no other", fanTo},
		{"endpoints come and go", "an endpoint gets what happens while it is there", fanLife},
		{"a Tx sees its own endpoints", "what a request changes holds for what it tells", fanInside},
		{"a Tx that fails", "neither event nor delivery exists without the other", fanFailure},
		{"claimed from the start", "a fresh commit is sent at once, by the process that wrote it", fanTaker},
		{"no dispatcher", "a process that sends nothing writes for those that do", fanAlone},
		{"an endpoint that cannot be read", "one bad row neither stops the service nor loses an event", fanBroken},
		{"unrelated changes", "a new description of an endpoint is no new subscription", fanNote},
		{"changes are announced", "what is remembered of an endpoint elsewhere is forgotten when it changes", fanChanged},
		{"an endpoint by its id", "a sender finds its endpoint, whosever it is", fanEndpoint},
		{"more endpoints than fit", "an event with many endpoints reaches each exactly once", fanMany},
		{"a restart in the middle of many", "what was begun goes on after a restart, and nothing twice", fanRestart},
		{"endpoints change in the middle of many", "an endpoint gets what happened while it was there", fanManyLate},
		{"a model of fan-out", "whatever happens in whatever order, every endpoint gets what it wants", fanModel},
	}
}

func fanTypes(b *bench) {
	p := newPost(b)
	p.Add(all(), all("task.created"), all("task.*"), all("user.created", "task.*", "task.created"), all("tas*"), all("*"), all("other.thing"))
	for _, c := range []struct {
		typ  string
		want []int64
	}{
		{"task.created", []int64{1, 2, 3, 4, 6}},
		{"task.updated", []int64{1, 3, 4, 6}},
		{"task.part.created", []int64{1, 3, 4, 6}},
		{"taskforce.created", []int64{1, 6}},
		{"task", []int64{1, 6}},
		{"user.created", []int64{1, 4, 6}},
		{"other.thing", []int64{1, 6, 7}},
	} {
		seq := p.Tell(c.typ)
		got := []int64{}
		for _, d := range p.Deliveries() {
			if d.Seq == seq {
				got = append(got, d.Endpoint)
			}
		}
		b.Same(c.typ, got, c.want)
	}
}

func fanRow(b *bench) {
	p := newPost(b)
	p.Taker.full(0)
	ids := p.Add(all())
	b.clock.Add(50)
	b.Commit(b.NewUser("a@x"))
	e := b.Events()[0]
	want := store.DeliveryRow{Attempts: []byte("[]")}
	want.Delivery = event.Delivery{Seq: e.Seq, Endpoint: ids[0], Account: 1, Version: "v1", Born: start + 50, Due: start + 50}
	b.Same("the delivery", p.Delivery(e.Seq, ids[0]), want)
	for _, k := range [][3]int64{{2, e.Seq, ids[0]}, {1, e.Seq + 1, ids[0]}, {1, e.Seq, ids[0] + 1}} {
		_, err := p.S.Delivery(p.ctx, k[0], k[1], k[2])
		b.Is(err, store.ErrNotFound)
	}
}

func fanAccounts(b *bench) {
	p := newPost(b)
	one, two := p.Add(all())[0], p.AddFor(2, all())[0]
	first := p.Tell("a.b")
	second := p.TellFor(2, event.Event{Type: "a.b", Doc: []byte("{}")})
	b.Same("account 1", pairsOf(p.DeliveriesFor(1)), [][2]int64{{first, one}})
	b.Same("account 2", pairsOf(p.DeliveriesFor(2)), [][2]int64{{second, two}})
	p.TellFor(3, event.Event{Type: "a.b", Doc: []byte("{}")})
	b.Same("account 3", len(p.DeliveriesFor(3)), 0)
}

func pairsOf(rows []store.DeliveryRow) [][2]int64 {
	list := [][2]int64{}
	for _, d := range rows {
		list = append(list, [2]int64{d.Seq, d.Endpoint})
	}
	return list
}

func fanDisabled(b *bench) {
	p := newPost(b)
	w := all()
	w.Enabled = false
	id := p.Add(w)[0]
	seq := p.Tell("a.b")
	d := p.Delivery(seq, id)
	b.Same("due, fence and state", []int64{d.Due, d.Fence, int64(d.State)}, []int64{event.Parked, 0, 0})
	reserved, released, woken, taken := p.Taker.told()
	b.Same("what the dispatcher heard", len(reserved)+len(released)+len(woken)+len(taken), 0)
	b.Commit(p.Set(id, all()))
	b.Same("after it is enabled", p.Delivery(p.Tell("a.b"), id).Fence, p.Taker.fence)
	b.Same("the parked one", p.Delivery(seq, id).Due, event.Parked)
}

func fanVersion(b *bench) {
	p := newPost(b)
	id := p.Add(all())[0]
	first := p.Tell("a.b")
	w := all()
	w.Version = "v2"
	b.Commit(p.Set(id, w))
	second := p.Tell("a.b")
	b.Same("versions", []string{p.Delivery(first, id).Version, p.Delivery(second, id).Version}, []string{"v1", "v2"})
}

func fanTo(b *bench) {
	p := newPost(b)
	ids := p.Add(all(), all("task.*"), all())
	foreign := p.AddFor(2, all())[0]
	ping := event.Event{Type: "webhook-endpoint.ping", Doc: []byte("{}")}
	for _, c := range []struct {
		to   int64
		want []int64
	}{{ids[1], ids[1:2]}, {ids[0], ids[:1]}, {foreign, []int64{}}, {999, []int64{}}, {0, []int64{ids[0], ids[2]}}} {
		ping.To = c.to
		seq := p.TellFor(1, ping)
		got := []int64{}
		for _, d := range slices.Concat(p.Deliveries(), p.DeliveriesFor(2)) {
			if d.Seq == seq {
				got = append(got, d.Endpoint)
			}
		}
		b.Same(fmt.Sprint("to ", c.to), got, c.want)
	}
}

func fanLife(b *bench) {
	p := newPost(b)
	p.Tell("a.b")          // 0
	one := p.Add(all())[0] // made later
	p.Tell("a.b")          // 1
	two := p.Add(all())[0] //
	p.Tell("a.b")          // 2
	b.Commit(p.Set(one, all("c.d")))
	p.Tell("a.b") // 3
	p.Tell("c.d") // 4
	b.Commit(b.Drop(p.Endpoints, two))
	p.Tell("c.d") // 5
	p.Restart()
	p.Tell("c.d") // 6
	b.Same("deliveries", p.pairs(), []string{"1→1", "2→1", "2→2", "3→2", "4→1", "4→2", "5→1", "6→1"})
}

func fanInside(b *bench) {
	p := newPost(b)
	one, two := p.Add(all())[0], p.Add(all())[0]
	w := all()
	w.Enabled = false
	tell := []event.Event{{Type: "a.b", Doc: []byte("{}")}}
	tx := &store.Tx{Account: 1, Events: tell, Writes: []store.Write{
		p.Set(one, w), b.Drop(p.Endpoints, two), {Table: p.Endpoints, Op: store.Insert, Doc: all().doc()}}}
	rows := must(p.S.Commit(p.ctx, tx))(b)
	b.Same("deliveries", p.pairs(), []string{"0→1", fmt.Sprint("0→", rows[2].ID)})
	b.Same("parked", p.Delivery(b.Events()[0].Seq, one).Due, event.Parked)
}

func fanFailure(b *bench) {
	p := newPost(b)
	p.Add(all())
	b.Commit(b.NewUser("a@x"))
	p.Taker.told()
	was := len(p.Deliveries())
	duplicate(b, b.Fail(b.NewUser("b@x"), b.NewUser("a@x")), "email")
	replay := keyed(b, "k", "c@x")
	replay.Replay.Answer = func([]store.Row) []byte { panic("no") }
	if _, err := p.S.Commit(p.ctx, replay); err == nil {
		b.Error("a panic was no failure")
	}
	b.Fail(b.Drop(p.Endpoints, 1), b.Drop(b.Users, 99))
	b.Same("events and deliveries", []int{len(b.Events()), len(p.Deliveries())}, []int{1, was})
	reserved, released, woken, taken := p.Taker.told()
	b.Same("places taken, given back, and calls", []int{len(reserved) - len(released), len(woken), len(taken)}, []int{0, 0, 0})
	p.Tell("a.b")
	b.Same("the endpoint is still there", len(p.Deliveries()), was+1)
}

func fanTaker(b *bench) {
	p := newPost(b)
	ids := p.Add(all(), all(), all())
	p.Taker.full(2)
	seq := p.Tell("a.b")
	e := b.Events()[0]
	reserved, released, woken, taken := p.Taker.told()
	b.Same("reserved", reserved, ids[:2])
	b.Same("released", len(released), 0)
	b.Same("woken", woken, ids[2:])
	b.Same("taken", len(taken), 2)
	for i, d := range taken {
		b.Same("its event", *d.Event, e)
		d.Event = nil
		b.Same("what is taken is what is written", d, p.Delivery(seq, ids[i]).Delivery)
		b.Same("its claim", []int64{d.Fence, d.Due}, []int64{7, start + store.Lease.Microseconds()})
	}
	d := p.Delivery(seq, ids[2])
	b.Same("without a place", []int64{d.Fence, d.Due}, []int64{0, start})

	p.Taker.full(1 << 30)
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() { b.Commit(b.NewUser(nil)) })
	}
	all.Wait()
	reserved, released, _, taken = p.Taker.told()
	b.Same("every place is used", []int{len(reserved) - len(released), len(taken)}, []int{120, 120})
	order := slices.IsSortedFunc(taken, func(a, b event.Delivery) int {
		return int(a.Seq-b.Seq)*1000 + int(a.Endpoint-b.Endpoint)
	})
	b.Same("handed over in order", order, true)
}

func fanAlone(b *bench) {
	p := newPost(b)
	id := p.Add(all())[0]
	p.fanout = &store.Fanout{Endpoints: p.Endpoints, Read: readWish} // a new one: the old store still has its own
	p.Restart()
	seq := p.Tell("a.b")
	d := p.Delivery(seq, id)
	b.Same("fence and due", []int64{d.Fence, d.Due}, []int64{0, start})
	b.Same("for who looks", len(p.Claim(id, 9)), 1)
}

func fanBroken(b *bench) {
	p := newPost(b)
	good := p.Add(all("a.b"))[0]
	broken := all("c.d")
	broken.Broken = true
	b.Is(b.Fail(store.Write{Table: p.Endpoints, Op: store.Insert, Doc: broken.doc()}), errBroken)
	b.Is(b.Fail(p.Set(good, broken)), errBroken)
	b.Same("what the endpoint wants", p.Delivery(p.Tell("a.b"), good).Fence, p.Taker.fence)

	// A program that reads less than the one before it.
	p.fanout = &store.Fanout{Endpoints: p.Endpoints, Taker: p.Taker, Read: func(row store.Row) (store.Subscription, error) {
		if row.ID == good {
			panic("no")
		}
		return readWish(row)
	}}
	p.Restart()
	next := p.Add(all())[0]
	seq := p.Tell("any.thing")
	b.Same("nothing is lost for it", p.Delivery(seq, good).Due, event.Parked)
	b.Same("others do not suffer", p.Delivery(seq, next).Fence, p.Taker.fence)
	b.Commit(b.Drop(p.Endpoints, good))
}

func fanChanged(b *bench) {
	p := newPost(b)
	var told []string
	p.fanout.Changed = func(endpoint int64, now *store.Subscription) {
		if now == nil {
			now = &store.Subscription{Version: "gone"}
		}
		told = append(told, fmt.Sprint(endpoint, " ", now.Version))
	}
	p.Restart()
	id := p.Add(all())[0]
	w := all()
	w.Note = "of no concern to deliveries"
	b.Commit(p.Set(id, w))
	w.Version = "v2"
	b.Commit(p.Set(id, w))
	b.Fail(p.Set(id, all()), b.Drop(b.Users, 99))
	b.Commit(b.NewUser(nil))
	b.Commit(b.Drop(p.Endpoints, id))
	b.Same("told", told, []string{"1 v1", "1 v1", "1 v2", "1 gone"})
}

func fanEndpoint(b *bench) {
	p := newPost(b)
	one, two := p.Add(all())[0], p.AddFor(2, all())[0]
	check := func(what string, id, account int64, want error) {
		b.Helper()
		row, err := p.S.Endpoint(p.ctx, id)
		b.Is(err, want)
		if err == nil {
			b.Same(what, []int64{row.ID, row.Account}, []int64{id, account})
		}
	}
	check("of one account", one, 1, nil)
	check("of another", two, 2, nil)
	check("of none", 99, 0, store.ErrNotFound)
	p.Restart()
	check("after a restart", two, 2, nil)
	b.Commit(b.Drop(p.Endpoints, one))
	check("one that was deleted", one, 0, store.ErrNotFound)
	three := p.Add(all())[0]
	check("one that was made", three, 1, nil)
	p.Tell("a.b")
	b.Same("deliveries", p.pairs(), []string{fmt.Sprint("0→", three)})
}

func fanNote(b *bench) {
	p := newPost(b)
	id := p.Add(all())[0]
	mark := must(p.S.EventMark(p.ctx, 1))(b)
	w := all()
	w.Note = "new"
	b.Commit(p.Set(id, w))
	b.Same("sequence numbers used by the change", must(p.S.EventMark(p.ctx, 1))(b)-mark, int64(1))
	p.Tell("a.b")
	b.Same("deliveries", p.pairs(), []string{fmt.Sprint("0→", id)})
}

// fanModel does random things and says what must come of them.
func fanModel(b *bench) {
	p := newPost(b)
	r := rand.New(rand.NewPCG(5, 6))
	types := []string{"a.b", "a.c", "d.e"}
	patterns := []string{"a.b", "a.*", "d.e", "d.*", "a.c"}
	endpoints := map[int64]wish{}
	want := map[string]string{}
	random := func() wish {
		w := all()
		for range r.IntN(3) {
			w.Types = append(w.Types, patterns[r.IntN(len(patterns))])
		}
		w.Enabled, w.Version = r.IntN(4) > 0, fmt.Sprint("v", r.IntN(3))
		return w
	}
	for range 250 {
		tx := &store.Tx{Account: 1}
		var wishes []wish // of the writes; nil Types and no Version: a deletion
		for range r.IntN(3) {
			w := random()
			switch id := 1 + r.Int64N(25); {
			case endpoints[id].Version == "" || slices.ContainsFunc(tx.Writes, func(w store.Write) bool { return w.ID == id }):
				tx.Writes = append(tx.Writes, store.Write{Table: p.Endpoints, Op: store.Insert, Doc: w.doc()})
			case r.IntN(3) == 0:
				w = wish{}
				tx.Writes = append(tx.Writes, b.Drop(p.Endpoints, id))
			default:
				tx.Writes = append(tx.Writes, p.Set(id, w))
			}
			wishes = append(wishes, w)
		}
		for range r.IntN(3) {
			tx.Events = append(tx.Events, event.Event{Type: types[r.IntN(3)], Doc: []byte("{}")})
		}
		mark := must(p.S.EventMark(p.ctx, 1))(b)
		for i, row := range must(p.S.Commit(p.ctx, tx))(b) {
			endpoints[row.ID] = wishes[i]
		}
		for _, e := range must(p.S.Events(p.ctx, store.EventQuery{Account: 1, After: mark}))(b) {
			for id, w := range endpoints {
				if w.Version != "" && wanted(w.Types, e.Type) {
					want[event.DeliveryID(e.Seq, id)] = fmt.Sprint(w.Version, w.Enabled)
				}
			}
		}
	}
	got := map[string]string{}
	for _, d := range p.Deliveries() {
		got[d.ID()] = fmt.Sprint(d.Version, d.Due != event.Parked)
	}
	if len(want) < 500 {
		b.Fatalf("the model has %d deliveries only", len(want))
	}
	b.Same("deliveries", got, want)
}

func wanted(types []string, typ string) bool {
	return len(types) == 0 || slices.ContainsFunc(types, func(t string) bool {
		return t == typ || t == strings.SplitN(typ, ".", 2)[0]+".*"
	})
}
