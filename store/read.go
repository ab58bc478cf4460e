package store

import (
	"context"
	"fmt"
	"slices"

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
	rows, _, err := s.page(ctx, r, r.selectSQL, &q)
	return rows, err
}

// Begin is Page for the first page of a walk. Besides the rows it returns the
// mark that belongs in the Query of the pages behind it. Rows and mark are of
// one moment: what is committed later lies beyond the mark. Where there is no
// row, the mark is 0.
func (s *Store) Begin(ctx context.Context, t *Table, q Query) ([]Row, int64, error) {
	r, err := s.table(t)
	if err != nil {
		return nil, 0, err
	}
	return s.page(ctx, r, r.beginSQL[q.Order], &q)
}

// page reads rows, and the mark where the statement has it.
func (s *Store) page(ctx context.Context, t *table, selecting string, q *Query) (rows []Row, mark int64, err error) {
	var b sqlText
	if ok, err := b.page(t, selecting, q); err != nil || !ok {
		return nil, 0, err
	}
	if err := s.enter(); err != nil {
		return nil, 0, err
	}
	defer s.leave()
	marked := len(selecting) > len(t.selectSQL)
	rows = make([]Row, 0, min(q.limit(), 256))
	var docs []byte // of all rows, one behind the other
	err = s.engine.query(ctx, string(b.text), b.args, func(c cursor) {
		row := Row{Account: q.Account, ID: c.int(0), Rev: c.int(1), Seq: c.int(2), Created: c.int(3), Updated: c.int(4)}
		row.Reshape = row.Seq <= t.reshape
		from := len(docs)
		docs = c.add(docs, 5)
		row.Doc = docs[from:len(docs):len(docs)]
		if len(rows) == 0 {
			docs = slices.Grow(docs, min(q.limit(), 256)*(len(docs)+len(docs)/8))
		}
		if marked && len(rows) == 0 {
			mark = c.int(6)
		}
		rows = append(rows, row)
	})
	if err != nil {
		return nil, 0, err
	}
	if q.Back {
		slices.Reverse(rows)
	}
	return rows, mark, nil
}

// Count returns how many rows Page would walk without After, Offset and Limit.
func (s *Store) Count(ctx context.Context, t *Table, q Query) (int64, error) {
	r, err := s.table(t)
	if err != nil {
		return 0, err
	}
	along := r.along(q.Order, q.Where)
	if len(q.Where) == 0 {
		along = r.byUpdated // a narrow one
	}
	b := sqlText{text: []byte(r.countSQL + along)}
	q.After = nil
	if ok, err := b.rows(r, &q, q.Where); err != nil || !ok {
		return 0, err
	}
	return s.number(ctx, string(b.text), b.args...)
}

// Mark returns the highest id handed out in a table, 0 if none was: no row
// that is committed later has an id up to it. A walk takes its mark from Begin.
func (s *Store) Mark(ctx context.Context, t *Table, account int64) (int64, error) {
	r, err := s.table(t)
	if err != nil {
		return 0, err
	}
	return s.number(ctx, r.counterSQL)
}

// Held returns those of some values that rows have in a Held column, in no
// order, whatever their account. It sees every row that is committed.
func (s *Store) Held(ctx context.Context, t *Table, column string, values []string) ([]string, error) {
	r, err := s.table(t)
	if err != nil {
		return nil, err
	}
	i := r.column(column)
	if i < 0 || !r.Columns[i].Held {
		return nil, fmt.Errorf("store: table %s has no held column %s", t.Name, column)
	}
	if len(values) == 0 {
		return nil, nil
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	b := sqlText{text: fmt.Appendf(nil, "SELECT DISTINCT k_%s FROM %s WHERE k_%[1]s IN (", column, r.sql)}
	for i, v := range values {
		if i > 0 {
			b.text = append(b.text, ", "...)
		}
		b.arg(v)
	}
	b.text = append(b.text, ')')
	var held []string
	err = s.engine.query(ctx, string(b.text), b.args, func(c cursor) { held = append(held, c.text(0)) })
	return held, err
}

// Sum returns the sum of a Summed column over the rows of an account. It reads
// an index entry for each row.
func (s *Store) Sum(ctx context.Context, t *Table, account int64, column string) (int64, error) {
	r, err := s.table(t)
	if err != nil {
		return 0, err
	}
	i := r.column(column)
	if i < 0 || !r.Columns[i].Summed {
		return 0, fmt.Errorf("store: table %s has no summed column %s", t.Name, column)
	}
	return s.number(ctx, fmt.Sprintf("SELECT CAST(coalesce(sum(k_%s), 0) AS bigint) FROM %s WHERE account = $1", column, r.sql), account)
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
	b.window(q.limit(), q.Offset)
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
