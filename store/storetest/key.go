package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/parley-api/parley/store"
)

func keyCases() []rule {
	return []rule{
		{"unique", "two resources with one email would be indistinguishable", unique},
		{"unique nulls", "rows without a value do not stand in each other's way", uniqueNulls},
		{"unique values can be swapped", "a value that is freed can be taken at once", uniqueSwap},
		{"unique under contention", "of many who want one value exactly one gets it", uniqueRace},
		{"unique integers", "uniqueness is not only for text", uniqueInts},
		{"held", "bytes that some account still needs must not be deleted", held},
		{"summed", "a quota needs the sum of what an account has, and no other's", summed},
		{"references", "a reference to nothing must not be stored", references},
		{"restrict", "a resource that others need is not deleted under them", restrict},
		{"restrict sees the same transaction", "a reference that was just made or dropped counts", restrictInside},
		{"set null", "deleting a user frees their tasks, and consumers are told", setNull},
		{"a row that refers to itself", "it does not stand in its own way", selfReference},
		{"set null sees the same transaction", "a row that was just assigned is freed too", setNullInside},
	}
}

func duplicate(b *bench, err error, column string) {
	b.Helper()
	e, ok := errors.AsType[*store.DuplicateError](err)
	if !ok || e.Column != column {
		b.Errorf("error %v, want a duplicate %s", err, column)
	}
}

func unique(b *bench) {
	b.Commit(b.NewUser("a@x"), b.NewUser("b@x"))
	duplicate(b, b.Fail(b.NewUser("a@x")), "email")
	duplicate(b, b.Fail(b.SetEmail(2, "a@x")), "email")
	b.Commit(b.SetEmail(1, "a@x")) // its own value
	b.Commit(b.SetEmail(1, "c@x"))
	b.Commit(b.SetEmail(2, "a@x")) // freed by an update
	b.Commit(b.Drop(b.Users, 1))
	b.Commit(b.NewUser("c@x")) // freed by a deletion
	duplicate(b, b.Fail(b.NewUser("c@x")), "email")
	b.Commit(b.NewUser("A@x")) // another text
}

// held asks for values over all accounts, as they come and go, also after the
// column became Held.
func held(b *bench) {
	table := func(is bool) *store.Table {
		return &store.Table{
			Name: "files", Columns: []store.Column{{Name: "digest", Kind: store.Text, Held: is}},
			Fields: []store.Field{{Name: "digest", Type: "string"}},
		}
	}
	files := table(false)
	b.Reopen(files)
	put := func(account int64, digest any) int64 {
		doc := fmt.Appendf(nil, `{"digest":%q}`, digest)
		return b.CommitFor(account, store.Write{Table: files, Op: store.Insert, Doc: doc, Keys: []any{digest}})[0].ID
	}
	put(1, "a")
	if _, err := b.S.Held(b.ctx, files, "digest", []string{"a"}); err == nil {
		b.Error("a column that is not Held was asked for")
	}
	files = table(true)
	b.Reopen(files)
	again := put(2, "a")
	put(2, "b")
	ask := func(want ...string) {
		b.Helper()
		got, err := b.S.Held(b.ctx, files, "digest", []string{"c", "b", "a", "x'"})
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			b.Errorf("Held: %q, %v, want %q", got, err, want)
		}
	}
	ask("a", "b")
	b.CommitFor(2, store.Write{Table: files, Op: store.Update, ID: again, Doc: []byte(`{"digest":"c"}`), Keys: []any{"c"}})
	ask("a", "b", "c")
	b.CommitFor(1, b.Drop(files, 1))
	ask("b", "c")
	if got, err := b.S.Held(b.ctx, files, "digest", nil); err != nil || got != nil {
		b.Errorf("Held of nothing: %q, %v", got, err)
	}
}

func summed(b *bench) {
	files := &store.Table{
		Name: "files", Columns: []store.Column{{Name: "size", Kind: store.Int, Summed: true}},
		Fields: []store.Field{{Name: "size", Type: "integer"}},
	}
	b.Reopen(files)
	ask := func(account, want int64) {
		b.Helper()
		if got, err := b.S.Sum(b.ctx, files, account, "size"); err != nil || got != want {
			b.Errorf("Sum: %d, %v, want %d", got, err, want)
		}
	}
	ask(1, 0)
	put := func(account int64, size any) store.Row {
		w := store.Write{Table: files, Op: store.Insert, Doc: []byte(`{"size":0}`), Keys: []any{size}}
		return b.CommitFor(account, w)[0]
	}
	first := put(1, int64(5<<30))
	put(1, int64(7))
	put(1, nil)
	put(2, int64(100))
	ask(1, 5<<30+7)
	ask(2, 100)
	b.Commit(b.Drop(files, first.ID))
	ask(1, 7)
	if _, err := b.S.Sum(b.ctx, files, 1, "name"); err == nil {
		b.Error("a column that is not there was summed")
	}
}

