package byterange

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// A tap sees which way the bytes go.
type tap struct {
	http.ResponseWriter
	files  int64 // bytes that were handed on as a file
	others int64
}

func (w *tap) Write(b []byte) (int, error) {
	w.others += int64(len(b))
	return w.ResponseWriter.Write(b)
}

// A wide tap hands files on to the writer beneath, as a wrapper should.
type wide struct{ *tap }

func (w wide) ReadFrom(src io.Reader) (int64, error) {
	l, ok := src.(*io.LimitedReader)
	if _, file := l.R.(*os.File); ok && file {
		w.files += l.N
	}
	return w.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
}

// TestKernel makes sure that a file is handed to the connection as what it is,
// for only then can the kernel copy it.
func TestKernel(t *testing.T) {
	whole := pattern(1 << 20)
	name := writeFile(t, whole)
	var last *tap
	serve := func(w http.ResponseWriter, r *http.Request) {
		last = &tap{ResponseWriter: w}
		c := content(t, r.FormValue("source"), name, whole)
		if c.File != nil {
			defer c.File.Close()
		}
		to := http.ResponseWriter(last)
		if r.FormValue("writer") == "wide" {
			to = wide{last}
		}
		if err := Serve(to, r, c, nil); err != nil {
			t.Error(err)
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(serve))
	defer plain.Close()
	secret := httptest.NewTLSServer(http.HandlerFunc(serve))
	defer secret.Close()
	for _, tt := range []struct {
		why, query, header string
		server             *httptest.Server
		files              int64
	}{
		{"a whole file", "?source=file&writer=wide", "", plain, 1 << 20},
		{"a part of it", "?source=file&writer=wide", "bytes=1-65536", plain, 65536},
		{"a small part costs less through the buffer", "?source=file&writer=wide", "bytes=1-4096", plain, 0},
		{"large parts among small ones", "?source=file&writer=wide", "bytes=1-65536,100000-104095,200000-265535", plain, 2 * 65536},
		{"a reader is no file", "?source=reader&writer=wide", "", plain, 0},
		{"nor is a section", "?source=section&writer=wide", "", plain, 0},
		{"a writer that does not take files", "?source=file", "", plain, 0},
		{"nothing is copied by the kernel under TLS", "?source=file&writer=wide", "", secret, 0},
	} {
		r, err := http.NewRequest("GET", tt.server.URL+tt.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.header != "" {
			r.Header.Set("Range", tt.header)
		}
		resp, err := tt.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || n != resp.ContentLength || last.files != tt.files || last.files+last.others != n {
			t.Errorf("%s: got %d bytes of %d, %d of them as a file, want %d; error %v", tt.why, n, resp.ContentLength, last.files, tt.files, err)
		}
	}
}

// TestKernelShort serves a file that has become shorter than it was said to be:
// the client must not take what it got for the whole.
func TestKernelShort(t *testing.T) {
	name := writeFile(t, pattern(1<<20))
	for _, tt := range []struct{ why, header string }{
		{"the whole", ""},
		{"a part", "bytes=100000-1999999"},
		{"the last of two parts", "bytes=0-99999,1000000-1999999"},
	} {
		errs := make(chan error, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := content(t, "file", name, nil)
			defer c.File.Close()
			c.Size = 2 << 20
			errs <- Serve(w, r, c, nil)
			panic(http.ErrAbortHandler)
		}))
		r, err := http.NewRequest("GET", s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.header != "" {
			r.Header.Set("Range", tt.header)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		s.Close()
		if err == nil || n >= resp.ContentLength {
			t.Errorf("%s: the client got %d bytes of %d, error %v", tt.why, n, resp.ContentLength, err)
		}
		cut, ok := errors.AsType[*Interruption](<-errs)
		if !ok || !cut.Source || cut.Sent != n || !errors.Is(cut, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v after %d bytes, want an interruption by the source", tt.why, cut, n)
		}
	}
}
