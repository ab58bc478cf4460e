package dispatch

import (
	"runtime"
	"time"

	"github.com/parley-api/parley/event"
)

// A flight is an attempt under way, which has a place among the connections.
type flight struct {
	lane    *lane
	held    held
	pool    class // whose connections it counts in
	late    bool
	started int64
	index   int       // in Dispatcher.flights
	young   time.Time // when it began, while it counts as young; or zero
}

// An attempt for a prompt lane is young for a while after it began: until then
// it may well be work for the processor, later it waits for an answer. There
// are no more young ones than keep the processors busy. More would not be
// sooner done, and whatever else the process does would stand in line behind
// them. So those who answer at once have few attempts in flight.
//
// Those who take their time could have more, without a line: while there is
// none, the bound grows until nobody has to wait for it.
const (
	youth     = 10 * time.Millisecond
	youngPerP = 16                   // for each processor, at least
	ageEvery  = time.Millisecond     // between two looks at who is young no longer
	probeWait = 4 * time.Millisecond // until the bound is looked at, where some wait for it
	noLine    = time.Millisecond     // a turn that comes so soon: the bound may grow
	longLine  = 3 * time.Millisecond // a turn that comes so late: it must shrink
)

// youngLeast is the least bound on young attempts.
func youngLeast() int { return youngPerP * runtime.GOMAXPROCS(0) }

// crowded reports whether there are as many young attempts as there may be. If
// so, fill is called in time. It wants d.mu.
func (d *Dispatcher) crowded() bool {
	if d.young < d.most {
		return false
	}
	if now := time.Now(); now.Sub(d.aged) >= ageEvery {
		d.aged = now
		for _, f := range d.flights {
			if !f.young.IsZero() && now.Sub(f.young) >= youth {
				d.mature(f)
			}
		}
	}
	if d.young < d.most {
		return false
	}
	if !d.probing {
		d.probing = true
		time.AfterFunc(probeWait, d.probe)
	}
	return true
}

// probe looks how long goroutines wait for their turn, and moves the bound.
func (d *Dispatcher) probe() {
	line := d.line.read()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probing = false
	d.bound(line)
	d.fill()
}

// bound moves the bound on young attempts.
func (d *Dispatcher) bound(line time.Duration) {
	switch {
	case line <= noLine:
		d.most = min(d.most+d.most/4, d.o.Connections)
	case line >= longLine:
		d.most = max(d.most-d.most/4, youngLeast())
	}
}

// calmDown lets the bound shrink while nobody waits for it, so that it is not
// too large when there is much to do at once. It wants d.mu.
func (d *Dispatcher) calmDown() {
	if !d.probing {
		d.most = max(d.most-d.most/8, youngLeast())
	}
}

// mature counts a flight as young no longer.
func (d *Dispatcher) mature(f *flight) {
	if !f.young.IsZero() {
		f.young = time.Time{}
		d.young--
	}
}

// own is the part of the connections that is kept for a class.
func (d *Dispatcher) own(c class) int {
	if c == prompt {
		return max(1, d.o.Connections/4)
	}
	return max(1, d.o.Connections/8)
}

// places is how many more connections a class may use: so many that the others
// could still have their own parts. Attempts that have left the prompt ones
// because they take long may fill the parts of others, but never exceed the
// bound on all.
func (d *Dispatcher) places(c class) int {
	left := d.o.Connections - len(d.flights)
	free := left
	for other := range classes {
		if other != c {
			free -= max(0, d.own(other)-d.using[other])
		}
	}
	return max(free, min(left, d.own(c)-d.using[c]))
}

// fill begins all that can be begun. It wants d.mu.
func (d *Dispatcher) fill() {
	for f := d.pick(); f != nil; f = d.pick() {
		go d.fly(f)
	}
	d.fetch()
}

// pick takes a place for the next flight, the lanes of each class taking
// turns; nil means there is none, or no place. It wants d.mu.
func (d *Dispatcher) pick() *flight {
	if !d.running || d.closing || d.stalled {
		return nil
	}
	for c := range classes {
		if d.ready[c].n == 0 || d.places(c) <= 0 || !d.paced(c) || c == prompt && d.crowded() {
			continue
		}
		for r := &d.ready[c]; r.n > 0; {
			l := r.pop()
			if l.listed != c {
				continue
			}
			l.listed = classes
			if f := d.board(l); f != nil {
				d.enlist(l)
				return f
			}
		}
	}
	return nil
}

