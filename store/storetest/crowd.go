package storetest

import (
	"slices"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

// crowdOf makes so many endpoints.
func (p *post) crowdOf(n int) []int64 {
	p.Helper()
	return p.Add(slices.Repeat([]wish{all("a.*")}, n)...)
}

// exactly checks that the deliveries of an event are those to the endpoints.
func (p *post) exactly(what string, seq int64, endpoints []int64) {
	p.Helper()
	q := store.DeliveryQuery{Account: 1, Event: seq, Limit: 1 << 20}
	count := func() int64 { return must(p.S.CountDeliveries(p.ctx, q))(p.bench) }
	p.Eventually(what, func() bool { return count() >= int64(len(endpoints)) })
	got := []int64{}
	for _, d := range must(p.S.Deliveries(p.ctx, q))(p.bench) {
		got = append(got, d.Endpoint)
	}
	p.Same(what, got, endpoints)
}

func fanMany(b *bench) {
	p := newPost(b)
	disabled := all()
	disabled.Enabled = false
	ids := p.crowdOf(127)
	p.Add(all("other.thing"))
	few := p.Tell("a.b")
	ids = append(ids, p.crowdOf(1)...)
	exact := p.Tell("a.b")
	ids = append(ids, p.crowdOf(1)...)
	one := p.Tell("a.b")
	ids = append(ids, p.crowdOf(600)...)
	ids = append(ids, p.Add(disabled)...)
	p.Taker.told()
	many := p.Tell("a.b")
	b.Same("in the transaction", must(p.S.CountDeliveries(p.ctx, store.DeliveryQuery{Account: 1, Event: few}))(b), int64(127))
	p.exactly("as many as fit", exact, ids[:128])
	p.exactly("one more", one, ids[:129])
	p.exactly("many", many, ids)
	b.Same("the disabled one", p.Delivery(many, ids[729]).Due, event.Parked)
	var taken []event.Delivery
	p.Eventually("handed over", func() bool {
		_, _, _, more := p.Taker.told()
		taken = append(taken, more...)
		return len(taken) >= 729
	})
	last := p.Delivery(many, ids[728])
	b.Same("the last one", []any{last.Fence, last.Version, last.Born}, []any{p.Taker.fence, "v1", p.Delivery(many, ids[0]).Born})
	b.Same("its event", last.Seq, many)
	b.Same("its event", taken[728].Event.ID(), event.ID(many))
}

func fanRestart(b *bench) {
	p := newPost(b)
	ids := p.crowdOf(1400)
	var seqs []int64
	for range 3 {
		seqs = append(seqs, p.Tell("a.b"))
		p.Restart()
	}
	for _, seq := range seqs {
		p.exactly("after a restart", seq, ids)
	}
	// Unclaimed or claimed, all of them can be had.
	b.clock.Add(store.Lease.Microseconds())
	b.Same("claimed", len(p.Claim(ids[1399], 10)), 3)
	// The cursor is gone: nothing comes after a further restart.
	p.Restart()
	b.Commit(b.NewUser(nil))
	b.Same("all deliveries", must(p.S.CountDeliveries(p.ctx, store.DeliveryQuery{Account: 1}))(b), int64(3*1400))
}

func fanManyLate(b *bench) {
	p := newPost(b)
	ids := p.crowdOf(700)
	seq := p.Tell("a.b")
	late := p.crowdOf(5)
	b.Commit(b.Drop(p.Endpoints, ids[0])) // it has its delivery already
	p.exactly("those that were there", seq, ids)
	next := p.Tell("a.b")
	p.exactly("the next event", next, append(ids[1:], late...))
}
