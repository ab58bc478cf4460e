package store

import (
	"context"
	"math"
	"time"

	"github.com/parley-api/parley/event"
)

// Keep is how long events and deliveries are kept. A delivery that is open or
// dead is kept longer, and its event with it.
const Keep = 30 * 24 * time.Hour

const pruneSlice = 500

// Prune deletes replay records and uses that have expired, and deliveries and
// events older than Keep, a few at a time so that commits go on between. A Store also
// does this by itself every ten minutes.
func (s *Store) Prune(ctx context.Context) error {
	if err := s.slices(ctx, `DELETE FROM replay WHERE (account, key) IN
		(SELECT account, key FROM replay WHERE created <= $1 ORDER BY created LIMIT $2)`, s.now()-day); err != nil {
		return err
	}
	if err := s.slices(ctx, `DELETE FROM usage WHERE (version, account, operation, day) IN
		(SELECT version, account, operation, day FROM usage WHERE day < $1 ORDER BY day LIMIT $2)`, s.now()/day-usageDays); err != nil {
		return err
	}
	// Everything up to this event was committed before then.
	oldest := s.now() - Keep.Microseconds()
	last, err := s.number(ctx, "SELECT seq FROM tick WHERE at <= $1 ORDER BY at DESC LIMIT 1", oldest)
	if err != nil || last == 0 {
		return err
	}
	for account, ok := int64(math.MinInt64), true; ; {
		if account, ok, err = s.nextAccount(ctx, account); err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := s.pruneAccount(ctx, account, last); err != nil {
			return err
		}
	}
	return s.slices(ctx, "DELETE FROM tick WHERE at IN (SELECT at FROM tick WHERE at < (SELECT max(at) FROM tick WHERE at <= $1) ORDER BY at LIMIT $2)", oldest)
}

// nextAccount returns the account behind another that has events.
func (s *Store) nextAccount(ctx context.Context, after int64) (account int64, ok bool, err error) {
	err = s.read(ctx, "SELECT account FROM event WHERE account > $1 ORDER BY account LIMIT 1", []any{after}, func(c cursor) {
		account, ok = c.int(0), true
	})
	return account, ok, err
}

const (
	oldDeliveriesSQL = `SELECT seq, endpoint, state FROM delivery WHERE account = $1 AND (seq, endpoint) > ($2, $3) AND seq <= $4
		ORDER BY seq, endpoint LIMIT $5`
	oldEventsSQL = `SELECT e.seq, EXISTS (SELECT 1 FROM delivery AS d WHERE d.account = e.account AND d.seq = e.seq)
		OR EXISTS (SELECT 1 FROM fanout AS f WHERE f.seq = e.seq)
		FROM event AS e WHERE e.account = $1 AND e.seq > $2 AND e.seq <= $3 ORDER BY e.seq LIMIT $4`
)

// pruneAccount walks over what is old on a reader, past what stays, and lets
// the writer delete by key.
func (s *Store) pruneAccount(ctx context.Context, account, last int64) error {
	for key, more := (deliveryKey{}), true; more; {
		var err error
		if key, more, err = s.pruneDeliveries(ctx, account, key, last); err != nil {
			return err
		}
	}
	err := s.slices(ctx, "DELETE FROM ahead WHERE account = $1 AND seq IN (SELECT seq FROM ahead WHERE account = $1 AND seq <= $2 ORDER BY seq LIMIT $3)", account, last)
	if err != nil {
		return err
	}
	for seq, more := int64(0), true; more; {
		if seq, more, err = s.pruneEvents(ctx, account, seq, last); err != nil {
			return err
		}
	}
	return nil
}

// pruneDeliveries deletes the delivered ones of a slice behind a delivery. It
// returns the slice's last and whether there may be more behind it.
func (s *Store) pruneDeliveries(ctx context.Context, account int64, after deliveryKey, last int64) (deliveryKey, bool, error) {
	n := 0
	var seqs, endpoints []int64
	err := s.read(ctx, oldDeliveriesSQL, []any{account, after.seq, after.endpoint, last, int64(pruneSlice)}, func(c cursor) {
		n++
		after.seq, after.endpoint = c.int(0), c.int(1)
		if event.State(c.int(2)) == event.Delivered {
			seqs, endpoints = append(seqs, after.seq), append(endpoints, after.endpoint)
		}
	})
	if err == nil && seqs != nil {
		err = s.work(ctx, func(db session) error {
			if isPostgres(db) {
				_, err := db.run(`DELETE FROM delivery AS d USING unnest($1::bigint[], $2::bigint[]) AS u (seq, endpoint)
					WHERE d.account = $3 AND d.seq = u.seq AND d.endpoint = u.endpoint AND d.state = 2`, seqs, endpoints, account)
				return err
			}
			for i, seq := range seqs {
				if _, err := db.run("DELETE FROM delivery WHERE account = $1 AND seq = $2 AND endpoint = $3 AND state = 2", account, seq, endpoints[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return after, n == pruneSlice, err
}

// pruneEvents deletes the events of a slice that no delivery needs.
func (s *Store) pruneEvents(ctx context.Context, account, after, last int64) (int64, bool, error) {
	n := 0
	var seqs []int64
	err := s.read(ctx, oldEventsSQL, []any{account, after, last, int64(pruneSlice)}, func(c cursor) {
		n++
		if after = c.int(0); !c.bool(1) {
			seqs = append(seqs, after)
		}
	})
	if err == nil && seqs != nil {
		err = s.work(ctx, func(db session) error {
			if isPostgres(db) {
				_, err := db.run("DELETE FROM event WHERE account = $1 AND seq = ANY($2::bigint[])", account, seqs)
				return err
			}
			for _, seq := range seqs {
				if _, err := db.run("DELETE FROM event WHERE account = $1 AND seq = $2", account, seq); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return after, n == pruneSlice, err
}

// read runs a query on a reader.
func (s *Store) read(ctx context.Context, sql string, args []any, each func(cursor)) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.engine.query(ctx, sql, args, each)
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
