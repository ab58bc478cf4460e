package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// planStores opens both databases with some thousand tasks, of which nobody
// has told the planners anything.
func planStores(t *testing.T) (map[string]*Store, *Table) {
	t.Helper()
	table := &Table{
		Name:    "tasks",
		Columns: []Column{{Name: "assignee_id", Kind: Int, Index: true}, {Name: "status", Kind: Text, Index: true}},
		Fields:  []Field{{Name: "title", Type: "string"}},
	}
	stores := make(map[string]*Store)
	for engine, dsn := range map[string]string{"SQLite": filepath.Join(t.TempDir(), "plan.db"), "PostgreSQL": newDatabase(t)} {
		s, err := Open(t.Context(), dsn, nil, table)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores[engine] = s
		tx := &Tx{Account: 1}
		for i := range 3000 {
			tx.Writes = append(tx.Writes, Write{Table: table, Op: Insert, Doc: []byte(`{"title":"x"}`), Keys: []any{int64(i % 100), []string{"pending", "in_progress", "done"}[i%3]}})
		}
		if _, err := s.Commit(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	return stores, table
}

// explain returns the statement of a page, without what it selects, and the
// database's plan of it.
func (s *Store) explain(ctx context.Context, t *Table, q Query) (sql string, plan []string, err error) {
	r, err := s.table(t)
	if err != nil {
		return "", nil, err
	}
	selecting := r.selectSQL
	if q.Mark == 0 {
		selecting = r.beginSQL[q.Order]
	}
	var b sqlText
	if _, err := b.page(r, selecting, &q); err != nil {
		return "", nil, err
	}
	if e, ok := s.engine.(*postgresEngine); ok {
		plan, err = e.explain(ctx, string(b.text), b.args)
	} else {
		depth := map[int64]string{}
		err = s.engine.query(ctx, "EXPLAIN QUERY PLAN "+string(b.text), b.args, func(c cursor) {
			indent := depth[c.int(1)]
			depth[c.int(0)] = indent + "  "
			plan = append(plan, indent+c.text(3))
		})
	}
	_, short, _ := strings.Cut(string(b.text), " FROM "+r.sql)
	return strings.TrimSpace(short), plan, err
}

// explain shows the plan that all executions share.
func (e *postgresEngine) explain(ctx context.Context, sql string, args []any) (plan []string, err error) {
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	var values []string
	for _, a := range args {
		values = append(values, strings.ReplaceAll(fmt.Sprintf("%#v", a), `"`, "'"))
	}
	if _, err := c.Conn().PgConn().Exec(ctx, "PREPARE page AS "+sql).ReadAll(); err != nil {
		return nil, err
	}
	defer func() { c.Conn().PgConn().Exec(ctx, "DEALLOCATE page").ReadAll() }()
	results, err := c.Conn().PgConn().Exec(ctx, "EXPLAIN (COSTS OFF) EXECUTE page ("+strings.Join(values, ", ")+")").ReadAll()
	if err != nil {
		return nil, err
	}
	for _, row := range results[0].Rows {
		plan = append(plan, strings.ReplaceAll(string(row[0]), " (returns $0)", "")) // which newer servers leave out
	}
	return plan, nil
}

var (
	one      = Condition{"status", []any{"done"}}
	several  = Condition{"status", []any{"pending", "in_progress"}}
	assignee = Condition{"assignee_id", []any{int64(7)}}
)

// forbidden is what no plan of a page has: a whole table, a bitmap, a sort.
var forbidden = regexp.MustCompile(`Seq Scan|Bitmap|Sort|SCAN r_tasks|SCAN clock|SCAN counter|TEMP B-TREE`)

// TestPagePlans explains every page that can be asked for: each walks along an
// index in its order, between bounds that the index knows, on both databases.
// Where a filter has several values each has a walk of its own, and what is
// sorted is at most a page of each.
func TestPagePlans(t *testing.T) {
	stores, table := planStores(t)
	filters := []struct {
		where []Condition
		index string // either of them
	}{
		{nil, "PRIMARY KEY|_pkey"}, {[]Condition{one}, "_status_"}, {[]Condition{assignee}, "_assignee_id_"},
		{[]Condition{one, assignee}, "_status_|_assignee_id_"}, {[]Condition{several}, "_status_"}, {[]Condition{several, assignee}, "_status_|_assignee_id_"},
	}
	pages := []struct {
		mark, at int64
		back     bool
	}{{0, 0, false}, {2500, 1200, false}, {2500, 1200, true}}
	for engine, s := range stores {
		for _, f := range filters {
			for _, order := range []Query{{}, {Desc: true}, {Order: ByUpdated, Since: 1}, {Order: ByUpdated, Since: 1, Desc: true}} {
				for _, p := range pages {
					q := order
					q.Account, q.Where, q.Mark, q.Back, q.Limit = 1, f.where, p.mark, p.back, 21
					if p.at != 0 {
						q.After = &Position{Key: p.at, ID: p.at}
					}
					index, sorts := f.index, len(f.where) > 0 && len(f.where[0].Values) > 1 && q.Order == ByID
					if q.Order == ByUpdated {
						index = "_updated_"
					}
					sql, plan, err := s.explain(t.Context(), table, q)
					if err != nil {
						t.Fatalf("%s: %+v: %v", engine, q, err)
					}
					if err := judgePlan(plan, index, sorts, q); err != nil {
						t.Errorf("%s: %v\n%s\n\t%s", engine, err, sql, strings.Join(plan, "\n\t"))
					}
				}
			}
		}
	}
}

func judgePlan(plan []string, index string, sorts bool, q Query) error {
	rows := regexp.MustCompile(`(Index Scan|Index Scan Backward|SEARCH r_tasks) (using|USING) .*(` + index + `)`)
	if !slices.ContainsFunc(plan, rows.MatchString) {
		return fmt.Errorf("not along %s", index)
	}
	text := strings.Join(plan, "\n")
	if bad := forbidden.FindString(text); bad != "" && !(sorts && (bad == "Sort" || bad == "TEMP B-TREE")) {
		return fmt.Errorf("a %s", bad)
	}
	bound := regexp.MustCompile(`id[<>]\?|Index Cond: .*\(id [<>] \$`)
	if q.Order == ByUpdated {
		bound = regexp.MustCompile(`\(updated,id\)[<>]|Index Cond: .*\(ROW\(updated, id\) [<>] `)
	}
	if q.After != nil && !bound.MatchString(text) {
		return fmt.Errorf("not from the row at the edge")
	}
	return nil
}

// TestGuidePlans compares the plans in the guide with those of today.
func TestGuidePlans(t *testing.T) {
	stores, table := planStores(t)
	guide, err := os.ReadFile("../docs/guide/lists.md")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		title string
		q     Query
	}{
		{"The first page", Query{}},
		{"A page behind it", Query{Mark: 2500, After: &Position{ID: 1200}}},
		{"With a filter, newest first", Query{Where: []Condition{one}, Desc: true, Mark: 2500, After: &Position{ID: 1200}}},
		{"Since a time", Query{Order: ByUpdated, Since: 1, Mark: 2500, After: &Position{Key: 1200, ID: 1200}}},
	}
	for _, c := range cases {
		var b strings.Builder
		fmt.Fprintf(&b, "%s:\n", c.title)
		for _, engine := range []string{"SQLite", "PostgreSQL"} {
			c.q.Account, c.q.Limit = 1, 21
			sql, plan, err := stores[engine].explain(t.Context(), table, c.q)
			if err != nil {
				t.Fatal(err)
			}
			if engine == "SQLite" {
				sql = regexp.MustCompile(`^INDEXED BY \S+ `).ReplaceAllString(sql, "")
				fmt.Fprintf(&b, "\n    … FROM r_tasks %s\n", sql)
			}
			fmt.Fprintf(&b, "\n    -- %s\n    %s\n", engine, strings.Join(plan, "\n    "))
		}
		if !strings.Contains(string(guide), b.String()) {
			t.Errorf("docs/guide/lists.md does not have this as it is now:\n\n%s", b.String())
		}
	}
}
