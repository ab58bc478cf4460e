// Package blob keeps bytes under their SHA-256 digest: in a folder, or by way of
// package bucket in an S3-compatible bucket.
//
// Bytes are whole or absent. Put streams to a temporary file, flushes it and
// only then gives it its name, so that nothing half-written can be opened, also
// after a crash. Equal bytes are stored once.
//
// A blob knows nothing of who needs it. That is for rows of a database to say:
// put the bytes, then commit a row that holds their digest, and let [Sweep]
// delete what no row holds. A row must be committed within the grace period
// that Sweep is called with, counted from the end of Put.
//
// # How a sweep is safe
//
// A blob that no row holds is first moved to the trash, from where it can still
// be opened. After another grace period it is looked at again: where a row
// holds it by then, because equal bytes were put at the same moment, it is
// moved back; only otherwise is it deleted. So a row that was committed in time
// never dangles, on however many nodes, without a lock between them.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"time"
)

// A Digest is the SHA-256 of some bytes, and their name.
type Digest [sha256.Size]byte

// Of returns the digest of b.
func Of(b []byte) Digest { return sha256.Sum256(b) }

// String returns the digest as 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Parse reads what String writes. It reports false for anything else.
func Parse(s string) (d Digest, ok bool) {
	if len(s) != hex.EncodedLen(len(d)) {
		return d, false
	}
	for _, c := range []byte(s) {
		if c >= 'A' && c <= 'F' { // one spelling
			return d, false
		}
	}
	_, err := hex.Decode(d[:], []byte(s))
	return d, err == nil
}

// An Info is what Put finds out about bytes.
type Info struct {
	Digest Digest
	Size   int64
}

// Errors of a Store. Use errors.Is.
var (
	// ErrNotFound says that there are no bytes with the digest.
	ErrNotFound = errors.New("blob: no such bytes")
	// ErrTooLarge says that there were more bytes than the limit. Nothing is kept.
	ErrTooLarge = errors.New("blob: more bytes than the limit")
	// ErrFull says that there is no room left. Nothing is kept of what was being
	// put, and everything else is as it was.
	ErrFull = errors.New("blob: no room left")
	// ErrUnavailable wraps the error of a bucket that cannot be reached right
	// now; it may be tried again.
	ErrUnavailable = errors.New("blob: bucket unavailable")
)

// A Store keeps bytes. Its methods may be called concurrently, and by several
// processes on one folder or bucket.
type Store interface {
	// Put reads r to its end and keeps the bytes. When it returns they are on
	// disk. A limit of 0 or less means none. Check, unless nil, is called with
	// what was read before anything is kept; its error, and one of r, comes back
	// as it is, and then nothing is kept.
	Put(ctx context.Context, r io.Reader, limit int64, check func(Info) error) (Info, error)

	// Open returns the bytes, from the trash where they are only there. Close
	// the Source. The error for a digest that is not there is ErrNotFound.
	Open(ctx context.Context, d Digest) (Source, error)

	// List goes through everything that is stored, in no order. It may miss
	// what is put meanwhile.
	List(ctx context.Context) iter.Seq2[Entry, error]

	// Move takes an entry of List from where it is to Kept, Trash or Gone. What
	// is not there any more needs no moving.
	Move(ctx context.Context, e Entry, to Place) error
}

// A Source is stored bytes, open for reading. What a Folder opens is a *File,
// which is an *os.File besides: the kernel can copy from it.
type Source interface {
	Size() int64
	// Section returns length bytes from offset on. Both must lie within the
	// size. Sections may be read concurrently; close each.
	Section(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	Close() error
}

// A Place is where bytes are.
type Place uint8

const (
	Kept      Place = iota // they can be opened
	Trash                  // they can be opened, and will be deleted
	Temporary              // an upload that is under way or was broken off
	Gone
)

// An Entry is something stored.
type Entry struct {
	Digest Digest // zero where Place is Temporary
	Name   string // of what is Temporary
	Place  Place
	Time   time.Time // when it came to its place; of an upload under way the last write
}

// Swept counts what a sweep did.
type Swept struct {
	Trashed, Restored, Deleted, Temporary int
}

// batch is how many digests are asked about at a time.
const batch = 500

// Sweep deletes what came to its place before the time given and is not needed:
// uploads that were broken off, and bytes that no row holds, these in two
// stages, as the package comment tells. Held returns those of some digests that
// rows hold; it must see every row that is committed. Before must be at least
// as long ago as the time that an upload may take between Put and the commit of
// its row. Several processes may sweep at once.
func Sweep(ctx context.Context, s Store, before time.Time, held func(context.Context, []Digest) (map[Digest]bool, error)) (Swept, error) {
	w := sweep{store: s, held: held}
	for e, err := range s.List(ctx) {
		if err != nil {
			return w.done, err
		}
		old := e.Time.Before(before)
		switch {
		case e.Place == Temporary && old:
			if err := s.Move(ctx, e, Gone); err != nil {
				return w.done, err
			}
			w.done.Temporary++
		case e.Place == Trash || e.Place == Kept && old:
			if w.add(e, old); len(w.entries) == batch {
				if err := w.settle(ctx); err != nil {
					return w.done, err
				}
			}
		}
	}
	return w.done, w.settle(ctx)
}

// A sweep is one going through.
type sweep struct {
	store   Store
	held    func(context.Context, []Digest) (map[Digest]bool, error)
	entries []Entry
	old     []bool // of entries
	digests []Digest
	done    Swept
}

func (w *sweep) add(e Entry, old bool) {
	w.entries, w.old, w.digests = append(w.entries, e), append(w.old, old), append(w.digests, e.Digest)
}

// settle decides the entries that were gathered.
func (w *sweep) settle(ctx context.Context) error {
	if len(w.entries) == 0 {
		return nil
	}
	held, err := w.held(ctx, w.digests)
	if err != nil {
		return err
	}
	for i, e := range w.entries {
		var to Place
		var count *int
		switch needed := held[e.Digest]; {
		case e.Place == Kept && !needed:
			to, count = Trash, &w.done.Trashed
		case e.Place == Trash && needed:
			to, count = Kept, &w.done.Restored
		case e.Place == Trash && w.old[i]:
			to, count = Gone, &w.done.Deleted
		default:
			continue
		}
		if err := w.store.Move(ctx, e, to); err != nil {
			return err
		}
		*count++
	}
	w.entries, w.old, w.digests = w.entries[:0], w.old[:0], w.digests[:0]
	return nil
}
