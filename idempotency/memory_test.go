package idempotency

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func has(t *testing.T, m *Memory, scope, key string) bool {
	t.Helper()
	rec, err := m.Lookup(context.Background(), scope, key)
	if err != nil {
		t.Fatal(err)
	}
	if rec != nil && (rec.Scope != scope || rec.Key != key) {
		t.Fatalf("Lookup(%q, %q) gives the record of %q, %q", scope, key, rec.Scope, rec.Key)
	}
	return rec != nil
}

func TestMemoryRetention(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	m := NewMemory(&Options{Now: func() time.Time { return now }})
	m.Keep(ctx, Record{Scope: "a", Key: "k", Print: Print{1}, Created: now})

	now = now.Add(Retention - 1)
	if !has(t, m, "a", "k") {
		t.Error("forgotten before 24 h")
	}
	if has(t, m, "b", "k") || has(t, m, "a", "other") {
		t.Error("another scope or key finds the record")
	}
	m.Keep(ctx, Record{Scope: "a", Key: "k", Print: Print{2}, Created: now})
	if rec, _ := m.Lookup(ctx, "a", "k"); rec.Print != (Print{1}) {
		t.Error("a live record was replaced: the first answer must stand")
	}

	now = now.Add(1)
	if has(t, m, "a", "k") {
		t.Error("still known after 24 h")
	}
	m.Keep(ctx, Record{Scope: "a", Key: "k", Print: Print{2}, Created: now})
	if rec, _ := m.Lookup(ctx, "a", "k"); rec == nil || rec.Print != (Print{2}) {
		t.Error("an expired key cannot be used anew")
	}
	if got := m.Len(); got != 1 {
		t.Errorf("%d records held, want 1", got)
	}
}

func TestMemoryMax(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	m := NewMemory(&Options{Max: 3, Now: func() time.Time { return now }})
	for _, age := range []int{2, 5, 1, 4, 3} { // not in the order of age
		m.Keep(ctx, Record{Key: strconv.Itoa(age), Created: now.Add(-time.Duration(age) * time.Hour)})
	}
	for age := 1; age <= 5; age++ {
		if got, want := has(t, m, "", strconv.Itoa(age)), age <= 3; got != want {
			t.Errorf("record of age %d: held %v, want %v: the oldest go first", age, got, want)
		}
	}
	if got := m.Len(); got != 3 {
		t.Errorf("%d records held, want 3", got)
	}
}

func TestMemoryLookupIsACopy(t *testing.T) {
	ctx := context.Background()
	var m Memory // the zero value is ready
	m.Keep(ctx, Record{Key: "k", Print: Print{1}, Created: time.Now()})
	rec, _ := m.Lookup(ctx, "", "k")
	rec.Print = Print{2}
	if rec, _ := m.Lookup(ctx, "", "k"); rec.Print != (Print{1}) {
		t.Error("a caller changed the stored record")
	}
}

func TestMemoryDefaultClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(nil)
		m.Keep(t.Context(), Record{Key: "k", Created: time.Now()})
		time.Sleep(Retention - 1)
		if !has(t, m, "", "k") {
			t.Error("forgotten before 24 h")
		}
		time.Sleep(time.Nanosecond)
		if has(t, m, "", "k") {
			t.Error("still known after 24 h")
		}
	})
}

func TestMemoryConcurrent(t *testing.T) {
	ctx := context.Background()
	m := NewMemory(&Options{Max: 50})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				key := strconv.Itoa(i)
				m.Keep(ctx, Record{Scope: strconv.Itoa(g % 2), Key: key, Created: time.Now()})
				m.Lookup(ctx, "0", key)
			}
		})
	}
	wg.Wait()
	if got := m.Len(); got > 50 || got != len(m.known) {
		t.Errorf("%d records in order, %d by name; want the same, 50 at most", got, len(m.known))
	}
}