// board makes the lane's next flight; nil means it has none.
func (d *Dispatcher) board(l *lane) *flight {
	if l.flying >= l.limit || l.paused != 0 {
		return nil
	}
	now := d.now()
	for l.queue.n > 0 {
		h := l.queue.pop()
		if h.until <= now { // somebody else may have it by now
			d.hold(l, -1)
			l.backlog = true
			continue
		}
		f := d.launch(l, now)
		f.held = h
		l.flying++
		return f
	}
	return nil
}

func (d *Dispatcher) launch(l *lane, now int64) *flight {
	var f *flight
	if n := len(d.spareFly); n > 0 {
		f, d.spareFly = d.spareFly[n-1], d.spareFly[:n-1]
	} else {
		f = new(flight)
	}
	*f = flight{lane: l, pool: l.class, started: now, index: len(d.flights)}
	if f.pool == prompt {
		f.young = time.Now()
		d.young++
	}
	d.flights = append(d.flights, f)
	d.using[f.pool]++
	return f
}

// land frees a flight's place. It wants d.mu.
func (d *Dispatcher) land(f *flight) {
	last := len(d.flights) - 1
	d.flights[f.index] = d.flights[last]
	d.flights[f.index].index = f.index
	d.flights[last] = nil
	d.flights = d.flights[:last]
	d.using[f.pool]--
	d.mature(f)
	if f.late {
		f.lane.late--
	}
	f.lane.idle = d.now()
	*f = flight{}
	if len(d.spareFly) < 256 {
		d.spareFly = append(d.spareFly, f)
	}
	if d.closing {
		poke(d.calm)
	}
}

// fly runs a flight and goes on with others while there are any.
func (d *Dispatcher) fly(f *flight) {
	for f != nil {
		f = d.send(f)
	}
}

// turn ends a flight and takes the next. It wants d.mu.
func (d *Dispatcher) turn(f *flight, l *lane) *flight {
	d.land(f)
	d.enlist(l)
	next := d.pick()
	d.fill()
	return next
}

// send makes one attempt and hands its outcome to be settled.
func (d *Dispatcher) send(f *flight) *flight {
	l, h := f.lane, &f.held
	o, r := d.attempt(l, h, f.pool == fresh)
	if r.requeue {
		return d.requeue(f)
	}
	if d.o.Observe != nil {
		d.o.Observe(&h.Delivery, o)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l.flying--
	d.hold(l, -1)
	if f.late { // it is over: what it says comes before what it was
		l.late--
		f.late = false
	}
	d.learn(l, &r)
	d.settle(l, o, h.until)
	now := d.now()
	switch {
	case o.Due == event.Parked:
		d.drain(l, 0, now, event.Parked, o.Reason)
		l.backlog = false
	case o.Disable != "": // until the source knows
		d.pause(l, now, now+2*second, "endpoint disabled")
	case r.paused > now:
		d.pause(l, now, r.paused, r.why)
	case l.class == failing:
		d.drain(l, d.allowance(l), now, now, "")
	}
	return d.turn(f, l)
}

// requeue puts a delivery back in its lane, which is failing.
func (d *Dispatcher) requeue(f *flight) *flight {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := f.lane
	l.flying--
	d.classify(l, failing)
	l.strikes = strikesToFail
	d.accept(l, f.held, d.now())
	return d.turn(f, l)
}

// overdue moves attempts that have outlasted the patience out of the prompt
// pool. It wants d.mu.
func (d *Dispatcher) overdue(now int64) {
	limit := now - d.o.Patience.Microseconds()
	for _, f := range d.flights {
		if f.late || f.started > limit {
			continue
		}
		f.late = true
		f.lane.late++
		if f.pool == prompt {
			d.using[prompt]--
			f.pool = slow
			d.using[slow]++
		}
		if f.lane.class == prompt {
			d.classify(f.lane, slow)
		}
	}
}
