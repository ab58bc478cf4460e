package resource_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// withJobs has seven jobs, of which the even ones are done.
func withJobs(t testing.TB) *house {
	h := newHouse(t, jobs, people)
	h.ask("POST", "/users", `{"name":"Ada"}`)
	for i := range 7 {
		h.want("a job", h.ask("POST", "/jobs", fmt.Sprintf(`{"name":"job %d","urgent":%v}`, i+1, i == 0)), 201)
		if i%2 == 1 {
			h.want("done", h.ask("POST", fmt.Sprintf("/jobs/%d/finish", i+1), ""), 200)
		}
	}
	h.want("the first changes last", h.ask("PATCH", "/jobs/1", `{"user_id":1}`), 200)
	return h
}

// page is what the styles of lists have in common.
type page struct {
	Data, Jobs []struct{ ID int }
	Pagination struct {
		NextCursor string `json:"next_cursor"`
		PrevCursor string `json:"prev_cursor"`
		HasMore    bool   `json:"has_more"`
		Total      int
	}
	Token string `json:"next_page_token"`
}

func (p page) ids() []int {
	var ids []int
	for _, one := range append(p.Data, p.Jobs...) {
		ids = append(ids, one.ID)
	}
	return ids
}

func (h *house) page(target string) page {
	h.t.Helper()
	w := h.ask("GET", target, "")
	h.want(target, w, 200)
	var p page
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		h.t.Fatal(err)
	}
	return p
}

func TestList(t *testing.T) {
	h := withJobs(t)
	for _, test := range []struct {
		why, target string
		want        []int
	}{
		{"all, in order of ids", "/jobs", []int{1, 2, 3, 4, 5, 6, 7}},
		{"backwards", "/jobs?sort=-id", []int{7, 6, 5, 4, 3, 2, 1}},
		{"by creation, which is the same order", "/jobs?sort=-created_at", []int{7, 6, 5, 4, 3, 2, 1}},
		{"a page", "/jobs?page=2&size=3", []int{4, 5, 6}},
		{"a page past the end", "/jobs?page=9&size=3", nil},
		{"the first of a walk", "/jobs?limit=2", []int{1, 2}},
		{"under the collection's name", "/jobs?page_size=2", []int{1, 2}},
		{"by a state", "/jobs?status=done", []int{2, 4, 6}},
		{"by a truth value", "/jobs?urgent=true", []int{1}},
		{"by a reference", "/jobs?user_id=1", []int{1}},
		{"by two", "/jobs?user_id=1&status=done", nil},
		{"since a time, in order of change", "/jobs?updated_since=2026-11-01T12:00:00.000008Z", []int{5, 6, 7, 1}},
		{"an older version's filter", "/v0/jobs?done=false", []int{1, 3, 5, 7}},
	} {
		if got := h.page(test.target).ids(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %s has %v, want %v", test.why, test.target, got, test.want)
		}
	}
	if got := h.page("/jobs?limit=1&include_total=true").Pagination.Total; got != 7 {
		t.Errorf("total %d, want 7", got)
	}
	for _, test := range []struct{ why, target, want string }{
		{"an unknown order", "/jobs?sort=name", `"parameter":"sort"`},
		{"an order beside updated_since", "/jobs?sort=-id&updated_since=2026-11-01T12:00:00Z", `"parameter":"sort"`},
		{"a time that is none", "/jobs?updated_since=yesterday", `"parameter":"updated_since"`},
		{"an unknown state", "/jobs?status=gone", `"allowed":["new","running","done"]`},
		{"a number that is none", "/jobs?user_id=me", `"parameter":"user_id"`},
		{"a truth value that is none", "/jobs?urgent=1", `"parameter":"urgent"`},
		{"a member that is no filter", "/jobs?name=x", `"parameter":"name"`},
		{"an older version's filter", "/jobs?done=true", `"parameter":"done"`},
		{"a newer version's filter", "/v0/jobs?status=done", `"parameter":"status"`},
		{"an older version's value", "/v0/jobs?done=maybe", `"parameter":"done"`},
		{"too much", "/jobs?limit=101", `"maximum":100`},
		{"a cursor of our own making", "/jobs?cursor=AAAA", `"type":"/problems/invalid-cursor"`},
	} {
		h.want(test.why, h.ask("GET", test.target, ""), 400, test.want)
	}
}

