package store

import (
	"context"

	"github.com/parley-api/parley/event"
)

const parkSlice = 1000

const (
	parkSQL = `UPDATE delivery SET due = $1, fence = 0 WHERE endpoint = $2 AND state < 2 AND fence = 0 AND seq IN
		(SELECT seq FROM delivery WHERE endpoint = $2 AND state < 2 AND due < $1 AND fence = 0 ORDER BY due LIMIT $3)`
	burySQL = `UPDATE delivery SET state = 3, done = $1, fence = 0, due = 0, reason = $2 WHERE endpoint = $3 AND state < 2 AND seq IN
		(SELECT seq FROM delivery WHERE endpoint = $3 AND state < 2 AND due <= $4 ORDER BY due LIMIT $5)`
	parkedSQL = "SELECT seq FROM delivery WHERE endpoint = $1 AND state < 2 AND due >= $2 ORDER BY due, seq LIMIT $3"
	unparkSQL = "UPDATE delivery SET due = $1 WHERE endpoint = $2 AND seq = $3 AND state < 2 AND due = $4"
	unparkAll = `UPDATE delivery AS d SET due = u.due FROM unnest($1::bigint[], $2::bigint[]) AS u (due, seq)
		WHERE d.endpoint = $3 AND d.seq = u.seq AND d.state < 2 AND d.due = $4`
)

const (
	// Parked is later than every other time: what is parked is the last.
	lastParked = "SELECT e.endpoint FROM e WHERE EXISTS (SELECT 1 FROM delivery AS d WHERE d.state < 2 AND d.endpoint = e.endpoint AND d.due >= $1)"
	waitingSQL = "SELECT count(*), coalesce(min(born), 0) FROM delivery WHERE endpoint = $1 AND state < 2 AND due <= $2"
)

// Park sets the open deliveries of a disabled endpoint aside, save those that
// are claimed: who has claimed one parks it.
func (s *Store) Park(ctx context.Context, endpoint int64) error {
	for {
		var n int64
		err := s.work(ctx, func(db session) (err error) {
			n, err = db.run(parkSQL, event.Parked, endpoint, int64(parkSlice))
			return err
		})
		if err != nil || n < parkSlice {
			return err
		}
	}
}

// Unpark makes the parked deliveries of an endpoint due again, oldest first, so
// many in a second. A rate below 1 means 1.
func (s *Store) Unpark(ctx context.Context, endpoint int64, rate int) error {
	at, step := s.now(), int64(1_000_000/max(1, rate))
	for {
		var parked []int64
		err := s.work(ctx, func(db session) error {
			parked = parked[:0]
			err := db.query(parkedSQL, []any{endpoint, event.Parked, int64(parkSlice)}, func(c cursor) { parked = append(parked, c.int(0)) })
			if err != nil {
				return err
			}
			return unpark(db, endpoint, parked, at, step)
		})
		if err != nil {
			return err
		}
		if len(parked) > 0 {
			s.wake(endpoint)
		}
		if at += int64(len(parked)) * step; len(parked) < parkSlice {
			return nil
		}
	}
}

// unpark makes deliveries due, one each step.
func unpark(db session, endpoint int64, seqs []int64, at, step int64) error {
	dues := make([]int64, len(seqs))
	for i := range dues {
		dues[i] = at + int64(i)*step
	}
	if isPostgres(db) {
		_, err := db.run(unparkAll, dues, seqs, endpoint, event.Parked)
		return err
	}
	for i, seq := range seqs {
		if _, err := db.run(unparkSQL, dues[i], endpoint, seq, event.Parked); err != nil {
			return err
		}
	}
	return nil
}

// Bury makes the open deliveries of an endpoint that was deleted dead.
func (s *Store) Bury(ctx context.Context, endpoint int64, reason string) error {
	for {
		var n int64
		err := s.work(ctx, func(db session) (err error) {
			n, err = db.run(burySQL, s.now(), reason, endpoint, event.Parked, int64(parkSlice))
			return err
		})
		if err != nil || n < parkSlice {
			return err
		}
	}
}

// Parked returns the endpoints that have parked deliveries.
func (s *Store) Parked(ctx context.Context) (endpoints []int64, err error) {
	sql := endpointsSQL
	if _, ok := s.engine.(*postgresEngine); ok {
		sql = postgresEndpointsSQL
	}
	err = s.read(ctx, sql+lastParked, []any{event.Parked}, func(c cursor) { endpoints = append(endpoints, c.int(0)) })
	return endpoints, err
}

// Waiting returns how many deliveries of an endpoint are open, and when the
// oldest of them was written.
func (s *Store) Waiting(ctx context.Context, endpoint int64) (n, oldest int64, err error) {
	err = s.read(ctx, waitingSQL, []any{endpoint, event.Parked}, func(c cursor) {
		n, oldest = c.int(0), c.int(1)
	})
	return n, oldest, err
}
