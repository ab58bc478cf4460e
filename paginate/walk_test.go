package paginate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-api/parley/problem"
)

// shelf is a list in memory, served the way a service with a database would:
// ascending ids, and a snapshot mark that hides what is newer than page one.
type shelf struct {
	mu   sync.Mutex
	last int64
	keys *Keys
	grow bool // add rows while the list is walked
	mess func(w http.ResponseWriter, r *http.Request) bool
}

type task struct {
	ID int64 `json:"id"`
}

func (s *shelf) serve(w http.ResponseWriter, r *http.Request) error {
	if s.mess != nil && s.mess(w, r) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	plan, err := tasks.Parse(r.URL.RawQuery, r.Header["Range"])
	if err != nil {
		return err
	}
	scope := Scope{Collection: "tasks", Account: 7}
	at, err := plan.Resume(s.keys, scope, now)
	if err != nil {
		return err
	}
	total := s.last
	if plan.Cursor != "" {
		total = at.Mark
	}
	first, count := at.Key, int64(plan.Size)
	switch {
	case plan.Style == Offset:
		first = plan.Offset
	case plan.Style == Ranged:
		span, err := plan.Resolve(total)
		if err != nil {
			return err
		}
		first, count = span.Offset, int64(span.Count)
		w.Header().Set("Content-Range", span.ContentRange())
		w.WriteHeader(http.StatusPartialContent)
	case at.Back:
		first = max(at.Key-count, 0)
		count = at.Key - first
	}
	end := min(first+count, total)
	page := Page{
		Rows: int(max(end-first, 0)),
		Item: func(dst []byte, i int) []byte {
			return append(dst, `{"id":`+strconv.FormatInt(first+int64(i)+1, 10)+`}`...)
		},
		HasNext: end < total, HasPrev: first > 0,
		Next: Position{Mark: total, Key: end}, Prev: Position{Mark: total, Key: first},
		Total: total,
	}
	links, err := plan.Links(r.URL.EscapedPath(), page, s.keys, scope, now)
	if err != nil {
		return err
	}
	if link := links.Header(); link != "" {
		w.Header().Set("Link", link)
	}
	if s.grow {
		s.last++
	}
	_, err = w.Write(plan.Append(nil, page, links))
	return err
}

func newShelf(t *testing.T, size int64) (*shelf, string) {
	t.Helper()
	s := &shelf{last: size, keys: testKeys(t)}
	server := httptest.NewServer(problem.Handler(s.serve))
	t.Cleanup(server.Close)
	return s, server.URL + "/v1/tasks"
}

func ids(from, to int64) (all []int64) {
	for id := from; id <= to; id++ {
		all = append(all, id)
	}
	return all
}

func collect(ctx context.Context, address string, opts *Options) (got []int64, err error) {
	for item, err := range All[task](ctx, nil, address, opts) {
		if err != nil {
			return got, err
		}
		got = append(got, item.ID)
	}
	return got, nil
}

func TestAll(t *testing.T) {
	tests := []struct {
		size  int64
		query string
		grow  bool
		why   string
	}{
		{45, "", false, "cursor style by default"},
		{45, "?limit=7&include_total=true", false, "cursor style"},
		{45, "?page=1&size=7", false, "offset style"},
		{45, "?size=7", false, "offset style without a page"},
		{45, "?page_size=7", false, "token style"},
		{49, "?page_size=7", false, "the last page is full"},
		{49, "?limit=7", false, "the last page is full"},
		{49, "?size=7", false, "the last page is full"},
		{0, "", false, "an empty list"},
		{0, "?size=7", false, "an empty list"},
		{0, "?page_size=7", false, "an empty list"},
		{45, "?limit=7", true, "rows created during a cursor walk are not seen"},
		{45, "?page_size=7", true, "rows created during a token walk are not seen"},
	}
	for _, test := range tests {
		s, address := newShelf(t, test.size)
		s.grow = test.grow
		got, err := collect(t.Context(), address+test.query, nil)
		if want := ids(1, test.size); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: walked %v, %v, want %v", test.why, got, err, want)
		}
	}
}

