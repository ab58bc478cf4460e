package dispatch

import (
	"sync/atomic"
	"time"

	"github.com/parley-api/parley/event"
)

// A class says how an endpoint has answered lately, and so which part of the
// connections its lane may use.
type class uint8

const (
	prompt  class = iota // its last answer came within the patience
	slow                 // it answers, late or not always
	fresh                // nothing is known yet
	failing              // it does not answer
	classes
)

const (
	defaultInFlight = 8
	strikesToFail   = 2 // unanswered attempts in a row that make a lane failing
	forgetAfter     = 15 * time.Minute
)

// A held delivery is one that this process has claimed.
type held struct {
	event.Delivery
	until int64 // the end of the claim by our own clock, in microseconds
}

// A lane is what is remembered of an endpoint. All of it is guarded by
// Dispatcher.mu.
type lane struct {
	id       int64
	class    class
	full     int // the endpoint's bound on attempts in flight
	limit    int // the present bound, 1 to full
	strikes  int // unanswered attempts in a row
	queue    ring[held]
	reserved int // places promised to deliveries about to be committed
	flying   int // attempts under way
	late     int // of these, those that have outlasted the patience
	held     int // reserved + queued + flying
	slot     int // in Dispatcher.busy

	backlog  bool // the table has or may have more that is due
	claiming bool
	fetched  int   // what the claim has brought
	woken    bool  // there was news of a backlog during the claim
	listed   class // the list of ready lanes that it stands in; classes: none
	wanting  class // the list of lanes that want a claim; classes: none
	paused   int64 // when it may go on, in microseconds; 0: it is not paused
	idle     int64 // when it was last used

	target atomic.Pointer[target] // where the last attempt went
}

// lane returns the lane of an endpoint, new if need be.
func (d *Dispatcher) lane(endpoint int64) *lane {
	l := d.lanes[endpoint]
	if l == nil {
		l = &lane{id: endpoint, class: fresh, full: defaultInFlight, limit: 1, listed: classes, wanting: classes, idle: d.now()}
		d.lanes[endpoint] = l
	}
	return l
}

// allowance is how many deliveries a lane may hold in memory.
func (d *Dispatcher) allowance(l *lane) int {
	switch l.class {
	case prompt:
		return d.o.Lane
	case slow:
		return min(d.o.Lane, 4*l.full)
	case fresh:
		return min(d.o.Lane, 4)
	}
	return 1
}

// spare reports whether memory has a place for one more delivery of a lane.
func (d *Dispatcher) spare(l *lane) bool {
	if l.class != prompt && d.held[1] >= d.o.Memory/2 {
		return false
	}
	return d.held[0]+d.held[1] < d.o.Memory
}

func (c class) bucket() int { return int(min(c, 1)) }

// hold counts deliveries that come into memory or leave it.
func (d *Dispatcher) hold(l *lane, n int) {
	if l.held == 0 && n > 0 {
		l.slot = len(d.busy)
		d.busy = append(d.busy, l)
	}
	l.held += n
	d.held[l.class.bucket()] += n
	if l.held == 0 && n < 0 {
		last := len(d.busy) - 1
		d.busy[l.slot] = d.busy[last]
		d.busy[l.slot].slot = l.slot
		d.busy[last] = nil
		d.busy = d.busy[:last]
		if d.closing {
			poke(d.calm)
		}
	}
}

func (d *Dispatcher) classify(l *lane, c class) {
	d.held[l.class.bucket()] -= l.held
	d.held[c.bucket()] += l.held
	if l.class = c; l.listed != classes && l.listed != c {
		l.listed = c // pick passes over the entry in the old list
		d.ready[c].push(l)
	}
	if l.wanting != classes && l.wanting != c {
		l.wanting = c
		d.wanting[c].push(l)
	}
}

// accept queues a delivery that is counted already.
func (d *Dispatcher) accept(l *lane, h held, now int64) {
	if d.closing || l.paused != 0 {
		d.giveBack(l, h, max(now, l.paused), "")
		return
	}
	l.queue.push(h)
	d.enlist(l)
}

