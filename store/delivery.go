package store

import (
	"context"
	"slices"
	"strings"

	"github.com/parley-api/parley/event"
)

// A DeliveryRow is a delivery with its history.
type DeliveryRow struct {
	event.Delivery
	Done     int64  // when it was delivered or died; 0 while it is open
	Reason   string // of a dead one, or why an open one waits
	Attempts []byte // a JSON array, oldest first
}

// A DeliveryQuery selects deliveries of one account, in order of their events
// and then of their endpoints.
type DeliveryQuery struct {
	Account  int64
	State    *event.State // nil means all
	Endpoint int64        // 0 means all
	Event    int64        // the sequence number of an event; 0 means all
	Mark     int64        // only deliveries of events up to this sequence number; 0 means all
	After    *Position    // Key is the event, ID the endpoint
	Desc     bool
	Back     bool // as in Query
	Offset   int
	Limit    int // 0 means 20
}

const deliveryColumns = "endpoint, seq, account, version, state, tries, spent, born, due, fence, done, reason, attempts"

func scanDelivery(c cursor) DeliveryRow {
	row := DeliveryRow{Done: c.int(10), Reason: c.text(11), Attempts: c.bytes(12)}
	row.Delivery = event.Delivery{Endpoint: c.int(0), Seq: c.int(1), Account: c.int(2), Version: c.text(3), State: event.State(c.int(4)),
		Tries: int(c.int(5)), Spent: int(c.int(6)), Born: c.int(7), Due: c.int(8), Fence: c.int(9)}
	if n := len(row.Attempts); n > 0 {
		row.Attempts = row.Attempts[:n-1] // the last comma
	}
	row.Attempts = append(append([]byte{'['}, row.Attempts...), ']')
	return row
}

// Delivery returns the delivery of an event to an endpoint, or ErrNotFound.
func (s *Store) Delivery(ctx context.Context, account, seq, endpoint int64) (DeliveryRow, error) {
	if err := s.enter(); err != nil {
		return DeliveryRow{}, err
	}
	defer s.leave()
	var row DeliveryRow
	err := s.engine.query(ctx, "SELECT "+deliveryColumns+" FROM delivery WHERE endpoint = $1 AND seq = $2 AND account = $3",
		[]any{endpoint, seq, account}, func(c cursor) { row = scanDelivery(c) })
	if err == nil && row.Seq == 0 {
		err = ErrNotFound
	}
	return row, err
}

// Deliveries returns the deliveries that a query selects, in its order.
func (s *Store) Deliveries(ctx context.Context, q DeliveryQuery) ([]DeliveryRow, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	b := sqlText{text: append(make([]byte, 0, 256), "SELECT "+deliveryColumns+" FROM delivery"...)}
	b.deliveries(&q)
	down := q.Desc != q.Back
	if q.After != nil {
		b.and("(seq, endpoint) ", direction(down)+"(", q.After.Key)
		b.text = append(b.text, ", "...)
		b.arg(q.After.ID)
		b.text = append(b.text, ')')
	}
	b.order(down, "seq", "endpoint")
	b.window(q.Limit, q.Offset)
	var rows []DeliveryRow
	err := s.engine.query(ctx, string(b.text), b.args, func(c cursor) { rows = append(rows, scanDelivery(c)) })
	if q.Back {
		slices.Reverse(rows)
	}
	return rows, err
}

// CountDeliveries returns how many deliveries Deliveries would walk without
// After, Offset and Limit.
func (s *Store) CountDeliveries(ctx context.Context, q DeliveryQuery) (int64, error) {
	b := sqlText{text: []byte("SELECT count(*) FROM delivery")}
	b.deliveries(&q)
	return s.number(ctx, string(b.text), b.args...)
}

