package dispatch

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"log/slog"
	mrand "math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
)

// Options change how a Dispatcher works. The zero value of every field means
// its default.
type Options struct {
	// Schedule holds the delays before each attempt: the first after the
	// delivery was written, the others after the failure before. Its length
	// is the number of attempts. Defaults to 0s, 5m, 30m, 2h, 24h.
	Schedule []time.Duration

	// Timeout is for one attempt from its beginning to the end of the
	// response's body. Defaults to 15 seconds.
	Timeout time.Duration

	// Connections bounds the attempts under way at once. A quarter of it is
	// kept for endpoints that answer promptly, an eighth each for those that
	// answer slowly, those not yet known, and those that do not answer; the
	// rest is for whoever comes first. At most half as many idle connections
	// are kept for later, and each is an open file. Defaults to 2048.
	Connections int

	// Patience is how soon a prompt endpoint answers. An attempt that takes
	// longer gives its place among the prompt ones free while it goes on.
	// Defaults to 1 second.
	Patience time.Duration

	// Lane is how many deliveries of one endpoint are held in memory at most;
	// of an endpoint that is not known to be prompt, far fewer. Defaults to
	// 1024.
	Lane int

	// Memory is how many deliveries are held in memory at most, of which
	// endpoints that are not prompt have half. What is more waits in the
	// table. Defaults to 16384.
	Memory int

	// Lease is how long a claim lasts; it is extended at a third of it.
	// Defaults to 30 seconds.
	Lease time.Duration

	// Insecure allows http, and loopback and private addresses. It is for
	// development: whoever can register an endpoint can then reach what this
	// machine can reach.
	Insecure bool

	// Fence names the claims of this process and must be its alone. Defaults
	// to a random number.
	Fence int64

	// Agent is the User-Agent. Defaults to Parley-Webhooks/1.
	Agent string

	// Roots are the authorities that certificates are checked by. Defaults to
	// those of the system.
	Roots *x509.CertPool

	// Resolver finds addresses. Defaults to the system's.
	Resolver Resolver

	// Dial connects to an address that has passed the guard, written as
	// address and port. Defaults to a net.Dialer that checks it once more.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Jitter returns how much later than its delay an attempt is made.
	// Defaults to a random part of up to 5 percent, which leaves the other
	// half of the 10 percent that are allowed for waiting in the lane.
	Jitter func(delay time.Duration) time.Duration

	// Observe is told what became of every delivery that was to be sent,
	// before it is settled, with the delivery as it was before. It must be
	// quick, safe for use by several goroutines, and keep and change neither.
	// Defaults to nothing.
	Observe func(d *event.Delivery, o *event.Outcome)

	// Log is told when the queue or the source fails. No secret, signature or
	// body is ever logged. Defaults to slog.Default.
	Log *slog.Logger

	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// A Resolver finds the addresses of a host. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// fill sets what is zero.
func (o *Options) fill() {
	if len(o.Schedule) == 0 {
		o.Schedule = []time.Duration{0, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 24 * time.Hour}
	}
	byDefault(&o.Timeout, 15*time.Second)
	byDefault(&o.Connections, 2048)
	byDefault(&o.Patience, time.Second)
	byDefault(&o.Lane, 1024)
	byDefault(&o.Memory, 16384)
	byDefault(&o.Lease, 30*time.Second)
	byDefault(&o.Agent, "Parley-Webhooks/1")
	if o.Fence == 0 {
		var b [8]byte
		rand.Read(b[:])
		o.Fence = int64(binary.BigEndian.Uint64(b[:])>>1) | 1
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Jitter == nil {
		o.Jitter = func(delay time.Duration) time.Duration { return time.Duration(mrand.Int64N(int64(delay)/20 + 1)) }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

func byDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// A Dispatcher sends deliveries. Its methods are safe for concurrent use.
type Dispatcher struct {
	o      Options
	queue  Queue
	source Source
	client *client

	mu       sync.Mutex
	running  bool // Run was called
	closing  bool // Close was called, or Run has ended
	stalled  bool // the queue does not take outcomes: nothing new is begun
	lanes    map[int64]*lane
	ready    [classes]ring[*lane] // lanes that could begin an attempt
	wanting  [classes]ring[*lane] // lanes that could have more from the table
	claiming [classes]int         // claims under way
	pace     time.Time            // up to when attempts of unknown and failing lanes are counted
	pacing   bool                 // fill will be called for them
	young    int                  // attempts that have only just begun
	most     int                  // how many of them there may be
	aged     time.Time            // when they were last looked at
	probing  bool                 // fill will be called for those that wait for them
	line     line                 // guarded by probing
	begun    [classes]time.Time   // when the last claim began
	resting  bool                 // fetch will be called for them
	flights  []*flight            // what is under way
	spareFly []*flight            // to be used again
	using    [classes]int         // flights by the pool that they count in
	busy     []*lane              // lanes that hold deliveries
	paused   []*lane              // lanes that wait for a time
	held     [2]int               // deliveries in memory: of prompt lanes, of others
	outcomes []event.Outcome      // to be settled
	untils   []int64              // the ends of their claims
	urgent   bool                 // some of them are of prompt lanes
	settling []event.Outcome      // what Settle is being called with
	promises []int64              // the ends of their claims
	hint     int64                // when a retry of ours becomes due; 0: none

	kick   chan struct{} // there are outcomes
	swept  chan struct{} // hint has changed
	calm   chan struct{} // something was settled or landed while closing
	stop   context.CancelFunc
	base   context.Context // of every attempt and every call of the queue
	ended  chan struct{}   // Run has returned
	cutoff context.CancelFunc
	flying context.Context // of attempts alone
}

// New returns a dispatcher. Nothing is sent until Run is called. A nil
// *Options means the defaults.
func New(q Queue, s Source, o *Options) *Dispatcher {
	d := &Dispatcher{
		most:  youngLeast(),
		queue: q, source: s,
		lanes: make(map[int64]*lane),
		kick:  make(chan struct{}, 1),
		swept: make(chan struct{}, 1),
		calm:  make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	if o != nil {
		d.o = *o
	}
	d.o.fill()
	d.client = newClient(&d.o)
	d.base, d.stop = context.WithCancel(context.Background())
	d.flying, d.cutoff = context.WithCancel(d.base)
	return d
}

// now is the time in microseconds since 1970 UTC.
func (d *Dispatcher) now() int64 { return d.o.Now().UnixMicro() }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
