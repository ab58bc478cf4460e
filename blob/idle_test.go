package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newFolder(t testing.TB) *Folder {
	t.Helper()
	f, err := OpenFolder(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func (f *Folder) putText(t testing.TB, text string) Digest {
	t.Helper()
	info, err := f.Put(context.Background(), bytes.NewReader([]byte(text)), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return info.Digest
}

func (f *Folder) mustOpen(t testing.TB, d Digest) *File {
	t.Helper()
	src, err := f.Open(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return src.(*File)
}

// isClosed reports whether a file gave its descriptor back.
func isClosed(f *os.File) bool {
	_, err := f.Stat()
	return errors.Is(err, os.ErrClosed)
}

func TestIdle(t *testing.T) {
	f := newFolder(t)
	d, other := f.putText(t, "these"), f.putText(t, "those")
	first := f.mustOpen(t, d)
	second := f.mustOpen(t, d)
	if first.File == second.File {
		t.Error("two readers have one file")
	}
	file := first.File
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closing twice: got %v, want os.ErrClosed", err)
	}
	if got := f.mustOpen(t, other); got.File == file {
		t.Error("other bytes were opened with the same file")
	}
	again := f.mustOpen(t, d)
	if again.File != file || again.Size() != 5 {
		t.Errorf("an idle file was not used again, or has size %d", again.Size())
	}
	if last := f.mustOpen(t, d); last.File == file {
		t.Error("a file that was closed twice has two readers")
	}
}

func TestIdleForgotten(t *testing.T) {
	for _, c := range []struct {
		why     string
		reading bool // while the bytes are deleted
	}{
		{"deleted while nobody reads: the room is given back at once", false},
		{"deleted while somebody reads: the reader ends in peace, nobody comes after", true},
	} {
		f := newFolder(t)
		d := f.putText(t, "bytes")
		src := f.mustOpen(t, d)
		if !c.reading {
			src.Close()
		}
		if err := f.Move(t.Context(), Entry{Digest: d, Place: Kept}, Gone); err != nil {
			t.Fatal(err)
		}
		if c.reading {
			if b, err := io.ReadAll(src.File); string(b) != "bytes" || err != nil {
				t.Errorf("%s: got %q, %v", c.why, b, err)
			}
			src.Close()
		}
		if !isClosed(src.File) {
			t.Errorf("%s: the file is still open", c.why)
		}
		if _, err := f.Open(t.Context(), d); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", c.why, err)
		}
	}
}

// TestIdleHealed puts bytes over a damaged copy that is still open.
func TestIdleHealed(t *testing.T) {
	f := newFolder(t)
	d := f.putText(t, "bytes")
	f.mustOpen(t, d).Close()
	if err := os.WriteFile(f.kept(d), []byte("worms"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.putText(t, "bytes")
	src := f.mustOpen(t, d)
	defer src.Close()
	if b, err := io.ReadAll(src.File); string(b) != "bytes" || err != nil {
		t.Errorf("got %q, %v, want the bytes that were put last", b, err)
	}
}

func TestIdleBound(t *testing.T) {
	f := newFolder(t)
	d := f.putText(t, "bytes")
	var all []*File
	for range maxIdle + 10 {
		all = append(all, f.mustOpen(t, d))
	}
	for _, src := range all {
		src.Close()
	}
	open := 0
	for i, src := range all {
		if !isClosed(src.File) {
			open++
		} else if i >= 10 {
			t.Errorf("file %d was closed before older ones", i)
		}
	}
	if open != maxIdle {
		t.Errorf("got %d open files, want %d", open, maxIdle)
	}
	f.Close()
	late := f.mustOpen(t, d)
	late.Close()
	for i, src := range append(all, late) {
		if !isClosed(src.File) {
			t.Errorf("file %d is open after Close of the folder", i)
		}
	}
}

func TestIdleExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		d := f.putText(t, "bytes")
		early, late := f.mustOpen(t, d), f.mustOpen(t, d)
		early.Close()
		time.Sleep(rest - time.Second)
		late.Close()
		for _, c := range []struct {
			why         string
			wait        time.Duration
			early, late bool // closed
		}{
			{"both have just been read", 0, false, false},
			{"the timer rang once", 2 * time.Second, false, false},
			{"the timer rang twice", rest, true, true},
		} {
			time.Sleep(c.wait)
			synctest.Wait()
			if got, and := isClosed(early.File), isClosed(late.File); got != c.early || and != c.late {
				t.Errorf("%s: closed: got %v, %v, want %v, %v", c.why, got, and, c.early, c.late)
			}
		}
		busy := f.mustOpen(t, d)
		time.Sleep(time.Minute)
		if isClosed(busy.File) {
			t.Error("a file was closed while it was read")
		}
	})
}

// TestIdleAlone has many readers move the offsets of few files, while some
// bytes are deleted and put again.
func TestIdleAlone(t *testing.T) {
	f := newFolder(t)
	var texts []string
	for i := range 4 {
		texts = append(texts, fmt.Sprintf("%d%0999d", i, i))
		f.putText(t, texts[i])
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 300 {
				text := texts[(i+n)%len(texts)]
				src, err := f.Open(t.Context(), Of([]byte(text)))
				if errors.Is(err, ErrNotFound) && text == texts[0] {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				file := src.(*File)
				at := int64(n % 900)
				file.Seek(at, io.SeekStart)
				b := make([]byte, 50)
				if _, err := io.ReadFull(file, b[:25]); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(file, b[25:]); err != nil || string(b) != text[at:at+50] {
					t.Errorf("got %q, %v", b, err)
				}
				file.Close()
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			if err := f.Move(t.Context(), Entry{Digest: Of([]byte(texts[0])), Place: Kept}, Gone); err != nil {
				t.Error(err)
			}
			f.putText(t, texts[0])
		}
	})
	wg.Wait()
}

func BenchmarkOpen(b *testing.B) {
	f := newFolder(b)
	d := f.putText(b, "bytes")
	b.ReportAllocs()
	for b.Loop() {
		f.mustOpen(b, d).Close()
	}
}
