package dispatch_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// TestClose shows a stop in good order: what flies ends, what waits is given
// back, uncounted and due, and another process goes on at once.
func TestClose(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) { time.Sleep(5 * time.Second) }, status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		for seq := range int64(10) {
			r.commit(seq+1, 1)
		}
		time.Sleep(time.Second)
		begun := time.Now()
		r.close()
		if took := time.Since(begun); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("got %v, want the 4s that the attempt still took", took)
		}
		if row, _ := r.table.Row(1, 1); row.State != event.Delivered {
			t.Errorf("what flew: got %v, want delivered", row.State)
		}
		for seq := range int64(9) {
			if row, _ := r.table.Row(seq+2, 1); row.State != event.Pending || row.Fence != 0 || row.Tries != 0 || row.Due > time.Now().UnixMicro() {
				t.Errorf("what waited: got %+v, want it given back", row)
			}
		}
		if r.d.Reserve(1) {
			t.Error("got a place after Close")
		}
		r.run()
		time.Sleep(time.Second)
		if got := len(c.arrivals()); got != 10 {
			t.Errorf("got %d arrivals, want 10", got)
		}
	})
}

// TestCloseCut shows that a deadline cuts attempts off, which are given back
// uncounted, and that Close ends in time.
func TestCloseCut(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) { time.Sleep(14 * time.Second) }, status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		r.commit(1, 1)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		begun := time.Now()
		if err := r.d.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("got %v, want at most 8s", took)
		}
		if row, _ := r.table.Row(1, 1); row.State != event.Pending || row.Fence != 0 || row.Tries != 0 {
			t.Errorf("got %+v, want it given back", row)
		}
	})
}

// TestCloseAway shows that Close ends with its context where the table is
// away.
func TestCloseAway(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		f := r.weaken()
		f.settle.Store(true)
		r.commit(1, 1)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		if err := r.d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

// TestCloseReserved shows that Close waits for what is being committed.
func TestCloseReserved(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		time.Sleep(time.Second)
		for range 2 {
			if !r.d.Reserve(1) {
				t.Fatal("got no place")
			}
		}
		closed := make(chan error)
		go func() { closed <- r.d.Close(context.Background()) }()
		time.Sleep(time.Second)
		now := time.Now().UnixMicro()
		late := event.Delivery{Seq: 1, Endpoint: 1, Account: 1, Born: now, Due: now + r.d.Lease().Microseconds(), Fence: r.d.Fence()}
		r.table.Insert(late)
		r.d.Take([]event.Delivery{late})
		r.d.Release(1)
		if err := <-closed; err != nil {
			t.Errorf("Close: %v", err)
		}
		if row, _ := r.table.Row(1, 1); row.Fence != 0 || row.State != event.Pending || len(c.arrivals()) != 0 {
			t.Errorf("got %+v, want it given back unsent", row)
		}
	})
}

// TestCloseEarly shows that a dispatcher that never ran can be closed.
func TestCloseEarly(t *testing.T) {
	r := newRig(t, nil)
	d := dispatch.New(r.table.Queue(1), r.book, nil)
	if err := d.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}
