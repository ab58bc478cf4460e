package byterange

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// stalling starts a server with small windows whose handler's errors can be
// received.
func stalling(t *testing.T, timeout time.Duration, serve func(w http.ResponseWriter, r *http.Request) error) (string, <-chan error) {
	t.Helper()
	errs := make(chan error, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := serve(w, r)
		errs <- err
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	s.Config.WriteTimeout = timeout
	s.Config.ConnContext = ConnContext
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			tcp.SetWriteBuffer(4 << 10)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), errs
}

func slowDial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{Control: socketBuffers(4 << 10)}).Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestStall has clients that take longer than the server's timeout. One that
// moves gets all there is, one that does not is given up.
func TestStall(t *testing.T) {
	whole := pattern(4 << 20)
	name := writeFile(t, whole)
	for _, source := range sources {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			const timeout, stall = 500 * time.Millisecond, 3 * time.Second
			addr, errs := stalling(t, timeout, func(w http.ResponseWriter, r *http.Request) error {
				c := content(t, source, name, whole)
				if c.File != nil {
					defer c.File.Close()
				}
				return Serve(w, r, c, &Options{Stall: stall})
			})
			conn := slowDial(t, addr)
			var body bytes.Buffer
			for begun := time.Now(); time.Since(begun) < stall+stall/2; time.Sleep(20 * time.Millisecond) {
				if _, err := io.CopyN(&body, conn, 2000); err != nil {
					t.Fatalf("after %d bytes: %v", body.Len(), err)
				}
			}
			if _, err := io.Copy(&body, conn); err != nil {
				t.Fatal(err)
			}
			if err := <-errs; err != nil || !bytes.HasSuffix(body.Bytes(), whole) {
				t.Errorf("a client that moves got %d bytes, error %v", body.Len(), err)
			}
		})
		t.Run(source+" not at all", func(t *testing.T) {
			t.Parallel()
			addr, errs := stalling(t, 0, func(w http.ResponseWriter, r *http.Request) error {
				c := content(t, source, name, whole)
				if c.File != nil {
					defer c.File.Close()
				}
				return Serve(w, r, c, &Options{Stall: 100 * time.Millisecond})
			})
			slowDial(t, addr)
			select {
			case err := <-errs:
				cut, ok := errors.AsType[*Interruption](err)
				if !ok || cut.Source || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got error %v, want an interruption by the client", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("a client that takes nothing holds its response after 30 s")
			}
		})
	}
}

// TestStallEnds makes sure that the deadline of one response does not outlive
// it where the server has none.
func TestStallEnds(t *testing.T) {
	const stall = 50 * time.Millisecond
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/later" {
			io.WriteString(w, "later")
			return
		}
		if err := Serve(w, r, content(t, "reader", "", pattern(10)), &Options{Stall: stall}); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	c := dial(t, s.Listener.Addr().String())
	for _, path := range []string{"/", "/later", "/"} {
		if status, _, err := c.ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil || status != 200 {
			t.Errorf("%s over the same connection: got %d, error %v", path, status, err)
		}
		time.Sleep(2 * stall)
	}
}

// A patient writer counts the deadlines that are set.
type patient struct {
	http.ResponseWriter
	set *int
}

func (w patient) SetWriteDeadline(t time.Time) error {
	*w.set++
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}
func (w patient) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestStallDeadlines(t *testing.T) {
	whole := pattern(1 << 20)
	const many = "bytes=0-69999,80000-149999,160000-229999,240000-309999"
	for _, tt := range []struct {
		why, header    string
		timeout, stall time.Duration
		want           int
	}{
		{"nobody asks for any", many, time.Minute, 0, 0},
		{"one for all the parts", many, time.Minute, 30 * time.Second, 1},
		{"a small response has the time of its server", "bytes=0-65535", 30 * time.Second, 30 * time.Second, 0},
		{"a byte more is not small", "bytes=0-65536", time.Minute, 30 * time.Second, 1},
		{"a server that gives less time than the client may have", "bytes=0-9", 29 * time.Second, 30 * time.Second, 1},
		{"a server without a timeout: set, and taken off", "bytes=0-9", 0, 30 * time.Second, 2},
	} {
		set := make(chan int, 1)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := 0
			if err := Serve(patient{w, &n}, r, content(t, "reader", "", whole), &Options{Stall: tt.stall}); err != nil {
				t.Error(err)
			}
			set <- n
		}))
		s.Config.WriteTimeout = tt.timeout
		s.Start()
		ask(t, "GET", s.URL, http.Header{"Range": {tt.header}})
		if got := <-set; got != tt.want {
			t.Errorf("%s: got %d deadlines, want %d", tt.why, got, tt.want)
		}
		s.Close()
	}
}
