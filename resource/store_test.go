package resource_test

import (
	"cmp"
	"context"
	"slices"

	"github.com/parley-api/parley/store"
)

// A memory is a store for one goroutine at a time that forgets everything.
type memory struct {
	tables map[string][]kept // by the table's name, in order of ids
	last   map[string]int64
	clock  int64
	events []string
	answer []byte // of the last idempotent request

	meddle func() // runs once, before the next commit
}

type kept struct {
	store.Row
	keys []any
}

func newMemory() *memory {
	return &memory{tables: make(map[string][]kept), last: make(map[string]int64), clock: 1_793_534_400_000_000}
}

func (m *memory) find(table string, account, id int64) int {
	return slices.IndexFunc(m.tables[table], func(k kept) bool { return k.Account == account && k.ID == id })
}

func (m *memory) Get(_ context.Context, t *store.Table, account, id int64) (store.Row, error) {
	i := m.find(t.Name, account, id)
	if i < 0 {
		return store.Row{}, store.ErrNotFound
	}
	return m.tables[t.Name][i].Row, nil
}

func (m *memory) Begin(ctx context.Context, t *store.Table, q store.Query) ([]store.Row, int64, error) {
	rows, err := m.Page(ctx, t, q)
	if q.Order == store.ByUpdated {
		return rows, m.clock, err
	}
	return rows, m.last[t.Name], err
}

func (m *memory) Count(_ context.Context, t *store.Table, q store.Query) (int64, error) {
	return int64(len(m.selected(t, q))), nil
}

func (m *memory) Page(_ context.Context, t *store.Table, q store.Query) ([]store.Row, error) {
	rows := m.selected(t, q)
	if q.After != nil {
		at := slices.IndexFunc(rows, func(r store.Row) bool { return r.ID == q.After.ID })
		if q.Back {
			rows = rows[:at]
			return rows[max(0, at-q.Limit):], nil
		}
		rows = rows[at+1:]
	}
	rows = rows[min(q.Offset, len(rows)):]
	return rows[:min(q.Limit, len(rows))], nil
}

// place is what a query's mark is compared with.
func place(r store.Row, q store.Query) int64 {
	if q.Order == store.ByUpdated {
		return r.Updated
	}
	return r.ID
}

// selected returns the rows that a query's conditions leave, in its order.
func (m *memory) selected(t *store.Table, q store.Query) []store.Row {
	var rows []store.Row
	for _, k := range m.tables[t.Name] {
		ok := k.Account == q.Account && (q.Mark == 0 || place(k.Row, q) <= q.Mark) && k.Updated >= q.Since
		for _, c := range q.Where {
			i := slices.IndexFunc(t.Columns, func(o store.Column) bool { return o.Name == c.Column })
			ok = ok && slices.Contains(c.Values, k.keys[i])
		}
		if ok {
			rows = append(rows, k.Row)
		}
	}
	if q.Order == store.ByUpdated {
		slices.SortFunc(rows, func(a, b store.Row) int { return cmp.Compare(a.Updated, b.Updated) })
	}
	if q.Desc {
		slices.Reverse(rows)
	}
	return rows
}

func (m *memory) Commit(_ context.Context, tx *store.Tx) ([]store.Row, error) {
	if m.meddle != nil {
		meddle := m.meddle
		m.meddle = nil
		meddle()
	}
	var rows []store.Row
	for _, w := range tx.Writes {
		row, err := m.write(tx.Account, w)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if tx.Replay != nil {
		m.answer = tx.Replay.Answer(rows)
	}
	return rows, nil
}

func (m *memory) write(account int64, w store.Write) (store.Row, error) {
	name := w.Table.Name
	i := m.find(name, account, w.ID)
	if w.Op != store.Insert && i < 0 {
		return store.Row{}, store.ErrNotFound
	}
	if w.Op != store.Insert && w.IfRev != 0 && m.tables[name][i].Rev != w.IfRev {
		if w.Redo == nil {
			return store.Row{}, store.ErrStale
		}
		again, err := w.Redo(m.tables[name][i].Row)
		if again == nil || err != nil {
			return m.tables[name][i].Row, err
		}
		w = *again
	}
	if w.Op != store.Delete {
		if err := m.check(account, w); err != nil {
			return store.Row{}, err
		}
	}
	m.clock++
	m.events = append(m.events, w.Events...)
	switch w.Op {
	case store.Insert:
		m.last[name]++
		row := store.Row{ID: m.last[name], Account: account, Rev: 1, Seq: m.clock, Created: m.clock, Updated: m.clock, Doc: w.Doc}
		m.tables[name] = append(m.tables[name], kept{row, w.Keys})
		return row, nil
	case store.Delete:
		row := m.tables[name][i].Row
		m.tables[name] = slices.Delete(m.tables[name], i, i+1)
		return row, nil
	}
	k := &m.tables[name][i]
	k.Doc, k.keys, k.Updated, k.Seq = w.Doc, w.Keys, m.clock, m.clock
	k.Rev++
	return k.Row, nil
}

// check looks after unique columns and references.
func (m *memory) check(account int64, w store.Write) error {
	for i, c := range w.Table.Columns {
		if w.Keys[i] == nil {
			continue
		}
		if c.Ref != "" && m.find(c.Ref, account, w.Keys[i].(int64)) < 0 {
			return &store.MissingRefError{Column: c.Name}
		}
		for _, k := range m.tables[w.Table.Name] {
			if c.Unique && k.Account == account && k.ID != w.ID && k.keys[i] == w.Keys[i] {
				return &store.DuplicateError{Column: c.Name}
			}
		}
	}
	return nil
}
