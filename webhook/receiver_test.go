package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/webhook"
)

const body = `{"webhook-id":"msg_1","type":"task.created","timestamp":"2026-11-15T11:59:59Z","sequence":1,"data":{"id":1}}`

// post is a signed request to a URL.
func post(t testing.TB, url string, secret webhook.Secret, id string, at time.Time, body []byte) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	value, err := webhook.Sign([]webhook.Secret{secret}, id, at.Unix(), body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(webhook.HeaderID, id)
	r.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(webhook.HeaderSignature, value)
	return r
}

// reports gathers what a receiver says of its requests.
type reports struct {
	mu  sync.Mutex
	all []webhook.Report
}

func (r *reports) observe(_ *http.Request, one webhook.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

func (r *reports) last() webhook.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

func clock() time.Time { return noon }

// send gives one request to a handler.
func send(h http.Handler, r *http.Request) (*http.Response, problemBody) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var p problemBody
	json.Unmarshal(w.Body.Bytes(), &p)
	return w.Result(), p
}

type problemBody struct {
	Type, Title, Detail, Instance string
	Status                        int
	Maximum                       int64
}

func TestReceiver(t *testing.T) {
	secret, private := webhook.NewSecret(), webhook.NewKeyPair()
	good := func() *http.Request { return post(t, "/webhooks/tasks", secret, "msg_1", noon, []byte(body)) }
	change := func(f func(*http.Request)) func() *http.Request {
		return func() *http.Request { r := good(); f(r); return r }
	}
	header := func(name, value string) func() *http.Request {
		return change(func(r *http.Request) { r.Header.Set(name, value) })
	}
	unsized := func(size int) func() *http.Request {
		return func() *http.Request {
			r := post(t, "/webhooks/tasks", secret, "msg_1", noon, make([]byte, size))
			r.Body, r.ContentLength = io.NopCloser(io.MultiReader(r.Body)), -1
			return r
		}
	}
	for _, test := range []struct {
		why     string
		request func() *http.Request
		status  int
		err     error // in the report
	}{
		{"signed by a shared secret", good, 200, nil},
		{"signed by a private key", func() *http.Request { return post(t, "/", private, "msg_1", noon, []byte(body)) }, 200, nil},
		{"an empty body, signed", func() *http.Request { return post(t, "/", secret, "msg_1", noon, nil) }, 200, nil},
		{"as large as can be", func() *http.Request { return post(t, "/", secret, "msg_1", noon, make([]byte, 1<<20)) }, 200, nil},
		{"as large as can be, of unknown length", unsized(1 << 20), 200, nil},
		{"no signature", change(func(r *http.Request) { r.Header.Del(webhook.HeaderSignature) }), 401, webhook.ErrMissingHeader},
		{"two ids", change(func(r *http.Request) { r.Header.Add(webhook.HeaderID, "msg_2") }), 401, webhook.ErrRepeatedHeader},
		{"a bad id", header(webhook.HeaderID, "a b"), 401, webhook.ErrID},
		{"a bad time", header(webhook.HeaderTimestamp, "yesterday"), 401, webhook.ErrTimestamp},
		{"a replay", func() *http.Request { return post(t, "/", secret, "msg_1", noon.Add(-301*time.Second), []byte(body)) }, 401, webhook.ErrTooOld},
		{"a clock that is wrong", func() *http.Request { return post(t, "/", secret, "msg_1", noon.Add(301*time.Second), []byte(body)) }, 401, webhook.ErrTooNew},
		{"a bad signature", header(webhook.HeaderSignature, "none"), 401, webhook.ErrSignature},
		{"a scheme to come", header(webhook.HeaderSignature, "v9,abc"), 401, webhook.ErrNoScheme},
		{"another secret", func() *http.Request { return post(t, "/", webhook.NewSecret(), "msg_1", noon, []byte(body)) }, 401, webhook.ErrNoMatch},
		{"another body", change(func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
		}), 401, webhook.ErrNoMatch},
		{"too large", func() *http.Request { return post(t, "/", secret, "msg_1", noon, make([]byte, 1<<20+1)) }, 413, problem.ContentTooLarge.New("")},
		{"too large, of unknown length", unsized(1<<20 + 1), 413, problem.ContentTooLarge.New("")},
		{"too large, and not signed: the signature comes first", func() *http.Request {
			r := post(t, "/", secret, "msg_1", noon, make([]byte, 1<<20+1))
			r.Header.Del(webhook.HeaderSignature)
			return r
		}, 401, webhook.ErrMissingHeader},
		{"cut off", change(func(r *http.Request) { r.ContentLength++ }), 400, problem.BadRequest.New("")},
		{"GET", change(func(r *http.Request) { r.Method = "GET" }), 405, problem.MethodNotAllowed.New("")},
		{"PUT", change(func(r *http.Request) { r.Method = "PUT" }), 405, problem.MethodNotAllowed.New("")},
	} {
		var got []*webhook.Delivery
		var seen reports
		h := webhook.NewReceiver([]webhook.Secret{secret, private.Public()}, func(_ context.Context, d *webhook.Delivery) error {
			got = append(got, d)
			return nil
		}, &webhook.ReceiverOptions{Now: clock, Observe: seen.observe})
		r := test.request()
		resp, p := send(h, r)
		if resp.StatusCode != test.status || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %s %v, want %d", test.why, resp.Status, resp.Header, test.status)
		}
		report := seen.last()
		if report.Status != test.status || !errors.Is(report.Err, test.err) || (report.Delivery != nil) != (test.status == 200) {
			t.Errorf("%s: got the report %+v, want %d and %v", test.why, report, test.status, test.err)
		}
		if test.status == 200 {
			if len(got) != 1 || got[0].ID != "msg_1" || !got[0].Timestamp.Equal(noon) || got[0].Header.Get(webhook.HeaderID) != "msg_1" {
				t.Errorf("%s: got deliveries %+v", test.why, got)
			}
			continue
		}
		if len(got) != 0 || p.Status != test.status || p.Detail == "" || p.Instance != r.URL.Path || resp.Header.Get("Content-Type") != problem.ContentType {
			t.Errorf("%s: queued %d, problem %+v", test.why, len(got), p)
		}
		switch challenge := resp.Header.Get("WWW-Authenticate"); {
		case test.status == 401 && (p.Type != "/problems/invalid-signature" || challenge == ""):
			t.Errorf("%s: got %s with challenge %q", test.why, p.Type, challenge)
		case test.status == 405 && resp.Header.Get("Allow") != "OPTIONS, POST":
			t.Errorf("%s: got Allow %q", test.why, resp.Header.Get("Allow"))
		case test.status == 413 && p.Maximum != 1<<20:
			t.Errorf("%s: got maximum %d", test.why, p.Maximum)
		}
	}
}

