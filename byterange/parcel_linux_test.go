package byterange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A way is one of the ways in which a wrapper hands on what it reads from.
type way struct {
	http.ResponseWriter
	on     func(w http.ResponseWriter, src io.Reader) (int64, error)
	kernel int64 // bytes that the connection itself was given
}

func (w *way) ReadFrom(src io.Reader) (int64, error) {
	if p, ok := src.(*parcel); ok {
		src = spy{p, w}
	}
	return w.on(w.ResponseWriter, src)
}

func (w *way) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A spy is a parcel that sees who takes it.
type spy struct {
	*parcel
	by *way
}

func (s spy) WriteTo(w io.Writer) (int64, error) {
	_, conn := w.(syscall.Conn)
	if to, ok := w.(io.ReaderFrom); ok && !conn {
		return to.ReadFrom(s) // as the parcel does, which would get rid of the spy
	}
	n, err := s.parcel.WriteTo(w)
	if conn {
		s.by.kernel += n
	}
	return n, err
}

func straight(w http.ResponseWriter, src io.Reader) (int64, error) {
	return w.(io.ReaderFrom).ReadFrom(src)
}
func copied(w http.ResponseWriter, src io.Reader) (int64, error) { return io.Copy(w, src) }
func looked(w http.ResponseWriter, src io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{src})
}

// parts serves a file over a connection that takes parcels.
func parts(t *testing.T, name string, size int64, o *Options, around func(http.ResponseWriter) http.ResponseWriter) (*httptest.Server, <-chan error) {
	t.Helper()
	errs := make(chan error, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		err = Serve(around(w), r, Content{Size: size, File: f}, o)
		errs <- err
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	s.Config.ConnContext = ConnContext
	s.Start()
	t.Cleanup(s.Close)
	return s, errs
}

// TestParcels makes sure that the kernel is given the parts and what stands
// between them, whoever stands in between and lets it, and that the bytes are
// right where somebody does not.
func TestParcels(t *testing.T) {
	whole := pattern(1 << 20)
	name := writeFile(t, whole)
	for _, tt := range []struct {
		why    string
		on     func(http.ResponseWriter, io.Reader) (int64, error)
		ranges []Range
		kernel bool
	}{
		{"large parts", straight, []Range{{1, 65536}, {100_000, 70_000}, {300_001, 40_000}}, true},
		{"a wrapper that copies", copied, []Range{{1, 65536}, {100_000, 70_000}}, true},
		{"a wrapper that must see the bytes", looked, []Range{{1, 65536}, {100_000, 70_000}}, false},
		{"a small one before, whose bytes wait in the buffer", straight, []Range{{1, 10}, {100_000, 70_000}}, true},
		{"many small ones before, which are written first", straight, []Range{{1, 4000}, {10_000, 4000}, {100_000, 70_000}, {200_000, 10}}, true},
		{"small ones only", straight, []Range{{1, 10}, {100, 10}}, false},
	} {
		var last *way
		s, errs := parts(t, name, int64(len(whole)), nil, func(w http.ResponseWriter) http.ResponseWriter {
			last = &way{ResponseWriter: w, on: tt.on}
			return last
		})
		var header []string
		var large int64
		for _, r := range tt.ranges {
			header = append(header, fmt.Sprintf("%d-%d", r.Start, r.Start+r.Length-1))
			if r.Length >= kernel {
				large += r.Length
			}
		}
		for range 2 { // the connection is in order for another
			a := ask(t, "GET", s.URL, fields("Range", "bytes="+strings.Join(header, ",")))
			if err := <-errs; err != nil {
				t.Errorf("%s: %v", tt.why, err)
			}
			_, params, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
			body := multipart.NewReader(bytes.NewReader(a.body), params["boundary"])
			for _, r := range tt.ranges {
				part, err := body.NextRawPart()
				if err != nil {
					t.Fatalf("%s: %v", tt.why, err)
				}
				if got, _ := io.ReadAll(part); !bytes.Equal(got, whole[r.Start:r.Start+r.Length]) {
					t.Errorf("%s: the part from %d on has other bytes", tt.why, r.Start)
				}
			}
			if int64(len(a.body)) != a.length || tt.kernel != (large > 0 && last.kernel >= large) || !tt.kernel && last.kernel > 0 {
				t.Errorf("%s: got %d bytes of %d, %d of them from the kernel", tt.why, len(a.body), a.length, last.kernel)
			}
		}
	}
}

// A taker notes what it is given to read from.
type taker struct {
	io.Writer
	src io.Reader
}

func (w *taker) ReadFrom(src io.Reader) (int64, error) {
	w.src = src
	return 0, nil
}

// TestParcelHandedOn makes sure that a parcel reaches the writer beneath a
// wrapper as what it is.
func TestParcelHandedOn(t *testing.T) {
	p, w := new(parcel), new(taker)
	if _, err := io.Copy(w, p); err != nil || w.src != io.Reader(p) {
		t.Errorf("got %v, error %v", w.src, err)
	}
}

// TestParcelsShort serves a file that ends before the second of two parts does.
func TestParcelsShort(t *testing.T) {
	name := writeFile(t, pattern(1<<20))
	s, errs := parts(t, name, 2<<20, nil, func(w http.ResponseWriter) http.ResponseWriter { return w })
	r, _ := http.NewRequest("GET", s.URL, nil)
	r.Header.Set("Range", "bytes=0-99999,1000000-1999999")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil || n >= resp.ContentLength {
		t.Errorf("the client got %d bytes of %d, error %v", n, resp.ContentLength, err)
	}
	if cut, ok := errors.AsType[*Interruption](<-errs); !ok || !cut.Source || !errors.Is(cut, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want an interruption by the source", cut)
	}
}

// TestParcelsStall has a client that moves slowly, and one that does not.
func TestParcelsStall(t *testing.T) {
	whole := pattern(8 << 20)
	name := writeFile(t, whole)
	for _, tt := range []struct {
		why   string
		moves bool
		stall time.Duration
	}{
		{"moves", true, time.Second},
		{"does not move", false, 100 * time.Millisecond},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			addr, errs := stalling(t, 0, func(w http.ResponseWriter, r *http.Request) error {
				c := content(t, "file", name, whole)
				defer c.File.Close()
				r.Header.Set("Range", "bytes=0-3999999,4000001-7999999")
				return Serve(w, r, c, &Options{Stall: tt.stall})
			})
			conn := slowDial(t, addr)
			if tt.moves {
				for begun := time.Now(); time.Since(begun) < 2*tt.stall; time.Sleep(10 * time.Millisecond) {
					if _, err := io.CopyN(io.Discard, conn, 20_000); err != nil {
						t.Fatal(err)
					}
				}
				rest, err := io.ReadAll(conn)
				if err != nil || !bytes.Contains(rest, whole[7_000_000:8_000_000]) {
					t.Errorf("got %d bytes at last, error %v", len(rest), err)
				}
			}
			err := <-errs
			cut, ok := errors.AsType[*Interruption](err)
			if tt.moves && err != nil || !tt.moves && (!ok || cut.Source || !errors.Is(err, os.ErrDeadlineExceeded)) {
				t.Errorf("got error %v", err)
			}
		})
	}
}
