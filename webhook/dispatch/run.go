package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
)

const (
	sweepEvery = time.Second
	sweepGap   = 20 * time.Millisecond // between two sweeps, at least
	tickEvery  = 250 * time.Millisecond

	// sweepRests is how much longer than a sweep the rest after it is.
	sweepRests = 20
	// extendSlice is how many claims are extended in one go: what is written
	// meanwhile, and so every publish, waits for them.
	extendSlice = 64
)

// Run sends until Close has ended or the context does, and returns then. It
// must be called once, and does nothing after Close. When the context ends first, what is under way is cut
// off and nothing is settled, as if the process had died: the claims end by
// themselves. To stop in good order, call Close.
func (d *Dispatcher) Run(ctx context.Context) {
	d.mu.Lock()
	again, late := d.running, d.closing
	d.running = true
	d.fill()
	d.mu.Unlock()
	if late {
		return
	}
	if again {
		panic("dispatch: Run was called twice")
	}
	defer close(d.ended)
	defer context.AfterFunc(ctx, d.stop)()
	var wg sync.WaitGroup
	wg.Go(func() { d.settler(d.base) })
	wg.Go(func() { d.sweeper(d.base) })
	wg.Go(func() { d.ticker(d.base) })
	wg.Go(func() { d.heartbeat(d.base) })
	<-d.base.Done()
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	wg.Wait()
	d.client.close()
}

// Close stops in good order: no attempt begins any more, those under way go
// on, what waits in memory is given back to the table, and all outcomes are
// settled. A context with a deadline cuts off attempts shortly before it, so
// that they too are given back, uncounted. The error is the context's, where
// not everything could be settled: the claims on the rest end by themselves.
// Run returns after Close.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.mu.Lock()
	if !d.running {
		d.running = true
		close(d.ended)
	}
	d.closing = true
	now := d.now()
	for _, l := range slices.Clone(d.busy) {
		d.drain(l, 0, now, now, "")
	}
	poke(d.kick)
	d.mu.Unlock()
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		defer time.AfterFunc(left-min(time.Second, left/4), d.cutoff).Stop()
	}
	defer func() {
		d.stop()
		<-d.ended
	}()
	for {
		d.mu.Lock()
		rest := d.held[0] + d.held[1] + len(d.outcomes) + len(d.settling)
		for _, n := range d.claiming {
			rest += n
		}
		d.mu.Unlock()
		if rest == 0 {
			return nil
		}
		select {
		case <-d.calm:
		case <-d.ended:
			return errors.New("dispatch: it does not run")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sweeper looks for due deliveries in the table: retries, what other nodes
// left, and whatever nobody was woken for.
func (d *Dispatcher) sweeper(ctx context.Context) {
	for alive := true; alive; {
		began := time.Now()
		next := d.sweep(ctx)
		gap := min(max(sweepGap, sweepRests*time.Since(began)), 10*sweepEvery)
		alive = d.rest(ctx, gap, max(gap, min(sweepEvery, next)))
	}
}

// rest waits, but no longer than until a retry of ours becomes due, and no
// shorter than the gap. It reports whether the context lives.
func (d *Dispatcher) rest(ctx context.Context, gap, wait time.Duration) bool {
	until := time.Now().Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		case <-d.swept:
		}
		d.mu.Lock()
		hint := max(gap, time.Duration(d.hint-d.now())*time.Microsecond)
		d.hint = 0
		d.mu.Unlock()
		if sooner := time.Now().Add(hint); sooner.Before(until) {
			until = sooner
			timer.Reset(hint)
		}
	}
}

// sweep wakes the lanes that have something due, and returns how long it is
// until the next has.
func (d *Dispatcher) sweep(ctx context.Context) time.Duration {
	endpoints, next, err := d.queue.Due(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.o.Log.Warn("looking for due deliveries", "error", err)
		}
		return sweepEvery
	}
	for some := range slices.Chunk(endpoints, 256) { // writers wait for the lock
		d.mu.Lock()
		for _, id := range some {
			d.wake(id)
		}
		d.fill()
		d.mu.Unlock()
	}
	if next.IsZero() {
		return sweepEvery
	}
	return next.Sub(d.o.Now())
}

// ticker does what must be done now and then.
func (d *Dispatcher) ticker(ctx context.Context) {
	aired := d.o.Now() // when idle connections were looked at
	for every := tickEvery; sleep(ctx, every); {
		d.mu.Lock()
		now := d.now()
		d.overdue(now)
		d.resume(now)
		d.forget(now)
		d.calmDown()
		d.fill()
		if every = tickEvery; len(d.flights)+len(d.paused) == 0 {
			every = sweepEvery
		}
		d.mu.Unlock()
		if at := d.o.Now(); at.Sub(aired) > idleMost/4 {
			aired = at
			d.client.pool.expire(at.Add(-idleMost))
		}
	}
}

// heartbeat extends claims before they end: what it extends has at least a
// third of its lease left. Where that fails or takes too long, what is queued
// is dropped from memory: somebody else may claim it.
func (d *Dispatcher) heartbeat(ctx context.Context) {
	every := d.o.Lease / 3
	for sleep(ctx, every) {
		began := d.now()
		list := d.expiring(began)
		for wait := every / 20; len(list) > 0; {
			if d.now()-began > every.Microseconds()/2 {
				d.abandon()
				break
			}
			n := min(len(list), extendSlice)
			short, cancel := context.WithTimeout(ctx, every/4)
			err := d.queue.Extend(short, list[:n], d.o.Lease)
			cancel()
			if err == nil {
				list = list[n:]
				continue
			}
			if ctx.Err() != nil {
				return
			}
			d.o.Log.Warn("extending claims", "count", len(list), "error", err)
			if !sleep(ctx, wait) {
				return
			}
			wait = min(2*wait, every/8)
		}
	}
}

// expiring lists the claims that have less than two thirds of the lease left,
// and counts them as extended.
func (d *Dispatcher) expiring(now int64) []event.Delivery {
	until := now + d.o.Lease.Microseconds()
	limit := now + d.o.Lease.Microseconds()*2/3
	var list []event.Delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	add := func(seq, endpoint, account, fence int64, end *int64) {
		if *end < limit {
			*end = until
			list = append(list, event.Delivery{Seq: seq, Endpoint: endpoint, Account: account, Fence: fence})
		}
	}
	for _, l := range d.busy {
		for i := range l.queue.n {
			h := l.queue.at(i)
			add(h.Seq, h.Endpoint, h.Account, h.Fence, &h.until)
		}
	}
	for _, f := range d.flights {
		add(f.held.Seq, f.held.Endpoint, f.held.Account, f.held.Fence, &f.held.until)
	}
	for i := range d.settling {
		o := &d.settling[i]
		add(o.Seq, o.Endpoint, o.Account, o.Fence, &d.promises[i])
	}
	for i := range d.outcomes {
		o := &d.outcomes[i]
		add(o.Seq, o.Endpoint, o.Account, o.Fence, &d.untils[i])
	}
	return list
}

// abandon drops what is queued; the table has it.
func (d *Dispatcher) abandon() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range slices.Clone(d.busy) {
		for l.queue.n > 0 {
			l.queue.pop()
			d.hold(l, -1)
		}
		l.backlog = true
		d.enlist(l)
	}
}
