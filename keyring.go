package parley

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-api/parley/internal/account"
	"github.com/parley-api/parley/internal/apikey"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// keyTTL is how long a key is believed without asking the database: a key
// revoked on another node works no longer than this.
const keyTTL = 4 * time.Second

// maxKeys bounds the cache; past it the cache starts anew.
const maxKeys = 100_000

// A keyring knows who holds which key. It is safe for concurrent use.
type keyring struct {
	store          *store.Store
	accounts, keys *resource.Definition
	calendar       *version.Calendar
	now            func() time.Time
	first          string // the admin key, where it was made just now

	mu    sync.RWMutex
	known map[[32]byte]*holder

	uses  sync.Map // key id → microseconds of its last use
	stop  context.CancelFunc
	ended chan struct{}
}

// A holder is a key as it was when the database was last asked.
type holder struct {
	Identity
	key   int64
	until time.Time
}

func newKeyring(s *store.Store, accounts, keys *resource.Definition, c *version.Calendar, now func() time.Time) *keyring {
	ctx, stop := context.WithCancel(context.Background())
	k := &keyring{
		store: s, accounts: accounts, keys: keys, calendar: c, now: now,
		known: make(map[[32]byte]*holder), stop: stop, ended: make(chan struct{}),
	}
	go k.note(ctx)
	return k
}

var unauthorized = problem.Unauthorized.New("Send a valid API key as Authorization: Bearer <key>.").Set("WWW-Authenticate", "Bearer")

// identify finds the holder of the request's key. The error is Unauthorized,
// or that of a database that does not answer.
func (k *keyring) identify(v *visit) (Identity, error) {
	key, ok := bearer(v.call.R.Header["Authorization"])
	if !ok {
		return Identity{}, unauthorized
	}
	sum := sha256.Sum256([]byte(key))
	k.mu.RLock()
	h := k.known[sum]
	k.mu.RUnlock()
	if h == nil || v.start.After(h.until) {
		var err error
		if h, err = k.look(v.call.Context(), sum, v.start); err != nil {
			return Identity{}, err
		}
		k.uses.Store(h.key, v.start.UnixMicro())
	}
	return h.Identity, nil
}

// bearer takes the key out of the header: RFC 6750, section 2.1.
func bearer(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, key, ok := strings.Cut(values[0], " ")
	key = strings.TrimLeft(key, " ")
	return key, ok && strings.EqualFold(scheme, "Bearer") && key != ""
}

// look asks the database for a key and its account, and pins the account to
// the latest version at its first request.
func (k *keyring) look(ctx context.Context, sum [32]byte, now time.Time) (*holder, error) {
	row, err := k.store.Find(ctx, k.keys.Table(), 0, "hash", hex.EncodeToString(sum[:]))
	if errors.Is(err, store.ErrNotFound) {
		k.mu.Lock()
		delete(k.known, sum)
		k.mu.Unlock()
		return nil, unauthorized
	}
	if err != nil {
		return nil, err
	}
	var key apikey.Key
	if err := k.keys.Decode(row.Doc, &key); err != nil {
		return nil, err
	}
	pin, err := k.pin(ctx, *key.AccountID, now)
	if err != nil {
		return nil, err
	}
	h := &holder{key: row.ID, until: now.Add(keyTTL), Identity: Identity{
		Account: *key.AccountID, Credential: "key-" + strconv.FormatInt(row.ID, 10), Scopes: key.Scopes, Version: pin,
	}}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxKeys {
		clear(k.known)
	}
	k.known[sum] = h
	return h, nil
}

