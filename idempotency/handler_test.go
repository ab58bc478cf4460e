package idempotency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/parley-api/parley/problem"
)

// account takes the scope from a header, in place of an authentication.
func account(r *http.Request) string { return r.Header.Get("Account") }

// counter creates something at each request and says its number.
func counter(n *atomic.Int32) http.Handler {
	return problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if string(b) == "bad" {
			return problem.ValidationFailed.New("")
		}
		id := n.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Location", fmt.Sprintf("/tasks/%d", id))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s is %d", b, id)
		return nil
	})
}

type call struct{ method, path, account, key, body string }

func (c call) do(h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	r.Header.Set("Account", c.account)
	if c.key != "" {
		r.Header.Set(Header, c.key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandler(t *testing.T) {
	var n atomic.Int32
	h := Handler(NewMemory(nil), account, counter(&n))
	for _, c := range []struct {
		why      string
		call     call
		status   int
		body     string // of a success
		replayed bool
		kind     *problem.Kind // of a failure
	}{
		{"a first request runs", call{"POST", "/tasks", "a", "k", "x"}, 201, "x is 1", false, nil},
		{"the same again is answered the same", call{"POST", "/tasks", "a", "k", "x"}, 201, "x is 1", true, nil},
		{"the quoted form is the same key", call{"POST", "/tasks", "a", `"k"`, "x"}, 201, "x is 1", true, nil},
		{"another body under the key", call{"POST", "/tasks", "a", "k", "y"}, 422, "", false, problem.KeyReused},
		{"another path under the key", call{"POST", "/users", "a", "k", "x"}, 422, "", false, problem.KeyReused},
		{"another query under the key", call{"POST", "/tasks?version=0", "a", "k", "x"}, 422, "", false, problem.KeyReused},
		{"the misuse did not harm the record", call{"POST", "/tasks", "a", "k", "x"}, 201, "x is 1", true, nil},
		{"another account's key is another key", call{"POST", "/tasks", "b", "k", "y"}, 201, "y is 2", false, nil},
		{"another key is another request", call{"POST", "/tasks", "a", "k2", "x"}, 201, "x is 3", false, nil},
		{"no key: no protection", call{"POST", "/tasks", "a", "", "x"}, 201, "x is 4", false, nil},
		{"no key, again: it runs again", call{"POST", "/tasks", "a", "", "x"}, 201, "x is 5", false, nil},
		{"another method ignores the key", call{"PUT", "/tasks", "a", "k", "z"}, 201, "z is 6", false, nil},
		{"a failed request is not kept", call{"POST", "/tasks", "a", "k3", "bad"}, 422, "", false, problem.ValidationFailed},
		{"so the key is free for the corrected one", call{"POST", "/tasks", "a", "k3", "good"}, 201, "good is 7", false, nil},
		{"and holds from then on", call{"POST", "/tasks", "a", "k3", "good"}, 201, "good is 7", true, nil},
		{"a malformed key runs nothing", call{"POST", "/tasks", "a", "k k", "x"}, 400, "", false, problem.BadRequest},
		{"an empty body is a body", call{"POST", "/tasks", "a", "k4", ""}, 201, " is 8", false, nil},
		{"an empty body is replayed", call{"POST", "/tasks", "a", "k4", ""}, 201, " is 8", true, nil},
	} {
		w := c.call.do(h)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.why, w.Code, c.status)
		}
		if got := w.Header().Get(Replayed) == "true"; got != c.replayed {
			t.Errorf("%s: replayed %v, want %v", c.why, got, c.replayed)
		}
		if c.kind == nil {
			where := "/tasks/" + c.body[strings.LastIndex(c.body, " ")+1:]
			if w.Body.String() != c.body || w.Header().Get("Location") != where || w.Header().Get("Content-Type") != "text/plain" {
				t.Errorf("%s: got %q %v, want %q", c.why, w.Body, w.Header(), c.body)
			}
			continue
		}
		var got struct{ Type string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Type != c.kind.Type() {
			t.Errorf("%s: got %s, %v; want %s", c.why, w.Body, err, c.kind.Type())
		}
	}
}

func TestHandlerBodySize(t *testing.T) {
	var n atomic.Int32
	h := Handler(NewMemory(nil), account, counter(&n))
	for _, c := range []struct {
		why    string
		size   int
		length int64 // Content-Length; -1 for chunked
		status int
	}{
		{"the limit itself is allowed", MaxBody, MaxBody, 201},
		{"the limit itself is allowed without a length", MaxBody, -1, 201},
		{"one more, announced", MaxBody + 1, MaxBody + 1, 413},
		{"one more, not announced", MaxBody + 1, -1, 413},
	} {
		r := httptest.NewRequest("POST", "/tasks", bytes.NewReader(make([]byte, c.size)))
		r.ContentLength = c.length
		r.Header.Set(Header, c.why[:3]+fmt.Sprint(c.length))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.why, w.Code, c.status)
		}
		if c.status == 413 && !strings.Contains(w.Body.String(), `"maximum":1048576`) {
			t.Errorf("%s: the problem does not name the maximum: %s", c.why, w.Body)
		}
	}
	if got := n.Load(); got != 2 {
		t.Errorf("ran %d times, want 2", got)
	}
}

