package head

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// serve starts a server whose responses have a header of their own.
func serve(t *testing.T, handle func(h http.Header, w http.ResponseWriter, r *http.Request, send func(status int))) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := http.Header{}
		handle(h, w, r, func(status int) {
			if c := Of(w, r); c != nil {
				c.Put(h, w.Header())
			} else {
				t.Error("the connection takes no fields")
			}
			w.WriteHeader(status)
		})
	}))
	s.Listener = Listen(s.Listener)
	s.Config.ConnContext = Context
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestFields compares with what net/http writes by itself.
func TestFields(t *testing.T) {
	for _, tt := range []struct {
		why  string
		h    http.Header
		body string
	}{
		{"no fields", http.Header{}, ""},
		{"some, with a body", http.Header{"Vary": {"Accept"}, "Etag": {`"1"`}, "X-A": {"1", "2"}}, "text"},
		{"those that net/http looks at", http.Header{"Content-Type": {"text/x"}, "Content-Length": {"4"}, "Connection": {"close"}, "Date": {"now"}, "A": {"b"}}, "text"},
		{"a body longer than net/http's buffer", http.Header{"A": {"b"}}, strings.Repeat("x", 100_000)},
		{"more names than there is room for", many(100), "x"},
		{"a value that tries to be two fields", http.Header{"A": {" b\r\nEvil: yes\r\n\r\n<html> "}, "B": {"\nc"}}, "x"},
		{"names that are none", http.Header{"A b": {"c"}, "": {"d"}, "E:f": {"g"}, "H\n": {"i"}, "J": {"k"}}, "x"},
		{"a value of nothing", http.Header{"A": {""}, "B": {}}, "x"},
		{"more than a buffer of fields", http.Header{"A": {strings.Repeat("y", 20_000)}, "B": {"c"}}, "x"},
	} {
		plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range tt.h {
				w.Header()[name] = values
			}
			w.WriteHeader(http.StatusAccepted)
			io.WriteString(w, tt.body)
		}))
		addr := serve(t, func(h http.Header, w http.ResponseWriter, _ *http.Request, send func(int)) {
			for name, values := range tt.h {
				h[name] = values
			}
			send(http.StatusAccepted)
			io.WriteString(w, tt.body)
		})
		want, got := exchange(t, plain.Listener.Addr().String(), "GET"), exchange(t, addr, "GET")
		plain.Close()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%.2000q\nwant\n%.2000q", tt.why, got, want)
		}
	}
}

func many(n int) http.Header {
	h := http.Header{}
	for i := range n {
		h[fmt.Sprintf("X-%d", i)] = []string{"v"}
	}
	return h
}

// exchange asks and returns the lines of the head, sorted and without the date,
// and the body.
func exchange(t *testing.T, addr, method string) (lines []string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: x\r\n\r\n", method)
	var raw bytes.Buffer
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(raw.String(), "\r\n\r\n")
	for line := range strings.SplitSeq(text, "\r\n") {
		if !strings.HasPrefix(line, "Date: ") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines[1:])
	return append(lines, string(body))
}

// TestTurns has responses follow each other on one connection: each has its
// own fields, and one that was given none has none.
func TestTurns(t *testing.T) {
	n := 0
	addr := serve(t, func(h http.Header, w http.ResponseWriter, r *http.Request, send func(int)) {
		io.Copy(io.Discard, r.Body)
		if n++; n%3 == 0 {
			w.Header()["Plain"] = []string{"yes"}
			io.WriteString(w, "plain")
			return
		}
		h["N"] = []string{fmt.Sprint(n)}
		send(http.StatusOK)
		io.WriteString(w, "own")
	})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	br := bufio.NewReader(conn)
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi")
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusContinue {
			if len(resp.Header) > 0 {
				t.Errorf("got %v with a 100", resp.Header)
			}
			if resp, err = http.ReadResponse(br, nil); err != nil {
				t.Fatal(err)
			}
		}
		body, _ := io.ReadAll(resp.Body)
		want := fmt.Sprint(i)
		if i%3 == 0 {
			want = ""
		}
		if got := resp.Header.Get("N"); got != want || (resp.Header.Get("Plain") == "yes") != (i%3 == 0) {
			t.Errorf("response %d: got %v, %q", i, resp.Header, body)
		}
	}
}