// deliveries adds what selects deliveries. The states are written out, so that
// partial indexes can be used.
func (b *sqlText) deliveries(q *DeliveryQuery) {
	if q.Endpoint != 0 {
		b.and("endpoint ", "= ", q.Endpoint)
	}
	b.and("account ", "= ", q.Account)
	if q.State != nil {
		b.text = append(append(b.text, " AND state = "...), '0'+byte(*q.State))
		if *q.State != event.Delivered {
			b.text = append(b.text, " AND state <> 2"...)
		}
	}
	if q.Event != 0 {
		b.and("seq ", "= ", q.Event)
	}
	if q.Mark != 0 {
		b.and("seq ", "<= ", q.Mark)
	}
}

// wake tells the dispatcher that an endpoint has something to send.
func (s *Store) wake(endpoint int64) {
	if s.fanout != nil && s.fanout.Taker != nil {
		s.fanout.Taker.Wake(endpoint)
	}
}

// Recover gives dead deliveries of an endpoint, written at since or later and
// of events behind after, a fresh budget, at most n of them, all due at due.
// It returns the last event it came to, and how many there were: fewer than n
// means the end.
func (s *Store) Recover(ctx context.Context, endpoint, since, after, due int64, n int) (last int64, count int, err error) {
	err = s.work(ctx, func(db session) error {
		last, count = after, 0
		return db.query(`UPDATE delivery SET state = 0, spent = 0, due = $1, fence = 0, done = 0, reason = ''
			WHERE endpoint = $2 AND seq IN (SELECT seq FROM delivery WHERE endpoint = $2 AND state = 3 AND seq > $3 AND born >= $4 ORDER BY seq LIMIT $5) RETURNING seq`,
			[]any{due, endpoint, after, since, int64(n)}, func(c cursor) { last, count = max(last, c.int(0)), count+1 })
	})
	if err == nil && count > 0 {
		s.wake(endpoint)
	}
	return last, count, err
}

// Recoverable counts what Recover would give a fresh budget.
func (s *Store) Recoverable(ctx context.Context, endpoint, since int64) (int64, error) {
	return s.number(ctx, "SELECT count(*) FROM delivery WHERE endpoint = $1 AND state = 3 AND born >= $2", endpoint, since)
}

const parkSlice = 1000

// Park sets the open deliveries of a disabled endpoint aside.
func (s *Store) Park(ctx context.Context, endpoint int64) error {
	for {
		var n int64
		err := s.work(ctx, func(db session) (err error) {
			n, err = db.run(`UPDATE delivery SET due = $1, fence = 0 WHERE endpoint = $2 AND seq IN
				(SELECT seq FROM delivery WHERE endpoint = $2 AND state < 2 AND due < $1 AND fence = 0 ORDER BY due LIMIT $3)`,
				event.Parked, endpoint, int64(parkSlice))
			return err
		})
		if err != nil || n < parkSlice {
			return err
		}
	}
}

