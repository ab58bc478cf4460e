package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/parley-api/parley/store"
)

func redoCases() []rule {
	return []rule{
		{"stale", "If-Match must refuse what was decided on an older state", stale},
		{"redo", "a change without If-Match is done again on the newer state", redo},
		{"redo leaves alone", "a change that has become nothing writes nothing", redoNothing},
		{"redo fails", "what the application refuses is its own error, and a panic is contained", redoFails},
		{"redo with other keys", "what the newer state asks for is checked like any other write", redoKeys},
		{"many changes of one row", "no change of many at once is lost", redoRace},
	}
}

func stale(b *bench) {
	b.Commit(b.NewUser("a@x"))
	w := b.SetEmail(1, "b@x")
	w.IfRev = 1
	b.Commit(w)
	b.Is(b.Fail(w), store.ErrStale)
	d := b.Drop(b.Users, 1)
	d.IfRev = 1
	b.Is(b.Fail(d), store.ErrStale)
	d.IfRev = 2
	b.Commit(d)
	b.Is(b.Fail(d), store.ErrNotFound)
}

// outdated is a change of user 1 that was decided on revision 1, which is past.
func outdated(b *bench, redo func(store.Row) (*store.Write, error)) store.Write {
	b.Commit(b.NewUser("a@x"))
	b.Commit(b.SetEmail(1, "b@x"))
	w := b.SetEmail(1, "wrong@x")
	w.IfRev, w.Redo = 1, redo
	return w
}

func redo(b *bench) {
	w := outdated(b, func(row store.Row) (*store.Write, error) {
		if row.Rev != 2 || string(row.Doc) != `{"email":"b@x"}` || row.ID != 1 || row.Account != 1 {
			return nil, fmt.Errorf("redo got %+v", row)
		}
		w := b.SetEmail(77, "c@x") // the row is the one it was called for
		w.Events = []string{"user.redone"}
		return &w, nil
	})
	row := b.Commit(w)[0]
	b.Same("the document", string(row.Doc), `{"email":"c@x"}`)
	b.Same("the revision", row.Rev, int64(3))
	b.Same("the last event", b.Types()[2], "user.redone")
	w.Redo = func(store.Row) (*store.Write, error) { return &store.Write{Op: store.Delete}, nil }
	b.Commit(w)
	b.Gone(b.Users, 1)
}

func redoNothing(b *bench) {
	w := outdated(b, func(store.Row) (*store.Write, error) { return nil, nil })
	before := must(b.S.EventMark(b.ctx, 1))(b)
	row := b.Commit(w)[0]
	b.Same("the row", row, b.Row(b.Users, 1))
	b.Same("the revision", row.Rev, int64(2))
	b.Same("the order's mark", must(b.S.EventMark(b.ctx, 1))(b), before)
}

func redoFails(b *bench) {
	mine := errors.New("mine")
	w := outdated(b, func(store.Row) (*store.Write, error) { return nil, mine })
	b.Is(b.Fail(w), mine)
	w.Redo = func(store.Row) (*store.Write, error) { panic("boom") }
	if err := b.Fail(w); !strings.Contains(err.Error(), "boom") {
		b.Errorf("error %v, want the panic", err)
	}
	w.Redo = func(store.Row) (*store.Write, error) { w := b.NewUser("z@x"); return &w, nil }
	b.Fail(w)
	w.Redo = func(store.Row) (*store.Write, error) { return &store.Write{Op: store.Update}, nil }
	b.Fail(w)
	b.Same("the revision", b.Row(b.Users, 1).Rev, int64(2))
	b.Commit(b.NewUser("c@x")) // the writer lives on
}

func redoKeys(b *bench) {
	w := outdated(b, func(store.Row) (*store.Write, error) { w := b.SetEmail(1, "taken@x"); return &w, nil })
	b.Commit(b.NewUser("taken@x"))
	duplicate(b, b.Fail(w), "email")
	b.Commit(b.NewTask("a", nil, nil), b.SetTask(1, "b", nil, nil))
	t := b.SetTask(1, "c", nil, nil)
	t.IfRev = 1
	t.Redo = func(store.Row) (*store.Write, error) { w := b.SetTask(1, "c", int64(9), nil); return &w, nil }
	missing(b, b.Fail(t), "assignee_id")
	t.Redo = func(store.Row) (*store.Write, error) { w := b.SetTask(1, "c", int64(1), nil); return &w, nil }
	b.Commit(t)
}

func redoRace(b *bench) {
	b.Commit(b.NewTask("", nil, nil))
	const n = 64
	grow := func(row store.Row) *store.Write {
		status := strings.TrimSuffix(strings.TrimPrefix(string(row.Doc), `{"status":"`), `"}`)
		w := b.SetTask(1, status+"x", nil, nil)
		w.IfRev = row.Rev
		return &w
	}
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			row, err := b.S.Get(b.ctx, b.Tasks, 1, 1)
			if err != nil {
				b.Error(err)
				return
			}
			w := grow(row)
			w.Redo = func(now store.Row) (*store.Write, error) { return grow(now), nil }
			if _, err := b.S.Commit(b.ctx, &store.Tx{Account: 1, Writes: []store.Write{*w}}); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	row := b.Row(b.Tasks, 1)
	b.Same("the document", string(row.Doc), `{"status":"`+strings.Repeat("x", n)+`"}`)
	b.Same("the revision", row.Rev, int64(n+1))
	b.Same("events", len(b.Events()), n+1)
}
