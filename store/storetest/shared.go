package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/parley-api/parley/store"
)

func sharedCases() []rule {
	return []rule{
		{"a poller misses nothing", "the order of changes is the order in which they become visible, over all nodes", poller},
		{"nodes see each other", "what one node has acknowledged every node knows", nodes},
		{"nodes start at once", "a deployment starts all its nodes at the same moment", starts},
		{"everything at once on two nodes", "rows, events and order stay true to each other over all nodes", everythingShared},
		{"uses add up over nodes", "every node counts for itself what it served", usesShared},
		{"secrets are shared", "a cursor that one node has sealed opens on every node", secretsShared},
	}
}

func poller(b *bench) {
	nodes := []*store.Store{b.S, b.Open(b.Users, b.Projects, b.Tasks)}
	var writers, reader sync.WaitGroup
	stop := make(chan struct{})
	seen := map[int64]int64{} // id → revision
	reader.Go(func() {
		var last int64
		for done := false; !done; {
			select {
			case <-stop:
				done = true
			default:
			}
			for {
				q := store.Query{Account: 1, Order: store.ByUpdated, Since: last + 1, Limit: 100}
				rows, err := nodes[1].Page(b.ctx, b.Tasks, q)
				if err != nil {
					b.Errorf("page: %v", err)
					return
				}
				for _, r := range rows {
					seen[r.ID], last = r.Rev, r.Updated
				}
				if len(rows) == 0 {
					break
				}
			}
		}
	})
	for i := range 16 {
		writers.Go(func() {
			for n := range 60 {
				tx := &store.Tx{Account: 1, Writes: []store.Write{b.NewTask(fmt.Sprint(n), nil, nil)}}
				rows, err := nodes[i%2].Commit(b.ctx, tx)
				if err != nil {
					b.Errorf("commit: %v", err)
					return
				}
				if n%3 == 0 {
					_, err = nodes[(i+1)%2].Commit(b.ctx, &store.Tx{Account: 1, Writes: []store.Write{b.SetTask(rows[0].ID, "again", nil, nil)}})
					if err != nil {
						b.Errorf("commit: %v", err)
					}
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	reader.Wait()
	for _, r := range b.Rows(b.Tasks) {
		if seen[r.ID] != r.Rev {
			b.Errorf("the poller has revision %d of row %d, which has %d", seen[r.ID], r.ID, r.Rev)
		}
	}
	b.Same("rows", len(seen), 16*60)
}

func nodes(b *bench) {
	other := b.Open(b.Users, b.Projects, b.Tasks)
	b.Commit(b.NewUser("a@x"))
	row, err := other.Get(b.ctx, b.Users, 1, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.Same("the row", row, b.Row(b.Users, 1))
	_, err = other.Commit(b.ctx, &store.Tx{Account: 1, Writes: []store.Write{b.NewUser("a@x")}})
	duplicate(b, err, "email")
	must(b.S.Commit(b.ctx, keyed(b, "k", "b@x")))(b)
	_, err = other.Commit(b.ctx, keyed(b, "k", "c@x"))
	replayed(b, err)
}

func starts(b *bench) {
	b.S.Close()
	tables := b.with(func(t *store.Table) {
		t.Columns = append(t.Columns, store.Column{Name: "extra", Kind: store.Int, Index: true})
	})
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := b.open(b.T, b.Options(), tables...)
			if err != nil {
				b.Errorf("open: %v", err)
				return
			}
			s.Close()
		})
	}
	all.Wait()
	b.S = b.Open(tables...)
}

func everythingShared(b *bench) {
	other := &bench{T: b.T, Users: b.Users, Projects: b.Projects, Tasks: b.Tasks, open: b.open, ctx: b.ctx}
	other.S = b.Open(b.Users, b.Projects, b.Tasks)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { mix(b, rand.New(rand.NewPCG(2, uint64(i))), 30) })
		all.Go(func() { mix(other, rand.New(rand.NewPCG(3, uint64(i))), 30) })
	}
	all.Wait()
	invariants(b)
}

func secretsShared(b *bench) {
	other := b.Open(b.Users, b.Projects, b.Tasks)
	var one, two []byte
	var all sync.WaitGroup
	all.Go(func() { one, _ = b.S.Secret(b.ctx, "cursor", 32) })
	all.Go(func() { two, _ = other.Secret(b.ctx, "cursor", 32) })
	all.Wait()
	b.Same("the secret", one, two)
	b.Same("its size", len(one), 32)
}
