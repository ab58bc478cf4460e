package dispatch_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// serve answers every connection with a function, after it has read a request,
// and returns its URL.
func serve(t *testing.T, answer func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			go func() {
				defer c.Close()
				if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					io.Copy(io.Discard, r.Body)
					answer(c)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

// write sends text again and again, with a wait between, until the peer has
// had enough, and counts.
func write(c net.Conn, text string, times int, wait time.Duration, sent *atomic.Int64) {
	for range times {
		n, err := io.WriteString(c, text)
		if sent != nil {
			sent.Add(int64(n))
		}
		if err != nil {
			return
		}
		time.Sleep(wait)
	}
}

// TestMisbehaviour shows consumers that harm whoever listens to them, each
// beside a healthy one. Each costs its own lane, little memory and no more
// than the timeout.
func TestMisbehaviour(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 64<<20))
	z.Close()
	var gigabyte atomic.Int64
	megabyte := strings.Repeat("x", 1<<20)
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		why    string
		answer func(c net.Conn)
		want   event.State
		class  string
	}{
		{"never answers", func(c net.Conn) { io.Copy(io.Discard, c) }, event.Dead, dispatch.ErrorTimeout},
		{"drips its header", func(c net.Conn) { write(c, "H", 1000, 50*time.Millisecond, nil) }, event.Dead, dispatch.ErrorTimeout},
		{"drips header fields", func(c net.Conn) {
			write(c, ok, 1, 0, nil)
			write(c, "X: y\r\n", 1000, 50*time.Millisecond, nil)
		}, event.Dead, dispatch.ErrorTimeout},
		{"drips its body", func(c net.Conn) {
			write(c, ok+"Content-Length: 10000\r\n\r\n", 1, 0, nil)
			write(c, "x", 1000, 50*time.Millisecond, nil)
		}, event.Dead, dispatch.ErrorTimeout},
		{"drips informational answers", func(c net.Conn) { write(c, "HTTP/1.1 103 Early Hints\r\n\r\n", 1000, 50*time.Millisecond, nil) }, event.Dead, "any"},
		{"sends a gigabyte", func(c net.Conn) {
			write(c, ok+"Content-Length: 1073741824\r\n\r\n", 1, 0, nil)
			write(c, megabyte, 1024, 0, &gigabyte)
		}, event.Delivered, ""},
		{"sends a gigabyte with an error", func(c net.Conn) {
			write(c, "HTTP/1.1 500 No\r\nContent-Length: 1073741824\r\n\r\n", 1, 0, nil)
			write(c, megabyte, 1024, 0, &gigabyte)
		}, event.Dead, ""},
		{"sends a bomb", func(c net.Conn) {
			write(c, fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", ok, bomb.Len(), bomb.String()), 1, 0, nil)
		}, event.Delivered, ""},
		{"sends 10,000 header fields", func(c net.Conn) {
			write(c, ok, 1, 0, nil)
			write(c, "X-Many: 0123456789\r\n", 10000, 0, nil)
			write(c, "\r\n", 1, 0, nil)
		}, event.Dead, "any"},
		{"sends an endless header field", func(c net.Conn) {
			write(c, ok+"X-Long: ", 1, 0, nil)
			write(c, megabyte, 1024, 0, &gigabyte)
		}, event.Dead, "any"},
		{"sends garbage", func(c net.Conn) { write(c, "\x00\xff\x16\x03garbage\r\n\r\n", 3, 0, nil) }, event.Dead, dispatch.ErrorProtocol},
		{"speaks another protocol", func(c net.Conn) { write(c, "220 mail.example ESMTP\r\n", 1, 0, nil) }, event.Dead, dispatch.ErrorProtocol},
		{"sends a status that is none", func(c net.Conn) { write(c, "HTTP/1.1 2000 OK\r\n\r\n", 1, 0, nil) }, event.Dead, dispatch.ErrorProtocol},
		{"sends chunks that are none", func(c net.Conn) { write(c, ok+"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 1, 0, nil) }, event.Delivered, ""},
		{"closes at once", func(c net.Conn) {}, event.Dead, dispatch.ErrorReset},
		{"resets", func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, event.Dead, dispatch.ErrorReset},
		{"breaks off its header", func(c net.Conn) { write(c, "HTTP/1.1 200 OK\r\nContent-", 1, 0, nil) }, event.Dead, "any"},
		{"breaks off its body", func(c net.Conn) { write(c, ok+"Content-Length: 10\r\n\r\nabc", 1, 0, nil) }, event.Delivered, ""},
		{"switches protocols", func(c net.Conn) {
			write(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", 1, 0, nil)
		}, event.Dead, "any"},
		{"answers twice", func(c net.Conn) { write(c, ok+"Content-Length: 0\r\n\r\n", 2, 0, nil) }, event.Delivered, ""},
	}
	healthy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }))
	defer healthy.Close()
	r := newRig(t, &dispatch.Options{Insecure: true, Timeout: 2 * time.Second, Patience: 200 * time.Millisecond, Schedule: []time.Duration{0}})
	r.book.set(dispatch.Endpoint{ID: 1, URL: healthy.URL, Enabled: true})
	for i, test := range tests {
		r.book.set(dispatch.Endpoint{ID: int64(i + 2), URL: serve(t, test.answer), Enabled: true})
	}
	r.run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range tests {
		for seq := range int64(3) {
			r.commit(seq+1, int64(i+2))
		}
	}
	for seq := range int64(200) {
		begun := time.Now()
		r.commit(seq+1, 1)
		r.wait(seq+1, 1, event.Delivered)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the healthy one waited for %v", took)
		}
	}
	for i, test := range tests {
		row := r.wait(1, int64(i+2), test.want)
		a := row.Attempts[0]
		if a.Error != test.class && (test.class != "any" || a.Status == 200) {
			t.Errorf("%s: got %+v, want %q", test.why, a, test.class)
		}
		if a.Duration > 5_000_000 || len(a.Response) > 1024 {
			t.Errorf("%s: got %dµs and %d bytes kept", test.why, a.Duration, len(a.Response))
		}
		if flying, _, _ := r.d.Lane(int64(i + 2)); flying > 8 {
			t.Errorf("%s: got %d in flight", test.why, flying)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<20 {
		t.Errorf("got %d MB allocated", grown>>20)
	}
	if got := gigabyte.Load(); got > 256<<20 {
		t.Errorf("got %d MB of the gigabytes out of the consumer", got>>20)
	}
	r.close()
}

// TestExchange shows what goes over the wire, that the connection is kept, and
// that the response's beginning is kept.
func TestExchange(t *testing.T) {
	var mu sync.Mutex
	var requests []*http.Request
	var bodies []string
	var conns atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r)
		bodies = append(bodies, string(b))
		w.Header().Set("Set-Cookie", "a=b")
		io.WriteString(w, strings.Repeat("y", 5000))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	r := newRig(t, &dispatch.Options{Insecure: true})
	r.book.set(dispatch.Endpoint{ID: 1, URL: server.URL + "/hook?a=b", Enabled: true})
	r.run()
	for seq := range int64(20) {
		r.commit(seq+1, 1)
		row := r.wait(seq+1, 1, event.Delivered)
		if got := row.Attempts[0]; string(got.Response) != strings.Repeat("y", 1024) {
			t.Fatalf("got %d bytes kept, want the first 1024", len(got.Response))
		}
	}
	r.close()
	if got := conns.Load(); got != 1 {
		t.Errorf("got %d connections for 20 deliveries one after another, want 1", got)
	}
	for i, q := range requests {
		id := event.DeliveryID(int64(i+1), 1)
		at := q.Header.Get("webhook-timestamp")
		want := http.Header{
			"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {"v1," + at},
			"Content-Type": {"application/json"}, "User-Agent": {"Parley-Webhooks/1"}, "Content-Length": {fmt.Sprint(len(bodies[i]))},
		}
		if fmt.Sprint(q.Header) != fmt.Sprint(want) || q.Method != "POST" || q.RequestURI != "/hook?a=b" || bodies[i] != `{"webhook-id":"`+id+`"}` {
			t.Fatalf("got %s %s %v %s, want %v", q.Method, q.RequestURI, q.Header, bodies[i], want)
		}
	}
}

// TestTLS shows HTTP/2 over TLS 1.2 and later, and that less, and strangers,
// are refused.
func TestTLS(t *testing.T) {
	tests := []struct {
		why     string
		highest uint16
		trusted bool
		h2      bool
		want    event.State
	}{
		{"TLS 1.3 and HTTP/2", tls.VersionTLS13, true, true, event.Delivered},
		{"TLS 1.2 and HTTP/1.1", tls.VersionTLS12, true, false, event.Delivered},
		{"TLS 1.1", tls.VersionTLS11, true, false, event.Dead},
		{"TLS 1.0", tls.VersionTLS10, true, false, event.Dead},
		{"a certificate of a stranger", tls.VersionTLS13, false, true, event.Dead},
	}
	for _, test := range tests {
		var major atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { major.Store(int64(r.ProtoMajor)) }))
		server.EnableHTTP2 = test.h2
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: test.highest}
		server.Config.ErrorLog = quiet
		server.StartTLS()
		o := dispatch.Options{Insecure: true, Schedule: []time.Duration{0}}
		if test.trusted {
			o.Roots = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		}
		r := newRig(t, &o)
		r.book.set(dispatch.Endpoint{ID: 1, URL: server.URL, Enabled: true})
		r.run()
		r.commit(1, 1)
		row := r.wait(1, 1, test.want)
		if test.want == event.Dead && row.Attempts[0].Error != dispatch.ErrorTLS {
			t.Errorf("%s: got %q", test.why, row.Attempts[0].Error)
		}
		if got := major.Load(); test.want == event.Delivered && (got == 2) != test.h2 {
			t.Errorf("%s: got HTTP/%d", test.why, got)
		}
		r.close()
		server.Close()
	}
}

// TestRefused shows that a port where nobody listens is a failure to connect.
func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r := newRig(t, &dispatch.Options{Insecure: true})
	r.book.set(dispatch.Endpoint{ID: 1, URL: "http://" + l.Addr().String(), Enabled: true})
	r.run()
	r.commit(1, 1)
	if row := r.wait(1, 1, event.Retrying); row.Attempts[0].Error != dispatch.ErrorRefused {
		t.Errorf("got %q", row.Attempts[0].Error)
	}
	r.close()
}