func uniqueNulls(b *bench) {
	b.Commit(b.NewUser(nil), b.NewUser(nil), b.NewUser("a@x"))
	b.Commit(b.SetEmail(3, nil))
	b.Commit(b.NewUser("a@x"))
	b.Same("rows", len(b.Rows(b.Users)), 4)
}

func uniqueSwap(b *bench) {
	b.Commit(b.NewUser("a@x"), b.NewUser("b@x"), b.NewUser("c@x"))
	b.Commit(b.SetEmail(1, nil), b.SetEmail(2, "a@x"), b.SetEmail(1, "b@x"))
	b.Same("the first", string(b.Row(b.Users, 1).Doc), `{"email":"b@x"}`)
	b.Same("the second", string(b.Row(b.Users, 2).Doc), `{"email":"a@x"}`)
	b.Same("who has a", must(b.S.Find(b.ctx, b.Users, 1, "email", "a@x"))(b).ID, int64(2))
	b.Commit(b.Drop(b.Users, 3), b.SetEmail(1, "c@x"), b.NewUser("b@x"))
	b.Same("who has b", must(b.S.Find(b.ctx, b.Users, 1, "email", "b@x"))(b).ID, int64(4))
	b.Commit(b.NewUser("d@x"), b.Drop(b.Users, 5), b.NewUser("d@x"))
	b.Same("who has d", must(b.S.Find(b.ctx, b.Users, 1, "email", "d@x"))(b).ID, int64(6))
}

func uniqueRace(b *bench) {
	var all sync.WaitGroup
	errs := make([]error, 32)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = b.S.Commit(b.ctx, &store.Tx{Account: 1, Writes: []store.Write{b.NewUser("a@x")}})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			duplicate(b, err, "email")
		}
	}
	b.Same("winners", won, 1)
	b.Same("events", len(b.Events()), 1)
}

func uniqueInts(b *bench) {
	w := b.NewUser(nil)
	w.Keys = []any{nil, int64(-7)}
	b.Commit(w)
	duplicate(b, b.Fail(w), "badge")
	b.Same("who has it", must(b.S.Find(b.ctx, b.Users, 1, "badge", int64(-7)))(b).ID, int64(1))
}

func missing(b *bench, err error, column string) {
	b.Helper()
	e, ok := errors.AsType[*store.MissingRefError](err)
	if !ok || e.Column != column {
		b.Errorf("error %v, want a missing %s", err, column)
	}
}

func references(b *bench) {
	missing(b, b.Fail(b.NewTask("new", int64(1), nil)), "assignee_id")
	b.CommitFor(2, b.NewUser("a@x"))
	missing(b, b.Fail(b.NewTask("new", int64(1), nil)), "assignee_id")
	b.Commit(b.NewUser("b@x"), b.NewTask("new", int64(2), nil)) // made in the same transaction
	missing(b, b.Fail(b.SetTask(1, "new", int64(1), nil)), "assignee_id")
	missing(b, b.Fail(b.NewTask("new", int64(2), int64(8))), "project_id")
	b.Commit(b.SetTask(1, "done", nil, nil))
	b.Commit(b.Drop(b.Users, 2))
	missing(b, b.Fail(b.SetTask(1, "new", int64(2), nil)), "assignee_id")
	b.Commit(b.NewUser("c@x"))
	missing(b, b.Fail(b.Drop(b.Users, 3), b.NewTask("new", int64(3), nil)), "assignee_id")
}

func referenced(b *bench, err error) {
	b.Helper()
	e, ok := errors.AsType[*store.ReferencedError](err)
	if !ok || e.Table != "tasks" {
		b.Errorf("error %v, want one that tasks refer to it", err)
	}
}

func restrict(b *bench) {
	b.Commit(b.NewProject(), b.NewProject(), b.NewTask("a", nil, int64(1)), b.NewTask("b", nil, int64(1)))
	b.CommitFor(2, b.NewProject())
	referenced(b, b.Fail(b.Drop(b.Projects, 1)))
	b.Commit(b.SetTask(1, "a", nil, int64(2)))
	referenced(b, b.Fail(b.Drop(b.Projects, 1)))
	b.Commit(b.Drop(b.Tasks, 2))
	b.Commit(b.Drop(b.Projects, 1))
	referenced(b, b.Fail(b.Drop(b.Projects, 2)))
}

