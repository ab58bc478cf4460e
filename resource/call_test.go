package resource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

func TestShow(t *testing.T) {
	for _, test := range []struct {
		why, method, header, value string
		status                     int
		body                       string
	}{
		{"a representation", "GET", "", "", 200, `{"a":1}`},
		{"its headers", "HEAD", "", "", 200, ``},
		{"what the client has", "GET", "If-None-Match", `"e"`, 304, ``},
		{"what it has not", "GET", "If-None-Match", `"f"`, 200, `{"a":1}`},
		{"a condition that does not hold", "GET", "If-Match", `"f"`, 412, ``},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(test.method, "/x", nil)
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		c := &resource.Call{W: w, R: r, Type: "application/vnd.parley.v1+json"}
		if err := c.Show(`"e"`, []byte(`{"a":1}`)); err != nil {
			w.WriteHeader(problem.From(err).Kind.Status)
		} else if w.Header().Get("Etag") != `"e"` || w.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: headers %v", test.why, w.Header())
		}
		if w.Code != test.status || w.Body.String() != test.body {
			t.Errorf("%s: %d %s, want %d %s", test.why, w.Code, w.Body, test.status, test.body)
		}
		if test.status == 200 && (w.Header().Get("Content-Type") != c.Type || w.Header().Get("Accept-Ranges") != "none") {
			t.Errorf("%s: headers %v", test.why, w.Header())
		}
	}
}

func TestFixed(t *testing.T) {
	keys, err := paginate.NewKeys(paginate.Key{ID: 1, Secret: [32]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	options := &resource.Options{Keys: func(string) *paginate.Keys { return keys }, Now: func() time.Time { return time.UnixMicro(1_793_534_400_000_000) }}
	v := version.BuiltIn().Find("1")
	get := func(query string, items ...int) (page, string) {
		t.Helper()
		w := httptest.NewRecorder()
		c := &resource.Call{W: w, R: httptest.NewRequest("GET", "/jobs"+query, nil), Path: "/jobs", Version: v}
		if err := resource.Fixed(c, options, "jobs", items, func(dst []byte, n *int) ([]byte, error) {
			if *n < 0 {
				return dst, errors.New("negative")
			}
			return fmt.Appendf(dst, `{"ID":%d}`, *n), nil
		}); err != nil {
			return page{}, err.Error()
		}
		var p page
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		return p, strconv.Itoa(w.Code)
	}
	seven := []int{10, 20, 30, 40, 50, 60, 70}
	for _, test := range []struct {
		why, query string
		items      []int
		want       []int
	}{
		{"all", "", seven, seven},
		{"none", "", nil, nil},
		{"a page", "?page=2&size=3", seven, []int{40, 50, 60}},
		{"a page past the end", "?page=9&size=3", seven, nil},
		{"the first of a walk", "?limit=3", seven, []int{10, 20, 30}},
		{"with tokens", "?page_size=3", seven, []int{10, 20, 30}},
	} {
		p, status := get(test.query, test.items...)
		if got := p.ids(); status != "200" || !slices.Equal(got, test.want) {
			t.Errorf("%s: %s %v, want %v", test.why, status, got, test.want)
		}
	}
	var walked []int
	p, _ := get("?limit=3", seven...)
	for walked = p.ids(); p.Pagination.HasMore; walked = append(walked, p.ids()...) {
		p, _ = get("?limit=3&cursor="+p.Pagination.NextCursor, seven...)
	}
	if !slices.Equal(walked, seven) {
		t.Errorf("walked %v, want %v", walked, seven)
	}
	if p, status := get("?limit=3&cursor="+p.Pagination.PrevCursor, 10, 20); status != "200" || len(p.ids()) > 2 {
		t.Errorf("a cursor of a list that was longer before a restart: %s %v", status, p.ids())
	}
	for _, want := range [][]int{{40, 50, 60}, {10, 20, 30}} {
		if p, _ = get("?limit=3&cursor="+p.Pagination.PrevCursor, seven...); !slices.Equal(p.ids(), want) {
			t.Errorf("back at %v, want %v", p.ids(), want)
		}
	}
	for _, test := range []struct{ why, query, want string }{
		{"a filter", "?type=x", "invalid-parameter"},
		{"too much", "?limit=101", "invalid-page-size"},
		{"a cursor of nobody", "?cursor=AAAA", "invalid-cursor"},
	} {
		if _, got := get(test.query, seven...); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.why, got, test.want)
		}
	}
	if _, got := get("", -1); got != "negative" {
		t.Errorf("an item that cannot be written: %s", got)
	}
}

// A refusing store fails every commit.
type refusing struct {
	*memory
	err error
}

func (r refusing) Commit(context.Context, *store.Tx) ([]store.Row, error) { return nil, r.err }

// The store's errors that a client caused have an answer; others are the hall's.
func TestStoreErrors(t *testing.T) {
	calendar := version.BuiltIn()
	other := errors.New("disk on fire")
	for _, test := range []struct {
		why  string
		err  error
		want string
	}{
		{"still referred to", &store.ReferencedError{Table: "jobs"}, "still-referenced: The user is still referred to by jobs."},
		{"gone", store.ErrNotFound, "not-found: There is no such user in this account."},
		{"moved on", store.ErrStale, "precondition-failed: The resource was changed in the meantime."},
		{"anything else", other, "disk on fire"},
		{"out of reach", fmt.Errorf("%w: %w", store.ErrUnavailable, other), "store: database unavailable: disk on fire"},
	} {
		room := people.Open(resource.Options{Store: refusing{newMemory(), test.err}, Calendar: calendar})
		for _, r := range room.Routes() {
			if r.Kind != resource.Remove {
				continue
			}
			w := httptest.NewRecorder()
			err := r.Serve(&resource.Call{W: w, R: httptest.NewRequest("DELETE", "/users/1", nil), Args: [3]string{"1"}, Version: calendar.Find("1"), Account: 1})
			if err == nil || err.Error() != test.want {
				t.Errorf("%s: got %v, want %s", test.why, err, test.want)
			}
		}
	}
}
