package storetest

import (
	"slices"
	"strings"

	"github.com/parley-api/parley/store"
)

func shapeCases() []rule {
	return []rule{
		{"reopen", "a restart keeps rows, events and order", reopen},
		{"a new member", "rows from before a change are known to be so, later ones are not", newMember},
		{"a new column", "a filter that is added works on rows that were there before", newColumn},
		{"a new unique column", "rows that contradict it are not silently kept", newUnique},
		{"a new reference", "rows that contradict it are not silently kept", newReference},
		{"indexes come and go", "what only makes lookups faster or slower is no reason to refuse", indexes},
		{"a refused change", "what would lose data is refused, says what to do, and changes nothing", refused},
		{"a wrong definition", "a mistake is told at start-up, not in a request", wrongDefinition},
	}
}

func reopen(b *bench) {
	b.Commit(b.NewUser("a@x"), b.NewTask("new", int64(1), nil))
	rows, events := b.Rows(b.Tasks), b.Events()
	b.Reopen()
	b.Same("rows", b.Rows(b.Tasks), rows)
	b.Same("events", b.Events(), events)
	b.Same("the order goes on", b.Commit(b.NewUser("b@x"))[0].Seq, int64(5))
	duplicate(b, b.Fail(b.NewUser("a@x")), "email")
}

// with returns a copy of the tasks table with a change.
func (b *bench) with(change func(*store.Table)) []*store.Table {
	t := *b.Tasks
	t.Columns, t.Fields = slices.Clone(t.Columns), slices.Clone(t.Fields)
	change(&t)
	b.Tasks = &t
	return []*store.Table{b.Users, b.Projects, b.Tasks}
}

func newMember(b *bench) {
	b.Commit(b.NewTask("old", nil, nil))
	b.Reopen(b.with(func(t *store.Table) { t.Fields = append(t.Fields, store.Field{Name: "color", Type: "string"}) })...)
	b.Same("the old row is marked", b.Row(b.Tasks, 1).Reshape, true)
	b.Same("and so in lists", b.Rows(b.Tasks)[0].Reshape, true)
	row := b.Commit(b.NewTask("new", nil, nil))[0]
	b.Same("a new row is not", row.Reshape || b.Row(b.Tasks, row.ID).Reshape, false)
	w := b.SetTask(1, "old", nil, nil)
	w.IfRev = 99
	w.Redo = func(r store.Row) (*store.Write, error) {
		b.Same("the row that is redone is marked", r.Reshape, true)
		w := b.SetTask(1, "newer", nil, nil)
		return &w, nil
	}
	b.Same("a changed row is not", b.Commit(w)[0].Reshape || b.Row(b.Tasks, 1).Reshape, false)
	b.Same("nor another table's", b.Commit(b.NewUser("a@x"))[0].Reshape, false)
	b.Commit(b.NewTask("third", nil, nil))
	b.Reopen()
	b.Same("a restart marks nothing", b.Row(b.Tasks, 3).Reshape, false)
}

func newColumn(b *bench) {
	for _, doc := range []string{`{"points":3,"color":"red","big":true}`, `{"points":"3","color":7,"big":0}`, `{}`, `{"points":null,"color":"blue","big":false}`} {
		w := b.NewTask("x", nil, nil)
		w.Doc = []byte(doc)
		b.Commit(w)
	}
	b.Reopen(b.with(func(t *store.Table) {
		t.Columns = append([]store.Column{{Name: "points", Kind: store.Int, Index: true}}, t.Columns...)
		t.Columns = append(t.Columns, store.Column{Name: "color", Kind: store.Text, Unique: true}, store.Column{Name: "big", Kind: store.Bool, Index: true})
	})...)
	for _, c := range []struct {
		column string
		value  any
		want   []int64
	}{{"points", int64(3), []int64{1}}, {"points", nil, []int64{2, 3, 4}}, {"color", "red", []int64{1}}, {"color", nil, []int64{2, 3}},
		{"big", true, []int64{1}}, {"big", false, []int64{4}}, {"status", "x", []int64{1, 2, 3, 4}}} {
		var got []int64
		q := store.Query{Account: 1, Where: []store.Condition{{Column: c.column, Values: []any{c.value}}}}
		for _, r := range must(b.S.Page(b.ctx, b.Tasks, q))(b) {
			got = append(got, r.ID)
		}
		b.Same(c.column, got, c.want)
	}
	w := b.NewTask("x", nil, nil)
	w.Keys = []any{int64(1), "x", nil, nil, nil, "red", nil}
	duplicate(b, b.Fail(w), "color")
	w.Keys[5] = "green"
	b.Commit(w)
	b.Same("the new row", must(b.S.Find(b.ctx, b.Tasks, 1, "color", "green"))(b).ID, int64(5))
	b.Same("no member was added", b.Row(b.Tasks, 1).Reshape, false)
}

