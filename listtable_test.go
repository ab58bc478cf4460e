package parley_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

// The values that parameters are tried with, as they stand in a URL.
var (
	numerals = []string{
		"1", "2", "7", "20", "99", "100", "101", "0", "00", "007", "-1", "-0", "%2B1", "+1", "%201", "1%20", "%31", "%31%30%30", "1.0", "1.5", "1e1", "0x1",
		"1_0", "1,0", "9223372036854775806", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
		"-9223372036854775809", "99999999999999999999999999", "NaN", "ten", "%EF%BC%91", "%00", "1%00", "", "%", "%zz", "1;2", "%3B", "null",
	}
	booleans = []string{"true", "false", "TRUE", "1", "0", "yes", "", "%74rue", "%zz"}
	orders   = []string{"id", "-id", "created_at", "-created_at", "%2Did", "+id", "ID", "title", "updated_at", "id,-id", "--id", "", "%zz"}
	states   = []string{"pending", "in_progress", "done", "in%5Fprogress", "Done", "done,pending", "gone", "", "%zz", "%00"}
	moments  = []string{
		"2026-11-15T12:00:00Z", "2020-01-01T00:00:00Z", "2026-11-15T12:00:00.000001Z", "2030-01-01T00:00:00%2B02:00", "1970-01-01T00:00:00Z",
		"1969-12-31T23:59:59Z", "2026-11-15T12:00:00+02:00", "2026-11-15", "2026-13-15T12:00:00Z", "12:00", "0", "now", "", "%zz",
	}
	opaque = []string{"", "1", "2", "null", "AAAA", "%zz", "a;b", strings.Repeat("A", 512), strings.Repeat("A", 513)}
	spans  = []string{
		"tasks=0-0", "tasks=0-2", "tasks=2-4", "tasks=6-6", "tasks=0-6", "tasks=0-99", "tasks=0-100", "tasks=3-102", "tasks=3-103", "tasks=5-", "tasks=7-", "tasks=7-9",
		"tasks=-1", "tasks=-7", "tasks=-9", "tasks=-100", "tasks=-101", "tasks=-0", "tasks=0-9223372036854775807", "tasks=0-18446744073709551616",
		"tasks=9223372036854775807-9223372036854775807", "tasks=18446744073709551616-18446744073709551617", "tasks=18446744073709551616-", "tasks=-18446744073709551616",
		"tasks=007-8", "Tasks=0-1", "tasks= 0-1", "tasks=0-1,", "tasks=,0-1", "tasks=0-1,3-4", "tasks=4-2", "tasks=", "tasks=,", "tasks", "tasks=-", "tasks=x-1", "tasks=1-x", "tasks=1", "tasks=+1-2",
		"tasks=1.0-2", "tasks=0 - 1", "=0-1", "ta sks=0-1", "bytes=0-1", "bytes=x", "users=0-1", "items=1,2", "", "0-1",
	}
	parameters = []struct {
		name   string
		values []string
	}{
		{"page", numerals}, {"size", numerals}, {"limit", numerals}, {"page_size", numerals}, {"cursor", opaque}, {"page_token", opaque},
		{"include_total", booleans}, {"sort", orders}, {"status", states}, {"assignee_id", numerals}, {"updated_since", moments},
		{"colour", []string{"red", ""}}, {"Limit", []string{"1"}}, {"%6Cimit", numerals[:8]}, {"%zz", []string{"1"}}, {"", []string{"1"}},
	}
)

// TestListTable tries every parameter of a list with every value, every two
// parameters together, all styles mixed in every way, Range beside all of it,
// and filters, orders, styles, sizes and totals in all their combinations. What
// is expected is computed (listmodel_test.go); each answer is also held against
// what holds for all (rule_test.go) and the service's own description.
func TestListTable(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w, m := openListTable(t, engine)
			requests := slices.Concat(solos(), repeats(), pairs(), mixtures(), besides(), combinations(), m.borrowed())
			for _, r := range requests {
				w.try(m, r)
			}
			w.checkLog()
			t.Logf("%d requests", len(requests))
		})
	}
}

