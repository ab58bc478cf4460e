package idempotency

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestFlights(t *testing.T) {
	var f Flights
	leave, ok := f.Enter("a", "k")
	if !ok {
		t.Fatal("a free key is refused")
	}
	no, ok := f.Enter("a", "k")
	if ok {
		t.Error("a key was entered twice")
	}
	no() // of no effect: it has nothing
	if _, ok := f.Enter("a", "k"); ok {
		t.Error("leaving without having entered freed the key")
	}
	if _, ok := f.Enter("b", "k"); !ok {
		t.Error("another account's key is in the way")
	}
	if _, ok := f.Enter("ak", ""); !ok {
		t.Error("scope and key run into one another")
	}
	leave()
	second, ok := f.Enter("a", "k")
	if !ok {
		t.Fatal("the key is not free after leaving")
	}
	leave() // again: must not free what the second holds
	if _, ok := f.Enter("a", "k"); ok {
		t.Error("leaving twice freed another's key")
	}
	second()
	if _, ok := f.Enter("a", "k"); !ok {
		t.Error("the key is not free after the second left")
	}
}

func TestFlightsConcurrent(t *testing.T) {
	var f Flights
	var wg sync.WaitGroup
	var inside, entered atomic.Int32
	for range 32 {
		wg.Go(func() {
			for range 200 {
				leave, ok := f.Enter("a", "k")
				if ok {
					entered.Add(1)
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d have the key at once", n)
					}
					inside.Add(-1)
				}
				leave()
			}
		})
	}
	wg.Wait()
	if entered.Load() == 0 || len(f.open) != 0 {
		t.Errorf("entered %d times, %d left over", entered.Load(), len(f.open))
	}
}

func BenchmarkFlights(b *testing.B) {
	var f Flights
	b.ReportAllocs()
	for b.Loop() {
		leave, _ := f.Enter("account", "8e03978e-40d5-43dd-bc93-6894a57f9324")
		leave()
	}
}
