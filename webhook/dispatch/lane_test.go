package dispatch_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// TestRecovery shows that an endpoint that hangs burns few attempts of what
// waits for it, and that all of it is sent once it answers.
func TestRecovery(t *testing.T) {
	var hangs atomic.Bool
	hangs.Store(true)
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) {
		if hangs.Load() {
			time.Sleep(20 * time.Second)
		}
	}}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		for seq := range int64(100) {
			r.commit(seq+1, 1)
		}
		time.Sleep(3 * time.Minute)
		burnt := len(c.arrivals())
		if burnt < 8 || burnt > 20 {
			t.Errorf("got %d attempts in 3 minutes, want one after another", burnt)
		}
		if inFlight, limit, queued := r.d.Lane(1); inFlight > 1 || limit != 1 || queued > 1 {
			t.Errorf("got %d of %d in flight and %d queued, want a lane that waits in the table", inFlight, limit, queued)
		}
		hangs.Store(false)
		time.Sleep(time.Minute)
		first := 0
		for seq := range int64(100) {
			if row, _ := r.table.Row(seq+1, 1); row.State == event.Delivered && row.Tries == 1 {
				first++
			}
		}
		if first < 100-burnt-1 {
			t.Errorf("got %d delivered by their first attempt, want all but %d", first, burnt)
		}
		time.Sleep(10 * time.Minute)
		for seq := range int64(100) {
			if row, _ := r.table.Row(seq+1, 1); row.State != event.Delivered {
				t.Errorf("delivery %d: got %v, want delivered", seq+1, row.State)
			}
		}
	})
}

// TestInFlight shows that the endpoint's own bound is kept, and that a change
// of it is heeded.
func TestInFlight(t *testing.T) {
	for _, bound := range []int{1, 2, 3, 8, 20} {
		var flying, most atomic.Int64
		c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) {
			n := flying.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(100 * time.Millisecond)
			flying.Add(-1)
		}}}
		simulate(t, c, dispatch.Options{}, func(r *rig) {
			r.book.set(dispatch.Endpoint{ID: 1, URL: "http://consumer.example/hook", Enabled: true, InFlight: bound})
			for seq := range int64(300) {
				r.commit(seq+1, 1)
			}
			time.Sleep(time.Minute)
			if got := most.Load(); got != int64(bound) || len(c.arrivals()) != 300 {
				t.Errorf("bound %d: got %d at once and %d arrivals", bound, got, len(c.arrivals()))
			}
		})
	}
}

// TestObserve shows that every outcome of a delivery that was to be sent is
// told.
func TestObserve(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(500), status(200)}}
	seen := make(chan event.State, 10)
	o := dispatch.Options{Observe: func(d *event.Delivery, o *event.Outcome) {
		if d.Seq != o.Seq || o.Attempt.Number != d.Tries+1 {
			t.Errorf("got %+v of %+v", o, d)
		}
		seen <- o.State
	}}
	simulate(t, c, o, func(r *rig) {
		r.commit(1, 1)
		time.Sleep(6 * time.Minute)
		if first, second := <-seen, <-seen; first != event.Retrying || second != event.Delivered {
			t.Errorf("got %v and %v", first, second)
		}
	})
}
