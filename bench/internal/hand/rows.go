package hand

import (
	"context"
	"errors"
	"sync"

	"github.com/parley-api/parley/store"
)

// Rows are tasks in memory. They are what Memory serves and, as they have the
// methods of resource.Store, what the service itself can be opened on. Lists
// are not among what they can do.
type Rows struct {
	mu   sync.RWMutex
	byID map[int64]store.Row
	last int64
}

// NewRows makes the rows 1 to n.
func NewRows(n int, document func(id int64) []byte, created func(id int64) int64) *Rows {
	r := &Rows{byID: make(map[int64]store.Row, n+n/8), last: int64(n)}
	for id := int64(1); id <= r.last; id++ {
		at := created(id)
		r.byID[id] = store.Row{ID: id, Account: account, Rev: 1, Seq: id, Created: at, Updated: at, Doc: document(id)}
	}
	return r
}

// Row returns the row with an id.
func (r *Rows) Row(id int64) (store.Row, bool) {
	r.mu.RLock()
	row, ok := r.byID[id]
	r.mu.RUnlock()
	return row, ok
}

// Get returns a row, or store.ErrNotFound.
func (r *Rows) Get(_ context.Context, _ *store.Table, _, id int64) (store.Row, error) {
	row, ok := r.Row(id)
	if !ok {
		return row, store.ErrNotFound
	}
	return row, nil
}

var errNone = errors.New("hand: rows in memory can be read one by one, nothing else")

// Page fails.
func (r *Rows) Page(context.Context, *store.Table, store.Query) ([]store.Row, error) {
	return nil, errNone
}

// Count fails.
func (r *Rows) Count(context.Context, *store.Table, store.Query) (int64, error) { return 0, errNone }

// Begin fails.
func (r *Rows) Begin(context.Context, *store.Table, store.Query) ([]store.Row, int64, error) {
	return nil, 0, errNone
}

// Commit fails.
func (r *Rows) Commit(context.Context, *store.Tx) ([]store.Row, error) { return nil, errNone }