func TestReceiverOptions(t *testing.T) {
	secret := webhook.NewSecret()
	accept := func(context.Context, *webhook.Delivery) error { return nil }
	h := webhook.NewReceiver([]webhook.Secret{secret}, accept, &webhook.ReceiverOptions{MaxBody: 10, Tolerance: time.Second, Now: clock})
	if resp, p := send(h, post(t, "/", secret, "msg_1", noon, make([]byte, 11))); resp.StatusCode != 413 || p.Maximum != 10 {
		t.Errorf("MaxBody: got %s, maximum %d", resp.Status, p.Maximum)
	}
	if resp, _ := send(h, post(t, "/", secret, "msg_1", noon.Add(-2*time.Second), nil)); resp.StatusCode != 401 {
		t.Errorf("Tolerance: got %s", resp.Status)
	}
	if resp, _ := send(h, httptest.NewRequest("OPTIONS", "/", nil)); resp.StatusCode != 204 || resp.Header.Get("Allow") != "OPTIONS, POST" {
		t.Errorf("OPTIONS: got %s %v", resp.Status, resp.Header)
	}
	for why, opts := range map[string]*webhook.ReceiverOptions{
		"retention": {Retention: -1}, "tolerance": {Tolerance: -1}, "size": {MaxBody: -1}, "timeout": {Timeout: -1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a negative %s: no panic", why)
				}
			}()
			webhook.NewReceiver([]webhook.Secret{secret}, accept, opts)
		}()
	}
}

// What the queue says decides over the answer, and over whether a retry is new.
func TestReceiverQueue(t *testing.T) {
	secret := webhook.NewSecret()
	for _, test := range []struct {
		why    string
		err    error
		status int
		again  int // how often a retry reaches the queue
	}{
		{"it is queued", nil, 200, 0},
		{"the queue had it already", fmt.Errorf("inserting: %w", webhook.ErrDuplicate), 200, 0},
		{"the queue failed: the sender must try again", errors.New("disk full"), 503, 1},
		{"the queue knows a better answer", problem.RateLimited.New("Too much at once."), 429, 1},
		{"the body is no event: to try again is of no use", fmt.Errorf("reading: %w", webhook.ErrEvent), 422, 1},
		{"the queue took too long", context.DeadlineExceeded, 503, 1},
	} {
		calls := 0
		h := webhook.NewReceiver([]webhook.Secret{secret}, func(context.Context, *webhook.Delivery) error {
			calls++
			return test.err
		}, &webhook.ReceiverOptions{Now: clock})
		resp, p := send(h, post(t, "/", secret, "msg_1", noon, []byte(body)))
		if resp.StatusCode != test.status || strings.Contains(p.Detail, "disk") {
			t.Errorf("%s: got %s, %q", test.why, resp.Status, p.Detail)
		}
		if got := resp.Header.Get("Retry-After"); (got != "") != (test.status == 503) {
			t.Errorf("%s: got Retry-After %q", test.why, got)
		}
		send(h, post(t, "/", secret, "msg_1", noon.Add(time.Second), []byte(body))) // a retry has a time and signature of its own
		if calls != 1+test.again {
			t.Errorf("%s: the queue was called %d times, want %d", test.why, calls, 1+test.again)
		}
	}
}

