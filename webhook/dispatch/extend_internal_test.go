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
}

func (q *extender) Extend(_ context.Context, list []event.Delivery, _ time.Duration) error {
	if q.fail > 0 {
		q.fail--
		return errors.New("not now")
	}
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
		d := New(q, nil, nil)
		until := d.now() + d.o.Lease.Microseconds() - 1
		for id := range int64(n) {
			l := d.lane(id + 1)
			d.hold(l, 1)
			l.queue.push(held{event.Delivery{Endpoint: l.id, Seq: 1}, until})
		}
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
