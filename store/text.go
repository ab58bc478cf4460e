package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A sqlText grows to the text of a query.
type sqlText struct {
	text  []byte
	args  []any
	where bool // a condition has been added
}

// and adds a condition with one argument.
func (b *sqlText) and(column, operator string, arg any) {
	b.also()
	b.text = append(append(b.text, column...), operator...)
	b.arg(arg)
}

// also adds what stands before a condition.
func (b *sqlText) also() {
	if b.where {
		b.text = append(b.text, " AND "...)
	} else {
		b.text = append(b.text, " WHERE "...)
	}
	b.where = true
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

// page writes the query of a page. It reports false where no row can be
// selected.
//
// Every page is one stretch of an index, in its order: nothing is sorted, and
// no row is read that is not on the page, but for those that a second filter
// drops and those that an offset skips. TestPagePlans holds both databases to it.
// So a filter on several values in order of ids, for which no index has that
// order, becomes a query for each value, of which each gives a page at most.
func (b *sqlText) page(t *table, selecting string, q *Query) (ok bool, err error) {
	b.text, b.args = make([]byte, 0, 512), make([]any, 0, 8)
	several := slices.IndexFunc(q.Where, func(c Condition) bool { return len(c.Values) > 1 })
	if several < 0 || q.Order == ByUpdated {
		b.text = append(append(b.text, selecting...), t.along(q.Order, q.Where)...)
		if ok, err = b.rows(t, q, q.Where); err != nil || !ok {
			return false, err
		}
		b.sorted(q)
		b.window(q.limit(), q.Offset)
		return true, nil
	}
	where, values := slices.Clone(q.Where), q.Where[several].Values
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			continue
		}
		where[several].Values = values[i : i+1]
		if err := b.part(t, selecting, q, where); err != nil {
			return false, err
		}
	}
	if len(b.text) == 0 {
		return false, nil
	}
	b.sorted(q)
	b.window(q.limit(), q.Offset)
	return true, nil
}

// part adds the query for one value of several, unless no row can have it.
func (b *sqlText) part(t *table, selecting string, q *Query, where []Condition) error {
	length, args := len(b.text), len(b.args)
	if length > 0 {
		b.text = append(b.text, " UNION ALL "...)
	}
	b.text = append(append(b.text, "SELECT * FROM ("...), selecting...)
	b.text = append(b.text, t.along(q.Order, where)...)
	b.where = false
	ok, err := b.rows(t, q, where)
	if err != nil || !ok {
		b.text, b.args = b.text[:length], b.args[:args]
		return err
	}
	b.sorted(q)
	b.window(q.limit()+q.Offset, 0)
	b.text = append(b.text, ") AS p"...)
	return nil
}

// along names the index to walk along, for SQLite: that of the order, or that
// of the condition which leaves the fewest rows, as far as one can tell.
func (t *table) along(order Order, where []Condition) (hint string) {
	if order == ByUpdated {
		return t.byUpdated
	}
	best := 0
	for _, c := range where {
		i := t.column(c.Column)
		if i < 0 || len(c.Values) != 1 || t.Columns[i].Unique && c.Values[0] == nil {
			continue
		}
		rank := 1
		switch {
		case t.Columns[i].Unique:
			rank = 3
		case t.Columns[i].Ref != "":
			rank = 2
		}
		if rank > best {
			best, hint = rank, t.byColumn[i]
		}
	}
	return hint
}

// rows adds what selects rows. It reports false where no row can be selected.
func (b *sqlText) rows(t *table, q *Query, where []Condition) (bool, error) {
	b.and("account ", "= ", q.Account)
	for _, c := range where {
		i := t.column(c.Column)
		if i < 0 || !t.Columns[i].indexed() {
			return false, fmt.Errorf("store: table %s has no indexed column %s", t.Name, c.Column)
		}
		if any, err := b.oneOf(&t.Columns[i], c.Values); err != nil || !any {
			return false, err
		}
	}
	b.bounds(q)
	return true, nil
}

