// Package blobtest is the contract of a blob.Store as a test, and a real S3
// server for tests that need one.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/parley-api/parley/blob"
)

// Run holds a store, which must be empty and is given anew to each case,
// against the contract.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	for _, c := range []struct {
		name, why string
		run       func(t *testing.T, s blob.Store)
	}{
		{"bytes", "what was put is what is opened, also nothing at all", bytesCase},
		{"sections", "a part is read without the rest", sectionCase},
		{"refusals", "what fails leaves nothing behind", refusalCase},
		{"equal", "equal bytes are stored once", equalCase},
		{"sweep", "bytes that no row holds are deleted in two stages, others never", sweepCase},
		{"late row", "a row that appears after the first stage gets its bytes back", lateCase},
		{"race", "uploads of the same bytes and sweeps at once leave no row without bytes", raceCase},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func put(t testing.TB, s blob.Store, b []byte) blob.Digest {
	t.Helper()
	info, err := s.Put(t.Context(), bytes.NewReader(b), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (blob.Info{Digest: blob.Of(b), Size: int64(len(b))}); info != want {
		t.Fatalf("got %v, want %v", info, want)
	}
	return info.Digest
}

// read returns a section, or all where length is negative.
func read(t testing.TB, s blob.Store, d blob.Digest, offset, length int64) []byte {
	t.Helper()
	src, err := s.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if length < 0 {
		length = src.Size()
	}
	r, err := src.Section(t.Context(), offset, length)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func random(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(n)})
	source.Read(b)
	return b
}

func bytesCase(t *testing.T, s blob.Store) {
	for _, n := range []int{0, 1, 100_000, 3 << 20} {
		b := random(n)
		if got := read(t, s, put(t, s, b), 0, -1); !bytes.Equal(got, b) {
			t.Errorf("%d bytes: got %d others", n, len(got))
		}
	}
	if _, err := s.Open(t.Context(), blob.Of([]byte("never put"))); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("what was never put: got %v, want ErrNotFound", err)
	}
}

func sectionCase(t *testing.T, s blob.Store) {
	b := random(200_000)
	d := put(t, s, b)
	for _, c := range []struct{ offset, length int64 }{{0, 1}, {199_999, 1}, {1000, 50_000}, {70_000, 130_000}, {5, 0}} {
		if got := read(t, s, d, c.offset, c.length); !bytes.Equal(got, b[c.offset:c.offset+c.length]) {
			t.Errorf("%d bytes from %d: got %d others", c.length, c.offset, len(got))
		}
	}
}

func refusalCase(t *testing.T, s blob.Store) {
	b := random(10_000)
	broken := errors.New("broken off")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		why   string
		ctx   context.Context
		r     io.Reader
		limit int64
		check func(blob.Info) error
		want  error
	}{
		{"a byte more than the limit", t.Context(), bytes.NewReader(b), 9_999, nil, blob.ErrTooLarge},
		{"the client goes away", t.Context(), io.MultiReader(bytes.NewReader(b), iotest.ErrReader(broken)), 0, nil, broken},
		{"another digest was promised", t.Context(), bytes.NewReader(b), 0, func(blob.Info) error { return broken }, broken},
		{"given up", ended, bytes.NewReader(b), 0, nil, context.Canceled},
	} {
		if _, err := s.Put(c.ctx, c.r, c.limit, c.check); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.why, err, c.want)
		}
	}
	for e := range entries(t, s) {
		t.Errorf("left behind: %+v", e)
	}
	if _, err := s.Put(t.Context(), bytes.NewReader(b), 10_000, nil); err != nil {
		t.Errorf("as many bytes as the limit: %v", err)
	}
}

// entries lists a store.
func entries(t testing.TB, s blob.Store) map[blob.Entry]bool {
	t.Helper()
	all := make(map[blob.Entry]bool)
	for e, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all[e] = true
	}
	return all
}

