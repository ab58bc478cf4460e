package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-api/parley/store"
)

func rowCases() []rule {
	return []rule{
		{"insert and get", "a created resource is read back as it was written", insertAndGet},
		{"update", "a change shows in the row, and its revision, order and time move on", update},
		{"delete", "a deleted resource is gone, and deleting it again is told apart", deleteRow},
		{"accounts are separate", "one customer must not see or touch another's rows", accounts},
		{"ids are never used twice", "a link to a deleted resource must not lead to another one", idsOnce},
		{"the clock never goes back", "updated_since must miss nothing when a wall clock is set back", clockBack},
		{"all or nothing", "half a request must never be visible", allOrNothing},
		{"one failing among a hundred", "strangers share a transaction and must not spoil each other", oneFailing},
		{"wrong form", "a mistake in the program is told before anything is queued", wrongForm},
		{"large documents", "documents of many sizes survive the way to the disk", largeDocuments},
		{"empty documents", "an absent document is an empty one on every engine", emptyDocuments},
	}
}

func insertAndGet(b *bench) {
	row := b.Commit(b.NewUser("a@x"))[0]
	want := store.Row{ID: 1, Account: 1, Rev: 1, Seq: 1, Created: start, Updated: start, Doc: []byte(`{"email":"a@x"}`)}
	b.Same("the committed row", row, want)
	b.Same("the row that is read", b.Row(b.Users, 1), want)
	found, err := b.S.Find(b.ctx, b.Users, 1, "email", "a@x")
	if err != nil {
		b.Fatalf("Find: %v", err)
	}
	b.Same("the row that is found", found, want)
	for _, v := range []any{"b@x", "a\x00", "\xff", nil} {
		_, err = b.S.Find(b.ctx, b.Users, 1, "email", v)
		b.Is(err, store.ErrNotFound)
	}
}

func update(b *bench) {
	first := b.Commit(b.NewUser("a@x"))[0]
	b.clock.Add(1000)
	second := b.Commit(b.SetEmail(first.ID, "b@x"))[0]
	want := store.Row{ID: 1, Account: 1, Rev: 2, Seq: 3, Created: start, Updated: start + 1000, Doc: []byte(`{"email":"b@x"}`)}
	b.Same("the changed row", second, want)
	b.Same("the row that is read", b.Row(b.Users, 1), want)
	third := b.Commit(b.SetEmail(first.ID, "c@x"))[0]
	if third.Updated <= second.Updated || third.Seq <= second.Seq || third.Rev != 3 {
		b.Errorf("%+v does not follow %+v", third, second)
	}
	b.Is(b.Fail(b.SetEmail(99, "d@x")), store.ErrNotFound)
}

func deleteRow(b *bench) {
	b.Commit(b.NewUser("a@x"))
	last := b.Commit(b.Drop(b.Users, 1))[0]
	b.Same("the last state", string(last.Doc), `{"email":"a@x"}`)
	b.Gone(b.Users, 1)
	b.Is(b.Fail(b.Drop(b.Users, 1)), store.ErrNotFound)
	b.Is(b.Fail(b.SetEmail(1, "b@x")), store.ErrNotFound)
}

func accounts(b *bench) {
	b.Commit(b.NewUser("a@x"))
	_, err := b.S.Get(b.ctx, b.Users, 2, 1)
	b.Is(err, store.ErrNotFound)
	_, err = b.S.Find(b.ctx, b.Users, 2, "email", "a@x")
	b.Is(err, store.ErrNotFound)
	for _, w := range []store.Write{b.SetEmail(1, "b@x"), b.Drop(b.Users, 1)} {
		_, err := b.S.Commit(b.ctx, &store.Tx{Account: 2, Writes: []store.Write{w}})
		b.Is(err, store.ErrNotFound)
	}
	b.CommitFor(2, b.NewUser("a@x")) // unique within the account
	rows, err := b.S.Page(b.ctx, b.Users, store.Query{Account: 2})
	if err != nil || len(rows) != 1 || rows[0].ID != 2 {
		b.Errorf("account 2 sees %v, %v", rows, err)
	}
	if n, err := b.S.Count(b.ctx, b.Users, store.Query{Account: 3}); n != 0 || err != nil {
		b.Errorf("account 3 has %d, %v", n, err)
	}
	if _, err := b.S.Event(b.ctx, 2, 2); err == nil {
		b.Error("account 2 sees the event of account 1")
	}
}

