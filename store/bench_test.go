package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

// benchTable has two secondary indexes besides the one by time that every
// table has.
func benchTable() *store.Table {
	return &store.Table{
		Name: "tasks",
		Columns: []store.Column{
			{Name: "status", Kind: store.Text, Index: true},
			{Name: "assignee_id", Kind: store.Int, Index: true},
		},
		Fields: []store.Field{{Name: "title", Type: "string"}, {Name: "status", Type: "string"}, {Name: "assignee_id", Type: "integer"}},
	}
}

func benchDoc(n int64) []byte {
	return fmt.Appendf(nil, `{"title":"Write the report number %d before Friday noon","status":"pending","assignee_id":%d,"notes":"and send it to everybody who asked for it"}`, n, n%100)
}

// engines runs a benchmark on both databases.
func engines(b *testing.B, f func(b *testing.B, s *store.Store, t *store.Table)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			dsn := filepath.Join(b.TempDir(), "bench.db")
			if engine == "postgres" {
				dsn = postgres(b).create(b)
			}
			table := benchTable()
			s, err := store.Open(b.Context(), dsn, nil, table)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			f(b, s, table)
		})
	}
}

func benchInsert(b *testing.B, s *store.Store, t *store.Table, n int64) store.Row {
	rows, err := s.Commit(context.Background(), &store.Tx{Account: 1, Writes: []store.Write{{
		Table: t, Op: store.Insert, Doc: benchDoc(n), Keys: []any{"pending", n % 100}, Events: []string{"task.created"}, Version: "2026-11-01"}}})
	if err != nil {
		b.Error(err)
		return store.Row{}
	}
	return rows[0]
}

// fill makes rows, a thousand in a transaction.
func fill(b *testing.B, s *store.Store, t *store.Table, n int) {
	for done := 0; done < n; {
		tx := &store.Tx{Account: 1}
		for range min(1000, n-done) {
			done++
			k := int64(done)
			tx.Writes = append(tx.Writes, store.Write{Table: t, Op: store.Insert, Doc: benchDoc(k), Keys: []any{"pending", k % 100}})
		}
		if _, err := s.Commit(context.Background(), tx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store, t *store.Table) {
		fill(b, s, t, 20_000)
		b.ReportAllocs()
		var n int64
		for b.Loop() {
			n = (n*7919 + 1) % 20_000
			if _, err := s.Get(b.Context(), t, 1, n+1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPage(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store, t *store.Table) {
		fill(b, s, t, 20_000)
		b.ReportAllocs()
		var n int64
		for b.Loop() {
			n = (n*7919 + 1) % 19_000
			q := store.Query{Account: 1, Mark: 20_000, After: &store.Position{ID: n}, Where: []store.Condition{{Column: "status", Values: []any{"pending"}}}}
			if rows, err := s.Page(b.Context(), t, q); err != nil || len(rows) != 20 {
				b.Fatal(len(rows), err)
			}
		}
	})
}

// committers is how many commit at once.
const committers = 64

func parallel(b *testing.B, f func(n int64)) {
	var n atomic.Int64
	b.SetParallelism(committers / 2)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f(n.Add(1))
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

func BenchmarkInsert(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store, t *store.Table) {
		parallel(b, func(n int64) { benchInsert(b, s, t, n) })
	})
}

func BenchmarkUpdate(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store, t *store.Table) {
		fill(b, s, t, 20_000)
		parallel(b, func(n int64) {
			id := n*7919%20_000 + 1
			_, err := s.Commit(context.Background(), &store.Tx{Account: 1, Writes: []store.Write{{
				Table: t, Op: store.Update, ID: id, Doc: benchDoc(n), Keys: []any{"done", id % 100}, Events: []string{"task.updated"}, Version: "2026-11-01"}}})
			if err != nil {
				b.Error(err)
			}
		})
	})
}

// everything is a dispatcher that has a place for every delivery.
type everything struct{}

func (everything) Reserve(int64) bool    { return true }
func (everything) Release(int64)         {}
func (everything) Take([]event.Delivery) {}
func (everything) Wake(int64)            {}
func (everything) Fence() int64          { return 1 }

