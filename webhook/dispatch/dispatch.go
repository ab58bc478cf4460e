// Package dispatch sends webhooks: it takes deliveries that a store has
// committed, POSTs each to its endpoint, and says what became of it.
//
// The table is the queue. A delivery is a row before it is sent, and a row
// until its outcome is settled: what this package holds in memory can be lost
// at any moment, and another process (or the next) finds it in the table when
// the claim on it ends. A delivery is thus sent at least once, and a consumer
// may see it twice.
//
// Every endpoint has a lane, with a bound on its attempts in flight that
// shrinks while the endpoint fails and grows while it answers. All attempts
// share one bound on connections, which is divided so that lanes that answer
// promptly never wait for those that do not; see the type Options. Idle lanes
// cost a map entry and no goroutine.
//
// Attempts follow the retry schedule of the spec ("Events", "Payload and
// delivery"). 2xx is delivered. 5xx, 408, 409, 425, 429, a failure to connect
// and silence are retried; any other answer is final, and 410 also disables
// the endpoint. Only https and only public addresses are spoken to, and
// redirects are never followed.
//
// The package knows neither the database, nor what a body looks like, nor how
// it is signed: Queue, Source and Endpoint bring these.
package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/parley-api/parley/event"
)

// A Queue is the table of deliveries. Package queuetest holds its contract.
// All methods are called from several goroutines at once.
//
// A delivery is due when its Due has come. A claim moves Due to the end of the
// claim and sets Fence, so that a claim that nobody extends or settles becomes
// due again by itself.
type Queue interface {
	// Claim leases open deliveries that are due: of each endpoint that is
	// wanted, which are different ones, up to so many, those that have been
	// due longest first. They come back with Fence set and Due at the end of
	// the claim, those of one endpoint in the order of their events. What it
	// returns is claimed by nobody else until then.
	Claim(ctx context.Context, wants []event.Want, lease time.Duration) ([]event.Delivery, error)

	// Due returns the endpoints that have an open delivery that is due, in any
	// order and each once, and when the next of the other deliveries becomes
	// due: zero means never. Parked deliveries are never due.
	Due(ctx context.Context) (endpoints []int64, next time.Time, err error)

	// Settle writes outcomes down: all of them or, with an error, none. An
	// outcome whose fence is not the row's is ignored. A delivery that stays
	// open is claimed by nobody afterwards. One that is to be parked while its
	// endpoint has been enabled again is due at once instead, or it would wait
	// for ever. Settle must be safe to repeat.
	Settle(ctx context.Context, outcomes []event.Outcome) error

	// Extend makes claims last for the lease from now. A delivery (found by
	// Seq and Endpoint) whose fence is not the row's is ignored.
	Extend(ctx context.Context, held []event.Delivery, lease time.Duration) error
}

// A Source knows endpoints and bodies. Its methods are called for every
// attempt, from many goroutines at once, and should be cheap. An error other
// than ErrGone gives the delivery back to the queue for a moment; no attempt
// is counted.
type Source interface {
	// Endpoint returns an endpoint, which neither side changes afterwards.
	// To return the same pointer again saves parsing its URL. The error is
	// ErrGone where the endpoint has been deleted: the delivery is dead.
	Endpoint(ctx context.Context, id int64) (*Endpoint, error)

	// Body returns what is POSTed, the same bytes for every attempt, which
	// nobody changes afterwards. The event may have to be read: d.Event may
	// be nil. The error is ErrGone where there is no event any more: the
	// delivery is dead.
	Body(ctx context.Context, d *event.Delivery) ([]byte, error)
}

// ErrGone is a Source's answer for what does not exist any more.
var ErrGone = errors.New("dispatch: gone")

