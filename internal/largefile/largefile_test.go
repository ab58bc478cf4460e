package largefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"testing"
)

// TestLargefile reads all of it once: the digest that every answer has is right.
func TestLargefile(t *testing.T) {
	h := sha256.New()
	if n, err := io.Copy(h, io.NewSectionReader(New(), 0, Size+1)); n != Size || err != nil {
		t.Fatalf("got %d bytes, %v, want %d", n, err, Size)
	}
	if got := "sha-256=:" + base64.StdEncoding.EncodeToString(h.Sum(nil)) + ":"; got != Digest {
		t.Errorf("got %s, want %s", got, Digest)
	}
}

// A part read by itself is the part of a longer one.
func TestReadAt(t *testing.T) {
	f := New()
	for range 200 {
		at := rand.Int64N(Size - 4096)
		long := make([]byte, 4096)
		if n, err := f.ReadAt(long, at); n != len(long) || err != nil {
			t.Fatalf("4096 bytes from %d: got %d, %v", at, n, err)
		}
		skip, length := rand.IntN(1000), rand.IntN(3000)
		short := make([]byte, length)
		if n, err := f.ReadAt(short, at+int64(skip)); n != length || err != nil || !bytes.Equal(short, long[skip:skip+length]) {
			t.Fatalf("%d bytes from %d: got %d others, %v", length, at+int64(skip), n, err)
		}
	}
	for _, c := range []struct {
		why    string
		offset int64
		want   int
		err    error
	}{
		{"the last bytes", Size - 3, 3, io.EOF},
		{"the last bytes exactly", Size - 8, 8, nil},
		{"the end", Size, 0, io.EOF},
		{"beyond the end", Size + 100, 0, io.EOF},
		{"before the beginning", -1, 0, io.EOF},
	} {
		if n, err := f.ReadAt(make([]byte, 8), c.offset); n != c.want || err != c.err {
			t.Errorf("%s: got %d, %v, want %d, %v", c.why, n, err, c.want, c.err)
		}
	}
}

func BenchmarkReadAt(b *testing.B) {
	f, buf := New(), make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for at := int64(0); b.Loop(); at = (at + int64(len(buf))) % (Size / 2) {
		if _, err := f.ReadAt(buf, at); err != nil {
			b.Fatal(err)
		}
	}
}