// openListTable starts a service with seven tasks and the model of them.
func openListTable(t *testing.T, engine string) (*wire, *listModel) {
	w := openWire(t, &wireFile{name: "table", orders: []order{{"rate-limit", "60000000/1m"}}}, engine)
	w.seen, w.docs = newTally(), newDescriptions()
	admin := caller{t: t, url: w.svc.URL, key: adminKey}
	created(admin, "/users", `{"name": "Ada", "email": "ada@example.com"}`)
	created(admin, "/users", `{"name": "Bob", "email": "bob@example.com"}`)
	m := &listModel{cursors: make(map[string]listCursor)}
	for i := range 7 {
		body := fmt.Sprintf(`{"title": "task %d", "assignee_id": %d}`, i+1, 1+i%2)
		if i == 6 {
			body = `{"title": "nobody's"}`
		}
		created(admin, "/tasks", body)
	}
	for i, status := range []string{"", "done", "in_progress", "", "done", "in_progress", "done"} {
		if status != "" {
			admin.call("PATCH", fmt.Sprint("/tasks/", i+1), `{"status": "`+status+`"}`)
		}
	}
	admin.call("PATCH", "/tasks/2", `{"title": "changed last"}`)
	var all struct {
		Data []struct {
			ID       int64
			Status   string
			Assignee *int64    `json:"assignee_id"`
			Updated  time.Time `json:"updated_at"`
		}
	}
	if err := json.Unmarshal(admin.call("GET", "/tasks", "").body, &all); err != nil || len(all.Data) != 7 {
		t.Fatalf("%d tasks, %v", len(all.Data), err)
	}
	for _, d := range all.Data {
		row := listRow{d.ID, nobody, d.Status, d.Updated}
		if d.Assignee != nil {
			row.assignee = *d.Assignee
		}
		m.rows = append(m.rows, row)
	}
	m.gather(admin)
	return w, m
}

// nobody is the assignee of a task without one, and no number that is tried.
const nobody = -1 << 40

// gather has the service issue cursors of every scope and style, and some of
// another list and another account, which the model does not know.
func (m *listModel) gather(admin caller) {
	for _, scope := range scopes {
		r := listRequest{pairs: scope}
		limited := listRequest{pairs: append(slices.Clip(scope), [2]string{"limit", "1"})}
		rows, text := new(listAnswer).selected(m.rows, new(listAnswer).read(r))
		first := admin.call("GET", limited.String(), "").json()
		next, _ := member(first, "pagination", "next_cursor").(string)
		m.cursors[next] = listCursor{"cursor", text, rows[0].id, false}
		limited.pairs = append(limited.pairs, [2]string{"cursor", next})
		second := admin.call("GET", limited.String(), "").json()
		prev, _ := member(second, "pagination", "prev_cursor").(string)
		m.cursors[prev] = listCursor{"cursor", text, rows[1].id, true}
		r.pairs = append(slices.Clip(scope), [2]string{"page_size", "2"})
		token, _ := admin.call("GET", r.String(), "").json()["next_page_token"].(string)
		m.cursors[token] = listCursor{"token", text, rows[1].id, false}
	}
	delete(m.cursors, "")
	m.cursors[member(admin.call("GET", "/users?limit=1", "").json(), "pagination", "next_cursor").(string)] = listCursor{style: "of another list"}
	account := created(admin, "/accounts", `{"name": "other"}`)
	other, _ := issue(admin, account, "tasks:read", "tasks:write")
	created(other, "/tasks", `{"title": "a"}`)
	created(other, "/tasks", `{"title": "b"}`)
	m.cursors[member(other.call("GET", "/tasks?limit=1", "").json(), "pagination", "next_cursor").(string)] = listCursor{style: "of another account"}
}

// scopes are what a cursor can be bound to, each with more than two rows.
var scopes = [][][2]string{
	nil, {{"sort", "id"}}, {{"sort", "-id"}}, {{"sort", "-created_at"}}, {{"status", "done"}}, {{"assignee_id", "1"}}, {{"assignee_id", "2"}},
	{{"status", "done"}, {"sort", "-id"}}, {{"updated_since", "2026-11-15T12:00:00Z"}}, {{"updated_since", "2026-11-15T12:00:00Z"}, {"status", "done"}},
}

