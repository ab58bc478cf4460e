package dispatch_test

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
	"github.com/parley-api/parley/webhook/dispatch/queuetest"
)

// A book is a source whose endpoints tests write.
type book struct {
	mu        sync.Mutex
	endpoints map[int64]*dispatch.Endpoint
	fail      error // of Endpoint, where set
	bodies    error // of Body, where set
}

func (b *book) set(e dispatch.Endpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Sign == nil {
		e.Sign = sign
	}
	b.endpoints[e.ID] = &e
}

func sign(dst []byte, id string, at int64, body []byte) []byte {
	dst = append(dst, "v1,"...)
	return strconv.AppendInt(dst, at, 10)
}

func (b *book) Endpoint(_ context.Context, id int64) (*dispatch.Endpoint, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return nil, b.fail
	}
	if e := b.endpoints[id]; e != nil {
		return e, nil
	}
	return nil, dispatch.ErrGone
}

func (b *book) Body(_ context.Context, d *event.Delivery) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return []byte(`{"webhook-id":"` + d.ID() + `"}`), b.bodies
}

// A rig is a dispatcher over a table in memory.
type rig struct {
	testing.TB
	table *queuetest.Memory
	book  *book
	d     *dispatch.Dispatcher
	o     dispatch.Options
	kill  context.CancelFunc
	ended chan struct{}
	queue func(dispatch.Queue) dispatch.Queue // wraps the table's, where set
}

// newRig returns a rig whose dispatcher does not run yet.
func newRig(t testing.TB, o *dispatch.Options) *rig {
	r := &rig{TB: t, table: queuetest.NewMemory(nil), book: &book{endpoints: make(map[int64]*dispatch.Endpoint)}, kill: func() {}}
	if o != nil {
		r.o = *o
	}
	if r.o.Log == nil {
		r.o.Log = slog.New(slog.DiscardHandler)
	}
	return r
}

// run starts a dispatcher, as a process starts.
func (r *rig) run() *rig {
	o := r.o
	if o.Fence == 0 {
		o.Fence = time.Now().UnixNano() | 1
	}
	q := r.table.Queue(o.Fence)
	if r.queue != nil {
		q = r.queue(q)
	}
	d := dispatch.New(q, r.book, &o)
	r.d = d
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		d.Run(ctx)
		close(ended)
	}()
	r.kill = func() {
		cancel()
		<-ended
	}
	r.ended = ended
	return r
}

// commit writes deliveries of an event to endpoints as a store does.
func (r *rig) commit(seq int64, endpoints ...int64) {
	now := time.Now().UnixMicro()
	var taken []event.Delivery
	for _, id := range endpoints {
		d := event.Delivery{Seq: seq, Endpoint: id, Account: 1, Born: now, Due: now}
		if r.d.Reserve(id) {
			d.Fence, d.Due = r.d.Fence(), now+r.d.Lease().Microseconds()
			r.table.Insert(d)
			taken = append(taken, d)
			continue
		}
		r.table.Insert(d)
		r.d.Wake(id)
	}
	r.d.Take(taken)
}

// wait polls until the row has a state.
func (r *rig) wait(seq, endpoint int64, want event.State) queuetest.Row {
	r.Helper()
	for range 2000 {
		if row, ok := r.table.Row(seq, endpoint); ok && row.State == want {
			return row
		}
		time.Sleep(10 * time.Millisecond)
	}
	row, _ := r.table.Row(seq, endpoint)
	r.Fatalf("delivery %d of %d: got %v, want %v (%+v)", seq, endpoint, row.State, want, row)
	return row
}

func (r *rig) close() {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.d.Close(ctx); err != nil {
		r.Errorf("Close: %v", err)
	}
	<-r.ended
}

// A pipenet is a network in memory, which a bubble of synctest can hold. Every
// host is a server there.
type pipenet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipenet(h http.Handler) *pipenet {
	p := &pipenet{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h}
	go server.Serve(p)
	return p
}

func (p *pipenet) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipenet) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipenet) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipenet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, errors.New("closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answers is a resolver with one answer for every host.
type answers []netip.Addr

func (a answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) { return a, nil }

var public = answers{netip.MustParseAddr("93.184.215.14")}

var quiet = log.New(io.Discard, "", 0)
