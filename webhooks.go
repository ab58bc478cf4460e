package parley

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/internal/delivery"
	"github.com/parley-api/parley/internal/endpoint"
	"github.com/parley-api/parley/internal/eventlog"
	"github.com/parley-api/parley/internal/notice"
	"github.com/parley-api/parley/internal/topic"
	"github.com/parley-api/parley/openapi"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/webhook"
	"github.com/parley-api/parley/webhook/dispatch"
)

// MaxPayload is the size, in bytes, from which on a webhook's body has the
// address of its data in place of the data.
const MaxPayload = 20_000

// webhooks is the back door: it brings the dispatcher together with the store,
// the endpoints and the events.
type webhooks struct {
	app *App

	endpoints, rotations, recoveries *resource.Definition
	topics, receipts, types          *resource.Definition

	log        *eventlog.Room
	fence      int64
	dispatcher atomic.Pointer[dispatch.Dispatcher] // nil until it is composed
	known      sync.Map                            // endpoint → *acquaintance
	epoch      atomic.Pointer[epoch]
	tails      tails

	stop  context.CancelFunc
	life  context.Context
	tasks sync.WaitGroup
	moved chan int64 // endpoints that were changed

	gone chan event.Outcome // that disable their endpoint

	outcomes *prometheus.CounterVec
	lag      prometheus.Histogram
}

// newWebhooks defines the rooms of both sides. What they need of the service is
// there before the first request.
func newWebhooks(a *App) *webhooks {
	w := &webhooks{app: a, moved: make(chan int64, 1024), gone: make(chan event.Outcome, 1024)}
	w.life, w.stop = context.WithCancel(context.Background())
	w.outcomes, w.lag = newOutcomes()
	var b [8]byte
	rand.Read(b[:])
	w.fence = int64(binary.BigEndian.Uint64(b[:])>>1) | 1
	w.endpoints = endpoint.Resource(endpoint.Options{
		Calendar: a.calendar, Now: a.now, Health: w.health,
		CheckURL: func(url string) error { return dispatch.CheckURL(url, a.set.InsecureWebhooks) },
		Pin: func(ctx context.Context, account int64) string {
			if pin, err := a.keyring.pin(ctx, account, a.now()); err == nil && pin != "" {
				return pin
			}
			return a.calendar.Latest(a.now()).Name
		},
	})
	w.rotations = endpoint.Rotations(w.endpoints, a.now)
	w.recoveries = endpoint.Recoveries(w.endpoints, func(id, since int64) (int64, error) {
		return a.store.Recoverable(w.life, id, since)
	}, a.now)
	w.topics = topic.Resource()
	w.receipts = topic.Receipts(w.topics)
	w.types = eventlog.Resource(func(name string) bool { return w.log.BuiltIn(name) })
	return w
}

// definitions are the rooms to be opened.
func (w *webhooks) definitions() []*resource.Definition {
	return []*resource.Definition{w.endpoints, w.rotations, w.recoveries, w.topics, w.receipts, w.types}
}

// fanout tells the store who wants what.
func (w *webhooks) fanout() *store.Fanout {
	return &store.Fanout{Endpoints: w.endpoints.Table(), Read: w.subscription, Changed: w.changed, Taker: w}
}

func (w *webhooks) subscription(row store.Row) (store.Subscription, error) {
	var e endpoint.Endpoint
	if err := w.endpoints.Decode(row.Doc, &e); err != nil {
		return store.Subscription{}, err
	}
	return store.Subscription{Types: e.EventTypes, Version: *e.APIVersion, Enabled: *e.Enabled}, nil
}

// moreTypes are the events about no row of the definitions.
func moreTypes() []eventlog.Type {
	schema := func(members string) string {
		return `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` + members + `},"required":["id"]}`
	}
	id := `"id":{"type":"string","description":"Of the endpoint."}`
	return []eventlog.Type{
		{Name: delivery.Ping, Description: "Somebody tries an endpoint.", Schema: schema(id)},
		{Name: "webhook-endpoint.disabled", Description: "An endpoint was disabled because it failed.", Schema: schema(id + `,"reason":{"type":"string"}`)},
		{Name: notice.Deprecated, Description: "A version that the account uses is deprecated.", Schema: notice.Schema},
		{Name: notice.Retired, Description: "A version that the account used is retired.", Schema: notice.Schema},
	}
}

