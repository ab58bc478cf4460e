package dispatch

import (
	"context"
	"time"

	"github.com/parley-api/parley/event"
)

const (
	settleMost  = 1024                  // outcomes in one call
	settleSoon  = 256                   // so many do not wait for others
	settleWait  = 2 * time.Millisecond  // how long fewer do
	settleLazy  = 25 * time.Millisecond // and how long, where none is of an endpoint that is prompt
	settleRoom  = 8192                  // so many unsettled ones stop the sending
	longestWait = 5 * time.Second       // between two tries of a call that fails
)

// settle hands on an outcome of a lane. It wants d.mu.
func (d *Dispatcher) settle(l *lane, o *event.Outcome, until int64) {
	d.outcomes = append(d.outcomes, *o)
	d.untils = append(d.untils, until)
	urgent := l.class == prompt && !d.urgent
	d.urgent = d.urgent || urgent
	if n := len(d.outcomes); n == 1 || n == settleSoon || urgent {
		poke(d.kick)
	}
	if len(d.outcomes) >= settleRoom {
		d.stalled = true
	}
}

// settler writes outcomes down in groups until the context ends.
func (d *Dispatcher) settler(ctx context.Context) {
	for d.await(ctx) && d.settleGroup(ctx) {
	}
}

// await waits until there are outcomes to be settled. It reports whether the
// context lives.
func (d *Dispatcher) await(ctx context.Context) bool {
	var first time.Time // when there was one
	for {
		d.mu.Lock()
		n, urgent, closing := len(d.outcomes), d.urgent, d.closing
		d.mu.Unlock()
		wait := time.Hour
		if n > 0 {
			if first.IsZero() {
				first = time.Now()
			}
			if wait = settleLazy; urgent {
				wait = settleWait
			}
			if wait -= time.Since(first); wait <= 0 || n >= settleSoon || closing {
				return true
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-d.kick:
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
		timer.Stop()
	}
}

// settleGroup settles what there is, and tries until it can. No attempt is
// begun meanwhile if it fails. It reports whether the context lives.
func (d *Dispatcher) settleGroup(ctx context.Context) bool {
	d.mu.Lock()
	n := min(len(d.outcomes), settleMost)
	d.settling = append(d.settling[:0], d.outcomes[:n]...)
	d.promises = append(d.promises[:0], d.untils[:n]...)
	d.outcomes = remove(d.outcomes, n)
	d.untils = remove(d.untils, n)
	d.urgent = d.urgent && len(d.outcomes) > 0
	d.mu.Unlock()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, longestWait) {
		err := d.queue.Settle(ctx, d.settling)
		if err == nil {
			d.settled()
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		d.o.Log.Warn("settling deliveries", "count", n, "error", err)
		d.mu.Lock()
		d.stalled = true
		d.mu.Unlock()
		if !sleep(ctx, wait) {
			return false
		}
	}
}

// settled forgets what was settled and lets the sending go on.
func (d *Dispatcher) settled() {
	d.mu.Lock()
	defer d.mu.Unlock()
	var soonest int64
	for i := range d.settling {
		o := &d.settling[i]
		if open := o.State == event.Pending || o.State == event.Retrying; open && o.Due < event.Parked && (soonest == 0 || o.Due < soonest) {
			soonest = o.Due
		}
	}
	clear(d.settling)
	d.settling = d.settling[:0]
	if soonest != 0 && (d.hint == 0 || soonest < d.hint) {
		d.hint = soonest
		poke(d.swept)
	}
	if d.closing {
		poke(d.calm)
	}
	if d.stalled && len(d.outcomes) < settleRoom {
		d.stalled = false
		d.fill()
	}
}

// remove drops the first n and keeps the room.
func remove[T any](list []T, n int) []T {
	rest := copy(list, list[n:])
	clear(list[rest:])
	return list[:rest]
}

// sleep reports whether the context outlived the wait.
func sleep(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