// borrowed tries each cursor in each scope, and altered ones.
func (m *listModel) borrowed() (all []listRequest) {
	for cursor := range m.cursors {
		flipped := []byte(cursor)
		flipped[len(cursor)/2] ^= 1
		for _, scope := range scopes {
			texts := []string{cursor}
			if scope == nil {
				texts = append(texts, string(flipped), cursor+"A", cursor[:len(cursor)-1], url.QueryEscape(cursor+" "))
			}
			for _, text := range texts {
				for _, name := range []string{"cursor", "page_token"} {
					all = append(all, listRequest{pairs: append(slices.Clip(scope), [2]string{name, text})})
				}
			}
			for _, size := range []string{"1", "3"} {
				all = append(all, listRequest{pairs: append(slices.Clip(scope), [2]string{"cursor", cursor}, [2]string{"limit", size}, [2]string{"include_total", "true"})})
			}
		}
	}
	return all
}

// solos has each parameter alone with each value, and nothing at all.
func solos() []listRequest {
	all := []listRequest{{}}
	for _, p := range parameters {
		for _, v := range p.values {
			all = append(all, listRequest{pairs: [][2]string{{p.name, v}}})
		}
	}
	return all
}

// repeats has each parameter twice.
func repeats() (all []listRequest) {
	for _, p := range parameters {
		all = append(all,
			listRequest{pairs: [][2]string{{p.name, p.values[0]}, {p.name, p.values[0]}}},
			listRequest{pairs: [][2]string{{p.name, p.values[0]}, {p.name, p.values[len(p.values)/2]}}})
	}
	return append(all, listRequest{pairs: [][2]string{{"limit", "1"}, {"%6Cimit", "1"}}})
}

// pairs has every two parameters together, good with good, good with bad, and
// bad with bad.
func pairs() (all []listRequest) {
	for i, p := range parameters {
		for _, o := range parameters[i+1:] {
			for _, v := range []string{p.values[0], p.values[len(p.values)-1], p.values[len(p.values)/2]} {
				for _, u := range []string{o.values[0], o.values[len(o.values)-1], o.values[len(o.values)/2]} {
					all = append(all, listRequest{pairs: [][2]string{{p.name, v}, {o.name, u}}})
				}
			}
		}
	}
	return all
}

// mixtures has every set of pagination parameters.
func mixtures() (all []listRequest) {
	good := [][2]string{{"page", "1"}, {"size", "3"}, {"limit", "3"}, {"page_size", "3"}, {"include_total", "true"}, {"cursor", "AAAA"}, {"page_token", "AAAA"}}
	for set := range 1 << len(good) {
		var r listRequest
		for i, p := range good {
			if set>>i&1 == 1 {
				r.pairs = append(r.pairs, p)
			}
		}
		all = append(all, r)
	}
	return all
}

// besides has Range with each parameter, good and bad.
func besides() (all []listRequest) {
	for _, span := range spans {
		all = append(all, listRequest{ranges: []string{span}}, listRequest{ranges: []string{span, span}})
		for _, p := range parameters {
			all = append(all, listRequest{pairs: [][2]string{{p.name, p.values[0]}}, ranges: []string{span}})
		}
	}
	return all
}

// combinations has filters, orders, styles, sizes and totals in every way.
func combinations() (all []listRequest) {
	choices := [][][][2]string{
		{nil, {{"status", "done"}}, {{"status", "pending"}}},
		{nil, {{"assignee_id", "1"}}, {{"assignee_id", "-9"}}},
		{nil, {{"updated_since", "2026-11-15T12:00:00Z"}}, {{"updated_since", "2030-01-01T00:00:00Z"}}},
		{nil, {{"sort", "id"}}, {{"sort", "-created_at"}}},
		{nil, {{"include_total", "true"}}},
		{nil, {{"limit", "2"}}, {{"page", "2"}, {"size", "2"}}, {{"page", "1"}, {"size", "7"}}, {{"page_size", "2"}}, {{"page", "9"}}},
	}
	all = []listRequest{{}}
	for _, choice := range choices {
		var longer []listRequest
		for _, r := range all {
			for _, c := range choice {
				longer = append(longer, listRequest{pairs: slices.Concat(r.pairs, c)})
			}
		}
		all = longer
	}
	return all
}

// try sends a request and compares.
func (w *wire) try(m *listModel, r listRequest) {
	w.Helper()
	head := "GET " + r.String() + " HTTP/1.1\nAuthorization: Bearer " + adminKey
	for _, v := range r.ranges {
		head += "\nRange: " + v
	}
	s := newSent(head, "")
	a, err := converse(w.addr, s)
	if err != nil {
		w.Error(err)
		return
	}
	want := m.answer(r)
	if err := want.compare(a); err != nil {
		w.Errorf("%s, Range %q: %v\n%s", r, r.ranges, err, clipLines(a.body))
	}
	w.judge(s, a)
}

