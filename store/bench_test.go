package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

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
