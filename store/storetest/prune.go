package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

func pruneCases() []rule {
	return []rule{
		{"retention", "tables do not grow for ever, and nothing that is still needed goes", retention},
		{"retention of many", "old rows go in slices, past those that stay, while others commit", retentionMany},
	}
}

// later lets time pass, and the store notice it.
func (p *post) later(us int64) {
	p.clock.Add(us)
	p.Commit(p.NewProject())
	p.clock.Add(120_000_000)
	p.Commit(p.NewProject())
}

func retention(b *bench) {
	p, ids := unclaimed(b, all("a.*"), all("a.b"))
	p.AddFor(2, all())
	outcome := func(states ...event.State) int64 {
		seq := p.Tell("a.b")
		for i, state := range states {
			p.Claim(ids[i], 9)
			o := p.outcome(seq, ids[i], state)
			o.Due = event.Parked
			p.Settle(o)
		}
		return seq
	}
	outcome(event.Delivered, event.Delivered)
	kept := []int64{outcome(event.Delivered, event.Dead), outcome(event.Retrying, event.Delivered), outcome(event.Pending, event.Pending)}
	p.Tell("none.wants")
	foreign := p.TellFor(2, event.Event{Type: "a.b", Doc: []byte("{}")})
	p.TellFor(0, event.Event{Type: "a.b", Doc: []byte("{}")})
	p.later(store.Keep.Microseconds() - 300_000_000)
	if err := p.S.Prune(p.ctx); err != nil {
		b.Fatal(err)
	}
	b.Same("nothing is old enough", len(p.Deliveries()), 8)
	p.later(300_000_000)
	recent := outcome(event.Delivered, event.Delivered)
	if err := p.S.Prune(p.ctx); err != nil {
		b.Fatal(err)
	}
	b.Same("deliveries", pairsOf(p.Deliveries()), [][2]int64{
		{kept[0], ids[1]}, {kept[1], ids[0]}, {kept[2], ids[0]}, {kept[2], ids[1]}, {recent, ids[0]}, {recent, ids[1]}})
	left := []int64{}
	for _, e := range b.Events() {
		if e.Type == "a.b" || e.Type == "none.wants" {
			left = append(left, e.Seq)
		}
	}
	b.Same("events", left, append(slices.Clone(kept), recent))
	b.Same("another account's pending one", pairsOf(p.DeliveriesFor(2)), [][2]int64{{foreign, 3}})
	b.Same("an account without endpoints", must(p.S.CountEvents(p.ctx, store.EventQuery{}))(b), int64(0))

	if err := p.Redeliver(1, kept[0], ids[1]); err != nil {
		b.Fatal(err)
	}
	claimed := p.Claim(ids[1], 9)
	b.Same("a dead letter can still be sent", claimed[0].Event.ID(), event.ID(kept[0]))
	p.Settle(p.outcome(kept[0], ids[1], event.Delivered))
	if err := p.S.Prune(p.ctx); err != nil {
		b.Fatal(err)
	}
	_, err := p.S.Event(p.ctx, 1, kept[0])
	b.Is(err, store.ErrNotFound)
}

func retentionMany(b *bench) {
	p, ids := unclaimed(b, all("a.*"))
	var types []string
	for i := range 1700 {
		types = append(types, fmt.Sprint("a.", i))
	}
	p.Tell(types...)
	var outcomes []event.Outcome
	stay := 0
	for i, d := range p.Claim(ids[0], 1<<20) {
		state := event.Delivered
		if i < 600 || i%100 == 0 { // more than a slice at the front
			state = event.Dead
			stay++
		}
		outcomes = append(outcomes, p.outcome(d.Seq, ids[0], state))
	}
	p.Settle(outcomes...)
	p.later(store.Keep.Microseconds())
	var writer sync.WaitGroup
	stop, made := make(chan struct{}), 0
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := p.S.Commit(p.ctx, &store.Tx{Account: 1, Writes: []store.Write{p.NewProject()}}); err != nil {
				p.Errorf("commit: %v", err)
				return
			}
			made++
		}
	})
	err := p.S.Prune(p.ctx)
	close(stop)
	writer.Wait()
	if err != nil {
		b.Fatal(err)
	}
	b.Same("deliveries", len(p.Deliveries()), stay)
	left := slices.DeleteFunc(b.Events(), func(e event.Event) bool { return e.Type == "project.created" })
	b.Same("events", len(left), stay)
	if made < 2 {
		b.Errorf("%d commits while it pruned", made)
	}
}