func TestWalkBack(t *testing.T) {
	s, address := newShelf(t, 10)
	s.grow = true
	get := func(query string) (got []int64, next, prev string) {
		t.Helper()
		resp, err := http.Get(address + query)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body struct {
			Data       []task
			Pagination struct {
				Next string `json:"next_cursor"`
				Prev string `json:"prev_cursor"`
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp.Status, err)
		}
		for _, item := range body.Data {
			got = append(got, item.ID)
		}
		return got, body.Pagination.Next, body.Pagination.Prev
	}
	_, next, prev := get("?limit=4")
	if prev != "" {
		t.Errorf("prev_cursor of the first page = %q, want null", prev)
	}
	_, next, _ = get("?limit=4&cursor=" + next)
	got, next, prev := get("?limit=4&cursor=" + next)
	if want := ids(9, 10); !slices.Equal(got, want) || next != "" {
		t.Errorf("last page = %v, next %q, want %v and none", got, next, want)
	}
	got, next, _ = get("?limit=4&cursor=" + prev)
	if want := ids(5, 8); !slices.Equal(got, want) {
		t.Errorf("the page before = %v, want %v", got, want)
	}
	if got, _, _ = get("?limit=4&cursor=" + next); !slices.Equal(got, ids(9, 10)) {
		t.Errorf("forwards again = %v, want the last page", got)
	}
}

func TestCollectionRange(t *testing.T) {
	_, address := newShelf(t, 42)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	req.Header.Set("Range", "tasks=-2")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 206 || resp.Header.Get("Content-Range") != "tasks 40-41/42" || string(body) != `{"data":[{"id":41},{"id":42}]}` {
		t.Errorf("got %s, %q, %s", resp.Status, resp.Header.Get("Content-Range"), body)
	}
}

func TestAllStops(t *testing.T) {
	requests := 0
	s, address := newShelf(t, 45)
	s.mess = func(http.ResponseWriter, *http.Request) bool { requests++; return false }
	for item, err := range All[task](t.Context(), nil, address+"?limit=5", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if item.ID == 7 {
			break
		}
	}
	if requests != 2 {
		t.Errorf("%d requests, want 2: none after the loop ended", requests)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range All[task](ctx, nil, address+"?limit=5", nil) {
		if n++; n == 7 {
			cancel()
		}
		last = err
	}
	if n != 8 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d turns, the last with %v; want 7 items, in the middle of a page, and the context's error", n, last)
	}
}

func TestAllFails(t *testing.T) {
	text := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, body)
			return true
		}
	}
	tests := []struct {
		query string
		mess  func(http.ResponseWriter, *http.Request) bool
		want  string
		why   string
	}{
		{"?limit=101", nil, "status 400: Invalid page size", "a problem becomes a Failure"},
		{"?cursor=zzz", nil, "status 400: Invalid cursor", "a problem becomes a Failure"},
		{"", text(502, "text/html", "<h1>Bad gateway</h1>"), "status 502", "a refusal without a problem"},
		{"", text(500, "application/problem+json", "{"), "status 500", "a broken problem"},
		{"", text(206, "application/json", `{"data":[]}`), "status 206", "a part is not a page"},
		{"", text(200, "application/json", "{"), "JSON", "a broken page"},
		{"", text(200, "application/json", "[]"), "cannot unmarshal", "a bare array has no pages"},
		{"", text(200, "application/json", "{}"), "no array of items", "no items"},
		{"", text(200, "application/json", `{"a":[],"b":[]}`), "no array of items", "two arrays, neither named like the list"},
		{"", text(200, "application/json", `{"data":[{"id":"x"}]}`), "cannot unmarshal", "items of another type"},
		{"", text(200, "application/json", `{"data":[],"pagination":{"next_cursor":5}}`), "not a string", "a raw id for a cursor"},
		{"", text(200, "application/json", `{"data":[],"_links":{"next":7}}`), "not a string", "a link that is none"},
		{"", text(200, "application/json", `{"data":[],"_links":{"next":"%zz"}}`), "not a URL", "a link that is none"},
		{"", text(200, "application/json", `{"data":[],"_links":{"next":"https://elsewhere.example/tasks"}}`), "another origin", "credentials must not go elsewhere"},
		{"", text(200, "application/json", `{"data":[],"_links":{"next":"//elsewhere.example/tasks"}}`), "another origin", "credentials must not go elsewhere"},
		{"?cursor=a", text(200, "application/json", `{"data":[],"pagination":{"next_cursor":"a"}}`), "does not advance", "a list that stands still"},
		{"", text(200, "application/json", `{"data":["`+strings.Repeat("x", 5000)+`"]}`), "larger than 4096 bytes", "a page without end"},
	}
	for _, test := range tests {
		s, address := newShelf(t, 3)
		s.mess = test.mess
		_, err := collect(t.Context(), address+test.query, &Options{MaxBytes: 4096})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.why, err, test.want)
		}
		if _, ok := errors.AsType[*problem.Problem](err); ok {
			t.Errorf("%s: %v is a problem of this service", test.why, err)
		}
	}
	_, address := newShelf(t, 3)
	_, err := collect(t.Context(), address+"?cursor=zzz", nil)
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Status != 400 || !errors.Is(err, problem.InvalidCursor.New("")) || errors.Is(err, problem.ExpiredCursor.New("")) {
		t.Errorf("%#v, want a Failure of kind invalid-cursor alone", err)
	}
	if _, err := collect(t.Context(), "http://[", nil); err == nil {
		t.Error("an address that is none was accepted")
	}
}