// An Endpoint is where deliveries go.
type Endpoint struct {
	ID      int64
	URL     string // as CheckURL wants it
	Enabled bool   // false: its deliveries are parked

	// InFlight is how many attempts may be under way at once; 0 means 8.
	InFlight int

	// FailingSince is the time of the first failed attempt since the last
	// that succeeded, in microseconds since 1970 UTC; 0 means none. An
	// attempt that fails five days later or more disables the endpoint.
	FailingSince int64

	// Sign appends the value of the header webhook-signature to dst and
	// returns it. It is called with the delivery's id, the present Unix time
	// and the body, from several goroutines at once.
	Sign func(dst []byte, id string, at int64, body []byte) []byte
}

// Fence returns the number that names this process's claims. Who writes
// deliveries already claimed, after Reserve, writes this fence and a claim
// that ends after Lease.
func (d *Dispatcher) Fence() int64 { return d.o.Fence }

// Lease returns how long a claim lasts unless it is extended.
func (d *Dispatcher) Lease() time.Duration { return d.o.Lease }

// Reserve asks for a place in memory for a delivery that is about to be
// committed. With true, write the delivery claimed by Fence and call Take once
// it is committed, or Release if it was not. With false, write it unclaimed
// and due, and call Wake once it is committed. Reserve never blocks.
func (d *Dispatcher) Reserve(endpoint int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return false
	}
	l := d.lane(endpoint)
	// What comes during a claim may go first: so a lane that is drained faster
	// than it is filled finds its way back from the table.
	if l.backlog && !l.claiming || l.paused != 0 || l.held >= d.allowance(l) || !d.spare(l) {
		l.backlog = true
		return false
	}
	l.reserved++
	d.hold(l, 1)
	return true
}

// Release gives back a place that Reserve gave.
func (d *Dispatcher) Release(endpoint int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.lanes[endpoint]; l != nil && l.reserved > 0 {
		l.reserved--
		d.hold(l, -1)
	}
}

// Take accepts deliveries that have been committed, claimed by Fence for the
// Lease, each after a Reserve. It never blocks and keeps no part of the list.
func (d *Dispatcher) Take(list []event.Delivery) {
	now := d.now()
	until := now + d.o.Lease.Microseconds()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range list {
		l := d.lane(list[i].Endpoint)
		if l.reserved > 0 {
			l.reserved--
		} else {
			d.hold(l, 1)
		}
		d.accept(l, held{list[i], until}, now)
	}
	d.fill()
}

// Wake says that the table has deliveries of this endpoint that are due: they
// were written unclaimed, the endpoint is enabled again, or somebody asked for
// a redelivery. It never blocks. Work that nobody is woken for is found within
// about a second.
func (d *Dispatcher) Wake(endpoint int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wake(endpoint)
	d.fill()
}

// wake wants d.mu, as fill does afterwards.
func (d *Dispatcher) wake(endpoint int64) {
	if d.closing {
		return
	}
	l := d.lane(endpoint)
	l.backlog = true
	l.woken = true
	d.enlist(l)
}

// Lane says where an endpoint stands: its attempts in flight, how many it may
// have at present, and how many deliveries wait for it in memory. Those that
// wait in the table are not counted. An endpoint that is not known to be busy
// has zeros.
func (d *Dispatcher) Lane(endpoint int64) (inFlight, limit, queued int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[endpoint]
	if l == nil {
		return 0, 0, 0
	}
	return l.flying, l.limit, l.queue.n
}

// Stats are the figures of one moment.
type Stats struct {
	Lanes     int // endpoints that are remembered
	InFlight  int // attempts under way
	Queued    int // deliveries that wait in memory
	Unsettled int // outcomes that are not yet in the table
	Failing   int // of InFlight, those of endpoints that do not answer
}

// Stats returns the present figures.
func (d *Dispatcher) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{Lanes: len(d.lanes), Unsettled: len(d.outcomes) + len(d.settling)}
	s.InFlight = len(d.flights)
	for _, f := range d.flights {
		if f.pool == failing {
			s.Failing++
		}
	}
	s.Queued = d.held[0] + d.held[1] - s.InFlight
	return s
}