// Unpark makes the parked deliveries of an endpoint due again, oldest first, so
// many in a second.
func (s *Store) Unpark(ctx context.Context, endpoint int64, rate int) error {
	at, step := s.now(), int64(1_000_000/max(1, rate))
	for {
		var parked []int64
		err := s.work(ctx, func(db session) error {
			parked = parked[:0]
			err := db.query("SELECT seq FROM delivery WHERE endpoint = $1 AND state < 2 AND due = $2 ORDER BY seq LIMIT $3",
				[]any{endpoint, event.Parked, int64(parkSlice)}, func(c cursor) { parked = append(parked, c.int(0)) })
			for i, seq := range parked {
				if err == nil {
					_, err = db.run("UPDATE delivery SET due = $1 WHERE endpoint = $2 AND seq = $3 AND due = $4", at+int64(i)*step, endpoint, seq, event.Parked)
				}
			}
			return err
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

// Bury makes the open deliveries of an endpoint that was deleted dead.
func (s *Store) Bury(ctx context.Context, endpoint int64, reason string) error {
	for {
		var n int64
		err := s.work(ctx, func(db session) (err error) {
			n, err = db.run(`UPDATE delivery SET state = 3, done = $1, fence = 0, due = 0, reason = $2 WHERE endpoint = $3 AND seq IN
				(SELECT seq FROM delivery WHERE endpoint = $3 AND state < 2 ORDER BY due LIMIT $4)`, s.now(), reason, endpoint, int64(parkSlice))
			return err
		})
		if err != nil || n < parkSlice {
			return err
		}
	}
}

// Parked returns the endpoints that have parked deliveries.
func (s *Store) Parked(ctx context.Context) (endpoints []int64, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	err = s.engine.query(ctx, `WITH RECURSIVE e (endpoint) AS (
		SELECT min(endpoint) FROM delivery WHERE state < 2
		UNION ALL
		SELECT (SELECT min(d.endpoint) FROM delivery AS d WHERE d.state < 2 AND d.endpoint > e.endpoint) FROM e WHERE e.endpoint IS NOT NULL
	) SELECT e.endpoint FROM e WHERE EXISTS (SELECT 1 FROM delivery AS d WHERE d.state < 2 AND d.endpoint = e.endpoint AND d.due = $1)`,
		[]any{event.Parked}, func(c cursor) { endpoints = append(endpoints, c.int(0)) })
	return endpoints, err
}

// Waiting returns how many deliveries of an endpoint are open, and when the
// oldest of them was written.
func (s *Store) Waiting(ctx context.Context, endpoint int64) (n, oldest int64, err error) {
	if err := s.enter(); err != nil {
		return 0, 0, err
	}
	defer s.leave()
	err = s.engine.query(ctx, "SELECT count(*), coalesce(min(born), 0) FROM delivery WHERE endpoint = $1 AND state < 2", []any{endpoint}, func(c cursor) {
		n, oldest = c.int(0), c.int(1)
	})
	return n, oldest, err
}

// Endpoint returns the row of an endpoint, whosever it is, or ErrNotFound.
func (s *Store) Endpoint(ctx context.Context, id int64) (Row, error) {
	as, err := s.number(ctx, "SELECT endpoints FROM clock")
	if err != nil {
		return Row{}, err
	}
	if !s.subs.fresh(as) {
		list, err := s.fanout.load(func(sql string, args []any, f func(cursor)) error { return s.engine.query(ctx, sql, args, f) })
		if err != nil {
			return Row{}, err
		}
		s.subs.reset(list, as)
	}
	s.subs.mu.RLock()
	account := s.subs.owners[id]
	s.subs.mu.RUnlock()
	if account == 0 {
		return Row{}, ErrNotFound
	}
	return s.Get(ctx, s.fanout.Endpoints, account, id)
}

// Every returns the rows of all accounts that have a value in a key column, up
// to a thousand. It reads the whole table: for those that stay small.
func (s *Store) Every(ctx context.Context, t *Table, column string, value any) ([]Row, error) {
	r, err := s.table(t)
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var rows []Row
	err = s.engine.query(ctx, r.recordSQL+" WHERE k_"+column+" = $1 ORDER BY id LIMIT 1000", []any{value}, func(c cursor) {
		rows = append(rows, scanRecord(r, c).Row)
	})
	return rows, err
}

// Backlog counts the deliveries that are open and those that are dead.
func (s *Store) Backlog(ctx context.Context) (open, dead int64, err error) {
	if open, err = s.number(ctx, "SELECT count(*) FROM delivery WHERE state < 2"); err != nil {
		return 0, 0, err
	}
	dead, err = s.number(ctx, "SELECT count(*) FROM delivery WHERE state = 3")
	return open, dead, err
}

// isPostgres reports which database a session is on.
func isPostgres(db session) bool {
	_, ok := db.(*postgresSession)
	return ok
}

// locked makes a selection keep others from what it finds.
func locked(db session, sql string) string {
	if isPostgres(db) {
		return sql + " FOR UPDATE"
	}
	return sql
}

// skipLocked makes a selection for an update pass over what others update.
func skipLocked(db session, sql string) string {
	if isPostgres(db) {
		return strings.Replace(sql, "{lock}", " FOR UPDATE SKIP LOCKED", 1)
	}
	return strings.Replace(sql, "{lock}", "", 1)
}
