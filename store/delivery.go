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

const (
	claimColumns    = "endpoint, seq, account, version, state, tries, spent, born, due, fence"
	deliveryColumns = claimColumns + ", done, reason, attempts"
)

func scanClaim(c cursor) event.Delivery {
	return event.Delivery{Endpoint: c.int(0), Seq: c.int(1), Account: c.int(2), Version: c.text(3), State: event.State(c.int(4)),
		Tries: int(c.int(5)), Spent: int(c.int(6)), Born: c.int(7), Due: c.int(8), Fence: c.int(9)}
}

func scanDelivery(c cursor) DeliveryRow {
	row := DeliveryRow{Delivery: scanClaim(c), Done: c.int(10), Reason: c.text(11), Attempts: c.bytes(12)}
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
	err := s.engine.query(ctx, "SELECT "+deliveryColumns+" FROM delivery WHERE account = $1 AND seq = $2 AND endpoint = $3",
		[]any{account, seq, endpoint}, func(c cursor) { row = scanDelivery(c) })
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
	b := q.text()
	sql := s.hinted(string(b.text))
	var rows []DeliveryRow
	err := s.engine.query(ctx, sql, b.args, func(c cursor) { rows = append(rows, scanDelivery(c)) })
	if q.Back {
		slices.Reverse(rows)
	}
	return rows, err
}

// text is the query in SQL.
func (q *DeliveryQuery) text() sqlText {
	b := sqlText{text: append(make([]byte, 0, 256), "SELECT "+deliveryColumns+" FROM delivery"...)}
	b.deliveries(q)
	down := q.Desc != q.Back
	if q.After != nil {
		b.and("(seq, endpoint) ", direction(down)+"(", q.After.Key)
		b.text = append(b.text, ", "...)
		b.arg(q.After.ID)
		b.text = append(b.text, ')')
	}
	b.order(down, "seq", "endpoint")
	limit := q.Limit
	if limit <= 0 {
		limit = 20
	}
	b.window(limit, q.Offset)
	return b
}

// CountDeliveries returns how many deliveries Deliveries would walk without
// After, Offset and Limit.
func (s *Store) CountDeliveries(ctx context.Context, q DeliveryQuery) (int64, error) {
	b := sqlText{text: []byte("SELECT count(*) FROM delivery")}
	b.deliveries(&q)
	return s.number(ctx, s.hinted(string(b.text)), b.args...)
}

// index names the index that has what a query selects in its order, where that
// is not the table itself.
func (q *DeliveryQuery) index() string {
	open := q.State != nil && *q.State != event.Delivered
	switch {
	case q.Event != 0:
		return ""
	case q.Endpoint != 0 && open && *q.State == event.Dead:
		return "{by delivery_dead}"
	case q.Endpoint != 0:
		return "{by delivery_endpoint}"
	case open:
		return "{by delivery_state}"
	}
	return ""
}

