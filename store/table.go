package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A table is a Table as one store uses it: its name in SQL, its texts and who
// refers to it.
type table struct {
	*Table
	index     int    // in Store.list
	sql       string // name of the table
	view      string // name of the view
	reshape   int64  // rows with a Seq up to this were written under another definition
	refs      []int  // columns with Ref
	fresh     []int  // of refs: rows were there before the column became one
	uniques   []int  // columns with Unique
	targets   []*table
	referrers []referrer

	getSQL, selectSQL, countSQL, counterSQL string
	beginSQL                                [2]string // by Order: selectSQL with the mark
	insertSQL, deleteSQL, clearSQL          string
	existsSQL                               string
	recordSQL                               string // everything, keys too

	// The indexes to use, for SQLite; empty on PostgreSQL. By column, where it
	// has one for any value but null.
	byUpdated string
	byColumn  []string

	// By column: the row that has a value, its id, the ids of rows that refer,
	// their records.
	findSQL, holderSQL, refersSQL, referringSQL []string
}

// A referrer is a column that refers to a table.
type referrer struct {
	table  *table
	column int
}

// resolve checks the tables and works out what refers to what.
func resolve(tables []*Table) ([]*table, map[*Table]*table, error) {
	list := make([]*table, 0, len(tables))
	byPointer := make(map[*Table]*table, len(tables))
	byName := make(map[string]*table, len(tables))
	taken := make(map[string]bool)
	for _, name := range []string{"ahead", "clock", "counter", "delivery", "event", "fanout", "health", "migration", "outbox", "replay", "setting", "shape", "tick", "usage"} {
		taken[name] = true
	}
	for _, t := range tables {
		if err := t.check(); err != nil {
			return nil, nil, err
		}
		under := strings.ReplaceAll(t.Name, "-", "_")
		r := &table{Table: t, index: len(list), sql: "r_" + under, view: under}
		if byName[t.Name] != nil || taken[r.sql] || taken[r.view] {
			return nil, nil, fmt.Errorf("store: the name %s is taken", t.Name)
		}
		taken[r.sql], taken[r.view] = true, true
		byPointer[t], byName[t.Name] = r, r
		list = append(list, r)
	}
	for _, t := range list {
		t.targets = make([]*table, len(t.Columns))
		for i, c := range t.Columns {
			if c.Unique {
				t.uniques = append(t.uniques, i)
			}
			if c.Ref == "" {
				continue
			}
			to := byName[c.Ref]
			if to == nil {
				return nil, nil, fmt.Errorf("store: column %s of %s refers to %s, which was not opened", c.Name, t.Name, c.Ref)
			}
			t.refs = append(t.refs, i)
			t.targets[i] = to
			to.referrers = append(to.referrers, referrer{t, i})
		}
		t.write()
	}
	return list, byPointer, nil
}

// check reports what is wrong with the definition.
func (t *Table) check() error {
	if t == nil {
		return errors.New("store: nil table")
	}
	if !plain(t.Name, '-') {
		return fmt.Errorf("store: %q is no name of a table: lower-case letters, digits and hyphens, a letter first, at most 50", t.Name)
	}
	for i, c := range t.Columns {
		switch {
		case !plain(c.Name, '_'):
			return fmt.Errorf("store: table %s: %q is no name of a column", t.Name, c.Name)
		case slices.ContainsFunc(t.Columns[:i], func(o Column) bool { return o.Name == c.Name }):
			return fmt.Errorf("store: table %s has column %s twice", t.Name, c.Name)
		case c.Kind > Bool:
			return fmt.Errorf("store: table %s: column %s has an unknown kind", t.Name, c.Name)
		case c.Ref != "" && c.Kind != Int:
			return fmt.Errorf("store: table %s: column %s refers to a row and must be an Int", t.Name, c.Name)
		case c.Summed && c.Kind != Int:
			return fmt.Errorf("store: table %s: column %s is Summed and must be an Int", t.Name, c.Name)
		case c.Held && c.Kind != Text:
			return fmt.Errorf("store: table %s: column %s is Held and must be a Text", t.Name, c.Name)
		case c.Ref != "" && c.OnDelete == SetNull && t.Clear == nil:
			return fmt.Errorf("store: table %s: column %s has SetNull and the table has no Clear", t.Name, c.Name)
		}
	}
	for i, f := range t.Fields {
		if !plain(f.Name, '_') || slices.ContainsFunc(t.Fields[:i], func(o Field) bool { return o.Name == f.Name }) {
			return fmt.Errorf("store: table %s: %q is no name of a field, or is one twice", t.Name, f.Name)
		}
	}
	return nil
}

// plain reports whether a name can stand in SQL as it is, with its separator
// made an underscore.
func plain(name string, separator byte) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c != separator && (c < '0' || c > '9'))) {
			return false
		}
	}
	return name != "" && len(name) <= 50
}

// indexed reports whether a column can be used in Query.Where.
func (c *Column) indexed() bool { return c.Index || c.Unique || c.Ref != "" }