func TestHandlerBodyBroken(t *testing.T) {
	h := Handler(NewMemory(nil), account, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("ran on half a body")
	}))
	for _, c := range []struct {
		why    string
		err    error
		status int
	}{
		{"the client hung up", io.ErrUnexpectedEOF, 400},
		{"the reader gave up for another reason", context.DeadlineExceeded, 400},
		{"the connection's read deadline passed", timeout(), 408},
		{"a smaller limit was set outside", &http.MaxBytesError{Limit: 10}, 413},
	} {
		r := httptest.NewRequest("POST", "/tasks", iotest.ErrReader(c.err))
		r.Header.Set(Header, "k")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.why, w.Code, c.status)
		}
	}
}

func TestHandlerStillRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		h := Handler(NewMemory(nil), account, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			counter(&n).ServeHTTP(w, r)
		}))
		first := call{"POST", "/tasks", "a", "k", "x"}
		var wg sync.WaitGroup
		wg.Go(func() {
			if w := first.do(h); w.Code != 201 {
				t.Errorf("the first got %d, want 201", w.Code)
			}
		})
		synctest.Wait()
		w := first.do(h)
		if w.Code != 409 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), problem.KeyInUse.Type()) {
			t.Errorf("the second, meanwhile: %d %v %s; want 409 with Retry-After 1", w.Code, w.Header(), w.Body)
		}
		wg.Go(func() {
			if w := (call{"POST", "/tasks", "b", "k", "x"}).do(h); w.Code != 201 {
				t.Errorf("another account got %d meanwhile, want 201", w.Code)
			}
		})
		time.Sleep(time.Second) // what Retry-After asks for
		synctest.Wait()
		if w := first.do(h); w.Code != 201 || w.Header().Get(Replayed) != "true" {
			t.Errorf("afterwards: %d, want the replay", w.Code)
		}
		wg.Wait()
		time.Sleep(Retention)
		if w := first.do(h); w.Code != 201 || w.Header().Get(Replayed) != "" {
			t.Errorf("a day later: %d %v, want a fresh run", w.Code, w.Header())
		}
	})
}

// Two repeats at the same moment both get the answer: 409 is for work that is
// really running.
func TestHandlerReplaysAtOnce(t *testing.T) {
	var n atomic.Int32
	h := Handler(NewMemory(nil), account, counter(&n))
	c := call{"POST", "/tasks", "a", "k", "x"}
	c.do(h)
	leave, _ := h.(*handler).flights.Enter("a", "k") // another repeat, just being answered
	defer leave()
	if w := c.do(h); w.Code != 201 || w.Header().Get(Replayed) != "true" {
		t.Errorf("got %d, want the replay", w.Code)
	}
}

func TestHandlerConcurrent(t *testing.T) {
	var n atomic.Int32
	h := Handler(NewMemory(nil), account, counter(&n))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range 50 {
				w := call{"POST", "/tasks", "a", fmt.Sprint("k", i), "x"}.do(h)
				if w.Code != 201 && w.Code != 409 {
					t.Errorf("status %d", w.Code)
				}
			}
		})
	}
	wg.Wait()
	if got := n.Load(); got != 50 {
		t.Errorf("50 keys ran %d times", got)
	}
}

func TestHandlerPanic(t *testing.T) {
	var n atomic.Int32
	fail := true
	h := Handler(NewMemory(nil), account, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fail {
			w.WriteHeader(http.StatusCreated) // begun, but not the client's yet
			panic(http.ErrAbortHandler)
		}
		counter(&n).ServeHTTP(w, r)
	}))
	c := call{"POST", "/tasks", "a", "k", "x"}
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("the panic did not reach the outside")
			}
		}()
		c.do(h)
	}()
	fail = false
	if w := c.do(h); w.Code != 201 || w.Header().Get(Replayed) != "" {
		t.Errorf("after a panic: %d, want a fresh run", w.Code)
	}
}