// deliveries adds what selects deliveries. The states are written out, so that
// partial indexes can be used.
func (b *sqlText) deliveries(q *DeliveryQuery) {
	b.text = append(b.text, q.index()...)
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

// bornSince selects what was written at {since} or later. What a tick says was
// written earlier is not looked at.
const bornSince = "born >= {since} AND seq > coalesce((SELECT t.seq FROM tick AS t WHERE t.at < {since} ORDER BY t.at DESC LIMIT 1), 0)"

// The state is asked for twice: on PostgreSQL a row may change between the
// selection and the update.
var (
	recoverSQL = `UPDATE delivery SET state = 0, spent = 0, due = $1, fence = 0, done = 0, reason = ''
		WHERE endpoint = $2 AND state = 3 AND seq IN (SELECT seq FROM delivery{by delivery_dead} WHERE endpoint = $2 AND state = 3 AND seq > $3 AND ` +
		strings.ReplaceAll(bornSince, "{since}", "$4") + ` ORDER BY seq LIMIT $5) RETURNING seq`
	recoverableSQL = "SELECT count(*) FROM delivery{by delivery_dead} WHERE endpoint = $1 AND state = 3 AND " + strings.ReplaceAll(bornSince, "{since}", "$2")
)

// Recover gives dead deliveries of an endpoint, written at since or later and
// of events behind after, a fresh budget, at most n of them, all due at due.
// It returns the last event it came to, and how many there were: fewer than n
// means the end.
func (s *Store) Recover(ctx context.Context, endpoint, since, after, due int64, n int) (last int64, count int, err error) {
	err = s.work(ctx, func(db session) error {
		last, count = after, 0
		return db.query(s.hinted(recoverSQL), []any{due, endpoint, after, since, int64(n)},
			func(c cursor) { last, count = max(last, c.int(0)), count+1 })
	})
	if err == nil && count > 0 {
		s.wake(endpoint)
	}
	return last, count, err
}

// Recoverable counts what Recover would give a fresh budget.
func (s *Store) Recoverable(ctx context.Context, endpoint, since int64) (int64, error) {
	return s.number(ctx, s.hinted(recoverableSQL), endpoint, since)
}

// Backlog counts the deliveries that are open and those that are dead.
func (s *Store) Backlog(ctx context.Context) (open, dead int64, err error) {
	if open, err = s.number(ctx, "SELECT count(*) FROM delivery WHERE state < 2"); err != nil {
		return 0, 0, err
	}
	dead, err = s.number(ctx, "SELECT count(*) FROM delivery WHERE state = 3")
	return open, dead, err
}

// hinted makes SQLite use the index that a text names as {by index}. Without
// statistics it prefers the table, where it would walk past all that is not
// asked for.
func (s *Store) hinted(sql string) string {
	before, rest, is := strings.Cut(sql, "{by ")
	if !is {
		return sql
	}
	index, after, _ := strings.Cut(rest, "}")
	if _, ok := s.engine.(*sqliteEngine); !ok {
		return before + after
	}
	return before + " INDEXED BY " + index + after
}

// isPostgres reports which database a session is on.
func isPostgres(db session) bool {
	_, ok := db.(*postgresSession)
	return ok
}

// skipLocked makes a selection for an update pass over what others update.
func skipLocked(db session, sql string) string {
	if isPostgres(db) {
		return strings.Replace(sql, "{lock}", " FOR UPDATE SKIP LOCKED", 1)
	}
	return strings.Replace(sql, "{lock}", "", 1)
}

const (
	deliverySQL = "INSERT INTO delivery (endpoint, seq, account, version, state, tries, spent, born, due, fence, done, reason, attempts) " +
		"VALUES ($1, $2, $3, $4, 0, 0, 0, $5, $6, $7, 0, '', '')"
	deliveriesSQL = "INSERT INTO delivery (endpoint, seq, account, version, state, tries, spent, born, due, fence, done, reason, attempts) " +
		"SELECT e, s, a, v, 0, 0, 0, b, d, f, 0, '', '' FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[]) " +
		"AS u (e, s, a, v, b, d, f)"
	cursorSQL = "INSERT INTO fanout (seq, account, after, at) VALUES ($1, $2, $3, $4)"
)

// deliveryArrays are the parameters of deliveriesSQL.
func deliveryArrays(list []event.Delivery) []any {
	ints := func(f func(*event.Delivery) int64) []int64 {
		out := make([]int64, len(list))
		for i := range list {
			out[i] = f(&list[i])
		}
		return out
	}
	return []any{
		ints(func(d *event.Delivery) int64 { return d.Endpoint }), ints(func(d *event.Delivery) int64 { return d.Seq }),
		ints(func(d *event.Delivery) int64 { return d.Account }), pick(list, func(d event.Delivery) string { return d.Version }),
		ints(func(d *event.Delivery) int64 { return d.Born }), ints(func(d *event.Delivery) int64 { return d.Due }),
		ints(func(d *event.Delivery) int64 { return d.Fence }),
	}
}

// insertDeliveries writes deliveries that are new.
func insertDeliveries(db session, list []event.Delivery) error {
	if len(list) == 0 {
		return nil
	}
	c, ok := db.(*conn)
	if !ok {
		_, err := db.run(deliveriesSQL, deliveryArrays(list)...)
		return err
	}
	s, err := c.prepare(deliverySQL)
	if err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		s.bindInt(1, d.Endpoint)
		s.bindInt(2, d.Seq)
		s.bindInt(3, d.Account)
		s.bindText(4, d.Version)
		s.bindInt(5, d.Born)
		s.bindInt(6, d.Due)
		s.bindInt(7, d.Fence)
		_, err := s.step()
		s.reset()
		if err != nil {
			return err
		}
	}
	return nil
}
