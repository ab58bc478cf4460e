package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A shape is a Table as it is kept beside its rows, to be compared with the
// next program's.
type shape struct {
	Columns []Column
	Fields  []Field
	View    string // its definition
}

// derive makes or extends the tables.
func derive(db session, d *dialect, list []*table) error {
	for _, t := range list {
		if err := t.derive(db, d); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	for _, t := range list {
		if err := t.checkRefs(db); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

func (t *table) derive(db session, d *dialect) error {
	var old *shape
	var err error
	scan := func(c cursor) {
		old = new(shape)
		err = json.Unmarshal(c.bytes(0), old)
		t.reshape = c.int(1)
	}
	if qerr := db.query("SELECT definition, seq FROM shape WHERE name = $1", []any{t.Name}, scan); qerr != nil || err != nil {
		return fmt.Errorf("reading its definition: %w", firstError(qerr, err))
	}
	now := shape{Columns: t.Columns, Fields: t.Fields}
	if old != nil {
		if now.Fields, err = t.mergeFields(old.Fields); err != nil {
			return err
		}
	}
	now.View = t.viewSQL(d, now.Fields)
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if old != nil {
		if was, _ := json.Marshal(old); string(was) == string(text) {
			return nil
		}
	}
	if d.lock != "" {
		if err := db.query(d.lock, nil, func(cursor) {}); err != nil {
			return err
		}
	}
	made, err := t.columnsUp(db, d)
	if err != nil {
		return err
	}
	if err := t.indexesUp(db, d); err != nil {
		return err
	}
	if err := t.viewUp(db, d, now.View, old == nil); err != nil {
		return err
	}
	if !made {
		t.noteRefs(old)
	}
	if !made && (old == nil || !slices.Equal(old.Fields, now.Fields)) {
		if err := t.age(db); err != nil {
			return err
		}
	}
	_, err = db.run(`INSERT INTO shape (name, definition, seq) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, seq = excluded.seq`, t.Name, string(text), t.reshape)
	return err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// age notes that the rows there are were written under another definition.
func (t *table) age(db session) error {
	rows := false
	if err := db.query("SELECT 1 FROM "+t.sql+" LIMIT 1", nil, func(cursor) { rows = true }); err != nil || !rows {
		return err
	}
	return db.query("SELECT seq FROM clock", nil, func(c cursor) { t.reshape = c.int(0) })
}

// mergeFields returns the fields with those that were there before first, so
// that the view's columns keep their places.
func (t *table) mergeFields(old []Field) ([]Field, error) {
	merged := slices.Clone(old)
	for _, f := range old {
		i := slices.IndexFunc(t.Fields, func(n Field) bool { return n.Name == f.Name })
		if i < 0 || t.Fields[i].Type != f.Type {
			what := "is no longer defined"
			if i >= 0 {
				what = "was of type " + f.Type + " and is now of type " + t.Fields[i].Type
			}
			return nil, fmt.Errorf("field %s %s; documents still hold it as it was and nothing was changed. Define it as before, or accept the new definition with: DELETE FROM shape WHERE name = '%s'",
				f.Name, what, t.Name)
		}
	}
	for _, f := range t.Fields {
		if !slices.ContainsFunc(old, func(o Field) bool { return o.Name == f.Name }) {
			merged = append(merged, f)
		}
	}
	return merged, nil
}

// columnsUp makes the table, or adds the columns it lacks and fills them from
// the documents. It reports whether it made the table.
func (t *table) columnsUp(db session, d *dialect) (made bool, err error) {
	have := make(map[string]string)
	err = db.query(d.columns, []any{t.sql}, func(c cursor) { have[c.text(0)] = c.text(1) })
	if err != nil {
		return false, err
	}
	if len(have) == 0 {
		return true, db.script(t.createSQL(d))
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		typ := have[name]
		key, is := strings.CutPrefix(name, "k_")
		if !is {
			continue
		}
		i := t.column(key)
		if i >= 0 && typ == d.types[t.Columns[i].Kind] {
			continue
		}
		what := "is no longer defined"
		if i >= 0 {
			what = "was " + typ + " and is now " + d.types[t.Columns[i].Kind]
		}
		return false, fmt.Errorf("column %s %s; nothing was changed. Define it as before, or drop the old one with: DROP INDEX IF EXISTS %s; DROP INDEX IF EXISTS %s; ALTER TABLE %s DROP COLUMN %s (documents keep the values; a column that is defined is filled from them again)",
			key, what, t.indexName(key, true), t.indexName(key, false), t.sql, name)
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if _, is := have["k_"+c.Name]; is {
			continue
		}
		err := db.script("ALTER TABLE " + t.sql + " ADD COLUMN k_" + c.Name + " " + d.types[c.Kind])
		if err != nil {
			return false, err
		}
		if _, err := db.run("UPDATE " + t.sql + " SET k_" + c.Name + " = " + d.fill(c)); err != nil {
			return false, fmt.Errorf("filling column %s from the documents: %w", c.Name, err)
		}
	}
	return false, nil
}

func (t *table) createSQL(d *dialect) string {
	var b strings.Builder
	integer := d.types[Int]
	fmt.Fprintf(&b, "CREATE TABLE %s (", t.sql)
	for _, name := range []string{"account", "id", "rev", "seq", "created", "updated"} {
		fmt.Fprintf(&b, "%s %s NOT NULL, ", name, integer)
	}
	fmt.Fprintf(&b, "doc %s NOT NULL, ", d.types[Text])
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "k_%s %s, ", c.Name, d.types[c.Kind])
	}
	fmt.Fprintf(&b, "PRIMARY KEY (account, id))%s", d.suffix)
	return b.String()
}

// indexName is unique in the database and at most 63 bytes, PostgreSQL's limit.
func (t *table) indexName(column string, unique bool) string {
	name := t.sql + "_" + column + "_index"
	if unique {
		name = t.sql + "_" + column + "_unique"
	}
	if len(name) > 63 {
		sum := sha256.Sum256([]byte(name))
		name = name[:46] + "_" + hex.EncodeToString(sum[:8])
	}
	return name
}

// indexesUp makes the indexes that are wanted and drops those that are not.
func (t *table) indexesUp(db session, d *dialect) error {
	have := make(map[string]bool)
	if err := db.query(d.indexes, []any{t.sql}, func(c cursor) { have[c.text(0)] = true }); err != nil {
		return err
	}
	want := func(name, sql string) error {
		if have[name] {
			delete(have, name)
			return nil
		}
		return db.script(sql)
	}
	name := t.indexName("updated", false)
	if err := want(name, "CREATE INDEX "+name+" ON "+t.sql+" (account, updated, id)"); err != nil {
		return err
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Unique {
			name := t.indexName(c.Name, true)
			if err := t.checkUnique(db, c); !have[name] && err != nil {
				return err
			}
			err := want(name, fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (account, k_%s) WHERE k_%[3]s IS NOT NULL", name, t.sql, c.Name))
			if err != nil {
				return err
			}
		} else if c.indexed() {
			name := t.indexName(c.Name, false)
			if err := want(name, fmt.Sprintf("CREATE INDEX %s ON %s (account, k_%s, id)", name, t.sql, c.Name)); err != nil {
				return err
			}
		}
	}
	for _, c := range t.Columns {
		name, columns := t.indexName(c.Name+"_held", false), "k_"+c.Name
		if c.Summed {
			name, columns = t.indexName(c.Name+"_summed", false), "account, k_"+c.Name
		}
		if !c.Held && !c.Summed {
			continue
		}
		if err := want(name, fmt.Sprintf("CREATE INDEX %s ON %s (%s)", name, t.sql, columns)); err != nil {
			return err
		}
	}
	for name := range have {
		if strings.HasPrefix(name, t.sql+"_") {
			if err := db.script("DROP INDEX " + name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *table) checkUnique(db session, c *Column) error {
	twice := false
	err := db.query(fmt.Sprintf("SELECT 1 FROM %s WHERE k_%s IS NOT NULL GROUP BY account, k_%[2]s HAVING count(*) > 1 LIMIT 1", t.sql, c.Name),
		nil, func(cursor) { twice = true })
	if err == nil && twice {
		err = fmt.Errorf("column %s cannot become unique: rows of one account have the same value; nothing was changed. Change those rows with the program that wrote them, then start again", c.Name)
	}
	return err
}

// noteRefs notes the columns that only now became references.
func (t *table) noteRefs(old *shape) {
	for _, i := range t.refs {
		c := &t.Columns[i]
		same := func(o Column) bool { return o.Name == c.Name && o.Ref == c.Ref }
		if old == nil || !slices.ContainsFunc(old.Columns, same) {
			t.fresh = append(t.fresh, i)
		}
	}
}

// checkRefs reports references to rows that do not exist, which a column that
// only now became a reference can have.
func (t *table) checkRefs(db session) error {
	for _, i := range t.fresh {
		lost := false
		c := t.Columns[i].Name
		err := db.query(fmt.Sprintf("SELECT 1 FROM %s AS r WHERE k_%s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s AS o WHERE o.account = r.account AND o.id = r.k_%[2]s) LIMIT 1",
			t.sql, c, t.targets[i].sql), nil, func(cursor) { lost = true })
		if err != nil {
			return err
		}
		if lost {
			return fmt.Errorf("column %s refers to rows of %s that do not exist; nothing was changed. Change those rows with the program that wrote them, then start again", c, t.targets[i].Name)
		}
	}
	return nil
}

// viewSQL is what stands behind CREATE VIEW.
func (t *table) viewSQL(d *dialect, fields []Field) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s AS SELECT id, account, %s AS created_at, %s AS updated_at", quote(t.view), d.time("created"), d.time("updated"))
	for _, f := range fields {
		switch f.Name {
		case "id", "account", "created_at", "updated_at":
			continue
		}
		fmt.Fprintf(&b, ", %s AS %s", d.field(f), quote(f.Name))
	}
	fmt.Fprintf(&b, " FROM %s", t.sql)
	return b.String()
}

// quote makes a name safe where it is a keyword. Names hold no quotes.
func quote(name string) string { return `"` + name + `"` }

func (t *table) viewUp(db session, d *dialect, sql string, anew bool) error {
	if d.replace && !anew {
		return db.script("CREATE OR REPLACE VIEW " + sql)
	}
	return db.script("DROP VIEW IF EXISTS " + quote(t.view) + "; CREATE VIEW " + sql)
}