// pin returns the version an account is pinned to, setting it where it has
// none.
func (k *keyring) pin(ctx context.Context, id int64, now time.Time) (string, error) {
	row, err := k.store.Get(ctx, k.accounts.Table(), 0, id)
	if err != nil {
		return "", err
	}
	var acc account.Account
	if err := k.accounts.Decode(row.Doc, &acc); err != nil || acc.APIVersion != nil {
		if acc.APIVersion == nil {
			return "", err
		}
		return *acc.APIVersion, err
	}
	latest := k.calendar.Latest(now).Name
	set := func(current store.Row) (*store.Write, error) {
		var acc account.Account
		if err := k.accounts.Decode(current.Doc, &acc); err != nil || acc.APIVersion != nil {
			return nil, err
		}
		acc.APIVersion = &latest
		w := k.accounts.Record(&acc)
		w.Op, w.ID, w.IfRev = store.Update, id, current.Rev
		return &w, nil
	}
	w, err := set(row)
	if err != nil {
		return "", err
	}
	w.Redo = set
	rows, err := k.store.Commit(ctx, &store.Tx{Writes: []store.Write{*w}})
	if err != nil {
		return "", err
	}
	if err := k.accounts.Decode(rows[0].Doc, &acc); err != nil {
		return "", err
	}
	return *acc.APIVersion, nil
}

// forget drops what is cached, after keys or accounts changed on this node.
func (k *keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.known)
}

// bootstrap makes the default account and the admin key. A configured key
// takes the place of the one from the first start.
func (k *keyring) bootstrap(ctx context.Context, configured string) error {
	if _, err := k.store.Get(ctx, k.accounts.Table(), 0, account.Default); errors.Is(err, store.ErrNotFound) {
		w := k.accounts.Record(&account.Account{Name: "default"})
		_, err := k.store.Commit(ctx, &store.Tx{Writes: []store.Write{w}})
		if _, raced := errors.AsType[*store.DuplicateError](err); err != nil && !raced {
			return err
		}
	} else if err != nil {
		return err
	}
	rows, err := k.store.Page(ctx, k.keys.Table(), store.Query{Limit: 1})
	if err != nil || configured == "" && len(rows) > 0 {
		return err
	}
	key, owner := configured, int64(account.Default)
	if key == "" {
		key = apikey.New()
	}
	admin := apikey.Key{Name: "admin", Scopes: []string{"admin"}, AccountID: &owner, Hash: apikey.Hash(key)}
	w := k.keys.Record(&admin)
	if len(rows) > 0 {
		if _, err := k.store.Find(ctx, k.keys.Table(), 0, "hash", admin.Hash); err == nil || !errors.Is(err, store.ErrNotFound) {
			return err
		}
		var was apikey.Key
		if err := k.keys.Decode(rows[0].Doc, &was); err != nil {
			return err
		}
		if rows[0].ID == 1 && was.Name == admin.Name {
			w.Op, w.ID = store.Update, 1
		}
	}
	if _, err := k.store.Commit(ctx, &store.Tx{Writes: []store.Write{w}}); err != nil {
		return err
	}
	if configured == "" {
		k.first = key
	}
	return nil
}

// note writes down every half minute which keys were used, to the minute.
func (k *keyring) note(ctx context.Context) {
	defer close(k.ended)
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			k.flush(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// flush writes the uses since the last flush. A failure is not worth more than
// a stale time.
func (k *keyring) flush(ctx context.Context) {
	k.uses.Range(func(id, at any) bool {
		k.uses.Delete(id)
		used := time.UnixMicro(at.(int64)).UTC().Truncate(time.Minute)
		row, err := k.store.Get(ctx, k.keys.Table(), 0, id.(int64))
		if err != nil {
			return ctx.Err() == nil
		}
		var key apikey.Key
		if k.keys.Decode(row.Doc, &key) != nil || key.LastUsedAt != nil && !used.After(*key.LastUsedAt) {
			return true
		}
		key.LastUsedAt = &used
		w := k.keys.Record(&key)
		w.Op, w.ID, w.IfRev, w.Quiet = store.Update, row.ID, row.Rev, true
		k.store.Commit(ctx, &store.Tx{Writes: []store.Write{w}})
		return true
	})
}

// close writes what is still to be noted and stops.
func (k *keyring) close() {
	k.stop()
	<-k.ended
	k.flush(context.Background())
}
