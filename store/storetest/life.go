package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parley-api/parley/store"
)

func lifeCases() []rule {
	return []rule{
		{"secrets", "what is sealed before a restart can be opened after it", secrets},
		{"close", "what was accepted is finished, what comes later is refused", closing},
		{"a caller who gives up", "a request whose client is gone is not carried out later", givingUp},
		{"a panic of Clear", "a mistake in the application's code fails one request, not the store", clearPanics},
		{"everything at once", "rows, events and order stay true to each other under load", everything},
	}
}

func secrets(b *bench) {
	one := must(b.S.Secret(b.ctx, "cursor", 32))(b)
	two := must(b.S.Secret(b.ctx, "other", 16))(b)
	if len(one) != 32 || len(two) != 16 || string(one[:16]) == string(two) {
		b.Errorf("secrets %x and %x", one, two)
	}
	b.Same("again", must(b.S.Secret(b.ctx, "cursor", 32))(b), one)
	b.Reopen()
	b.Same("after a restart", must(b.S.Secret(b.ctx, "cursor", 32))(b), one)
	if _, err := b.S.Secret(b.ctx, "cursor", 16); err == nil {
		b.Error("a secret of another size was returned")
	}
	if err := b.S.Ping(b.ctx); err != nil {
		b.Errorf("Ping: %v", err)
	}
}

func closing(b *bench) {
	var all sync.WaitGroup
	errs := make([]error, 200)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = b.S.Commit(b.ctx, &store.Tx{Account: 1, Writes: []store.Write{b.NewUser(nil)}})
		})
	}
	time.Sleep(2 * time.Millisecond)
	if err := b.S.Close(); err != nil {
		b.Errorf("Close: %v", err)
	}
	all.Wait()
	made := 0
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case !errors.Is(err, store.ErrClosed):
			b.Errorf("commit: %v", err)
		}
	}
	_, err := b.S.Get(b.ctx, b.Users, 1, 1)
	b.Is(err, store.ErrClosed)
	b.Is(b.S.Ping(b.ctx), store.ErrClosed)
	b.Is(b.Fail(b.NewUser(nil)), store.ErrClosed)
	if err := b.S.Close(); err != nil {
		b.Errorf("second Close: %v", err)
	}
	b.S = b.Open(b.Users, b.Projects, b.Tasks)
	b.Same("rows", len(b.Rows(b.Users)), made)
}

func givingUp(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	insert := &store.Tx{Account: 1, Writes: []store.Write{b.NewUser("gone@x")}}
	_, err := b.S.Commit(ctx, insert)
	b.Is(err, context.Canceled)
	_, err = b.S.Get(ctx, b.Users, 1, 1)
	b.Is(err, context.Canceled)
	_, err = b.S.Page(ctx, b.Users, store.Query{Account: 1})
	b.Is(err, context.Canceled)

	b.Commit(b.NewUser("a@x"))
	inside, release := make(chan struct{}), make(chan struct{})
	slow := b.SetEmail(1, "b@x")
	slow.IfRev = 9
	slow.Redo = func(store.Row) (*store.Write, error) {
		close(inside)
		<-release
		w := b.SetEmail(1, "b@x")
		return &w, nil
	}
	ctx, cancel = context.WithCancel(b.ctx)
	var all sync.WaitGroup
	commit := func(ctx context.Context, w store.Write, want error) {
		all.Go(func() {
			_, err := b.S.Commit(ctx, &store.Tx{Account: 1, Writes: []store.Write{w}})
			b.Is(err, want)
		})
	}
	commit(ctx, slow, nil) // taken: its outcome is reported though its caller is gone
	<-inside
	for range 4 { // perhaps taken by other writers, which then wait for the first
		commit(b.ctx, b.NewUser(nil), nil)
		time.Sleep(50 * time.Millisecond)
	}
	commit(ctx, b.NewUser("gone@x"), context.Canceled)
	time.Sleep(50 * time.Millisecond)
	cancel()
	time.Sleep(50 * time.Millisecond)
	close(release)
	all.Wait()
	_, err = b.S.Find(b.ctx, b.Users, 1, "email", "gone@x")
	b.Is(err, store.ErrNotFound)
	b.Same("the one that was taken", must(b.S.Find(b.ctx, b.Users, 1, "email", "b@x"))(b).Rev, int64(2))
}

func clearPanics(b *bench) {
	b.S.Close()
	b.S = b.Open(b.with(func(t *store.Table) {
		t.Clear = func([]byte, string) ([]byte, []string, error) { panic("boom") }
	})...)
	b.Commit(b.NewUser("a@x"), b.NewTask("x", int64(1), nil))
	b.Fail(b.Drop(b.Users, 1, "user.deleted"))
	b.Row(b.Users, 1)
	b.Same("events", b.Types(), []string{"user.created", "task.created"})
}