// compose makes the dispatcher and the rooms around it.
func (w *webhooks) compose(endpoints *resource.Room, own *resource.Room) []*resource.Route {
	a := w.app
	w.log = eventlog.New(a.store, a.rooms, own, moreTypes(), openapi.Snapshot, a.shared)
	w.dispatcher.Store(dispatch.New(a.store.Queue(w.fence), w, &dispatch.Options{
		Schedule: a.set.schedule, Timeout: a.set.DeliveryTimeout, Insecure: a.set.InsecureWebhooks, Lease: store.Lease,
		Fence: w.fence, Now: a.now, Log: a.log, Observe: w.observe,
	}))
	deliveries := delivery.New(a.store, delivery.Sender{
		Endpoints: endpoints, Lane: w.Lane, Envelope: w.envelope, Read: w.subscription,
	}, a.shared)
	receiver := topic.NewReceiver(a.store, w.topics, w.receipts, a.now)
	return append(append(w.log.Routes(), deliveries.Routes()...), receiver.Routes()...)
}

// start begins to send.
func (w *webhooks) start() {
	w.measure()
	w.tasks.Go(func() { w.dispatcher.Load().Run(w.life) })
	w.tasks.Go(w.tidy)
	w.tasks.Go(w.recover)
}

// close stops in good order: what is under way has as long as a delivery may
// take.
func (w *webhooks) close() {
	if d := w.dispatcher.Load(); d != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			w.app.log.Warn("stopping the dispatcher: deliveries in flight will be made again", "error", err)
		}
	}
	w.stop()
	w.tasks.Wait()
}

// The store's writer hands deliveries to the dispatcher through these.

// Reserve implements store.Taker.
func (w *webhooks) Reserve(endpoint int64) bool {
	d := w.dispatcher.Load()
	return d != nil && d.Reserve(endpoint)
}

// Release implements store.Taker.
func (w *webhooks) Release(endpoint int64) { w.dispatcher.Load().Release(endpoint) }

// Take implements store.Taker.
func (w *webhooks) Take(list []event.Delivery) { w.dispatcher.Load().Take(list) }

// Wake implements store.Taker.
func (w *webhooks) Wake(endpoint int64) {
	if d := w.dispatcher.Load(); d != nil {
		d.Wake(endpoint)
	}
}

// Fence implements store.Taker.
func (w *webhooks) Fence() int64 { return w.fence }

// Lane tells how busy the way to an endpoint is.
func (w *webhooks) Lane(endpoint int64) (inFlight, limit, queued int) {
	return w.dispatcher.Load().Lane(endpoint)
}

// An acquaintance is an endpoint as the dispatcher knows it, for a while.
type acquaintance struct {
	endpoint *dispatch.Endpoint
	rev      int64
	keys     time.Time // when other keys sign; zero: never
	epoch    int64     // in which it was read
	until    int64
}

const (
	// acquainted is how long what is known of an endpoint is taken for true, if
	// no endpoint was changed meanwhile: all but since when it fails.
	acquainted = 10 * time.Minute
	// unnoticed is how long a change on another node can go unnoticed.
	unnoticed = time.Second
)

// An epoch is a time in which no endpoint was changed, as far as is known.
type epoch struct {
	number int64
	until  int64 // when to look again
}

// present returns the number of the present epoch.
func (w *webhooks) present(ctx context.Context, now time.Time) (int64, error) {
	if e := w.epoch.Load(); e != nil && now.UnixMicro() < e.until {
		return e.number, nil
	}
	number, err := w.app.store.EndpointEpoch(ctx)
	if err != nil {
		return 0, err
	}
	w.epoch.Store(&epoch{number, now.Add(unnoticed).UnixMicro()})
	return number, nil
}

// Endpoint implements dispatch.Source.
func (w *webhooks) Endpoint(ctx context.Context, id int64) (*dispatch.Endpoint, error) {
	now := w.app.now()
	present, err := w.present(ctx, now)
	if err != nil {
		return nil, err
	}
	if k, ok := w.known.Load(id); ok && k.(*acquaintance).epoch == present && now.UnixMicro() < k.(*acquaintance).until {
		return k.(*acquaintance).endpoint, nil
	}
	row, err := w.app.store.Endpoint(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		w.known.Delete(id)
		return nil, dispatch.ErrGone
	}
	if err != nil {
		return nil, err
	}
	var e endpoint.Endpoint
	if err := w.endpoints.Decode(row.Doc, &e); err != nil {
		return nil, err
	}
	secrets, until, err := e.Secrets(now)
	if err != nil {
		return nil, err
	}
	health, err := w.app.store.Health(ctx, id)
	if err != nil {
		return nil, err
	}
	known := &acquaintance{rev: row.Rev, keys: until, epoch: present, until: now.Add(acquainted).UnixMicro(), endpoint: &dispatch.Endpoint{
		ID: id, URL: e.URL, Enabled: *e.Enabled, InFlight: int(*e.InFlight), FailingSince: health.Failing,
		Sign: func(dst []byte, id string, at int64, body []byte) []byte {
			out, err := webhook.AppendSignatures(dst, secrets, id, at, body)
			if err != nil {
				panic(err) // our own ids can be signed
			}
			return out
		},
	}}
	if !until.IsZero() {
		known.until = min(known.until, until.UnixMicro())
	}
	if k, ok := w.known.Load(id); ok {
		was := k.(*acquaintance)
		if was.rev == known.rev && was.keys.Equal(until) && was.endpoint.FailingSince == known.endpoint.FailingSince {
			known.endpoint = was.endpoint // the same pointer saves the dispatcher work
		}
	}
	w.known.Store(id, known)
	return known.endpoint, nil
}