// A queue that panics gives the delivery back.
func TestReceiverPanic(t *testing.T) {
	secret, calls := webhook.NewSecret(), 0
	h := webhook.NewReceiver([]webhook.Secret{secret}, func(context.Context, *webhook.Delivery) error {
		if calls++; calls == 1 {
			panic("oh")
		}
		return nil
	}, &webhook.ReceiverOptions{Now: clock})
	func() {
		defer func() { recover() }()
		send(h, post(t, "/", secret, "msg_1", noon, nil))
	}()
	if resp, _ := send(h, post(t, "/", secret, "msg_1", noon, nil)); resp.StatusCode != 200 || calls != 2 {
		t.Errorf("the retry: got %s and %d calls, want 200 and 2", resp.Status, calls)
	}
}

// broken is a store that fails at one step.
type broken struct {
	webhook.Store
	step string
}

var errBroken = errors.New("no connection")

func (b broken) Claim(ctx context.Context, c webhook.Claim) (webhook.State, error) {
	if b.step == "claim" {
		return 0, errBroken
	}
	return b.Store.Claim(ctx, c)
}

func (b broken) Settle(ctx context.Context, c webhook.Claim) error {
	if b.step == "settle" {
		return errBroken
	}
	return b.Store.Settle(ctx, c)
}

func TestReceiverBrokenStore(t *testing.T) {
	secret := webhook.NewSecret()
	for _, test := range []struct {
		why, step string
		status    int
		queued    int
	}{
		{"nobody knows whether it is new: the sender must try again", "claim", 503, 0},
		{"it is queued: to ask for it again would only make a duplicate", "settle", 200, 1},
	} {
		queued := 0
		var seen reports
		h := webhook.NewReceiver([]webhook.Secret{secret}, func(context.Context, *webhook.Delivery) error { queued++; return nil },
			&webhook.ReceiverOptions{Now: clock, Observe: seen.observe, Store: broken{webhook.NewMemoryStore(nil), test.step}})
		resp, _ := send(h, post(t, "/", secret, "msg_1", noon, nil))
		if resp.StatusCode != test.status || queued != test.queued || !errors.Is(seen.last().Err, errBroken) {
			t.Errorf("%s: got %s, %d queued, %v", test.why, resp.Status, queued, seen.last().Err)
		}
	}
}

// A twin that comes while the first is being queued hears what became of it.
func TestReceiverTwins(t *testing.T) {
	for _, test := range []struct {
		why    string
		takes  time.Duration
		fails  bool
		first  int
		second int
		calls  int
	}{
		{"the first is queued: the second is a duplicate", time.Second, false, 200, 200, 1},
		{"the first fails: the second is queued in its place", time.Second, true, 503, 200, 2},
		{"the first takes long: the second is asked to come again", 20 * time.Second, false, 200, 503, 1},
		{"the first takes too long", 31 * time.Second, false, 503, 503, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			secret := webhook.NewSecret()
			var calls atomic.Int64
			h := webhook.NewReceiver([]webhook.Secret{secret}, func(ctx context.Context, _ *webhook.Delivery) error {
				if calls.Add(1) > 1 {
					return nil
				}
				select {
				case <-time.After(test.takes):
				case <-ctx.Done():
					return ctx.Err()
				}
				if test.fails {
					return errors.New("full")
				}
				return nil
			}, nil)
			status := make([]int, 2)
			var wg sync.WaitGroup
			for i := range status {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 100 * time.Millisecond)
					resp, _ := send(h, post(t, "/", secret, "msg_1", time.Now(), nil))
					status[i] = resp.StatusCode
				})
			}
			wg.Wait()
			if got := calls.Load(); status[0] != test.first || status[1] != test.second || got != int64(test.calls) {
				t.Errorf("%s: got %v and %d calls, want %d, %d and %d", test.why, status, got, test.first, test.second, test.calls)
			}
		})
	}
}

