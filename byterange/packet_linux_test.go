package byterange

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
)

// corked asks the kernel whether a connection waits for full packets.
func corked(t *testing.T, c net.Conn) bool {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	on := 0
	if failed := raw.Control(func(fd uintptr) {
		on, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CORK)
	}); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	return on != 0
}

// A look is called with each piece of a response.
type look struct {
	http.ResponseWriter
	at func()
}

func (l look) Write(b []byte) (int, error) {
	l.at()
	return l.ResponseWriter.Write(b)
}
func (l look) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// TestPackets makes sure that the pieces of a multipart response wait for each
// other, and that nothing waits after any response.
func TestPackets(t *testing.T) {
	whole := pattern(300 << 10)
	name := writeFile(t, whole)
	type connKey struct{}
	type waits struct{ during, after bool }
	seen := make(chan waits, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := r.Context().Value(connKey{}).(net.Conn)
		c := content(t, r.FormValue("source"), name, whole)
		if c.File != nil {
			defer c.File.Close()
		}
		var got waits
		if err := Serve(look{w, func() { got.during = got.during || corked(t, conn) }}, r, c, nil); err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
		}
		got.after = corked(t, conn)
		seen <- got
	}))
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return ConnContext(context.WithValue(ctx, connKey{}, c), c)
	}
	s.Start()
	defer s.Close()
	for _, source := range sources {
		for _, tt := range []struct {
			why, header string
			status      int
			during      bool
		}{
			{"the whole has one piece after its header", "", 200, false},
			{"so has one part", "bytes=1-70000", 206, false},
			{"small parts", "bytes=0-9,100-109,200-209", 206, true},
			{"large parts", "bytes=0-69999,80000-150000,160000-", 206, true},
			{"none that there is", "bytes=400000-,500000-", 418, false},
		} {
			header := http.Header{}
			if tt.header != "" {
				header.Set("Range", tt.header)
			}
			a := ask(t, "GET", s.URL+"?source="+source, header)
			if got, want := <-seen, (waits{tt.during, false}); a.status != tt.status || got != want {
				t.Errorf("%s, %s: got status %d, %+v, want %d, %+v", source, tt.why, a.status, got, tt.status, want)
			}
		}
	}
}