// oneOf adds the condition that a column has one of some values. It reports
// false where no row can have one.
func (b *sqlText) oneOf(c *Column, values []any) (bool, error) {
	null, some := false, make([]any, 0, len(values))
	for _, v := range values {
		if text, ok := v.(string); ok && c.Kind == Text && !storable(text) {
			continue
		}
		if err := c.fits(v); err != nil {
			return false, err
		}
		if v == nil {
			null = true
		} else {
			some = append(some, v)
		}
	}
	if len(some) == 0 && !null {
		return false, nil
	}
	b.also()
	switch {
	case len(some) == 0:
		b.text = append(append(append(b.text, "k_"...), c.Name...), " IS NULL"...)
		return true, nil
	case len(some) == 1 && !null: // SQLite does not find the order of an index behind IN
		b.text = append(append(append(b.text, "k_"...), c.Name...), " = "...)
		b.arg(some[0])
		return true, nil
	}
	b.text = append(append(append(b.text, "(k_"...), c.Name...), " IN ("...)
	for i, v := range some {
		if i > 0 {
			b.text = append(b.text, ", "...)
		}
		b.arg(v)
	}
	b.text = append(b.text, ')')
	if null {
		b.text = append(append(append(b.text, " OR k_"...), c.Name...), " IS NULL"...)
	}
	b.text = append(b.text, ')')
	return true, nil
}

// bounds adds where a walk begins and where it ends. Of two bounds at one end
// only the tighter one is written: SQLite would search by one of them, perhaps
// the other, and step over all rows in between.
func (b *sqlText) bounds(q *Query) {
	down := q.Desc != q.Back
	after, since, mark := q.After, q.Since, q.Mark
	if q.Order == ByID {
		if after != nil && down && mark != 0 && mark < after.ID {
			after = nil
		}
		if since != 0 {
			b.and("updated ", ">= ", since)
		}
		if mark != 0 && (after == nil || !down) {
			b.and("id ", "<= ", mark)
		}
		if after != nil {
			b.and("id ", direction(down), after.ID)
		}
		return
	}
	if after != nil && (down && mark != 0 && mark < after.Key || !down && since > after.Key) {
		after = nil
	}
	if since != 0 && (after == nil || down) {
		b.and("updated ", ">= ", since)
	}
	if mark != 0 && (after == nil || !down) {
		b.and("updated ", "<= ", mark)
	}
	if after != nil {
		b.and("(updated, id) ", direction(down)+"(", after.Key)
		b.text = append(b.text, ", "...)
		b.arg(after.ID)
		b.text = append(b.text, ')')
	}
}

// sorted adds the order of a walk.
func (b *sqlText) sorted(q *Query) {
	down := q.Desc != q.Back
	if q.Order == ByUpdated {
		b.order(down, "updated", "id")
	} else {
		b.order(down, "id")
	}
}

// events adds what selects events. A walk from a time on need not begin with
// the account's first event: tick says which ones are older, save those that
// are ahead of their time.
func (b *sqlText) events(q *EventQuery) {
	b.and("account ", "= ", q.Account)
	if q.Type != "" {
		b.and("type ", "= ", q.Type)
	}
	if len(q.Types) > 0 {
		b.types(q.Types)
	}
	if q.For != 0 {
		b.text = append(b.text, " AND (type <> 'webhook-endpoint.ping' OR subject = "...)
		b.arg(q.For)
		b.text = append(b.text, ')')
	}
	if q.Since != 0 {
		b.and("at ", ">= ", q.Since)
		since := strconv.Itoa(len(b.args))
		b.text = append(b.text, " AND seq > (SELECT min(s) FROM (SELECT coalesce((SELECT seq FROM tick WHERE at < $"+since+
			" ORDER BY at DESC LIMIT 1), 0) AS s UNION ALL SELECT seq - 1 FROM ahead WHERE account = $1 AND at >= $"+since+") AS b)"...)
	}
	if q.Mark != 0 {
		b.and("seq ", "<= ", q.Mark)
	}
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
