package parley_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

// A sent is a request as it goes over the wire.
type sent struct {
	line   string // the request line
	method string
	target string
	lines  []string // the header
	header http.Header
	body   string // as it is sent
	text   string // the body without chunks
}

// newSent completes a request with what every request has: Host, Connection
// and the length of the body, where the header does not say them.
func newSent(head, body string) *sent {
	lines := strings.Split(head, "\n")
	s := &sent{line: lines[0], lines: lines[1:], body: body, text: body, header: make(http.Header)}
	s.method, s.target, _ = strings.Cut(s.line, " ")
	s.target, _, _ = strings.Cut(s.target, " ")
	for _, l := range s.lines {
		name, value, _ := strings.Cut(l, ":")
		s.header.Add(name, strings.TrimSpace(value))
	}
	add := func(name, value string) {
		if s.header[name] == nil {
			s.lines = append(s.lines, name+": "+value)
		}
	}
	add("Host", "api.example.com")
	add("Connection", "close")
	if s.header["Transfer-Encoding"] != nil {
		s.body = strconv.FormatInt(int64(len(body)), 16) + "\r\n" + body + "\r\n0\r\n\r\n"
	} else if body != "" || s.method == "POST" || s.method == "PUT" || s.method == "PATCH" {
		add("Content-Length", strconv.Itoa(len(body)))
	}
	return s
}

// with returns a request that differs in the method, without a body, and has
// further header lines.
func (s *sent) with(method string, lines ...string) *sent {
	var head []string
	for _, l := range s.lines {
		if !strings.HasPrefix(l, "Content-") {
			head = append(head, l)
		}
	}
	_, rest, _ := strings.Cut(s.line, " ")
	return newSent(strings.Join(slices.Concat([]string{method + " " + rest}, head, lines), "\n"), "")
}

func (s *sent) raw() []byte {
	return []byte(s.line + "\r\n" + strings.Join(s.lines, "\r\n") + "\r\n\r\n" + s.body)
}

// path is the request target without its query.
func (s *sent) path() string {
	path, _, _ := strings.Cut(s.target, "?")
	return strings.TrimPrefix(path, "http://api.example.com") // the absolute form
}

// An answer is a response as it came over the wire.
type answer struct {
	status int
	reason string
	header http.Header
	body   []byte
	raw    []byte
}

// is reports whether the body is of a media type.
func (a *answer) is(mediaType string) bool {
	got, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	return got == mediaType
}

// converse sends a request on a connection of its own and reads until the
// server closes it, so that nothing it says is missed.
func converse(addr string, s *sent) (*answer, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	go conn.Write(s.raw()) // the answer may come before all is sent
	raw, err := io.ReadAll(conn)
	if len(raw) == 0 {
		return nil, fmt.Errorf("%s: no answer: %v", s.line, err)
	}
	return readAnswer(s.method, raw)
}

// readAnswer takes an answer apart and refuses anything after its end.
func readAnswer(method string, raw []byte) (*answer, error) {
	r := bufio.NewReader(bytes.NewReader(raw))
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return nil, fmt.Errorf("reading the answer %q: %w", clipLines(raw), err)
		}
		if resp.StatusCode < 200 {
			continue
		}
		a := &answer{status: resp.StatusCode, header: resp.Header, raw: raw}
		_, a.reason, _ = strings.Cut(resp.Status, " ")
		if a.body, err = io.ReadAll(resp.Body); err != nil {
			return nil, fmt.Errorf("reading the body: %w", err)
		}
		if rest, _ := io.ReadAll(r); len(rest) > 0 {
			return nil, fmt.Errorf("%d bytes after the end of the answer: %q", len(rest), clipLines(rest))
		}
		return a, nil
	}
}

// ask sends a request outside a file: a request line, header lines and a body.
func ask(t testing.TB, svc *service, body string, head ...string) *answer {
	t.Helper()
	a, err := converse(strings.TrimPrefix(svc.URL, "http://"), newSent(strings.Join(head, "\n"), body))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestHardening speaks to the service in a server that limits what parley
// serve limits, but in milliseconds: clients that stall, and what is no HTTP.
func TestHardening(t *testing.T) {
	svc := start(t, "sqlite", nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: svc.App, ReadHeaderTimeout: 300 * time.Millisecond, ReadTimeout: 600 * time.Millisecond, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() }) // after the parallel subtests
	authorized := "Host: x\r\nAuthorization: Bearer " + adminKey + "\r\nContent-Type: application/json\r\n"
	tests := []struct{ why, raw, want string }{
		{"headers that do not end are cut off", "GET /tasks HTTP/1.1\r\nHost: x\r\nX-Slow: ", ""},
		{"nothing is cut off", "", ""},
		{"headers beyond the limit", "GET /tasks HTTP/1.1\r\nHost: x\r\nX-Large: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431"},
		{"a request line that is none", "nonsense\r\n\r\n", "400"},
		{"no host", "GET /tasks HTTP/1.1\r\n\r\n", "400"},
		{"two lengths", "POST /tasks HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n" + authorized + "\r\n{}{}", "400"},
		{"a coding nobody knows", "POST /tasks HTTP/1.1\r\nTransfer-Encoding: rot13\r\n" + authorized + "\r\n{}", "501"},
		{"a later HTTP", "GET /tasks HTTP/3.0\r\n" + authorized + "\r\n", "505"},
		{"a body that does not end", "POST /tasks HTTP/1.1\r\nContent-Length: 100\r\n" + authorized + "\r\n{", "408"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			go io.WriteString(conn, tt.raw)
			raw, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the connection was not closed")
			}
			if tt.want == "" {
				if len(raw) > 0 {
					t.Errorf("got %q, want no answer", raw)
				}
				return
			}
			a, err := readAnswer("POST", raw)
			if err != nil || strconv.Itoa(a.status) != tt.want {
				t.Fatalf("got %q, error %v, want %s", raw, err, tt.want)
			}
			if kind := a.problem().Type; tt.want == "408" && kind != problem.RequestTimeout.Type() {
				t.Errorf("got %s, want a problem", a.body)
			}
		})
	}
}