// TestKept makes sure that a 304 and a HEAD stay what net/http makes of them.
func TestKept(t *testing.T) {
	addr := serve(t, func(h http.Header, w http.ResponseWriter, r *http.Request, send func(int)) {
		h["Etag"] = []string{`"1"`}
		h["Content-Length"] = []string{"4"}
		h["Content-Type"] = []string{"text/x"}
		if r.Method == "HEAD" {
			send(http.StatusOK)
			return
		}
		send(http.StatusNotModified)
	})
	for method, want := range map[string]string{"HEAD": "HTTP/1.1 200 OK|Content-Length: 4|Content-Type: text/x|Etag: \"1\"|", "GET": "HTTP/1.1 304 Not Modified|Etag: \"1\"|"} {
		if got := strings.Join(exchange(t, addr, method), "|"); got != want {
			t.Errorf("%s: got %q, want %q", method, got, want)
		}
	}
}

// TestOthers leaves alone what is not plain TCP.
func TestOthers(t *testing.T) {
	l := Listen(pipes{})
	c, err := l.Accept()
	if _, own := c.(*Conn); own || err != nil {
		t.Errorf("got %T, error %v", c, err)
	}
	if ctx := Context(t.Context(), c); ctx != t.Context() {
		t.Error("a connection that takes no fields is in the context")
	}
	if Of(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) != nil {
		t.Error("a request without a connection has one")
	}
	addr := serve(t, func(_ http.Header, w http.ResponseWriter, r *http.Request, send func(int)) {
		for _, other := range []http.ResponseWriter{httptest.NewRecorder(), struct{ http.ResponseWriter }{w}, new(response)} {
			if Of(other, r) != nil {
				t.Errorf("%T was taken for net/http's", other)
			}
		}
		send(http.StatusOK)
	})
	exchange(t, addr, "GET")
}

// A response is called as net/http's is.
type response struct{ http.ResponseWriter }

type pipes struct{ net.Listener }

func (pipes) Accept() (net.Conn, error) { a, _ := net.Pipe(); return a, nil }

func FuzzFields(f *testing.F) {
	f.Add("Vary", "Accept", "Etag", `"1"`)
	f.Add("A\r\n", "b", "", "c\r\nD: e")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string) {
		if known(n1) || known(n2) {
			return
		}
		h := http.Header{n1: {v1}, n2: {v2}}
		var want bytes.Buffer
		if err := h.Write(&want); err != nil {
			t.Fatal(err)
		}
		got := appendFields(nil, h, http.Header{})
		if bytes.Count(got, []byte("\n")) != bytes.Count(got, []byte("\r\n")) {
			t.Errorf("got %q", got)
		}
		if len(got) > 0 && !bytes.Equal(got, want.Bytes()) && valid(n1) == httpValid(n1) && valid(n2) == httpValid(n2) {
			t.Errorf("got %q, want %q", got, want.Bytes())
		}
	})
}

func httpValid(name string) bool {
	return name != "" && strings.Trim(name, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

func BenchmarkAppend(b *testing.B) {
	h := http.Header{
		"Accept-Ranges": {"bytes"}, "Api-Version": {"2026-11-01"}, "Cache-Control": {"private, no-cache"}, "Vary": {"Accept, API-Version, Authorization"},
		"Content-Disposition": {`attachment; filename="untitled"`}, "Content-Range": {"bytes 872248957-872314492/1073741824"},
		"Content-Security-Policy": {"default-src 'none'; sandbox"}, "Etag": {`"gClKwl5Ye4kHQUmxqEH8Sn1h4OzWn4C9jwiDzLZdJoI"`},
		"Last-Modified": {"Sun, 15 Nov 2026 10:47:48 GMT"}, "Repr-Digest": {"sha-256=:gClKwl5Ye4kHQUmxqEH8Sn1h4OzWn4C9jwiDzLZdJoI=:"},
		"X-Content-Type-Options": {"nosniff"}, "X-Request-Id": {"675ofzmi-2"},
	}
	room := make([]byte, 0, 2000)
	b.ReportAllocs()
	for b.Loop() {
		room = appendFields(room[:0], h, nil)
	}
}
