package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

func replayCases() []rule {
	return []rule{
		{"replay", "a request that is sent again gets the first answer and creates nothing", replay},
		{"replay of a failure", "a request that failed may be sent again with its key", replayFailure},
		{"replay at once", "of equal requests in flight exactly one is carried out", replayRace},
		{"replay expires", "keys are kept for 24 hours and no longer", replayExpires},
		{"replay keys are bytes", "a header field may hold what is not text", replayBytes},
	}
}

func keyed(b *bench, key, email string) *store.Tx {
	return &store.Tx{Account: 1, Writes: []store.Write{b.NewUser(email)}, Replay: &store.Replay{
		Key: key, Print: [32]byte{1, 2, 31: 9},
		Answer: func(rows []store.Row) []byte { return fmt.Appendf(nil, "made %d", rows[0].ID) },
	}}
}

func replayed(b *bench, err error) store.Kept {
	b.Helper()
	e, ok := errors.AsType[*store.ReplayedError](err)
	if !ok {
		b.Fatalf("error %v, want a replay", err)
	}
	return e.Kept
}

func replay(b *bench) {
	b.Same("an unknown key", must(b.S.Replay(b.ctx, 1, "k"))(b), (*store.Kept)(nil))
	must(b.S.Commit(b.ctx, keyed(b, "k", "a@x")))(b)
	want := store.Kept{Print: [32]byte{1, 2, 31: 9}, Answer: []byte("made 1"), Created: start}
	b.Same("what is kept", *must(b.S.Replay(b.ctx, 1, "k"))(b), want)
	_, err := b.S.Commit(b.ctx, keyed(b, "k", "b@x"))
	b.Same("what is kept", replayed(b, err), want)
	b.Same("rows", len(b.Rows(b.Users)), 1)
	b.Same("another account's", must(b.S.Replay(b.ctx, 2, "k"))(b), (*store.Kept)(nil))
	b.Reopen()
	_, err = b.S.Commit(b.ctx, keyed(b, "k", "b@x"))
	b.Same("what is kept after a restart", replayed(b, err), want)
	must(b.S.Commit(b.ctx, &store.Tx{Account: 1, Replay: &store.Replay{Key: "bare"}}))(b)
	b.Same("a bare record", len(must(b.S.Replay(b.ctx, 1, "bare"))(b).Answer), 0)
}

func replayFailure(b *bench) {
	b.Commit(b.NewUser("a@x"))
	_, err := b.S.Commit(b.ctx, keyed(b, "k", "a@x"))
	duplicate(b, err, "email")
	b.Same("what is kept", must(b.S.Replay(b.ctx, 1, "k"))(b), (*store.Kept)(nil))
	tx := keyed(b, "k", "b@x")
	tx.Replay.Answer = func([]store.Row) []byte { panic("boom") }
	tx.Events = []event.Event{{Type: "own.event"}}
	if _, err := b.S.Commit(b.ctx, tx); err == nil || !strings.Contains(err.Error(), "boom") {
		b.Errorf("error %v, want the panic", err)
	}
	b.Same("rows", len(b.Rows(b.Users)), 1)
	b.Same("events", len(b.Events()), 1)
	must(b.S.Commit(b.ctx, keyed(b, "k", "b@x")))(b)
}

func replayRace(b *bench) {
	var all sync.WaitGroup
	errs := make([]error, 32)
	for i := range errs {
		all.Go(func() { _, errs[i] = b.S.Commit(b.ctx, keyed(b, "k", fmt.Sprintf("%d@x", i))) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			b.Same("the answer", string(replayed(b, err).Answer), "made 1")
		}
	}
	b.Same("winners", won, 1)
	b.Same("rows", len(b.Rows(b.Users)), 1)
}

func replayExpires(b *bench) {
	must(b.S.Commit(b.ctx, keyed(b, "k", "a@x")))(b)
	b.clock.Add(int64((24*time.Hour - time.Microsecond) / time.Microsecond))
	if must(b.S.Replay(b.ctx, 1, "k"))(b) == nil {
		b.Error("expired too early")
	}
	_, err := b.S.Commit(b.ctx, keyed(b, "k", "b@x"))
	replayed(b, err)
	b.clock.Add(1)
	b.Same("what is kept after a day", must(b.S.Replay(b.ctx, 1, "k"))(b), (*store.Kept)(nil))
	must(b.S.Commit(b.ctx, keyed(b, "k", "b@x")))(b)
	b.Same("the second answer", string(must(b.S.Replay(b.ctx, 1, "k"))(b).Answer), "made 2")
	for i := range 700 {
		must(b.S.Commit(b.ctx, &store.Tx{Account: 1, Replay: &store.Replay{Key: fmt.Sprint(i)}}))(b)
	}
	b.clock.Add(int64(23 * time.Hour / time.Microsecond))
	must(b.S.Commit(b.ctx, keyed(b, "late", "c@x")))(b)
	b.clock.Add(int64(2 * time.Hour / time.Microsecond))
	if err := b.S.Prune(b.ctx); err != nil {
		b.Fatal(err)
	}
	b.clock.Add(-int64(2 * time.Hour / time.Microsecond)) // what was pruned does not come back
	b.Same("a pruned record", must(b.S.Replay(b.ctx, 1, "k"))(b), (*store.Kept)(nil))
	b.Same("another", must(b.S.Replay(b.ctx, 1, "699"))(b), (*store.Kept)(nil))
	if must(b.S.Replay(b.ctx, 1, "late"))(b) == nil {
		b.Error("a record was pruned too early")
	}
}

func replayBytes(b *bench) {
	for i, key := range []string{"", "\x00", "\xff\xfe", "é", "e\u0301"} {
		must(b.S.Commit(b.ctx, keyed(b, key, fmt.Sprintf("%d@x", i))))(b)
		_, err := b.S.Commit(b.ctx, keyed(b, key, "z@x"))
		b.Same("the answer", string(replayed(b, err).Answer), fmt.Sprintf("made %d", i+1))
	}
}