// column returns the index of a column, -1 if there is none.
func (t *table) column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// fits reports what is wrong with a value for a column.
func (c *Column) fits(v any) error {
	ok := false
	switch v := v.(type) {
	case nil:
		ok = true
	case int64:
		ok = c.Kind == Int
	case bool:
		ok = c.Kind == Bool
	case string:
		if ok = c.Kind == Text; ok && !storable(v) {
			return fmt.Errorf("store: column %s: the text is not UTF-8 or has a NUL", c.Name)
		}
	}
	if !ok {
		return fmt.Errorf("store: column %s: a value of type %T does not fit", c.Name, v)
	}
	return nil
}

// storable reports whether both engines can keep a text.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// fits reports what is wrong with a write's form.
func (t *table) fits(w *Write) error {
	switch w.Op {
	case Delete:
		return nil
	case Insert, Update:
	default:
		return fmt.Errorf("store: table %s: unknown operation %d", t.Name, w.Op)
	}
	if len(w.Keys) != len(t.Columns) {
		return fmt.Errorf("store: table %s: %d keys for %d columns", t.Name, len(w.Keys), len(t.Columns))
	}
	for i := range t.Columns {
		if err := t.Columns[i].fits(w.Keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// write composes the statements whose text depends on nothing but the table.
// Parameters appear in the order of their numbers, which SQLite needs.
func (t *table) write() {
	const selecting = "SELECT id, rev, seq, created, updated, doc"
	const fixed = "account, id, rev, seq, created, updated, doc"
	names, values, nulls := fixed, "$1, $2, $3, $4, $5, $6, $7", ""
	for i, c := range t.Columns {
		names += ", k_" + c.Name
		values += fmt.Sprintf(", $%d", 8+i)
		if c.Unique {
			nulls += fmt.Sprintf(", k_%s = NULL", c.Name)
		}
	}
	n := len(t.Columns)
	t.selectSQL = selecting + " FROM " + t.sql
	t.getSQL = t.selectSQL + " WHERE account = $1 AND id = $2"
	t.counterSQL = "SELECT value FROM counter WHERE name = '" + t.Name + "'"
	t.beginSQL[ByID] = selecting + ", (" + t.counterSQL + ") FROM " + t.sql
	t.beginSQL[ByUpdated] = selecting + ", (SELECT at FROM clock WHERE id = 1) FROM " + t.sql
	t.countSQL = "SELECT count(*) FROM " + t.sql
	t.existsSQL = "SELECT 1 FROM " + t.sql + " WHERE account = $1 AND id = $2"
	t.recordSQL = "SELECT " + names + " FROM " + t.sql
	t.insertSQL = "INSERT INTO " + t.sql + " (" + names + ") VALUES (" + values + ")"
	t.deleteSQL = "DELETE FROM " + t.sql + " WHERE account = $1 AND id = $2"
	if nulls != "" {
		t.clearSQL = "UPDATE " + t.sql + " SET " + nulls[2:] + " WHERE account = $1 AND id = $2"
	}
	t.byColumn = make([]string, n)
	t.findSQL = make([]string, n)
	t.holderSQL = make([]string, n)
	t.refersSQL = make([]string, n)
	t.referringSQL = make([]string, n)
	for i, c := range t.Columns {
		where := " WHERE account = $1 AND k_" + c.Name + " = $2"
		t.findSQL[i] = t.selectSQL + where
		t.holderSQL[i] = "SELECT id FROM " + t.sql + where
		t.refersSQL[i] = "SELECT id FROM " + t.sql + where + " LIMIT 2"
		t.referringSQL[i] = t.recordSQL + where + " ORDER BY id"
	}
}

// hint names the indexes in the texts that search by a column. SQLite would
// not use them by itself: it takes an account for one with ten rows, and reads
// them all.
func (t *table) hint() {
	t.byUpdated = " INDEXED BY " + t.indexName("updated", false)
	for i := range t.Columns {
		c := &t.Columns[i]
		if !c.indexed() {
			continue
		}
		t.byColumn[i] = " INDEXED BY " + t.indexName(c.Name, c.Unique)
		for _, text := range [][]string{t.findSQL, t.holderSQL, t.refersSQL, t.referringSQL} {
			text[i] = strings.Replace(text[i], " WHERE ", t.byColumn[i]+" WHERE ", 1)
		}
	}
}

// updateSQL is an update of one row that sets the columns for which set says
// so. SQLite rewrites the entry in an index of every column that is set, even
// to the value it has.
func (t *table) updateSQL(set []bool) string {
	sql, n := "UPDATE "+t.sql+" SET rev = $1, seq = $2, updated = $3, doc = $4", 4
	for i, c := range t.Columns {
		if set[i] {
			n++
			sql += fmt.Sprintf(", k_%s = $%d", c.Name, n)
		}
	}
	return sql + fmt.Sprintf(" WHERE account = $%d AND id = $%d", n+1, n+2)
}