// A keeper whose methods can be made to fail.
type fickle struct {
	Memory
	lookup, keep error
	ctx          error  // of the last Keep
	during       func() // called in both
}

func (f *fickle) Lookup(ctx context.Context, scope, key string) (*Record, error) {
	if f.during != nil {
		f.during()
	}
	if f.lookup != nil {
		return nil, f.lookup
	}
	return f.Memory.Lookup(ctx, scope, key)
}

func (f *fickle) Keep(ctx context.Context, rec Record) error {
	if f.during != nil {
		f.during()
	}
	if f.ctx = ctx.Err(); f.keep != nil {
		return f.keep
	}
	return f.Memory.Keep(ctx, rec)
}

func TestHandlerLookupFails(t *testing.T) {
	var n atomic.Int32
	for _, c := range []struct {
		why    string
		err    error
		status int
		retry  string
	}{
		{"without knowing the key, running could repeat: 503", errors.New("no route to 10.0.0.7"), 503, "1"},
		{"a keeper that says how to answer is heard", fmt.Errorf("asking: %w", problem.Forbidden.New("")), 403, ""},
	} {
		h := Handler(&fickle{lookup: c.err}, account, counter(&n))
		w := call{"POST", "/tasks", "a", "k", "x"}.do(h)
		if w.Code != c.status || w.Header().Get("Retry-After") != c.retry || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%s: got %d %v %s", c.why, w.Code, w.Header(), w.Body)
		}
	}
	if got := n.Load(); got != 0 {
		t.Errorf("ran %d times, want 0", got)
	}
}

func TestHandlerKeepFails(t *testing.T) {
	var n atomic.Int32
	h := Handler(&fickle{keep: errors.New("disk full")}, account, counter(&n))
	c := call{"POST", "/tasks", "a", "k", "x"}
	if w := c.do(h); w.Code != 201 || w.Body.String() != "x is 1" {
		t.Errorf("got %d %s; the work is done and must be answered as done", w.Code, w.Body)
	}
	if w := c.do(h); w.Code != 201 || w.Body.String() != "x is 1" || w.Header().Get(Replayed) != "true" {
		t.Errorf("the repeat got %d %s; want the replay from this process's memory", w.Code, w.Body)
	}
}

func TestHandlerClientGone(t *testing.T) {
	ctx, hangUp := context.WithCancel(context.Background())
	var f fickle
	var n atomic.Int32
	h := Handler(&f, account, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hangUp()
		counter(&n).ServeHTTP(w, r)
	}))
	r := httptest.NewRequest("POST", "/tasks", strings.NewReader("x")).WithContext(ctx)
	r.Header.Set(Header, "k")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if f.ctx != nil || f.Len() != 1 {
		t.Errorf("Keep was called with a context that is %v, %d kept; the client that hung up is the one that asks again", f.ctx, f.Len())
	}
}

// Were the key free at the look-up or before the record is stored, two
// requests could both find nothing and both run.
func TestHandlerHoldsKey(t *testing.T) {
	var n, asked atomic.Int32
	var f fickle
	h := Handler(&f, account, counter(&n))
	f.during = func() {
		asked.Add(1)
		if leave, ok := h.(*handler).flights.Enter("a", "k"); ok {
			t.Error("the key is free while the keeper is asked")
			leave()
		}
	}
	call{"POST", "/tasks", "a", "k", "x"}.do(h)
	if got := asked.Load(); got != 2 {
		t.Errorf("the keeper was called %d times, want a look-up and a keep", got)
	}
}

func BenchmarkHandlerNoKey(b *testing.B) {
	h := Handler(new(Memory), account, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("POST", "/tasks", nil)
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

func BenchmarkHandlerReplay(b *testing.B) {
	var n atomic.Int32
	h := Handler(new(Memory), account, counter(&n))
	c := call{"POST", "/tasks", "a", "k", `{"title":"x"}`}
	b.ReportAllocs()
	for b.Loop() {
		c.do(h)
	}
}

func TestHandlerWiring(t *testing.T) {
	var n atomic.Int32
	for why, build := range map[string]func(){
		"no keeper": func() { Handler(nil, account, counter(&n)) },
		"no scope":  func() { Handler(new(Memory), nil, counter(&n)) },
		"no next":   func() { Handler(new(Memory), account, nil) },
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