func restrictInside(b *bench) {
	b.Commit(b.NewProject(), b.NewProject())
	for i := range 5 {
		b.Commit(b.NewTask(fmt.Sprint(i), nil, int64(1)))
	}
	referenced(b, b.Fail(b.NewTask("x", nil, int64(2)), b.Drop(b.Projects, 2)))
	referenced(b, b.Fail(b.SetTask(1, "x", nil, int64(2)), b.Drop(b.Projects, 2)))
	referenced(b, b.Fail(b.Drop(b.Tasks, 1), b.SetTask(2, "x", nil, int64(2)), b.Drop(b.Tasks, 3), b.Drop(b.Tasks, 4), b.Drop(b.Projects, 1)))
	b.Commit(b.Drop(b.Tasks, 1), b.SetTask(2, "x", nil, int64(2)), b.Drop(b.Tasks, 3), b.SetTask(4, "x", nil, nil), b.Drop(b.Tasks, 5), b.Drop(b.Projects, 1))
	b.Gone(b.Projects, 1)
}

func setNull(b *bench) {
	b.Commit(b.NewUser("a@x"), b.NewUser("b@x"))
	b.Commit(b.NewTask("1", int64(1), nil), b.NewTask("2", int64(2), nil), b.NewTask("3", int64(1), nil))
	was := len(b.Events())
	b.Commit(b.Drop(b.Users, 1, "user.deleted"))
	b.Gone(b.Users, 1)
	for id, want := range map[int64]string{1: `{"assignee_id":null}`, 2: `{"status":"2"}`, 3: `{"assignee_id":null}`} {
		row := b.Row(b.Tasks, id)
		b.Same("the document", string(row.Doc), want)
		b.Same("the revision", row.Rev, 1+id%2)
	}
	events := b.Events()[was:]
	b.Same("events", b.Types()[was:], []string{"task.updated", "task.updated", "user.deleted"})
	b.Same("subjects", []int64{events[0].Subject, events[1].Subject, events[2].Subject}, []int64{1, 3, 1})
	b.Same("the event's document", string(events[0].Doc), `{"assignee_id":null}`)
	rows := must(b.S.Page(b.ctx, b.Tasks, store.Query{Account: 1, Where: []store.Condition{{Column: "assignee_id", Values: []any{nil}}}}))(b)
	b.Same("tasks without an assignee", len(rows), 2)
}

func setNullInside(b *bench) {
	b.Commit(b.NewUser("a@x"), b.NewTask("1", int64(1), nil), b.NewTask("2", nil, nil), b.NewTask("3", int64(1), nil))
	b.Commit(b.SetTask(1, "1", nil, nil), b.SetTask(2, "2", int64(1), nil), b.NewTask("4", int64(1), nil), b.Drop(b.Tasks, 3), b.Drop(b.Users, 1))
	for id, want := range map[int64]string{1: `{"status":"1"}`, 2: `{"assignee_id":null}`, 4: `{"assignee_id":null}`} {
		b.Same(fmt.Sprint("task ", id), string(b.Row(b.Tasks, id).Doc), want)
	}
}

func selfReference(b *bench) {
	b.S.Close()
	for _, rule := range []store.OnDelete{store.Restrict, store.SetNull} {
		t := &store.Table{Name: "nodes", Columns: []store.Column{{Name: "parent_id", Kind: store.Int, Ref: "nodes", OnDelete: rule}},
			Clear: func([]byte, string) ([]byte, []string, error) { return []byte("{}"), []string{"node.updated"}, nil }}
		b.S = b.Open(t)
		node := func(op store.Op, id int64, parent any) store.Write {
			return store.Write{Table: t, Op: op, ID: id, Doc: []byte(`{"parent_id":0}`), Keys: []any{parent}}
		}
		made := b.Commit(node(store.Insert, 0, nil), node(store.Insert, 0, nil))
		one, two := made[0].ID, made[1].ID
		b.Commit(node(store.Update, one, one), node(store.Update, two, one))
		if rule == store.Restrict {
			e, ok := errors.AsType[*store.ReferencedError](b.Fail(b.Drop(t, one)))
			b.Same("the child holds it", ok && e.Table == "nodes", true)
			b.Commit(node(store.Update, two, two))
		}
		was := len(b.Events())
		b.Commit(b.Drop(t, one, "node.deleted"))
		b.Gone(t, one)
		if rule == store.SetNull {
			b.Same("the child is freed, itself not", b.Types()[was:], []string{"node.updated", "node.deleted"})
		}
		b.Commit(b.Drop(t, two))
		b.S.Close()
	}
}
