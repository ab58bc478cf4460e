package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-api/parley/event"
)

// An extender is a queue whose claims are extended.
type extender struct {
	Queue
	sizes    []int
	extended map[int64]bool // by endpoint
	fail     int            // calls that fail
	takes    time.Duration  // of a call
}

func (q *extender) Extend(_ context.Context, list []event.Delivery, _ time.Duration) error {
	if q.fail > 0 {
		q.fail--
		return errors.New("not now")
	}
	time.Sleep(q.takes)
	q.sizes = append(q.sizes, len(list))
	for _, d := range list {
		q.extended[d.Endpoint] = true
	}
	return nil
}

// TestExtendSlices shows that many claims are extended in slices, all of them,
// also where one call fails.
func TestExtendSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3*extendSlice + 10
		q := &extender{extended: make(map[int64]bool), fail: 1}
		d := holding(q, n)
		ctx, stop := context.WithCancel(t.Context())
		go d.heartbeat(ctx)
		time.Sleep(d.o.Lease/3 + d.o.Lease/10)
		stop()
		synctest.Wait()
		if len(q.extended) != n {
			t.Errorf("%d of %d were extended", len(q.extended), n)
		}
		for _, size := range q.sizes {
			if size > extendSlice {
				t.Errorf("%d in one go", size)
			}
		}
		if len(q.sizes) != 4 {
			t.Errorf("got %d calls, want 4", len(q.sizes))
		}
	})
}

// holding is a dispatcher that has claimed a delivery of each of n endpoints.
func holding(q Queue, n int64) *Dispatcher {
	d := New(q, nil, nil)
	until := d.now() + d.o.Lease.Microseconds() - 1
	for id := range n {
		l := d.lane(id + 1)
		d.hold(l, 1)
		l.queue.push(held{event.Delivery{Endpoint: l.id, Seq: 1}, until})
	}
	return d
}

// TestExtendSlowly shows that what cannot be extended in time is let go, though
// no call fails.
func TestExtendSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &extender{extended: make(map[int64]bool), takes: 2 * time.Second}
		d := holding(q, 20*extendSlice)
		ctx, stop := context.WithCancel(t.Context())
		go d.heartbeat(ctx)
		time.Sleep(d.o.Lease * 2 / 3) // when those that were not extended have a third left
		stop()
		synctest.Wait()
		if len(q.sizes) != 3 {
			t.Errorf("got %d calls, want 3", len(q.sizes))
		}
		if held := d.held[0] + d.held[1]; held != 0 {
			t.Errorf("%d are held still", held)
		}
	})
}