// changed is told by the writer that an endpoint was made, changed or deleted.
func (w *webhooks) changed(id int64, now *store.Subscription) {
	w.known.Delete(id)
	w.epoch.Store(nil)
	if d := w.dispatcher.Load(); d == nil {
		return
	}
	select {
	case w.moved <- id:
	default: // tidy looks at all of them again from time to time
	}
}

// health is what an endpoint shows of itself.
func (w *webhooks) health(ctx context.Context, row *store.Row) endpoint.Health {
	s := w.app.store
	h, err := s.Health(ctx, row.ID)
	n, oldest, err2 := s.Waiting(ctx, row.ID)
	if err := errors.Join(err, err2); err != nil {
		w.app.log.Warn("reading the health of an endpoint", "endpoint", row.ID, "error", err)
	}
	inFlight, _, _ := w.Lane(row.ID)
	return endpoint.HealthOf(h, n, oldest, inFlight, w.app.now())
}

// Body implements dispatch.Source.
func (w *webhooks) Body(ctx context.Context, d *event.Delivery) ([]byte, error) {
	e := d.Event
	if e == nil {
		read, err := w.app.store.Event(ctx, d.Account, d.Seq)
		if errors.Is(err, store.ErrNotFound) {
			return nil, dispatch.ErrGone
		}
		if err != nil {
			return nil, err
		}
		e = &read
	}
	return w.envelope(nil, e, d.Endpoint, d.Version)
}

// envelope writes an event as an endpoint gets it. All but the id is the same
// for all endpoints of a version, and kept for a while.
func (w *webhooks) envelope(dst []byte, e *event.Event, endpoint int64, version string) ([]byte, error) {
	tail, err := w.tails.get(tailKey{e.Seq, version}, func() ([]byte, error) { return w.tail(e, version) })
	if err != nil {
		return nil, err
	}
	if dst == nil {
		dst = make([]byte, 0, len(tail)+64)
	}
	dst = append(append(dst, `{"webhook-id":"`...), event.DeliveryID(e.Seq, endpoint)...)
	return append(append(dst, `",`...), tail...), nil
}

// tail writes an envelope from its type on. One that would be too large refers
// to its data.
func (w *webhooks) tail(e *event.Event, name string) ([]byte, error) {
	v := w.app.calendar.Find(name)
	if v == nil {
		v = w.app.calendar.Latest(w.app.now())
	}
	tail, err := w.log.Tail(nil, v, e)
	if err != nil {
		return nil, err
	}
	const id = len(`{"webhook-id":"msg_",`) + 26
	if len(tail)+id >= MaxPayload {
		tail = w.log.Reference(nil, e, fmt.Sprintf("%s/events/%s?version=%s", w.app.set.BaseURL, e.ID(), v.Name))
	}
	return tail, nil
}

// tails keeps envelopes while their event is delivered to one endpoint after
// another.
type tails struct {
	mu  sync.Mutex
	of  map[tailKey][]byte
	was map[tailKey][]byte // those before
	n   int                // bytes in of
}

type tailKey struct {
	seq     int64
	version string
}

const maxTails = 4 << 20

func (t *tails) get(key tailKey, render func() ([]byte, error)) ([]byte, error) {
	t.mu.Lock()
	tail, ok := t.of[key]
	if !ok {
		tail, ok = t.was[key]
	}
	t.mu.Unlock()
	if ok {
		return tail, nil
	}
	tail, err := render()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil || t.n > maxTails {
		t.was, t.of, t.n = t.of, make(map[tailKey][]byte), 0
	}
	t.of[key] = tail
	t.n += len(tail)
	return tail, nil
}