// Over real sockets, on every store: 60 deliveries, each sent 8 times at once
// to two receivers that share the store, half of them after a first failure of
// the queue. Each is queued once, and each sender ends with 200.
func TestReceiverDedupes(t *testing.T) {
	each(t, func(t *testing.T, s webhook.Store) {
		const deliveries, copies = 60, 8
		secret := webhook.NewSecret()
		var mu sync.Mutex
		queued, failed := map[string]int{}, map[string]bool{}
		enqueue := func(_ context.Context, d *webhook.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			if n, _ := strconv.Atoi(d.ID[len("msg_"):]); n%2 == 0 && !failed[d.ID] {
				failed[d.ID] = true
				return errors.New("full")
			}
			queued[d.ID]++
			return nil
		}
		urls := make([]string, 2)
		for i := range urls {
			server := httptest.NewServer(webhook.NewReceiver([]webhook.Secret{secret}, enqueue, &webhook.ReceiverOptions{Store: s}))
			defer server.Close()
			urls[i] = server.URL
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}
		defer client.CloseIdleConnections()
		deliver := func(id, url string) error {
			for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
				resp, err := client.Do(post(t, url, secret, id, time.Now(), []byte(body)))
				if err != nil {
					return err
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode == 200 {
					return nil
				}
				if resp.StatusCode != 503 {
					return errors.New(resp.Status)
				}
			}
			return errors.New("refused for two minutes")
		}
		var wg sync.WaitGroup
		for i := range deliveries {
			for j := range copies {
				wg.Go(func() {
					if err := deliver(fmt.Sprintf("msg_%d", i), urls[j%2]); err != nil {
						t.Errorf("msg_%d: %v", i, err)
					}
				})
			}
		}
		wg.Wait()
		for i := range deliveries {
			if got := queued[fmt.Sprintf("msg_%d", i)]; got != 1 {
				t.Errorf("msg_%d was queued %d times, want once", i, got)
			}
		}
	})
}

// A sender that hangs up while the queue works leaves a delivery that is
// settled or free, never stuck.
func TestReceiverHangUp(t *testing.T) {
	secret, begun, finish := webhook.NewSecret(), make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	done := make(chan webhook.Report, 4)
	h := webhook.NewReceiver([]webhook.Secret{secret}, func(ctx context.Context, _ *webhook.Delivery) error {
		if calls.Add(1) > 1 {
			return nil
		}
		close(begun)
		<-ctx.Done() // the sender is gone
		<-finish
		return nil // and yet the work is queued
	}, &webhook.ReceiverOptions{Observe: func(_ *http.Request, r webhook.Report) { done <- r }})
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, hangUp := context.WithCancel(t.Context())
	go http.DefaultClient.Do(post(t, server.URL, secret, "msg_1", time.Now(), nil).WithContext(ctx))
	<-begun
	hangUp()
	close(finish)
	<-done
	resp, err := http.DefaultClient.Do(post(t, server.URL, secret, "msg_1", time.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if r := <-done; resp.StatusCode != 200 || !errors.Is(r.Err, webhook.ErrDuplicate) || calls.Load() != 1 {
		t.Errorf("the retry: got %s, %v and %d calls; want a duplicate", resp.Status, r.Err, calls.Load())
	}
}

// A body that stops half way is 408 where the server has a deadline.
func TestReceiverSlowBody(t *testing.T) {
	secret := webhook.NewSecret()
	server := httptest.NewUnstartedServer(webhook.NewReceiver([]webhook.Secret{secret}, func(context.Context, *webhook.Delivery) error { return nil }, nil))
	server.Config.ReadTimeout = 300 * time.Millisecond
	server.Start()
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := post(t, server.URL, secret, "msg_1", time.Now(), []byte(body))
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", len(body))
	r.Header.Write(conn)
	fmt.Fprintf(conn, "\r\n%s", body[:10])
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(got, []byte("HTTP/1.1 408 ")) {
		t.Errorf("got %.40q, %v; want 408", got, err)
	}
}

func BenchmarkReceiver(b *testing.B) {
	secret, raw := webhook.NewSecret(), []byte(strings.Repeat("x", 1024))
	h := webhook.NewReceiver([]webhook.Secret{secret}, func(context.Context, *webhook.Delivery) error { return nil }, nil)
	value := make([]byte, 0, 64)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now, id := time.Now().Unix(), "msg_"+strconv.Itoa(i)
		value, _ = secret.AppendSignature(value[:0], id, now, raw)
		r := &http.Request{Method: "POST", URL: nil, Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)), Header: http.Header{
			webhook.HeaderID: {id}, webhook.HeaderTimestamp: {strconv.FormatInt(now, 10)}, webhook.HeaderSignature: {string(value)},
		}}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
