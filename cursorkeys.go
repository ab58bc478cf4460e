package parley

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/store"
)

// cursorPrefix begins the names of the secrets that seal cursors.
const cursorPrefix = "cursor-key-"

// keptKeys is how many older keys still open cursors.
const keptKeys = 16

// cursorKeys are the keys that cursors are sealed with, shared by all nodes
// through the database. A new one is used as soon as a node sees it: each
// looks once a minute, and at once when a cursor names a key it does not know.
type cursorKeys struct {
	store *store.Store
	now   func() time.Time
	keys  atomic.Pointer[paginate.Keys]

	mu      sync.Mutex
	checked atomic.Int64 // when the database was last asked, in seconds
	newest  int
}

func newCursorKeys(ctx context.Context, s *store.Store, now func() time.Time) (*cursorKeys, error) {
	k := &cursorKeys{store: s, now: now}
	return k, k.reload(ctx)
}

// of returns the keys to seal with and to open cursor with; "" is no cursor.
func (k *cursorKeys) of(cursor string) *paginate.Keys {
	keys, age := k.keys.Load(), k.now().Unix()-k.checked.Load()
	if age < 60 && (age < 1 || cursor == "" || keys.Knows(cursor)) {
		return keys
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	k.reload(ctx) // on an error the keys at hand stay
	return k.keys.Load()
}

// reload reads the keys, where nobody else does.
func (k *cursorKeys) reload(ctx context.Context) error {
	if !k.mu.TryLock() {
		return nil
	}
	defer k.mu.Unlock()
	k.checked.Store(k.now().Unix())
	all, err := k.store.Secrets(ctx, cursorPrefix, 32)
	if err != nil {
		return err
	}
	numbers := slices.Sorted(maps.Keys(all))
	if last := numbers[len(numbers)-1]; last == k.newest {
		return nil
	}
	var keys []paginate.Key
	for _, n := range slices.Backward(numbers[max(len(numbers)-keptKeys-1, 0):]) {
		keys = append(keys, paginate.Key{ID: byte(n), Secret: [32]byte(all[n])})
	}
	made, err := paginate.NewKeys(keys[0], keys[1:]...)
	if err != nil {
		return err
	}
	k.keys.Store(made)
	k.newest = numbers[len(numbers)-1]
	return nil
}

// RotateCursors makes a new key for the cursors of the service that a
// configuration describes, and returns its number. The service may be running.
// Cursors that were sealed before stay good until they expire.
func RotateCursors(ctx context.Context, cfg Config) (int, error) {
	set, err := cfg.settle()
	if err != nil {
		return 0, err
	}
	return store.AddSecret(ctx, set.dsn, cursorPrefix, 32)
}