// posted runs a benchmark on both databases with endpoints that want
// everything.
func posted(b *testing.B, endpoints int, taker store.Taker, f func(b *testing.B, s *store.Store)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			dsn := filepath.Join(b.TempDir(), "bench.db")
			if engine == "postgres" {
				dsn = postgres(b).create(b)
			}
			table := &store.Table{Name: "endpoints"}
			read := func(store.Row) (store.Subscription, error) {
				return store.Subscription{Version: "2026-11-01", Enabled: true}, nil
			}
			s, err := store.Open(b.Context(), dsn, &store.Options{Fanout: &store.Fanout{Endpoints: table, Read: read, Taker: taker}}, table)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			tx := &store.Tx{Account: 1}
			for range endpoints {
				tx.Writes = append(tx.Writes, store.Write{Table: table, Op: store.Insert, Doc: []byte("{}")})
			}
			if _, err := s.Commit(b.Context(), tx); err != nil {
				b.Fatal(err)
			}
			f(b, s)
		})
	}
}

// benchEvent is an event of 1 KB.
func benchEvent() event.Event {
	return event.Event{Type: "order.shipped", Version: "2026-11-01", Doc: fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 1000))}
}

// BenchmarkFanout commits events with their deliveries, many at once.
func BenchmarkFanout(b *testing.B) {
	for _, endpoints := range []int{1, 20, 100} {
		b.Run(fmt.Sprint(endpoints), func(b *testing.B) {
			posted(b, endpoints, everything{}, func(b *testing.B, s *store.Store) {
				parallel(b, func(int64) {
					if _, err := s.Commit(context.Background(), &store.Tx{Account: 1, Events: []event.Event{benchEvent()}}); err != nil {
						b.Error(err)
					}
				})
				b.ReportMetric(float64(endpoints)*float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
			})
		})
	}
}

// BenchmarkSettle writes down what became of 256 deliveries, one attempt each.
func BenchmarkSettle(b *testing.B) {
	const batch = 256
	posted(b, 16, everything{}, func(b *testing.B, s *store.Store) {
		queue := s.Queue(1)
		attempt := &event.Attempt{Number: 1, Started: 1_750_000_000_000_000, Duration: 12_345, Status: 200, Response: []byte("thank you")}
		outcomes := make([]event.Outcome, 0, batch)
		var last int64
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			tx := &store.Tx{Account: 1}
			for range batch / 16 {
				tx.Events = append(tx.Events, benchEvent())
			}
			if _, err := s.Commit(b.Context(), tx); err != nil {
				b.Fatal(err)
			}
			rows, err := s.Deliveries(b.Context(), store.DeliveryQuery{Account: 1, After: &store.Position{Key: last, ID: 1 << 40}, Limit: batch})
			if err != nil || len(rows) != batch {
				b.Fatal(len(rows), err)
			}
			last = rows[batch-1].Seq
			outcomes = outcomes[:0]
			for _, d := range rows {
				outcomes = append(outcomes, event.Outcome{Seq: d.Seq, Endpoint: d.Endpoint, Account: 1, Fence: 1, Attempt: attempt, State: event.Delivered})
			}
			b.StartTimer()
			if err := queue.Settle(b.Context(), outcomes); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "outcomes/s")
	})
}

// BenchmarkClaim claims a batch from a backlog and gives it back.
func BenchmarkClaim(b *testing.B) {
	for _, backlog := range []int{1_000, 20_000} {
		b.Run(fmt.Sprint(backlog), func(b *testing.B) {
			posted(b, 1, nil, func(b *testing.B, s *store.Store) {
				for done := 0; done < backlog; done += 1000 {
					if _, err := s.Commit(b.Context(), &store.Tx{Account: 1, Events: slices.Repeat([]event.Event{benchEvent()}, 1000)}); err != nil {
						b.Fatal(err)
					}
				}
				queue := s.Queue(2)
				b.ReportAllocs()
				for b.Loop() {
					list, err := queue.Claim(b.Context(), []event.Want{{Endpoint: 1, N: 64}}, store.Lease)
					if err != nil || len(list) != 64 {
						b.Fatal(len(list), err)
					}
					outcomes := make([]event.Outcome, len(list))
					for i, d := range list {
						outcomes[i] = event.Outcome{Seq: d.Seq, Endpoint: d.Endpoint, Account: 1, Fence: 2, Due: d.Born}
					}
					if err := queue.Settle(b.Context(), outcomes); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkDue finds what is due among a thousand endpoints with deliveries.
func BenchmarkDue(b *testing.B) {
	posted(b, 1000, nil, func(b *testing.B, s *store.Store) {
		if _, err := s.Commit(b.Context(), &store.Tx{Account: 1, Events: slices.Repeat([]event.Event{benchEvent()}, 20)}); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Queue(2).Due(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