// refuse checks that the database is refused and the error names what.
func (b *bench) refuse(tables []*store.Table, what ...string) {
	b.Helper()
	s, err := b.open(b.T, b.Options(), tables...)
	if err == nil {
		s.Close()
		b.Fatal("it was opened")
	}
	for _, w := range what {
		if !strings.Contains(err.Error(), w) {
			b.Errorf("error %q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		b.Errorf("error %q has more than one line", err)
	}
}

func newUnique(b *bench) {
	b.Commit(b.NewTask("same", nil, nil), b.NewTask("same", nil, nil))
	b.S.Close()
	old := b.Tasks
	makeUnique := func(t *store.Table) { t.Columns[0].Unique = true }
	b.refuse(b.with(makeUnique), "tasks", "status")
	b.Tasks = old
	b.Reopen()
	b.Commit(b.SetTask(2, "other", nil, nil))
	b.Reopen(b.with(makeUnique)...)
	duplicate(b, b.Fail(b.NewTask("same", nil, nil)), "status")
}

func newReference(b *bench) {
	b.S.Close()
	plain := func(t *store.Table) { t.Columns[3].Ref = ""; t.Columns[3].Index = true }
	b.S = b.Open(b.with(plain)...)
	b.Commit(b.NewTask("x", nil, int64(4)))
	b.S.Close()
	b.refuse(b.with(func(t *store.Table) { t.Columns[3].Ref = "big-projects" }), "tasks", "project_id", "big-projects")
	b.S = b.Open(b.with(plain)...)
	b.Commit(b.SetTask(1, "x", nil, nil))
	b.Reopen(b.with(func(t *store.Table) { t.Columns[3].Ref = "big-projects" })...)
	missing(b, b.Fail(b.NewTask("x", nil, int64(4))), "project_id")
}

func indexes(b *bench) {
	b.Commit(b.NewTask("same", nil, nil))
	b.Reopen(b.with(func(t *store.Table) { t.Columns[0].Unique = true })...)
	duplicate(b, b.Fail(b.NewTask("same", nil, nil)), "status")
	b.Reopen(b.with(func(t *store.Table) { t.Columns[0].Unique = false })...)
	b.Commit(b.NewTask("same", nil, nil))
	b.Reopen(b.with(func(t *store.Table) { t.Columns[1].Index = false })...)
	b.Commit(b.NewTask("same", nil, nil))
	b.Same("no row is marked", b.Row(b.Tasks, 1).Reshape, false)
}

func refused(b *bench) {
	b.Commit(b.NewTask("a", nil, nil))
	b.S.Close()
	was := b.Tasks
	for _, c := range []struct {
		change func(*store.Table)
		what   []string
	}{
		{func(t *store.Table) { t.Columns = t.Columns[1:] }, []string{"tasks", "status", "DROP COLUMN k_status"}},
		{func(t *store.Table) { t.Columns[0].Kind = store.Int }, []string{"tasks", "status", "DROP COLUMN k_status"}},
		{func(t *store.Table) { t.Columns[1].Kind = store.Int }, []string{"tasks", "urgent"}},
		{func(t *store.Table) { t.Fields = t.Fields[1:] }, []string{"tasks", "status", "DELETE FROM shape"}},
		{func(t *store.Table) { t.Fields[0].Type = "integer" }, []string{"tasks", "status", "DELETE FROM shape"}},
		{func(t *store.Table) {
			t.Columns = append(t.Columns, store.Column{Name: "extra", Kind: store.Int})
			t.Columns[0].Kind = store.Int
		}, []string{"status"}},
	} {
		b.refuse(b.with(c.change), c.what...)
		b.Tasks = was
	}
	b.S = b.Open(b.Users, b.Projects, b.Tasks)
	b.Same("the row", string(b.Row(b.Tasks, 1).Doc), `{"status":"a"}`)
	b.Same("is not marked", b.Row(b.Tasks, 1).Reshape, false)
	b.Commit(b.NewTask("b", nil, nil))
}

func wrongDefinition(b *bench) {
	b.S.Close()
	for _, c := range []struct {
		table store.Table
		what  string
	}{
		{store.Table{Name: "Users"}, "Users"},
		{store.Table{Name: ""}, "name"},
		{store.Table{Name: "clock"}, "clock"},
		{store.Table{Name: "a-b", Columns: []store.Column{{Name: "x y"}}}, "x y"},
		{store.Table{Name: "a-b", Columns: []store.Column{{Name: "x"}, {Name: "x"}}}, "twice"},
		{store.Table{Name: "a-b", Columns: []store.Column{{Name: "x", Kind: 7}}}, "kind"},
		{store.Table{Name: "a-b", Columns: []store.Column{{Name: "x", Ref: "nobody"}}}, "nobody"},
		{store.Table{Name: "a-b", Columns: []store.Column{{Name: "x", Kind: store.Text, Ref: "a-b"}}}, "Int"},
		{store.Table{Name: "a-b", Columns: []store.Column{{Name: "x", Ref: "a-b", OnDelete: store.SetNull}}}, "Clear"},
		{store.Table{Name: "a-b", Fields: []store.Field{{Name: `x"`}}}, "field"},
		{store.Table{Name: "r-users"}, "taken"},
	} {
		b.refuse([]*store.Table{b.Users, &c.table}, c.what)
	}
	b.refuse([]*store.Table{b.Users, b.Users}, "users")
	b.refuse([]*store.Table{nil}, "nil")
}
