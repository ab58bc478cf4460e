package store

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
)

// A Health is how an endpoint has answered so far.
type Health struct {
	Delivered, Failed int64 // attempts
	LastSuccess       int64 // microseconds since 1970 UTC; 0: never
	LastFailure       int64
	Failing           int64 // since when every attempt has failed; 0: the last one succeeded
}

// add takes in what happened later.
func (h *Health) add(later Health) {
	h.Delivered += later.Delivered
	h.Failed += later.Failed
	if later.LastSuccess > 0 || h.Failing == 0 {
		h.Failing = later.Failing
	}
	h.LastSuccess = max(h.LastSuccess, later.LastSuccess)
	h.LastFailure = max(h.LastFailure, later.LastFailure)
}

// tallies gather the health of endpoints between two writes to the database.
type tallies struct {
	mu      sync.Mutex
	of      map[int64]*Health
	writing map[int64]*Health // what is being written
	written int               // how often that was done
}

func (t *tallies) note(outcomes []event.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = make(map[int64]*Health)
	}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Attempt == nil {
			continue
		}
		h := t.of[o.Endpoint]
		if h == nil {
			h = new(Health)
			t.of[o.Endpoint] = h
		}
		at := o.Attempt.Started + o.Attempt.Duration
		if o.State == event.Delivered {
			h.add(Health{Delivered: 1, LastSuccess: at})
		} else {
			h.add(Health{Failed: 1, LastFailure: at, Failing: at})
		}
	}
}

// take returns what is to be written; done says that it was, or is lost.
func (t *tallies) take() map[int64]*Health {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of, t.writing = nil, t.of
	return t.writing
}

func (t *tallies) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = nil
	t.written++
}

// later adds what the database does not have yet, and reports how often was
// written.
func (t *tallies) later(endpoint int64, h *Health) (written int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range []map[int64]*Health{t.writing, t.of} {
		if later := of[endpoint]; later != nil {
			h.add(*later)
		}
	}
	return t.written
}

// Health returns how an endpoint has answered.
func (s *Store) Health(ctx context.Context, endpoint int64) (Health, error) {
	if err := s.enter(); err != nil {
		return Health{}, err
	}
	defer s.leave()
	for {
		var h, none Health
		before := s.health.later(endpoint, &none)
		err := s.engine.query(ctx, healthSQL, []any{endpoint}, func(c cursor) { h = scanHealth(c) })
		if s.health.later(endpoint, &h) == before || err != nil { // otherwise it was written in between
			return h, err
		}
	}
}

const healthSQL = "SELECT delivered, failed, last_success, last_failure, failing FROM health WHERE endpoint = $1"

func scanHealth(c cursor) Health {
	return Health{Delivered: c.int(0), Failed: c.int(1), LastSuccess: c.int(2), LastFailure: c.int(3), Failing: c.int(4)}
}

// flushHealth writes what was gathered. What cannot be written is lost: it
// says how an endpoint does, not what has to be delivered.
func (s *Store) flushHealth(ctx context.Context) error {
	of := s.health.take()
	if len(of) == 0 {
		return nil
	}
	defer s.health.done()
	return s.work(ctx, func(db session) error {
		for _, endpoint := range slices.Sorted(maps.Keys(of)) { // always in one order, so that nodes do not wait for each other
			if _, err := db.run("INSERT INTO health (endpoint, delivered, failed, last_success, last_failure, failing) VALUES ($1, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING", endpoint); err != nil {
				return err
			}
			var h Health
			if err := db.query(locked(db, healthSQL), []any{endpoint}, func(c cursor) { h = scanHealth(c) }); err != nil {
				return err
			}
			h.add(*of[endpoint])
			_, err := db.run("UPDATE health SET delivered = $1, failed = $2, last_success = $3, last_failure = $4, failing = $5 WHERE endpoint = $6",
				h.Delivered, h.Failed, h.LastSuccess, h.LastFailure, h.Failing, endpoint)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// keepHealth writes it every few seconds.
func (s *Store) keepHealth() {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		if err := s.flushHealth(s.life); err != nil && s.life.Err() == nil {
			s.options.Log.Warn("writing the health of endpoints", "error", err)
		}
	}
}