func everything(b *bench) {
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() { mix(b, rand.New(rand.NewPCG(1, uint64(i))), 40) })
	}
	all.Wait()
	invariants(b)
	b.Reopen()
	invariants(b)
}

// mix does random things. Refusals are part of it; other errors are not.
func mix(b *bench, r *rand.Rand, n int) {
	ref := func(most int64) any {
		if id := r.Int64N(most + 1); id > 0 {
			return id
		}
		return nil
	}
	for range n {
		var tx store.Tx
		for range 1 + r.IntN(2) {
			tx.Writes = append(tx.Writes, mixed(b, r, ref))
		}
		tx.Account = 1
		if r.IntN(4) == 0 {
			tx.Replay = &store.Replay{Key: fmt.Sprint(r.IntN(50))}
		}
		b.clock.Add(r.Int64N(20) - 5)
		_, err := b.S.Commit(b.ctx, &tx)
		var d *store.DuplicateError
		var m *store.MissingRefError
		var p *store.ReferencedError
		var k *store.ReplayedError
		if err != nil && !errors.As(err, &d) && !errors.As(err, &m) && !errors.As(err, &p) && !errors.As(err, &k) &&
			!errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrStale) {
			b.Errorf("commit: %v", err)
		}
		if _, err := b.S.Page(b.ctx, b.Tasks, store.Query{Account: 1, Order: store.ByUpdated, Desc: true}); err != nil {
			b.Errorf("page: %v", err)
		}
	}
}

func mixed(b *bench, r *rand.Rand, ref func(int64) any) store.Write {
	var w store.Write
	id := 1 + r.Int64N(40)
	switch r.IntN(10) {
	case 0, 1:
		w = b.NewUser(fmt.Sprintf("%d@x", r.IntN(30)))
	case 2:
		w = b.SetEmail(id, fmt.Sprintf("%d@x", r.IntN(30)))
	case 3:
		w = b.Drop(b.Users, id, "user.deleted")
	case 4:
		w = b.NewProject()
	case 5:
		w = b.Drop(b.Projects, id, "project.deleted")
	case 6, 7:
		w = b.NewTask(fmt.Sprint(r.IntN(9)), ref(20), ref(10))
	case 8:
		w = b.SetTask(id, fmt.Sprint(r.IntN(9)), ref(20), ref(10))
	default:
		w = b.Drop(b.Tasks, id, "task.deleted")
	}
	if w.Op == store.Update && r.IntN(2) == 0 {
		w.IfRev = 1
		again := w
		w.Redo = func(store.Row) (*store.Write, error) { return &again, nil }
	}
	return w
}

// invariants checks that rows and events tell the same story.
func invariants(b *bench) {
	b.Helper()
	type subject struct {
		table string
		id    int64
	}
	type state struct {
		rev, updated int64
		doc          string
		gone         bool
	}
	last := map[subject]state{}
	seen := map[int64]bool{}
	var at int64
	for _, e := range b.Events() {
		k := subject{e.Resource, e.Subject}
		if e.Rev != last[k].rev+1 {
			b.Errorf("event %d of %v has revision %d after %d", e.Seq, k, e.Rev, last[k].rev)
		}
		if seen[e.Seq] || e.At <= at {
			b.Errorf("event %d at %d comes after %d", e.Seq, e.At, at)
		}
		seen[e.Seq], at = true, e.At
		gone := len(e.Type) > 8 && e.Type[len(e.Type)-8:] == ".deleted"
		last[k] = state{e.Rev, e.Updated, string(e.Doc), gone}
	}
	rows := 0
	for _, t := range []*store.Table{b.Users, b.Projects, b.Tasks} {
		var updated, seq int64
		page := must(b.S.Page(b.ctx, t, store.Query{Account: 1, Order: store.ByUpdated, Limit: 1 << 20}))(b)
		for _, r := range page {
			want := state{r.Rev, r.Updated, string(r.Doc), false}
			b.Same(fmt.Sprint("the last event of ", t.Name, " ", r.ID), last[subject{t.Name, r.ID}], want)
			if seen[r.Seq] || r.Updated <= updated || r.Seq <= seq {
				b.Errorf("%s %d: sequence %d, updated %d do not follow %d, %d", t.Name, r.ID, r.Seq, r.Updated, seq, updated)
			}
			seen[r.Seq], updated, seq = true, r.Updated, r.Seq
		}
		rows += len(page)
	}
	living := 0
	for _, s := range last {
		if !s.gone {
			living++
		}
	}
	b.Same("rows", rows, living)
	mark := must(b.S.EventMark(b.ctx, 1))(b)
	b.Same("the mark: a number for each change and each event", mark, int64(2*len(b.Events())))
}
