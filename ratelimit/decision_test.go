package ratelimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestProblem(t *testing.T) {
	for _, c := range []struct {
		why  string
		wait time.Duration
		want int
	}{
		{"a few milliseconds are one second", 10 * time.Millisecond, 1},
		{"none is one second: 0 would leave the header out", 0, 1},
		{"one second is one", time.Second, 1},
		{"more than one is two: nobody comes early", time.Second + 1, 2},
		{"a day", 24 * time.Hour, 86400},
	} {
		p := Decision{RetryAfter: c.wait}.Problem()
		if p.Kind.Status != 429 || p.RetryAfter != c.want {
			t.Errorf("%s: %d, Retry-After %d; want 429, %d", c.why, p.Kind.Status, p.RetryAfter, c.want)
		}
	}
}

func TestSetHeader(t *testing.T) {
	for _, c := range []struct {
		why    string
		policy Policy
		d      Decision
		fields http.Header
	}{
		{"as in the contract", Default(), Decision{Left: 999, Reset: 10 * time.Millisecond},
			http.Header{PolicyHeader: {`"default";q=6000;w=60`}, Header: {`"default";r=999;t=1`}}},
		{"t is rounded up", Default(), Decision{Left: 0, Reset: 9*time.Second + 1},
			http.Header{PolicyHeader: {`"default";q=6000;w=60`}, Header: {`"default";r=0;t=10`}}},
		{"a name of its own", Policy{Name: "per key", Quota: 1, Window: time.Hour}, Decision{},
			http.Header{PolicyHeader: {`"per key";q=1;w=3600`}, Header: {`"per key";r=0;t=0`}}},
	} {
		h := http.Header{}
		New(c.policy, nil).SetHeader(h, c.d)
		if !reflect.DeepEqual(h, c.fields) {
			t.Errorf("%s: got %v, want %v", c.why, h, c.fields)
		}
	}
}

func TestSetHeaderAllocates(t *testing.T) {
	l := New(Default(), nil)
	h := http.Header{}
	if n := testing.AllocsPerRun(1000, func() { l.SetHeader(h, Decision{Left: 999, Reset: time.Minute}) }); n > 2 {
		t.Errorf("%v allocations, want 2 at most", n)
	}
}

// sent returns the values under the very name, which is not canonical.
func sent(w http.ResponseWriter, name string) []string { return w.Header()[name] }

func TestHandler(t *testing.T) {
	c := steered()
	l := New(per(60, time.Minute, 1), &Options{Now: c.now})
	ran := 0
	h := Handler(l, func(r *http.Request) string { return r.Header.Get("Account") },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ran++ }))
	for _, step := range []struct {
		why     string
		account string
		status  int
		left    []string
		retry   string
	}{
		{"within the limit", "a", 200, []string{`"default";r=0;t=1`}, ""},
		{"over the limit, with the fields", "a", 429, []string{`"default";r=0;t=1`}, "1"},
		{"another credential", "b", 200, []string{`"default";r=0;t=1`}, ""},
		{"an exempt request", "", 200, nil, ""},
		{"an exempt request, again", "", 200, nil, ""},
	} {
		r := httptest.NewRequest("GET", "/tasks", nil)
		r.Header.Set("Account", step.account)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != step.status || !reflect.DeepEqual(sent(w, Header), step.left) || w.Header().Get("Retry-After") != step.retry {
			t.Errorf("%s: got %d %v", step.why, w.Code, w.Header())
		}
		if (sent(w, PolicyHeader) == nil) != (step.left == nil) {
			t.Errorf("%s: the two fields come together, got %v", step.why, w.Header())
		}
		if step.status == 429 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %v, want a problem", step.why, w.Header())
		}
	}
	if ran != 4 {
		t.Errorf("next ran %d times, want 4", ran)
	}
}

func TestHandlerWiring(t *testing.T) {
	key := func(*http.Request) string { return "k" }
	next := http.NewServeMux()
	if got := Handler(nil, key, next); got != http.Handler(next) {
		t.Error("without a limiter, next itself is enough")
	}
	for why, build := range map[string]func(){
		"no key":  func() { Handler(nil, nil, next) },
		"no next": func() { Handler(nil, key, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: must panic at start-up, not in a request", why)
				}
			}()
			build()
		}()
	}
}

// The fields go out in the spelling of the draft, and a client finds them.
func TestOnTheWire(t *testing.T) {
	l := New(per(60, time.Minute, 2), nil)
	s := httptest.NewServer(Handler(l, func(*http.Request) string { return "k" }, http.NotFoundHandler()))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	raw, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\r\nRateLimit-Policy: \"default\";q=60;w=60\r\n", "\r\nRateLimit: \"default\";r=1;t=1\r\n"} {
		if !strings.Contains(string(raw), line) {
			t.Errorf("the response lacks %q:\n%s", line, raw)
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(raw))), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := res.Header.Get(Header), `"default";r=1;t=1`; got != want {
		t.Errorf("a client reads %q, want %q", got, want)
	}
}

func BenchmarkSetHeader(b *testing.B) {
	l := New(Default(), nil)
	h := http.Header{}
	d := l.Take("k")
	b.ReportAllocs()
	for b.Loop() {
		l.SetHeader(h, d)
	}
}
