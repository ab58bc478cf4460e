package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
)

// A Use says how often an account used an operation of an API version.
type Use struct {
	Account            int64
	Version, Operation string
	Count              int64
	First, Last        int64 // microseconds since 1970 UTC, on one day where it is given to AddUses
}

// usageDays is how long uses are kept: a year of notice and a month.
const usageDays = 400

// usageSlice is how many uses one statement takes.
const usageSlice = 2000

// AddUses adds to what is known of each account, version, operation and day,
// in one transaction. The day is that of First. Several nodes may add to the
// same. Uses are kept for 400 days. AddUses sorts the slice.
func (s *Store) AddUses(ctx context.Context, uses []Use) error {
	if len(uses) == 0 {
		return nil
	}
	slices.SortFunc(uses, func(a, b Use) int { // nodes that add to the same rows take them in one order
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.First, b.First))
	})
	return s.work(ctx, func(db session) error {
		for part := range slices.Chunk(uses, usageSlice) {
			if _, err := db.run(s.dialect.addUses(), string(appendUses(nil, part))); err != nil {
				return err
			}
		}
		return nil
	})
}

// appendUses writes uses as JSON, the columns of the table in their order.
// Versions and operations are names of the program and need no escaping.
func appendUses(dst []byte, uses []Use) []byte {
	dst = append(dst, '[')
	for i := range uses {
		u := &uses[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendQuote(append(dst, '['), u.Version)
		dst = strconv.AppendInt(append(dst, ','), u.Account, 10)
		dst = strconv.AppendQuote(append(dst, ','), u.Operation)
		for _, n := range [...]int64{u.First / day, u.Count, u.First, u.Last} {
			dst = strconv.AppendInt(append(dst, ','), n, 10)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

func (d *dialect) addUses() string {
	return `INSERT INTO usage (version, account, operation, day, uses, first_at, last_at)
		SELECT j.value ->> 0, CAST(j.value ->> 1 AS bigint), j.value ->> 2, CAST(j.value ->> 3 AS bigint),
			CAST(j.value ->> 4 AS bigint), CAST(j.value ->> 5 AS bigint), CAST(j.value ->> 6 AS bigint)
		FROM ` + d.elements + ` WHERE true
		ON CONFLICT (version, account, operation, day) DO UPDATE SET uses = usage.uses + excluded.uses,
			first_at = CASE WHEN excluded.first_at < usage.first_at THEN excluded.first_at ELSE usage.first_at END,
			last_at = CASE WHEN excluded.last_at > usage.last_at THEN excluded.last_at ELSE usage.last_at END`
}

// A UserQuery selects the accounts that use a version, or are bound to it, in
// order of their ids.
type UserQuery struct {
	Version string
	Since   int64 // only accounts that used it then or later; 0 means ever

	// The ids of the rows of account 0 that have the version in the column
	// Bound are selected too, whether they used it or not. Zero: none.
	Bound Key
	// Accounts that have a row with Notice in the column Told are left out.
	// Zero: none are.
	Told   Key
	Notice string

	Mark   int64 // only ids up to it; 0 means all
	After  int64 // the id to start behind; 0 means from the first
	Back   bool  // walk the other way; ids still come in rising order
	Offset int
	Limit  int // 0 means 20
}

// A Key names an indexed column of a table. The zero one names none.
type Key struct {
	Table  *Table
	Column string
}

// key resolves a Key to the name of its table; "" for the zero one.
func (s *Store) key(k Key) (string, error) {
	if k.Table == nil {
		return "", nil
	}
	t, err := s.table(k.Table)
	if err != nil {
		return "", err
	}
	if i := t.column(k.Column); i < 0 || !t.Columns[i].indexed() {
		return "", fmt.Errorf("store: table %s has no indexed column %s", k.Table.Name, k.Column)
	}
	return t.sql, nil
}

// Users returns the ids of the accounts that a query selects.
func (s *Store) Users(ctx context.Context, q UserQuery) ([]int64, error) {
	var b sqlText
	limit := q.Limit
	if limit <= 0 {
		limit = 20
	}
	b.text = append(b.text, "SELECT id FROM ("...)
	if err := b.users(s, &q, q.Offset+limit); err != nil {
		return nil, err
	}
	b.text = append(b.text, ") AS u"...)
	b.order(q.Back, "id")
	b.window(limit, q.Offset)
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var ids []int64
	err := s.engine.query(ctx, string(b.text), b.args, func(c cursor) { ids = append(ids, c.int(0)) })
	if q.Back {
		slices.Reverse(ids)
	}
	return ids, err
}

// CountUsers returns how many accounts Users would walk without After, Offset
// and Limit.
func (s *Store) CountUsers(ctx context.Context, q UserQuery) (int64, error) {
	var b sqlText
	b.text = append(b.text, "SELECT count(*) FROM ("...)
	q.After = 0
	if err := b.users(s, &q, 0); err != nil {
		return 0, err
	}
	b.text = append(b.text, ") AS u"...)
	return s.number(ctx, string(b.text), b.args...)
}

// users adds both sorts of users. Each is limited by itself, so that a page
// does not read them all.
func (b *sqlText) users(s *Store, q *UserQuery, limit int) error {
	bound, err := s.key(q.Bound)
	if err != nil {
		return err
	}
	told, err := s.key(q.Told)
	if err != nil {
		return err
	}
	arm := func(id string) {
		if q.Mark != 0 {
			b.and(id, " <= ", q.Mark)
		}
		if q.After != 0 {
			b.and(id, " "+direction(q.Back), q.After)
		}
		if told != "" {
			b.and("NOT EXISTS (SELECT 1 FROM "+told+" AS t WHERE t.account = s."+id+" AND t.k_"+q.Told.Column, " = ", q.Notice)
			b.text = append(b.text, ')')
		}
	}
	end := func(id string) {
		if limit > 0 {
			b.order(q.Back, id)
			b.window(limit, 0)
		}
	}
	b.text = append(b.text, "SELECT account AS id FROM (SELECT account FROM usage AS s"...)
	b.and("version", " = ", q.Version)
	if q.Since != 0 {
		b.and("last_at", " >= ", q.Since)
	}
	arm("account")
	b.text = append(b.text, " GROUP BY account"...)
	end("account")
	b.text = append(b.text, ") AS a"...)
	if bound == "" {
		return nil
	}
	b.text = append(b.text, " UNION SELECT id FROM (SELECT id FROM "+bound+" AS s WHERE account = 0 AND k_"+q.Bound.Column+" = $1"...)
	arm("id")
	end("id")
	b.text = append(b.text, ") AS b"...)
	return nil
}

// UserMark returns the highest account id that is known to use a version: 0
// where there is none.
func (s *Store) UserMark(ctx context.Context, version string) (int64, error) {
	return s.number(ctx, "SELECT account FROM usage WHERE version = $1 ORDER BY account DESC LIMIT 1", version)
}

// Uses returns what accounts did in a version, one Use for each account and
// operation, ordered by both, of the accounts from one id to another. Since is
// as in UserQuery.
func (s *Store) Uses(ctx context.Context, version string, since, from, to int64) ([]Use, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var uses []Use
	err := s.engine.query(ctx, `SELECT account, operation, CAST(sum(uses) AS bigint), min(first_at), max(last_at) FROM usage
		WHERE version = $1 AND account >= $2 AND account <= $3 AND last_at >= $4
		GROUP BY account, operation ORDER BY account, operation`, []any{version, from, to, since}, func(c cursor) {
		uses = append(uses, Use{Version: version, Account: c.int(0), Operation: c.text(1), Count: c.int(2), First: c.int(3), Last: c.int(4)})
	})
	return uses, err
}
