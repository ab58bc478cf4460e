package store

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestMigrationsAreChecked(t *testing.T) {
	for _, c := range []struct{ why, sql, want string }{
		{"an altered file would leave databases that differ", "UPDATE migration SET checksum = 'x' WHERE number = 1", "altered"},
		{"an older program would misread what a newer one wrote", "INSERT INTO migration (number, name, checksum, applied) VALUES (99, '0099_future', 'x', 0)", "newer than this program"},
	} {
		onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
			s := opened(t, open)
			execute(t, s, c.sql)
			s.Close()
			s, err := open()
			if err == nil {
				s.Close()
				t.Fatalf("it was opened, but %s", c.why)
			}
			if got := err.Error(); !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("error %q, want one line that says %q", got, c.want)
			}
		})
	}
}

func TestMigrationFailsWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		s := opened(t, open)
		d := sqliteDialect()
		if _, ok := s.engine.(*postgresEngine); ok {
			d = postgresDialect()
		}
		files, err := readMigrations(migrations, "migrations/"+d.name)
		if err != nil {
			t.Fatal(err)
		}
		next := migration{number: int64(len(files) + 1), name: "next", checksum: "x", sql: "CREATE TABLE fresh (id INTEGER); SELECT nonsense FROM nowhere"}
		err = s.engine.alone(t.Context(), func(db session) error { return migrate(db, d, append(files, next), 0) })
		if err == nil || !strings.Contains(err.Error(), "migration next") {
			t.Errorf("error %v, want one that names the migration", err)
		}
		if have := texts(t, s, 1, d.columns, "fresh"); len(have) != 0 {
			t.Errorf("half of a migration is left: %v", have)
		}
		next.sql = "CREATE TABLE fresh (id INTEGER)"
		for range 2 {
			if err := s.engine.alone(t.Context(), func(db session) error { return migrate(db, d, append(files, next), 0) }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestReadMigrations(t *testing.T) {
	for _, c := range []struct {
		why   string
		names []string
		want  string
	}{
		{"in order", []string{"0001_a.sql", "0002_b.sql"}, ""},
		{"a gap", []string{"0001_a.sql", "0003_b.sql"}, "0003_b"},
		{"a number twice", []string{"0001_a.sql", "0001_b.sql"}, "0001_b"},
		{"no number", []string{"first.sql"}, "first"},
	} {
		files := fstest.MapFS{}
		for _, name := range c.names {
			files["m/"+name] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		_, err := readMigrations(files, "m")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}

// TestSameTables proves that both engines end with the same tables and
// columns.
func TestSameTables(t *testing.T) {
	var both [][]string
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		people, things := groupTables()
		s := opened(t, open, people, things)
		sql := "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c"
		if _, ok := s.engine.(*postgresEngine); ok {
			sql = "SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()"
		}
		list := texts(t, s, 2, sql)
		list = slices.DeleteFunc(list, func(c string) bool {
			return strings.HasPrefix(c, "sqlite_") || strings.Contains(c, "_index|") || strings.Contains(c, "_unique|")
		})
		slices.Sort(list)
		if !slices.Contains(list, "r_people|k_email") || !slices.Contains(list, "clock|seq") || !slices.Contains(list, "people|created_at") {
			t.Errorf("columns %v", list)
		}
		both = append(both, list)
	})
	if len(both) != 2 {
		t.Fatal("an engine is missing")
	}
	// An index of SQLite has columns there too.
	indexes := func(c string) bool {
		return strings.HasPrefix(c, "event_type|") || strings.HasPrefix(c, "replay_created|")
	}
	got, want := slices.DeleteFunc(both[0], indexes), slices.DeleteFunc(both[1], indexes)
	if !slices.Equal(got, want) {
		t.Errorf("SQLite has\n%s\nPostgreSQL has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestView(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		table := &Table{Name: "big-things", Fields: []Field{{"title", "string"}, {"count", "integer"}, {"weight", "number"}, {"open", "boolean"}, {"tags", "array"}, {"order", "object"}}}
		s := opened(t, open, table)
		for _, doc := range []string{`{"title":"a \"b\"","count":3,"weight":1.5,"open":true,"tags":[1,2],"order":{"x":1}}`, `{"title":null}`} {
			if _, err := s.Commit(t.Context(), &Tx{Account: 7, Writes: []Write{{Table: table, Op: Insert, Doc: []byte(doc)}}}); err != nil {
				t.Fatal(err)
			}
		}
		cast := `SELECT CAST(id AS text), CAST(account AS text), created_at, title, CAST(count AS text), CAST(weight AS text), CAST(tags AS text), CAST("order" AS text) FROM big_things ORDER BY id`
		got := texts(t, s, 8, cast)
		want := []string{`1|7|2025-06-15T15:06:40.000000Z|a "b"|3|1.5|[1,2]|{"x":1}`, `2|7|2025-06-15T15:06:40.000001Z|||||`}
		if !slices.Equal(got, want) {
			t.Errorf("the view shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		s.Close()
		more := *table
		more.Fields = append([]Field{{"first", "string"}}, table.Fields...)
		s = opened(t, open, &more)
		if got := texts(t, s, 2, `SELECT title, first FROM big_things WHERE id = 1`); !slices.Equal(got, []string{`a "b"|`}) {
			t.Errorf("after a new member the view shows %v", got)
		}
	})
}

// TestAcceptedChange follows the instructions that a refusal gives.
func TestAcceptedChange(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		old := &Table{Name: "notes", Columns: []Column{{Name: "size", Kind: Text, Index: true}}, Fields: []Field{{"size", "string"}, {"text", "string"}}}
		s := opened(t, open, old)
		if _, err := s.Commit(t.Context(), &Tx{Account: 1, Writes: []Write{{Table: old, Op: Insert, Doc: []byte(`{"size":4}`), Keys: []any{"4"}}}}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		next := &Table{Name: "notes", Columns: []Column{{Name: "size", Kind: Int, Unique: true}}, Fields: []Field{{"size", "integer"}}}
		for range 3 {
			var err error
			if s, err = open(next); err == nil {
				break
			}
			_, sql, _ := strings.Cut(err.Error(), "with: ")
			sql, _, _ = strings.Cut(sql, " (")
			s = opened(t, open, &Table{Name: "others"})
			execute(t, s, sql)
			s.Close()
		}
		s = opened(t, func(...*Table) (*Store, error) { s.Close(); return open(next) }, next)
		row, err := s.Find(t.Context(), next, 1, "size", int64(4))
		if err != nil || !row.Reshape {
			t.Errorf("row %+v, %v, want it found by its refilled column and marked", row, err)
		}
	})
}