// giveBack returns a delivery to the table without an attempt.
func (d *Dispatcher) giveBack(l *lane, h held, due int64, reason string) {
	d.hold(l, -1)
	d.settle(l, &event.Outcome{
		Seq: h.Seq, Endpoint: h.Endpoint, Account: h.Account, Fence: h.Fence,
		State: h.State, Due: due, Reason: reason,
	}, h.until)
}

// drain gives back what is queued beyond the first keep.
func (d *Dispatcher) drain(l *lane, keep int, now, due int64, reason string) {
	for range l.queue.n {
		h := l.queue.pop()
		if keep--; keep >= 0 {
			l.queue.push(h)
			continue
		}
		d.giveBack(l, h, due, reason)
		l.backlog = l.backlog || due <= now
	}
}

// wantsClaim reports whether a lane should fetch from the table.
func (l *lane) wantsClaim() bool {
	return l.backlog && !l.claiming && l.queue.n <= l.limit/2
}

// enlist puts a lane among those that could begin something.
func (d *Dispatcher) enlist(l *lane) {
	if l.paused != 0 || d.closing || l.flying >= l.limit {
		return
	}
	if l.queue.n > 0 && l.listed == classes {
		l.listed = l.class
		d.ready[l.class].push(l)
	}
	if l.wanting == classes && l.wantsClaim() {
		l.wanting = l.class
		d.wanting[l.class].push(l)
	}
}

// pause keeps a lane from beginning anything until a time, and gives back what
// it has queued.
func (d *Dispatcher) pause(l *lane, now, until int64, reason string) {
	if until <= l.paused || until <= now {
		return
	}
	if l.paused == 0 {
		d.paused = append(d.paused, l)
	}
	l.paused = until
	d.drain(l, 0, now, until, reason)
}

// resume lets lanes go on whose time has come.
func (d *Dispatcher) resume(now int64) {
	rest := d.paused[:0]
	for _, l := range d.paused {
		if l.paused > now {
			rest = append(rest, l)
			continue
		}
		l.paused = 0
		l.backlog = true
		d.enlist(l)
	}
	clear(d.paused[len(rest):])
	d.paused = rest
}

// A report is what an attempt says about its endpoint.
type report struct {
	none      bool // there was no attempt
	requeue   bool // the endpoint is known to fail: there will be one later
	answered  bool // a response came in time
	delivered bool
	final     bool  // the answer was about the message, not the endpoint
	full      int   // the endpoint's bound on attempts in flight
	took      int64 // microseconds
	paused    int64 // the endpoint asked for silence until then
	why       string
}

// learn changes a lane's class and bound by what an attempt has shown.
func (d *Dispatcher) learn(l *lane, r *report) {
	if r.full > 0 {
		l.full = r.full
		l.limit = min(l.limit, l.full)
	}
	switch {
	case r.none:
		return
	case r.answered:
		l.strikes = 0
		if r.took <= d.o.Patience.Microseconds() && l.late == 0 {
			d.classify(l, prompt)
		} else {
			d.classify(l, slow)
		}
		if r.delivered {
			l.limit = min(l.full, 2*l.limit)
		} else if !r.final {
			l.limit = max(1, l.limit/2)
		}
	default:
		l.strikes++
		l.limit = max(1, l.limit/2)
		if l.strikes >= strikesToFail || l.class == fresh {
			l.limit = 1
			d.classify(l, failing)
		} else if l.class == prompt {
			d.classify(l, slow)
		}
	}
}

// forget drops lanes that have had nothing to do for long. It looks at some of
// them each time.
func (d *Dispatcher) forget(now int64) {
	looked := 0
	for id, l := range d.lanes {
		if looked++; looked > 500 {
			return
		}
		if l.held == 0 && !l.backlog && !l.claiming && l.listed == classes && l.wanting == classes && l.paused == 0 && now-l.idle > forgetAfter.Microseconds() {
			delete(d.lanes, id)
		}
	}
}