func TestAllHeader(t *testing.T) {
	var got []string
	s, address := newShelf(t, 3)
	s.mess = func(w http.ResponseWriter, r *http.Request) bool {
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("Accept"))
		return false
	}
	header := http.Header{"Authorization": {"Bearer pk_test"}}
	if _, err := collect(t.Context(), address+"?page_size=2", &Options{Header: header}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Bearer pk_test application/json", "Bearer pk_test application/json"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if len(header) != 1 {
		t.Errorf("the caller's header became %v", header)
	}
}

// A script answers requests from memory, so that time can be steered.
type script []func() *http.Response

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(*s) == 0 {
		return nil, errors.New("one request too many")
	}
	resp := (*s)[0]()
	*s = (*s)[1:]
	resp.Request = r
	return resp, nil
}

func answer(status int, retry, body string) func() *http.Response {
	return func() *http.Response {
		h := http.Header{"Content-Type": {"application/json"}}
		if retry != "" {
			h.Set("Retry-After", retry)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
	}
}

func TestAllWaits(t *testing.T) {
	const page = `{"data":[{"id":1}]}`
	date := func() *http.Response {
		return answer(503, time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat), "")()
	}
	tests := []struct {
		script script
		wait   time.Duration // MaxWait
		took   time.Duration
		ok     bool
		why    string
	}{
		{script{answer(200, "", page)}, 0, 0, true, "no wait"},
		{script{answer(429, "7", ""), answer(200, "", page)}, 0, 7 * time.Second, true, "429 with seconds"},
		{script{date, answer(200, "", page)}, 0, 20 * time.Second, true, "503 with a date"},
		{script{answer(503, "", ""), answer(503, "0", ""), answer(200, "", page)}, 0, 300 * time.Millisecond, true, "no time, or none: short, growing pauses"},
		{script{answer(503, "soon", ""), answer(200, "", page)}, 0, 100 * time.Millisecond, true, "an unreadable time"},
		{script{answer(429, "61", "")}, 0, 0, false, "longer than a minute"},
		{script{answer(429, "99999999999999999999", "")}, 0, 0, false, "longer than any clock"},
		{script{answer(429, "40", ""), answer(429, "40", "")}, 0, 40 * time.Second, false, "longer than a minute together"},
		{script{answer(429, "5", "")}, 4 * time.Second, 0, false, "longer than MaxWait"},
		{script{answer(429, "0", "")}, -1, 0, false, "no waiting at all"},
		{script{answer(500, "1", "")}, 0, 0, false, "other refusals are final"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var err error
			for _, err = range All[task](t.Context(), &http.Client{Transport: &test.script}, "http://list.example/tasks", &Options{MaxWait: test.wait}) {
			}
			// An HTTP date has whole seconds.
			if took := time.Since(start); took != test.took || (err == nil) != test.ok || len(test.script) > 0 {
				t.Errorf("%s: took %v with %v and %d answers left, want %v, success %v", test.why, took, err, len(test.script), test.took, test.ok)
			}
		})
	}
}

func TestAllWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		s := script{answer(429, "30", "")}
		start := time.Now()
		var err error
		for _, err = range All[task](ctx, &http.Client{Transport: &s}, "http://list.example/tasks", nil) {
		}
		if took := time.Since(start); took != 3*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("took %v with %v, want 3s and the context's error", took, err)
		}
	})
}

// FuzzPage checks the reading of what a server sends: it never panics, and the
// next page stays on the same origin.
func FuzzPage(f *testing.F) {
	for _, seed := range []string{
		`{"data":[],"pagination":{"next_cursor":"x"}}`, `{"tasks":[1],"next_page_token":"y"}`, `{"data":null,"_links":{"next":"?page=2"}}`,
		`{"data":[],"_links":{"next":"//other"}}`, `{"pagination":[],"_links":0,"x":[{}]}`, `null`, `[]`,
	} {
		f.Add(seed, "Sun, 15 Nov 2026 12:00:00 GMT")
	}
	at, _ := url.Parse("https://list.example/v1/tasks?limit=5")
	f.Fuzz(func(t *testing.T, body, retry string) {
		if d := retryAfter(retry); d < 0 {
			t.Fatalf("retryAfter(%q) = %v", retry, d)
		}
		page := &remote{at: at, from: at}
		if page.parse([]byte(body)) != nil {
			return
		}
		var items []any
		page.decode(&items)
		next, err := page.next()
		if err == nil && next != nil && (next.Host != at.Host || next.Scheme != at.Scheme) {
			t.Fatalf("%s leads to %s", body, next)
		}
	})
}
