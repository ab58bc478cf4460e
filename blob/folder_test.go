package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/blob/blobtest"
)

func openFolder(t testing.TB) *blob.Folder {
	t.Helper()
	f, err := blob.OpenFolder(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFolder(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return openFolder(t) })
}

// What a process left behind when it was killed in the midst of an upload goes,
// and what is still being written stays.
func TestBrokenOff(t *testing.T) {
	root := t.TempDir()
	f, err := blob.OpenFolder(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(root, "tmp", "put-old"), filepath.Join(root, "tmp", "put-young")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, []blob.Digest) (map[blob.Digest]bool, error) { return nil, nil }
	got, err := blob.Sweep(t.Context(), f, time.Now().Add(-time.Hour), none)
	if want := (blob.Swept{Temporary: 1}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("an upload under way was deleted: %v", err)
	}
}

// A sweep that cannot ask what is held deletes nothing.
func TestSweepInDoubt(t *testing.T) {
	f := openFolder(t)
	info, err := f.Put(t.Context(), bytes.NewReader([]byte("held by somebody")), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	away := errors.New("the database is away")
	unknown := func(context.Context, []blob.Digest) (map[blob.Digest]bool, error) { return nil, away }
	if _, err := blob.Sweep(t.Context(), f, time.Now().Add(time.Hour), unknown); !errors.Is(err, away) {
		t.Errorf("got %v, want %v", err, away)
	}
	if _, err := f.Open(t.Context(), info.Digest); err != nil {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	d := blob.Of([]byte("x"))
	for _, c := range []struct {
		why, text string
		want      bool
	}{
		{"what String writes", d.String(), true},
		{"capitals are another name", "ABCDEF" + d.String()[6:], false},
		{"a digit short", d.String()[1:], false},
		{"a digit more", d.String() + "0", false},
		{"no digit", "g" + d.String()[1:], false},
		{"a path", "../" + d.String()[3:], false},
	} {
		if got, ok := blob.Parse(c.text); ok != c.want || ok && got != d {
			t.Errorf("%s: got %v %v, want %v", c.why, got, ok, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(blob.Of(nil).String())
	f.Add("")
	f.Add("E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855")
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := blob.Parse(text); ok && d.String() != text {
			t.Errorf("%q and %q are one digest", text, d)
		}
	})
}

// full is set in the child process of TestFull.
const full = "PARLEY_TEST_FULL"

// TestFull puts bytes on a disk that becomes full: what was there stays, and
// the error says so. The disk is a limit of the kernel on the size of files, in
// a process of its own, which needs no rights. TestDiskFull of the root does
// the same with a file system that is full.
func TestFull(t *testing.T) {
	if root := os.Getenv(full); root != "" {
		fill(t, root)
		return
	}
	cmd := exec.Command("/bin/sh", "-c", `ulimit -f 64; trap "" XFSZ; exec "$0" -test.run='^TestFull$' -test.v`, os.Args[0])
	cmd.Env = append(os.Environ(), full+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS: TestFull")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func fill(t *testing.T, root string) {
	f, err := blob.OpenFolder(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	small, err := f.Put(t.Context(), bytes.NewReader([]byte("small")), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Put(t.Context(), io.LimitReader(zeros{}, 1<<20), 0, nil); !errors.Is(err, blob.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	for e, err := range f.List(t.Context()) {
		if err != nil || e.Digest != small.Digest {
			t.Errorf("left behind: %+v, %v", e, err)
		}
	}
	if _, err := f.Open(t.Context(), small.Digest); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func BenchmarkPut(b *testing.B) {
	for _, n := range []int64{1 << 10, 1 << 20, 64 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := openFolder(b)
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Put(b.Context(), io.LimitReader(zeros{}, n), 0, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
