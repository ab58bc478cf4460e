package store

import (
	"context"
	"time"
)

// Keep is how long events and deliveries are kept. A delivery that is open or
// dead is kept longer, and its event with it.
const Keep = 30 * 24 * time.Hour

const pruneSlice = 500

// Prune deletes replay records that have expired, and deliveries and events
// older than Keep, a few at a time so that commits go on between. A Store also
// does this by itself every ten minutes.
func (s *Store) Prune(ctx context.Context) error {
	if err := s.slices(ctx, `DELETE FROM replay WHERE (account, key) IN
		(SELECT account, key FROM replay WHERE created <= $1 ORDER BY created LIMIT $2)`, s.now()-day); err != nil {
		return err
	}
	// Everything up to this event was committed before then.
	oldest := s.now() - Keep.Microseconds()
	last, err := s.number(ctx, "SELECT seq FROM tick WHERE at <= $1 ORDER BY at DESC LIMIT 1", oldest)
	if err != nil || last == 0 {
		return err
	}
	for account := int64(-1); ; {
		next, err := s.number(ctx, "SELECT account FROM event WHERE account > $1 ORDER BY account LIMIT 1", account)
		if err != nil {
			return err
		}
		if next == 0 {
			break
		}
		account = next
		if err := s.pruneAccount(ctx, account, last); err != nil {
			return err
		}
	}
	return s.slices(ctx, "DELETE FROM tick WHERE at IN (SELECT at FROM tick WHERE seq < $1 ORDER BY at LIMIT $2)", last)
}

func (s *Store) pruneAccount(ctx context.Context, account, last int64) error {
	for _, sql := range []string{
		`DELETE FROM delivery WHERE (endpoint, seq) IN (SELECT endpoint, seq FROM delivery WHERE account = $1 AND seq <= $2 AND state = 2 ORDER BY seq LIMIT $3)`,
		`DELETE FROM ahead WHERE account = $1 AND seq IN (SELECT seq FROM ahead WHERE account = $1 AND seq <= $2 ORDER BY seq LIMIT $3)`,
		`DELETE FROM event WHERE account = $1 AND seq IN (SELECT seq FROM event AS e WHERE e.account = $1 AND e.seq <= $2
			AND NOT EXISTS (SELECT 1 FROM delivery AS d WHERE d.account = e.account AND d.seq = e.seq)
			AND NOT EXISTS (SELECT 1 FROM fanout AS f WHERE f.seq = e.seq) ORDER BY e.seq LIMIT $3)`,
	} {
		if err := s.slices(ctx, sql, account, last); err != nil {
			return err
		}
	}
	return nil
}

// Expire deletes the rows of a table that were made before a moment, without
// events, a few at a time. Nothing may refer to them.
func (s *Store) Expire(ctx context.Context, t *Table, before int64) error {
	r, err := s.table(t)
	if err != nil {
		return err
	}
	old, err := s.number(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+r.sql+" WHERE created < $1 LIMIT 1) AS o", before)
	if err != nil || old == 0 {
		return err
	}
	return s.slices(ctx, "DELETE FROM "+r.sql+" WHERE (account, id) IN (SELECT account, id FROM "+r.sql+" WHERE created < $1 LIMIT $2)", before)
}

// slices runs a statement, whose last parameter is how many rows it may
// change, until it changes fewer.
func (s *Store) slices(ctx context.Context, sql string, args ...any) error {
	for {
		var n int64
		err := s.work(ctx, func(db session) (err error) {
			n, err = db.run(sql, append(args, int64(pruneSlice))...)
			return err
		})
		if err != nil || n < pruneSlice {
			return err
		}
	}
}

func (s *Store) prune() {
	tick := time.NewTicker(10 * time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		if err := s.Prune(s.life); err != nil && s.life.Err() == nil {
			s.options.Log.Warn("pruning", "error", err)
		}
	}
}
