package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-api/parley/event"
)

// Get returns a row of an account, or ErrNotFound.
func (s *Store) Get(ctx context.Context, t *Table, account, id int64) (Row, error) {
	r, err := s.table(t)
	if err != nil {
		return Row{}, err
	}
	return s.get(ctx, r, r.getSQL, account, id)
}

func (s *Store) get(ctx context.Context, t *table, sql string, account int64, key any) (Row, error) {
	if err := s.enter(); err != nil {
		return Row{}, err
	}
	defer s.leave()
	row, err := s.engine.get(ctx, sql, account, key)
	row.Reshape = err == nil && row.Seq <= t.reshape
	return row, err
}

// Find returns the row of an account that has a value in a Unique column, or
// ErrNotFound.
func (s *Store) Find(ctx context.Context, t *Table, account int64, column string, value any) (Row, error) {
	r, err := s.table(t)
	if err != nil {
		return Row{}, err
	}
	i := r.column(column)
	if i < 0 || !r.Columns[i].Unique {
		return Row{}, fmt.Errorf("store: table %s has no unique column %s", t.Name, column)
	}
	if text, ok := value.(string); value == nil || ok && r.Columns[i].Kind == Text && !storable(text) {
		return Row{}, ErrNotFound
	}
	if err := r.Columns[i].fits(value); err != nil {
		return Row{}, err
	}
	return s.get(ctx, r, r.findSQL[i], account, value)
}

// Page returns the rows that a query selects, in its order. A condition whose
// text no row can hold selects none.
func (s *Store) Page(ctx context.Context, t *Table, q Query) ([]Row, error) {
	r, err := s.table(t)
	if err != nil {
		return nil, err
	}
	b := sqlText{text: append(make([]byte, 0, 256), r.selectSQL...)}
	if ok, err := b.rows(r, &q); err != nil || !ok {
		return nil, err
	}
	b.page(&q)
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var rows []Row
	err = s.engine.query(ctx, string(b.text), b.args, func(c cursor) {
		row := Row{Account: q.Account, ID: c.int(0), Rev: c.int(1), Seq: c.int(2), Created: c.int(3), Updated: c.int(4), Doc: c.bytes(5)}
		row.Reshape = row.Seq <= r.reshape
		rows = append(rows, row)
	})
	if err != nil {
		return nil, err
	}
	if q.Back {
		slices.Reverse(rows)
	}
	return rows, nil
}

// Count returns how many rows Page would walk without After, Offset and Limit.
func (s *Store) Count(ctx context.Context, t *Table, q Query) (int64, error) {
	r, err := s.table(t)
	if err != nil {
		return 0, err
	}
	b := sqlText{text: []byte(r.countSQL)}
	q.After = nil
	if ok, err := b.rows(r, &q); err != nil || !ok {
		return 0, err
	}
	return s.number(ctx, string(b.text), b.args...)
}

// Mark returns the highest id handed out in a table, 0 if none was: no row
// that is committed later has an id up to it.
func (s *Store) Mark(ctx context.Context, t *Table, account int64) (int64, error) {
	r, err := s.table(t)
	if err != nil {
		return 0, err
	}
	return s.number(ctx, r.markSQL)
}

// Replay returns the record kept under an account's idempotency key. It is nil
// where there is none or the record is older than 24 hours.
func (s *Store) Replay(ctx context.Context, account int64, key string) (*Kept, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var kept *Kept
	err := s.engine.query(ctx, replaySQL, []any{account, []byte(key)}, func(c cursor) {
		k := scanKept(c)
		kept = &k
	})
	if err != nil || kept == nil || expired(kept.Created, s.now()) {
		return nil, err
	}
	return kept, nil
}

const replaySQL = "SELECT print, answer, created FROM replay WHERE account = $1 AND key = $2"

func scanKept(c cursor) Kept {
	k := Kept{Answer: c.bytes(1), Created: c.int(2)}
	copy(k.Print[:], c.bytes(0))
	return k
}

// Event returns an event of an account, or ErrNotFound.
func (s *Store) Event(ctx context.Context, account, seq int64) (event.Event, error) {
	if err := s.enter(); err != nil {
		return event.Event{}, err
	}
	defer s.leave()
	var e event.Event
	err := s.engine.query(ctx, eventSQL+" WHERE account = $1 AND seq = $2", []any{account, seq}, func(c cursor) {
		e = scanEvent(c, account)
	})
	if err == nil && e.Seq == 0 {
		err = ErrNotFound
	}
	return e, err
}