// A walk sees every row of its first moment once, forth and back.
func TestListWalk(t *testing.T) {
	h := withJobs(t)
	first := h.page("/jobs?limit=3")
	h.want("one more", h.ask("POST", "/jobs", `{"name":"late"}`), 201)
	second := h.page("/jobs?limit=3&cursor=" + first.Pagination.NextCursor)
	third := h.page("/jobs?limit=3&cursor=" + second.Pagination.NextCursor)
	got := slices.Concat(first.ids(), second.ids(), third.ids())
	if want := []int{1, 2, 3, 4, 5, 6, 7}; !slices.Equal(got, want) || third.Pagination.HasMore || third.Pagination.NextCursor != "" {
		t.Errorf("walked %v, want %v and an end: %+v", got, want, third.Pagination)
	}
	back := h.page("/jobs?limit=3&cursor=" + third.Pagination.PrevCursor)
	if got, want := back.ids(), []int{4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("back at %v, want %v", got, want)
	}
	back = h.page("/jobs?limit=5&cursor=" + second.Pagination.PrevCursor)
	if got, want := back.ids(), []int{1, 2, 3}; !slices.Equal(got, want) || back.Pagination.PrevCursor != "" {
		t.Errorf("back at %v, want %v and a beginning", got, want)
	}
	token := h.page("/jobs?page_size=5")
	if got, want := h.page("/jobs?page_size=5&page_token="+token.Token).ids(), []int{6, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("by token %v, want %v", got, want)
	}
	h.want("a cursor with another filter", h.ask("GET", "/jobs?limit=3&status=done&cursor="+first.Pagination.NextCursor, ""), 400, "invalid-cursor")
	h.account = 2
	h.want("a cursor of another account", h.ask("GET", "/jobs?limit=3&cursor="+first.Pagination.NextCursor, ""), 400, "invalid-cursor")
	h.want("another account's list", h.ask("GET", "/jobs", ""), 200, `"data":[]`)
}

func TestListHeaders(t *testing.T) {
	h := withJobs(t)
	w := h.ask("GET", "/jobs?limit=2", "")
	etag := w.Header().Get("Etag")
	if !strings.HasPrefix(etag, `W/"`) || w.Header().Get("Accept-Ranges") != "jobs" || !strings.Contains(w.Header().Get("Link"), `rel="next"`) {
		t.Errorf("headers %v", w.Header())
	}
	h.want("the same page again", h.ask("GET", "/jobs?limit=2", "", "If-None-Match", etag), 304)
	h.want("another page", h.ask("GET", "/jobs?limit=3", "", "If-None-Match", etag), 200)
	h.want("a row of it changes", h.ask("PATCH", "/jobs/2", `{"user_id":1}`), 200)
	h.want("the page after that", h.ask("GET", "/jobs?limit=2", "", "If-None-Match", etag), 200)

	for _, test := range []struct {
		why, method, ranges string
		status              int
		contentRange        string
	}{
		{"some", "GET", "jobs=0-1", 206, "jobs 0-1/7"},
		{"from one on", "GET", "jobs=5-", 206, "jobs 5-6/7"},
		{"the last", "GET", "jobs=-3", 206, "jobs 4-6/7"},
		{"past the end", "GET", "jobs=7-9", 416, "*/7"},
		{"bytes", "GET", "bytes=0-1", 416, "*/7"},
		{"malformed", "GET", "jobs=x", 400, ""},
		{"HEAD ignores it", "HEAD", "jobs=0-1", 200, ""},
	} {
		w := h.ask(test.method, "/jobs", "", "Range", test.ranges)
		if got := w.Header().Get("Content-Range"); w.Code != test.status || got != test.contentRange {
			t.Errorf("%s: %d %q, want %d %q", test.why, w.Code, got, test.status, test.contentRange)
		}
	}
}