func equalCase(t *testing.T, s blob.Store) {
	for range 3 {
		put(t, s, []byte("the same"))
	}
	if all := entries(t, s); len(all) != 1 {
		t.Errorf("got %v, want one entry", all)
	}
}

// rows are the digests that somebody holds.
type rows struct {
	mu  sync.Mutex
	all map[blob.Digest]bool
}

func (r *rows) hold(d blob.Digest, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[blob.Digest]bool)
	}
	r.all[d] = held
}

func (r *rows) held(_ context.Context, of []blob.Digest) (map[blob.Digest]bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	some := make(map[blob.Digest]bool)
	for _, d := range of {
		some[d] = r.all[d]
	}
	return some, nil
}

// sweep sweeps as if everything were old, or nothing.
func sweep(t testing.TB, s blob.Store, r *rows, old bool) blob.Swept {
	t.Helper()
	before := time.Now().Add(24 * time.Hour)
	if !old {
		before = time.Now().Add(-24 * time.Hour)
	}
	done, err := blob.Sweep(t.Context(), s, before, r.held)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func sweepCase(t *testing.T, s blob.Store) {
	var r rows
	held, orphan := put(t, s, []byte("held")), put(t, s, []byte("orphan"))
	r.hold(held, true)
	for _, c := range []struct {
		why  string
		old  bool
		want blob.Swept
	}{
		{"an upload whose row may yet come", false, blob.Swept{}},
		{"old, and no row holds it", true, blob.Swept{Trashed: 1}},
		{"only just in the trash", false, blob.Swept{}},
		{"long in the trash", true, blob.Swept{Deleted: 1}},
		{"nothing left to do", true, blob.Swept{}},
	} {
		if c.want.Deleted == 1 {
			if got := read(t, s, orphan, 0, -1); string(got) != "orphan" {
				t.Errorf("from the trash: got %q", got)
			}
		}
		if got := sweep(t, s, &r, c.old); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.why, got, c.want)
		}
	}
	if _, err := s.Open(t.Context(), orphan); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the orphan: got %v, want ErrNotFound", err)
	}
	if got := read(t, s, held, 0, -1); string(got) != "held" {
		t.Errorf("got %q, want what a row holds", got)
	}
}

func lateCase(t *testing.T, s blob.Store) {
	var r rows
	d := put(t, s, []byte("late"))
	sweep(t, s, &r, true)
	r.hold(d, true)
	if got, want := sweep(t, s, &r, false), (blob.Swept{Restored: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := read(t, s, d, 0, -1); string(got) != "late" {
		t.Errorf("got %q", got)
	}
}

// raceCase lets some upload, hold, let go and read the same few bytes while
// others sweep as if there were no time to wait before the first stage, which
// is the worst that a stalled sweeper can do. The second stage waits.
func raceCase(t *testing.T, s blob.Store) {
	var r rows
	ctx, stop := context.WithCancel(t.Context())
	var sweepers, uploaders sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for ctx.Err() == nil {
				trashOnly := patient{s}
				if _, err := blob.Sweep(ctx, trashOnly, time.Now().Add(24*time.Hour), r.held); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for u := range 4 {
		uploaders.Go(func() {
			for i := range 25 {
				b := fmt.Appendf(nil, "bytes %d", (u*31+i)%3)
				info, err := s.Put(t.Context(), bytes.NewReader(b), 0, nil)
				if err != nil {
					t.Error(err)
					return
				}
				r.hold(info.Digest, true)
				for range 3 {
					if _, err := s.Open(t.Context(), info.Digest); err != nil {
						t.Errorf("a row without its bytes: %v", err)
						return
					}
				}
			}
		})
	}
	uploaders.Wait()
	stop()
	sweepers.Wait()
}

// A patient store deletes nothing.
type patient struct{ blob.Store }

func (p patient) Move(ctx context.Context, e blob.Entry, to blob.Place) error {
	if to == blob.Gone {
		return nil
	}
	return p.Store.Move(ctx, e, to)
}
