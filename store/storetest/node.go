package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

func nodeCases() []rule {
	return []rule{
		{"endpoints of another node", "a change of an endpoint holds for the very next commit, on every node", nodeEndpoints},
		{"endpoints change on two nodes at once", "who was there when an event happened gets it, whichever node wrote which", nodeModel},
		{"claims of two nodes", "no delivery is sent by two nodes at once, and none is forgotten", nodeClaims},
		{"many endpoints on two nodes", "a large fan-out is finished by whichever node comes first, once", nodeMany},
		{"parking while another claims", "what a node is sending is not taken from it", nodePark},
		{"health of two nodes", "what the nodes have seen adds up", nodeHealth},
	}
}

// another opens the post's database as a second node with a dispatcher.
func (p *post) another(fence int64) *post {
	p.Helper()
	o := &post{bench: p.bench.node(), Endpoints: p.Endpoints, Taker: &taker{fence: fence, places: p.Taker.places}}
	own := *p.fanout
	own.Taker = o.Taker
	was := p.fanout
	p.fanout = &own
	o.S = p.Open(p.tables()...)
	o.fanout, p.fanout = &own, was
	return o
}

// node is the bench with a store of its own.
func (b *bench) node() *bench {
	return &bench{T: b.T, Users: b.Users, Projects: b.Projects, Tasks: b.Tasks, open: b.open, ctx: b.ctx, fanout: b.fanout}
}

func nodeEndpoints(b *bench) {
	p := newPost(b)
	q := p.another(8)
	q.Tell("a.b")
	one := p.Add(all())[0]
	q.Tell("a.b") // 1
	two := q.Add(all("c.d"))[0]
	p.Tell("a.b") // 2
	p.Tell("c.d") // 3
	q.Commit(q.Set(one, all("c.d")))
	p.Tell("a.b") // 4
	p.Commit(p.Drop(p.Endpoints, two))
	q.Tell("c.d") // 5
	disabled := all()
	disabled.Enabled, disabled.Version = false, "v2"
	q.Commit(q.Set(one, disabled))
	seq := p.Tell("a.b") // 6
	b.Same("deliveries", p.pairs(), []string{"1→1", "2→1", "3→1", "3→2", "5→1", "6→1"})
	d := p.Delivery(seq, one)
	b.Same("as it is now", []any{d.Version, d.Due}, []any{"v2", event.Parked})
}

// nodeModel lets two nodes make endpoints and events at once, and compares by
// the order in which they happened.
func nodeModel(b *bench) {
	p := newPost(b)
	nodes := []*post{p, p.another(8)}
	var both sync.WaitGroup
	for i := range 8 {
		both.Go(func() {
			n := nodes[i%2]
			for range 12 {
				w := []store.Write{{Table: p.Endpoints, Op: store.Insert, Doc: all().doc()}}
				tx := &store.Tx{Account: 1, Writes: w}
				if i < 4 {
					tx = &store.Tx{Account: 1, Events: []event.Event{{Type: "a.b", Doc: []byte("{}")}}}
				}
				if _, err := n.S.Commit(n.ctx, tx); err != nil {
					b.Errorf("commit: %v", err)
				}
			}
		})
	}
	both.Wait()
	var want []string
	endpoints := b.Rows(p.Endpoints)
	for _, e := range b.Events() {
		for _, row := range endpoints {
			if row.Seq < e.Seq {
				want = append(want, event.DeliveryID(e.Seq, row.ID))
			}
		}
	}
	var got []string
	for _, d := range p.Deliveries() {
		got = append(got, d.ID())
	}
	b.Same("deliveries", got, want)
}

func nodeClaims(b *bench) {
	p, ids := unclaimed(b, all())
	q := p.another(8)
	for range 4 {
		p.Tell(slices.Repeat([]string{"a.b"}, 250)...)
	}
	var mu sync.Mutex
	seen := map[int64]int{}
	var claimers sync.WaitGroup
	for i := range 6 {
		claimers.Go(func() {
			queue := []*post{p, q}[i%2].Queue()
			for none := 0; none < 3; {
				list, err := queue.Claim(p.ctx, []event.Want{{Endpoint: ids[0], N: 17}}, time.Hour)
				if err != nil {
					b.Errorf("claim: %v", err)
					return
				}
				if len(list) > 17 {
					b.Errorf("%d claimed", len(list))
				}
				if len(list) == 0 {
					none++
				}
				mu.Lock()
				for _, d := range list {
					seen[d.Seq]++
				}
				mu.Unlock()
			}
		})
	}
	claimers.Wait()
	for seq, n := range seen {
		if n != 1 {
			b.Errorf("delivery %d was claimed %d times", seq, n)
		}
	}
	b.Same("claimed", len(seen), 1000)
	for _, d := range p.Deliveries() {
		if d.Fence != 7 && d.Fence != 8 {
			b.Errorf("delivery %d has the fence %d", d.Seq, d.Fence)
		}
	}
}

func nodeMany(b *bench) {
	p := newPost(b)
	q := p.another(8)
	ids := p.crowdOf(900)
	var seqs []int64
	for i := range 6 {
		seqs = append(seqs, []*post{p, q}[i%2].Tell("a.b"))
	}
	for _, seq := range seqs {
		p.exactly("after both", seq, ids)
	}
	var claimed int
	p.Eventually("handed over", func() bool {
		for _, n := range []*post{p, q} {
			_, _, _, taken := n.Taker.told()
			for _, d := range taken {
				b.Same("whose", d.Fence, n.Taker.fence)
			}
			claimed += len(taken)
		}
		return claimed >= 6*900
	})
	b.Same("handed over", claimed, 6*900)
}

func nodePark(b *bench) {
	p, ids := unclaimed(b, all())
	q := p.another(8)
	for range 10 {
		p.Tell(slices.Repeat([]string{"a.b"}, 100)...)
		var claimed []event.Delivery
		var both sync.WaitGroup
		both.Go(func() { claimed = p.Claim(ids[0], 1000) })
		both.Go(func() {
			if err := q.S.Park(q.ctx, ids[0]); err != nil {
				b.Errorf("park: %v", err)
			}
		})
		both.Wait()
		for _, d := range claimed {
			if row := p.Delivery(d.Seq, ids[0]); row.Fence != 7 || row.Due == event.Parked {
				b.Fatalf("the claim of %d was taken away: %+v", d.Seq, row)
			}
			p.Settle(p.outcome(d.Seq, ids[0], event.Delivered))
		}
	}
	open := must(p.S.CountDeliveries(p.ctx, store.DeliveryQuery{Account: 1, State: new(event.Pending)}))(b)
	b.Same("no other is open", len(p.Claim(ids[0], 1000)), 0)
	b.Log(fmt.Sprint(open, " were parked"))
}

func nodeHealth(b *bench) {
	p, ids := unclaimed(b, all())
	q := p.another(8)
	for range 5 {
		b.clock.Add(1000)
		p.Settle(p.outcome(1, ids[0], event.Delivered))
		b.clock.Add(1000)
		o := p.outcome(1, ids[0], event.Retrying)
		o.Attempt.Started = b.clock.Load()
		q.Settle(o)
	}
	first := b.clock.Load() + 1000 // the last failure, which no success follows
	p.S.Close()
	q.S.Close()
	last := p.another(9)
	got := must(last.S.Health(p.ctx, ids[0]))(b)
	b.Same("together", []int64{got.Delivered, got.Failed, got.LastFailure, got.LastSuccess}, []int64{5, 5, first, first - 1000})
	b.Same("it fails", got.Failing > 0, true)
}
