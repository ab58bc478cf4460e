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
	if h.Failing == 0 || later.LastSuccess >= h.Failing {
		h.Failing = later.Failing
	}
	h.LastSuccess = max(h.LastSuccess, later.LastSuccess)
	h.LastFailure = max(h.LastFailure, later.LastFailure)
}

// tallies gather the health of endpoints between two writes to the database.
type tallies struct {
	mu      sync.Mutex
	of      map[int64]*Health
	writing sync.RWMutex // held while they are on their way
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

func (t *tallies) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.of)
}

// take removes some.
func (t *tallies) take(most int) map[int64]*Health {
	t.mu.Lock()
	defer t.mu.Unlock()
	some := make(map[int64]*Health, min(most, len(t.of)))
	for endpoint, h := range t.of {
		if len(some) == most {
			break
		}
		some[endpoint] = h
		delete(t.of, endpoint)
	}
	return some
}

// back takes in what could not be written.
func (t *tallies) back(of map[int64]*Health) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for endpoint, h := range of {
		if later := t.of[endpoint]; later != nil {
			h.add(*later)
		}
	}
	if t.of == nil {
		t.of = make(map[int64]*Health)
	}
	maps.Copy(t.of, of)
}

// Health returns how an endpoint has answered, to this process up to now and
// to others up to a few seconds ago.
func (s *Store) Health(ctx context.Context, endpoint int64) (Health, error) {
	if err := s.enter(); err != nil {
		return Health{}, err
	}
	defer s.leave()
	s.health.writing.RLock()
	defer s.health.writing.RUnlock()
	var h Health
	err := s.engine.query(ctx, healthSQL, []any{endpoint}, func(c cursor) { h = scanHealth(c) })
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	if later := s.health.of[endpoint]; later != nil {
		h.add(*later)
	}
	return h, err
}

const healthSQL = "SELECT delivered, failed, last_success, last_failure, failing FROM health WHERE endpoint = $1"

func scanHealth(c cursor) Health {
	return Health{Delivered: c.int(0), Failed: c.int(1), LastSuccess: c.int(2), LastFailure: c.int(3), Failing: c.int(4)}
}

const (
	healthSlice = 32 // so that others do not wait long

	addHealthSQL  = "INSERT INTO health AS h (endpoint, delivered, failed, last_success, last_failure, failing) VALUES ($1, $2, $3, $4, $5, $6)" + addHealth
	addHealthsSQL = `INSERT INTO health AS h (endpoint, delivered, failed, last_success, last_failure, failing)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])` + addHealth

	// addHealth is Health.add.
	addHealth = ` ON CONFLICT (endpoint) DO UPDATE SET delivered = h.delivered + excluded.delivered, failed = h.failed + excluded.failed,
		last_success = CASE WHEN excluded.last_success > h.last_success THEN excluded.last_success ELSE h.last_success END,
		last_failure = CASE WHEN excluded.last_failure > h.last_failure THEN excluded.last_failure ELSE h.last_failure END,
		failing = CASE WHEN h.failing = 0 OR excluded.last_success >= h.failing THEN excluded.failing ELSE h.failing END`
)

// flushHealth writes what was gathered, in slices between which it rests for
// so many times as long as the last took: others write in greater hurry.
func (s *Store) flushHealth(ctx context.Context, rests int) error {
	for range s.health.count()/healthSlice + 1 { // what comes meanwhile is for the next time
		began := time.Now()
		n, err := s.flushSome(ctx)
		if err != nil || n < healthSlice {
			return err
		}
		if rests > 0 {
			select {
			case <-time.After(time.Duration(rests) * time.Since(began)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (s *Store) flushSome(ctx context.Context) (int, error) {
	s.health.writing.Lock()
	defer s.health.writing.Unlock()
	of := s.health.take(healthSlice)
	if len(of) == 0 {
		return 0, nil
	}
	// Always in one order, so that nodes do not wait for each other.
	endpoints := slices.Sorted(maps.Keys(of))
	if err := s.chore(ctx, func(db session) error { return writeHealth(db, endpoints, of) }); err != nil {
		s.health.back(of)
		return 0, err
	}
	return len(of), nil
}

func writeHealth(db session, endpoints []int64, of map[int64]*Health) error {
	if isPostgres(db) {
		ints := func(f func(*Health) int64) []int64 {
			return pick(endpoints, func(endpoint int64) int64 { return f(of[endpoint]) })
		}
		_, err := db.run(addHealthsSQL, endpoints, ints(func(h *Health) int64 { return h.Delivered }), ints(func(h *Health) int64 { return h.Failed }),
			ints(func(h *Health) int64 { return h.LastSuccess }), ints(func(h *Health) int64 { return h.LastFailure }), ints(func(h *Health) int64 { return h.Failing }))
		return err
	}
	for _, endpoint := range endpoints {
		h := of[endpoint]
		if _, err := db.run(addHealthSQL, endpoint, h.Delivered, h.Failed, h.LastSuccess, h.LastFailure, h.Failing); err != nil {
			return err
		}
	}
	return nil
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
		if err := s.flushHealth(s.life, 4); err != nil && s.life.Err() == nil {
			s.options.Log.Warn("writing the health of endpoints", "error", err)
		}
	}
}