func idsOnce(b *bench) {
	b.Commit(b.NewUser("a@x"), b.NewUser("b@x"))
	b.Commit(b.Drop(b.Users, 2))
	b.Reopen()
	b.Same("the mark", must(b.S.Mark(b.ctx, b.Users, 1))(b), int64(2))
	row := b.Commit(b.NewUser("c@x"))[0]
	b.Same("the next id", row.ID, int64(3))
	b.Commit(b.NewUser("d@x"), b.Drop(b.Users, 4)) // made and deleted in one go
	b.Same("the id after", b.Commit(b.NewUser("e@x"))[0].ID, int64(5))
}

// must returns the value of a call that must succeed.
func must[V any](v V, err error) func(*bench) V {
	return func(b *bench) V {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

func clockBack(b *bench) {
	first := b.Commit(b.NewUser("a@x"))[0]
	b.clock.Add(-int64(time.Hour / time.Microsecond))
	second := b.Commit(b.NewUser("b@x"))[0]
	b.Same("the time after the clock went back", second.Created, first.Created+1)
	b.Reopen()
	third := b.Commit(b.SetEmail(1, "c@x"))[0]
	b.Same("the time after a restart", third.Updated, first.Created+2)
	b.clock.Store(start + 5000)
	b.Same("the time when the clock is right again", b.Commit(b.NewUser("d@x"))[0].Created, int64(start+5000))
}

func allOrNothing(b *bench) {
	b.Commit(b.NewUser("a@x"))
	before := must(b.S.EventMark(b.ctx, 1))(b)
	b.Fail(b.NewUser("b@x"), b.SetEmail(1, "c@x"), b.NewProject(), b.NewUser("b@x"))
	b.Same("rows", len(b.Rows(b.Users)), 1)
	b.Same("projects", len(b.Rows(b.Projects)), 0)
	b.Same("the first row's revision", b.Row(b.Users, 1).Rev, int64(1))
	b.Same("events", b.Types(), []string{"user.created"})
	b.Same("the order's mark", must(b.S.EventMark(b.ctx, 1))(b), before)
	b.Commit(b.NewUser("b@x"), b.NewUser("c@x")) // the values are still free
}

func oneFailing(b *bench) {
	b.Commit(b.NewUser("taken@x"))
	var all sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		all.Go(func() {
			email := fmt.Sprintf("%d@x", i)
			if i == 37 {
				email = "taken@x"
			}
			_, errs[i] = b.S.Commit(b.ctx, &store.Tx{Account: 1, Writes: []store.Write{b.NewUser(email)}})
		})
	}
	all.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 37) {
			b.Errorf("commit %d: %v", i, err)
		}
	}
	b.Same("rows", len(b.Rows(b.Users)), 100)
}

func wrongForm(b *bench) {
	few, kind, op, stranger, nul := b.NewUser("a"), b.NewUser("a"), b.NewUser("a"), b.NewUser("a"), b.NewUser("a\x00")
	few.Keys = few.Keys[:1]
	kind.Keys = []any{int64(3), nil}
	op.Op = 9
	stranger.Table = &store.Table{Name: "users"}
	for _, w := range []store.Write{few, kind, op, stranger, nul, {Op: store.Insert}} {
		b.Fail(w)
	}
	if _, err := b.S.Find(b.ctx, b.Tasks, 1, "status", "x"); err == nil {
		b.Error("Find by a column that is not unique")
	}
	for _, q := range []store.Condition{{Column: "notes", Values: []any{"x"}}, {Column: "status", Values: []any{int64(1)}}} {
		if _, err := b.S.Page(b.ctx, b.Tasks, store.Query{Account: 1, Where: []store.Condition{q}}); err == nil {
			b.Errorf("condition %v was accepted", q)
		}
	}
}

func largeDocuments(b *bench) {
	for _, size := range []int{0, 1, 255, 900, 1100, 4000, 5000, 70_000, 1 << 20} {
		w := b.NewUser(nil)
		w.Doc = []byte(`{"email":null,"text":"` + strings.Repeat("é", size/2) + `"}`)
		row := b.Commit(w)[0]
		if got := b.Row(b.Users, row.ID); string(got.Doc) != string(w.Doc) {
			b.Errorf("a document of %d bytes came back with %d", len(w.Doc), len(got.Doc))
		}
	}
	for _, e := range b.Events() {
		if len(e.Doc) < 20 || e.Doc[len(e.Doc)-1] != '}' {
			b.Errorf("event %d has a document of %d bytes", e.Seq, len(e.Doc))
		}
	}
}

func emptyDocuments(b *bench) {
	w := b.NewUser("")
	w.Doc = nil
	row := b.Commit(w)[0]
	b.Same("the document", len(b.Row(b.Users, row.ID).Doc), 0)
	b.Same("the empty text is a value", must(b.S.Find(b.ctx, b.Users, 1, "email", ""))(b).ID, row.ID)
}
