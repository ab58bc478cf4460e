package usage

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// A keeper keeps what it is given, or fails.
type keeper struct {
	failing bool
	uses    []store.Use
}

func (k *keeper) AddUses(_ context.Context, uses []store.Use) error {
	if k.failing {
		return errors.New("away")
	}
	k.uses = append(k.uses, uses...)
	return nil
}

func newLedger(k Keeper) *Ledger {
	l := NewLedger(k, version.BuiltIn(), slog.New(slog.DiscardHandler))
	l.Operation("listTasks")
	l.Operation("getTask")
	return l
}

func flush(t *testing.T, l *Ledger) {
	t.Helper()
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLedger(t *testing.T) {
	k := &keeper{}
	l := newLedger(k)
	old := version.BuiltIn().Find("0")
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	l.Note(2, old, 1, at(2*time.Second))
	l.Note(2, old, 1, at(0))
	l.Note(2, old, 0, at(0))
	l.Note(1, old, 1, at(0))
	l.Note(1, old, 1, at(12*time.Hour)) // the next day
	k.failing = true
	if err := l.Flush(t.Context()); err == nil {
		t.Fatal("a flush that could not write succeeded")
	}
	k.failing = false
	l.Note(2, old, 0, at(time.Second))
	flush(t, l)
	flush(t, l)
	use := func(account int64, operation string, count int64, first, last time.Duration) store.Use {
		return store.Use{Account: account, Version: "2025-11-01", Operation: operation, Count: count, First: at(first).UnixMicro(), Last: at(last).UnixMicro()}
	}
	want := []store.Use{
		use(1, "getTask", 1, 0, 0), use(1, "getTask", 1, 12*time.Hour, 12*time.Hour),
		use(2, "getTask", 2, 0, 2*time.Second), use(2, "listTasks", 2, 0, time.Second),
	}
	slices.SortFunc(k.uses, func(a, b store.Use) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.First, b.First))
	})
	if !reflect.DeepEqual(k.uses, want) {
		t.Errorf("got %+v\nwant %+v", k.uses, want)
	}
}

// What many goroutines note while others flush adds up, in a real database.
func TestLedgerAddsUp(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := newLedger(s)
	go l.Run()
	v := version.BuiltIn().Find("1")
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 2000 {
				l.Note(int64(i%5)+1, v, worker%2, noon.Add(time.Duration(i)))
				if i%500 == 0 {
					flush(t, l)
				}
			}
		})
	}
	all.Wait()
	l.Close()
	uses, err := s.Uses(t.Context(), v.Name, 0, 1, 5)
	if err != nil || len(uses) != 10 {
		t.Fatalf("got %v, error %v, want two operations of five accounts", uses, err)
	}
	for _, u := range uses {
		if u.Count != 8*2000/10 {
			t.Errorf("account %d, %s: got %d uses, want %d", u.Account, u.Operation, u.Count, 8*2000/10)
		}
	}
}

func TestNoteAllocatesNothing(t *testing.T) {
	l := newLedger(&keeper{})
	v := version.BuiltIn().Find("1")
	l.Note(1, v, 0, noon)
	if n := testing.AllocsPerRun(1000, func() { l.Note(1, v, 0, noon) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// BenchmarkNote is what the ledger costs a request.
func BenchmarkNote(b *testing.B) {
	l := newLedger(&keeper{})
	v := version.BuiltIn().Find("1")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for account := int64(0); pb.Next(); account = (account + 1) % 1000 {
			l.Note(account, v, 0, noon)
		}
	})
}
