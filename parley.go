// Package parley composes a whole service out of resource definitions: the
// hall that every request walks through, the rooms, and the surface around
// them. One call gives an [http.Handler]:
//
//	app, err := parley.New(ctx, parley.Config{}, note.Resource)
//	if err != nil { … }
//	defer app.Close()
//	http.ListenAndServe(app.Addr(), app)
//
// Accounts, API keys, events, versions, problem pages, OpenAPI and the health
// of the service come with it. The conventions themselves are packages of
// their own and can be used without this one.
package parley

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/idempotency"
	"github.com/parley-api/parley/internal/account"
	"github.com/parley-api/parley/internal/apikey"
	"github.com/parley-api/parley/internal/notice"
	"github.com/parley-api/parley/internal/usage"
	"github.com/parley-api/parley/negotiate"
	"github.com/parley-api/parley/ratelimit"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/route"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// An App is a running service. Make one with New; it is safe for concurrent
// use.
type App struct {
	set      *settings
	log      *slog.Logger
	now      func() time.Time
	calendar *version.Calendar
	store    *store.Store
	blobs    blob.Store
	stop     func()         // ends the work in the background
	work     sync.WaitGroup // of the background

	rooms    []*resource.Room
	routes   route.Table[*passage]
	offers   []*negotiate.Offers // of JSON, by version
	identify func(*visit) (Identity, error)
	keyring  *keyring
	limiter  *ratelimit.Limiter
	flights  idempotency.Flights
	metrics  *metrics
	ledger   *usage.Ledger // of versions
	uses     *usage.Room
	herald   *notice.Herald
	requests requestIDs
	shared   resource.Options // of every room
	webhooks *webhooks
	closing  sync.Once
}

// A passage is a route with what the hall keeps beside it.
type passage struct {
	*resource.Route
	traffic   *traffic
	operation int // its number in the ledger
}

// New opens the database, brings it up to date and composes the service. The
// definitions are the caller's own; accounts, keys and events are added. It
// panics where two definitions claim one path. A wrong configuration is a
// [SettingError]. Close the App when done.
func New(ctx context.Context, cfg Config, definitions ...*resource.Definition) (*App, error) {
	set, err := cfg.settle()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(set.Data, 0o700); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	a := &App{set: set, log: set.Log, now: set.Now, calendar: set.calendar}
	a.limiter = ratelimit.New(set.policy, &ratelimit.Options{Now: set.Now})
	a.requests.seed()
	a.webhooks = newWebhooks(a)
	accounts := account.Resource(a.calendar)
	keys := apikey.Resource(scopes(definitions))
	all := append([]*resource.Definition{accounts, keys}, definitions...)
	all = append(all, a.webhooks.definitions()...)
	tables := make([]*store.Table, len(all))
	for i, d := range all {
		tables[i] = d.Table()
	}
	told := notice.NewTable()
	tables = append(tables, told)
	if a.store, err = store.Open(ctx, set.dsn, &store.Options{Now: set.Now, Log: set.Log, Fanout: a.webhooks.fanout()}, tables...); err != nil {
		return nil, err
	}
	if a.blobs, err = openBlobs(ctx, set, definitions); err != nil {
		a.store.Close()
		return nil, err
	}
	if err := a.compose(ctx, all, accounts, keys); err != nil {
		a.store.Close()
		return nil, err
	}
	a.watch(accounts, told)
	life, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.work.Go(func() { a.sweep(life) })
	return a, nil
}

// compose opens the rooms and fills the table of routes.
func (a *App) compose(ctx context.Context, all []*resource.Definition, accounts, keys *resource.Definition) error {
	sealing, err := newCursorKeys(ctx, a.store, a.now)
	if err != nil {
		return fmt.Errorf("reading the cursor keys: %w", err)
	}
	a.shared = resource.Options{
		Store: a.store, Calendar: a.calendar, Keys: sealing.of, Limits: a.set.limits,
		RFC: a.set.Profile == "rfc", Now: a.now, Blobs: a.blobs, Vendors: a.vendors(),
	}
	if a.set.MaxAccountBytes > 0 && a.set.Rows == nil {
		a.shared.Quota = a.quota
	}
	for _, d := range all {
		o := a.shared
		if a.set.Rows != nil && !d.System() && !slices.Contains(a.webhooks.definitions(), d) {
			o.Store = a.set.Rows
		}
		a.rooms = append(a.rooms, d.Open(o))
	}
	a.keyring = newKeyring(a.store, accounts, keys, a.calendar, a.now)
	a.identify = a.keyring.identify
	if custom := a.set.Identify; custom != nil {
		a.identify = func(v *visit) (Identity, error) { return custom(v.call.R) }
	}
	if err := a.keyring.bootstrap(ctx, a.set.AdminKey); err != nil {
		return fmt.Errorf("preparing the admin key: %w", err)
	}
	for _, v := range a.calendar.Versions() {
		types := []string{resource.TypeJSON}
		if v.Major >= 0 {
			types = append(types, vendorType(v))
		}
		a.offers = append(a.offers, negotiate.New(types...))
	}
	a.ledger = usage.NewLedger(a.store, a.calendar, a.log)
	a.uses = usage.NewRoom(a.ledger, a.store, accounts, a.shared)
	if err := a.surface(a.webhooks.compose(a.room(a.webhooks.endpoints), a.room(a.webhooks.types))); err != nil {
		return err
	}
	a.webhooks.start()
	return nil
}

// room returns the room of a definition.
func (a *App) room(d *resource.Definition) *resource.Room {
	for _, rm := range a.rooms {
		if rm.Definition == d {
			return rm
		}
	}
	return nil
}

// vendorType is the media type that names a version which has a number.
func vendorType(v *version.Version) string {
	return fmt.Sprintf("application/vnd.parley.v%d+json", v.Major)
}

// scopes lists what a key can carry.
func scopes(definitions []*resource.Definition) []string {
	all := []string{"admin", "events:read", "events:write", "webhook-endpoints:read", "webhook-endpoints:write", "webhook-topics:read", "webhook-topics:write"}
	for _, d := range definitions {
		if !d.System() {
			all = append(all, d.Plural()+":read", d.Plural()+":write")
		}
	}
	return all
}

// Addr is the address to listen on, as configured.
func (a *App) Addr() string { return a.set.Addr }

// BaseURL is where clients reach the service.
func (a *App) BaseURL() string { return a.set.BaseURL }

// FirstKey returns the admin key that New generated, or "" where one exists
// already. It is the only time it can be seen.
func (a *App) FirstKey() string { return a.keyring.first }

// Store returns the service's store, for programs that need more than HTTP.
func (a *App) Store() *store.Store { return a.store }

// Close finishes what is in flight and closes the database. Stop serving
// requests before. A second Close does nothing.
func (a *App) Close() error {
	a.closing.Do(func() {
		a.herald.Close()
		a.stop()
		a.work.Wait()
		a.webhooks.close()
		a.keyring.close()
		a.ledger.Close()
		a.closeBlobs()
	})
	return a.store.Close()
}

// etagOf names content that does not change while the service runs.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return fmt.Sprintf(`"%x"`, sum[:12])
}

// isSystem reports whether a path belongs to who may do what.
func isSystem(pattern string) bool {
	return strings.HasPrefix(pattern, "/api-keys") || strings.HasPrefix(pattern, "/accounts")
}
