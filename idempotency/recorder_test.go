package idempotency

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
)

func timeout() error { return os.ErrDeadlineExceeded }

// serve sends the same request twice over a real connection and returns both
// responses' headers, without Date, and bodies.
func serve(t *testing.T, outer func(http.Handler) http.Handler, next http.HandlerFunc) (headers [2]http.Header, bodies [2]string, codes [2]int) {
	t.Helper()
	s := httptest.NewServer(outer(Handler(new(Memory), account, next)))
	defer s.Close()
	for i := range 2 {
		r, _ := http.NewRequest("POST", s.URL, strings.NewReader("x"))
		r.Header.Set(Header, "k")
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		res.Header.Del("Date")
		headers[i], bodies[i], codes[i] = res.Header, string(b), res.StatusCode
	}
	return headers, bodies, codes
}

func TestRecorderHeader(t *testing.T) {
	n := 0
	outer := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			w.Header().Set("Request-Id", []string{"", "one", "two"}[n])
			w.Header().Set("Vary", "Origin")
			w.Header().Set("Server", "parley")
			h.ServeHTTP(w, r)
		})
	}
	headers, _, codes := serve(t, outer, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Accept")
		h.Add("Link", "<a>")
		h.Add("Link", "<b>")
		h.Set("Set-Cookie", "session=s3cret")
		h.Del("Server")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusAccepted) // too late
		h.Set("Late", "yes")               // too late
	})
	if codes != [2]int{201, 201} {
		t.Errorf("status %v, want 201 twice", codes)
	}
	want := [2]http.Header{
		{"Request-Id": {"one"}, "Vary": {"Origin", "Accept"}, "Link": {"<a>", "<b>"}, "Set-Cookie": {"session=s3cret"}, "Content-Length": {"0"}},
		{"Request-Id": {"two"}, "Vary": {"Origin", "Accept"}, "Link": {"<a>", "<b>"}, "Server": {"parley"}, "Content-Length": {"0"}, Replayed: {"true"}},
	}
	for i := range want {
		if !reflect.DeepEqual(headers[i], want[i]) {
			t.Errorf("response %d:\n got %v\nwant %v", i+1, headers[i], want[i])
		}
	}
}

func none(h http.Handler) http.Handler { return h }

func TestRecorderStatus(t *testing.T) {
	for _, c := range []struct {
		why      string
		next     http.HandlerFunc
		code     int
		body     string
		replayed bool
	}{
		{"a handler that writes nothing says 200", func(http.ResponseWriter, *http.Request) {}, 200, "", true},
		{"a body alone says 200", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "done") }, 200, "done", true},
		{"204 has no body", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("writing a body with 204: %v", err)
			}
		}, 204, "", true},
		{"a redirect is no success", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, 304, "", false},
		{"a client error frees the key", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) }, 409, "", false},
		{"a server error frees the key", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 503, "", false},
	} {
		headers, bodies, codes := serve(t, none, c.next)
		if codes != [2]int{c.code, c.code} || bodies != [2]string{c.body, c.body} {
			t.Errorf("%s: got %v %q, want %d %q twice", c.why, codes, bodies, c.code, c.body)
		}
		if got := headers[1].Get(Replayed) == "true"; got != c.replayed {
			t.Errorf("%s: replayed %v, want %v", c.why, got, c.replayed)
		}
	}
}

// wrapped is another middleware's response writer.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestConceal(t *testing.T) {
	headers, bodies, _ := serve(t, none, func(w http.ResponseWriter, _ *http.Request) {
		shown := []byte(`{"id":1}`)
		Conceal(wrapped{wrapped{w}}, shown)
		clear(shown) // the caller's buffer is its own again
		w.Header().Set("Content-Digest", "sha-256=:of the first body:")
		w.Header().Set("Content-Length", "24")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":1,"key":"pk_1234"}`)
	})
	if want := [2]string{`{"id":1,"key":"pk_1234"}`, `{"id":1}`}; bodies != want {
		t.Errorf("bodies %q, want %q", bodies, want)
	}
	if headers[0].Get("Content-Digest") == "" || headers[1].Get("Content-Digest") != "" {
		t.Error("the digest of the first body must come with the first body only")
	}
	if got := headers[1].Get("Content-Length"); got != "8" {
		t.Errorf("length %s, want 8", got)
	}
}

func TestConcealEmpty(t *testing.T) {
	_, bodies, _ := serve(t, none, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "secret")
		Conceal(w, nil)
	})
	if want := [2]string{"secret", ""}; bodies != want {
		t.Errorf("bodies %q, want %q: nothing at all may stand for a secret", bodies, want)
	}
}

func TestConcealUnrecorded(t *testing.T) {
	Conceal(httptest.NewRecorder(), nil) // must not panic
	Conceal(wrapped{nil}, nil)
	Conceal(nil, nil)
}