const eventSQL = "SELECT seq, type, at, resource, subject, rev, created, updated, version, doc FROM event"

func scanEvent(c cursor, account int64) event.Event {
	return event.Event{Account: account, Seq: c.int(0), Type: c.text(1), At: c.int(2), Resource: c.text(3), Subject: c.int(4),
		Rev: c.int(5), Created: c.int(6), Updated: c.int(7), Version: c.text(8), Doc: c.bytes(9)}
}

// Events returns the events that a query selects, in its order.
func (s *Store) Events(ctx context.Context, q EventQuery) ([]event.Event, error) {
	if !storable(q.Type) {
		return nil, nil
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	b := sqlText{text: append(make([]byte, 0, 256), eventSQL...)}
	b.events(&q)
	down := q.Desc != q.Back
	if q.After != 0 {
		b.and("seq ", direction(down), q.After)
	}
	b.order(down, "seq")
	b.window(q.Limit, q.Offset)
	var events []event.Event
	err := s.engine.query(ctx, string(b.text), b.args, func(c cursor) {
		events = append(events, scanEvent(c, q.Account))
	})
	if err != nil {
		return nil, err
	}
	if q.Back {
		slices.Reverse(events)
	}
	return events, nil
}

// CountEvents returns how many events Events would walk without After, Offset
// and Limit.
func (s *Store) CountEvents(ctx context.Context, q EventQuery) (int64, error) {
	if !storable(q.Type) {
		return 0, nil
	}
	b := sqlText{text: []byte("SELECT count(*) FROM event")}
	b.events(&q)
	return s.number(ctx, string(b.text), b.args...)
}

// EventMark returns the highest sequence number handed out: no event that is
// committed later has one up to it.
func (s *Store) EventMark(ctx context.Context, account int64) (int64, error) {
	return s.number(ctx, "SELECT seq FROM clock")
}

// number reads one integer, 0 where there is no row.
func (s *Store) number(ctx context.Context, sql string, args ...any) (n int64, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	err = s.engine.query(ctx, sql, args, func(c cursor) { n = c.int(0) })
	return n, err
}

// A sqlText grows to the text of a query.
type sqlText struct {
	text []byte
	args []any
}

// and adds a condition with one argument.
func (b *sqlText) and(column, operator string, arg any) {
	if len(b.args) == 0 {
		b.text = append(b.text, " WHERE "...)
	} else {
		b.text = append(b.text, " AND "...)
	}
	b.text = append(append(b.text, column...), operator...)
	b.arg(arg)
}

func (b *sqlText) arg(arg any) {
	b.args = append(b.args, arg)
	b.text = strconv.AppendInt(append(b.text, '$'), int64(len(b.args)), 10)
}

func (b *sqlText) order(down bool, columns ...string) {
	for i, column := range columns {
		if i == 0 {
			b.text = append(b.text, " ORDER BY "...)
		} else {
			b.text = append(b.text, ", "...)
		}
		b.text = append(b.text, column...)
		if down {
			b.text = append(b.text, " DESC"...)
		}
	}
}

func (b *sqlText) window(limit, offset int) {
	if limit <= 0 {
		limit = 20
	}
	b.text = append(b.text, " LIMIT "...)
	b.arg(int64(limit))
	if offset > 0 {
		b.text = append(b.text, " OFFSET "...)
		b.arg(int64(offset))
	}
}

// direction is the operator behind which a walk goes on.
func direction(down bool) string {
	if down {
		return "< "
	}
	return "> "
}

// rows adds what selects rows. It reports false where no row can be selected.
func (b *sqlText) rows(t *table, q *Query) (bool, error) {
	b.and("account ", "= ", q.Account)
	for _, c := range q.Where {
		i := t.column(c.Column)
		if i < 0 || !t.Columns[i].indexed() {
			return false, fmt.Errorf("store: table %s has no indexed column %s", t.Name, c.Column)
		}
		if any, err := b.oneOf(&t.Columns[i], c.Values); err != nil || !any {
			return false, err
		}
	}
	if q.Since != 0 {
		b.and("updated ", ">= ", q.Since)
	}
	if q.Mark != 0 {
		b.and("id ", "<= ", q.Mark)
	}
	return true, nil
}

// oneOf adds the condition that a column has one of some values. It reports
// false where no row can have one.
func (b *sqlText) oneOf(c *Column, values []any) (bool, error) {
	null, some := false, false
	for _, v := range values {
		if text, ok := v.(string); ok && c.Kind == Text && !storable(text) {
			continue
		}
		if err := c.fits(v); err != nil {
			return false, err
		}
		if v == nil {
			null = true
			continue
		}
		if !some {
			b.text = append(append(append(b.text, " AND (k_"...), c.Name...), " IN ("...)
		} else {
			b.text = append(b.text, ", "...)
		}
		b.arg(v)
		some = true
	}
	switch {
	case some && null:
		b.text = append(append(append(b.text, ") OR k_"...), c.Name...), " IS NULL)"...)
	case some:
		b.text = append(b.text, "))"...)
	case null:
		b.text = append(append(append(b.text, " AND k_"...), c.Name...), " IS NULL"...)
	}
	return some || null, nil
}

// page adds where a walk begins and how it goes.
func (b *sqlText) page(q *Query) {
	down := q.Desc != q.Back
	if q.Order == ByUpdated {
		if q.After != nil {
			b.and("(updated, id) ", direction(down)+"(", q.After.Key)
			b.text = append(b.text, ", "...)
			b.arg(q.After.ID)
			b.text = append(b.text, ')')
		}
		b.order(down, "updated", "id")
	} else {
		if q.After != nil {
			b.and("id ", direction(down), q.After.ID)
		}
		b.order(down, "id")
	}
	b.window(q.Limit, q.Offset)
}

// events adds what selects events. A walk from a time on need not begin with
// the account's first event: tick says which ones are older, save those that
// are ahead of their time.
func (b *sqlText) events(q *EventQuery) {
	b.and("account ", "= ", q.Account)
	if q.Type != "" {
		b.and("type ", "= ", q.Type)
	}
	if q.For != 0 {
		b.text = append(b.text, " AND (type = 'webhook-endpoint.ping' AND subject = "...)
		b.arg(q.For)
		b.text = append(b.text, " OR type <> 'webhook-endpoint.ping'"...)
	}
	if len(q.Types) > 0 {
		b.types(q.Types)
	}
	if q.For != 0 {
		b.text = append(b.text, ')')
	}
	if q.Since != 0 {
		b.since(q)
	}
	if q.Mark != 0 {
		b.and("seq ", "<= ", q.Mark)
	}
}

// since adds the condition that events are not older. What an endpoint was
// told counts by when it was told, too: an application may publish late.
func (b *sqlText) since(q *EventQuery) {
	b.args = append(b.args, q.Since)
	since := "$" + strconv.Itoa(len(b.args))
	const oldest = "coalesce((SELECT seq FROM tick WHERE at < {since} ORDER BY at DESC LIMIT 1), 0)"
	text := " AND at >= {since} AND seq > (SELECT min(s) FROM (SELECT " + oldest +
		" AS s UNION ALL SELECT seq - 1 FROM ahead WHERE account = $1 AND at >= {since}) AS b)"
	if q.For != 0 {
		text = " AND seq > " + oldest + " AND (at >= {since} OR EXISTS (SELECT 1 FROM delivery AS d WHERE d.endpoint = " +
			strconv.FormatInt(q.For, 10) + " AND d.seq = event.seq AND d.born >= {since}))"
	}
	b.text = append(b.text, strings.ReplaceAll(text, "{since}", since)...)
}

// types adds the condition that an event is of one of some types.
func (b *sqlText) types(list []string) {
	separator := " AND ("
	for _, t := range list {
		if !storable(t) {
			continue
		}
		b.text = append(b.text, separator...)
		separator = " OR "
		prefix, all := strings.CutSuffix(t, "*")
		switch {
		case all && prefix == "":
			b.text = append(b.text, "1 = 1"...)
		case all:
			b.text = append(b.text, "(type >= "...)
			b.arg(prefix)
			b.text = append(b.text, " AND type < "...)
			b.arg(prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1))
			b.text = append(b.text, ')')
		default:
			b.text = append(b.text, "type = "...)
			b.arg(t)
		}
	}
	b.text = append(b.text, ')')
}