// compare holds an answer against what was worked out.
func (want *listAnswer) compare(a *answer) error {
	switch {
	case len(want.faults) > 0:
		return want.refused(a)
	case want.unsatisfied:
		total := fmt.Sprint("*/", want.total)
		if got := a.header.Get("Content-Range"); a.status != 416 || a.problem().Type != problem.RangeUnsatisfied.Type() || got != total {
			return fmt.Errorf("got %d with Content-Range %q, want 416 with %q", a.status, got, total)
		}
		return nil
	case want.style == "range":
		span := fmt.Sprintf("tasks %d-%d/%d", want.first, want.first+len(want.ids)-1, want.total)
		if got := a.header.Get("Content-Range"); a.status != 206 || got != span {
			return fmt.Errorf("got %d with Content-Range %q, want 206 with %q", a.status, got, span)
		}
	case a.status != 200:
		return fmt.Errorf("got %d, want 200", a.status)
	}
	return want.shown(a)
}

// refused compares a refusal with the faults: it names one of them.
func (want *listAnswer) refused(a *answer) error {
	var p struct {
		Type, Parameter string
		Maximum         *int
		Allowed         []string
	}
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != 400 {
		return fmt.Errorf("got %d, want 400", a.status)
	}
	i := slices.IndexFunc(want.faults, func(f fault) bool { return f.kind.Type() == p.Type && f.parameter == p.Parameter })
	if i < 0 {
		return fmt.Errorf("got %s of %q, want one of %d other faults", p.Type, p.Parameter, len(want.faults))
	}
	if size := want.faults[i].kind == problem.InvalidPageSize; size != (p.Maximum != nil && *p.Maximum == listMaximum) {
		return fmt.Errorf("got the maximum %v", p.Maximum)
	}
	return nil
}

// A listBody is a page in any style.
type listBody struct {
	Data, Tasks []struct{ ID int64 }
	Pagination  *struct {
		Page, Size, Limit, Total *int
		TotalPages               *int    `json:"total_pages"`
		Next                     *string `json:"next_cursor"`
		Prev                     *string `json:"prev_cursor"`
		More                     *bool   `json:"has_more"`
	}
	Links map[string]string `json:"_links"`
	Token *string           `json:"next_page_token"`
	Total *int
}

// shown compares a page.
func (want *listAnswer) shown(a *answer) error {
	var b listBody
	if err := json.Unmarshal(a.body, &b); err != nil {
		return err
	}
	var ids []int64
	for _, d := range append(b.Data, b.Tasks...) {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, want.ids) {
		return fmt.Errorf("got the rows %v, want %v", ids, want.ids)
	}
	total := func(got *int) error {
		if want.counted != (got != nil) || got != nil && *got != want.total {
			return fmt.Errorf("got the total %v, want it: %v", got, want.counted)
		}
		return nil
	}
	is := func(got *int, n int) bool { return got != nil && *got == n }
	page := b.Pagination
	switch {
	case want.style == "range":
		return nil
	case want.style == "token":
		if page != nil || b.Data != nil || (b.Token != nil) != want.more {
			return fmt.Errorf("got a token: %v, want one: %v", b.Token != nil, want.more)
		}
		return total(b.Total)
	case page == nil || b.Tasks != nil || b.Token != nil:
		return fmt.Errorf("got another envelope than of style %s", want.style)
	case want.style == "cursor":
		if !is(page.Limit, want.size) || page.More == nil || *page.More != want.more || (page.Next != nil) != want.more || (page.Prev != nil) != want.less || (b.Links["next"] != "") != want.more {
			return fmt.Errorf("want limit %d, more %v, less %v", want.size, want.more, want.less)
		}
		return total(page.Total)
	}
	pages := (want.total + want.size - 1) / want.size
	_, last := b.Links["last"]
	if !is(page.Page, want.page) || !is(page.Size, want.size) || (b.Links["next"] != "") != want.more || (b.Links["prev"] != "") != (want.page > 1) ||
		b.Links["first"] == "" || last != want.counted || want.counted && !is(page.TotalPages, pages) {
		return fmt.Errorf("want page %d of %d, size %d, more %v", want.page, pages, want.size, want.more)
	}
	return total(page.Total)
}
