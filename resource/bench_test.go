package resource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// Work is a task as the contract has it.
type Work struct {
	Title      string `json:"title" parley:"required,max=500,line"`
	AssigneeID *int64 `json:"assignee_id" parley:"ref=users"`
	Status     string `json:"status"`
}

var works = resource.Define("work", "works", resource.Rules[Work]{
	States: resource.States{
		Field: "status", Initial: "pending",
		Moves: map[string][]string{"pending": {"in_progress", "done"}, "in_progress": {"done", "pending"}, "done": {"in_progress"}},
	},
	Actions: resource.Actions{"complete": {To: "done"}},
	Links:   resource.Links{"owner": resource.Ref("assignee_id")},
})

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkRead is what a GET costs beside routing and the database.
func BenchmarkRead(b *testing.B) {
	h := newHouse(b, works, people)
	h.want("a user", h.ask("POST", "/users", `{"name":"Ada"}`), 201)
	h.want("a task", h.ask("POST", "/works", `{"title":"Write the benchmark","assignee_id":1}`), 201)
	m, err := h.routes.Match("GET", "/works/1")
	if err != nil {
		b.Fatal(err)
	}
	call := resource.Call{
		W: discard{make(http.Header)}, R: httptest.NewRequest("GET", "/works/1", nil), Route: m.Value, Args: m.Args,
		Version: h.calendar.Find("1"), Account: 1, Type: resource.TypeJSON, Buf: make([]byte, 0, 1024),
	}
	b.ReportAllocs()
	for b.Loop() {
		c := call
		if err := m.Value.Serve(&c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCreate is a POST but for the database.
func BenchmarkCreate(b *testing.B) {
	h := newHouse(b, works, people)
	m, err := h.routes.Match("POST", "/works")
	if err != nil {
		b.Fatal(err)
	}
	call := resource.Call{
		W: discard{make(http.Header)}, R: httptest.NewRequest("POST", "/works", nil), Route: m.Value,
		Version: h.calendar.Find("1"), Account: 1, Type: resource.TypeJSON, ContentType: resource.TypeJSON,
		Body: []byte(`{"title":"Write the benchmark","assignee_id":null}`), Buf: make([]byte, 0, 1024),
	}
	b.ReportAllocs()
	for b.Loop() {
		c := call
		if err := m.Value.Serve(&c); err != nil {
			b.Fatal(err)
		}
		h.tables["works"] = h.tables["works"][:0]
		h.events = h.events[:0]
	}
}

// BenchmarkSnapshot is the data of an event, in the shape it is stored in.
func BenchmarkSnapshot(b *testing.B) {
	calendar := version.BuiltIn()
	room := works.Open(resource.Options{Store: newMemory(), Calendar: calendar})
	h := newHouse(b, works, people)
	h.want("a task", h.ask("POST", "/works", `{"title":"`+strings.Repeat("x", 100)+`"}`), 201)
	row, v := &h.tables["works"][0].Row, calendar.Find("1")
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := room.Snapshot(buf, v, row); err != nil {
			b.Fatal(err)
		}
	}
}

// A shelf gives the same page whatever it is asked.
type shelf struct {
	resource.Store
	rows []store.Row
}

func (s *shelf) Begin(context.Context, *store.Table, store.Query) ([]store.Row, int64, error) {
	return s.rows, int64(len(s.rows)), nil
}

// A shownWork is a task as encoding/json writes it.
type shownWork struct {
	ID         int64      `json:"id"`
	Title      string     `json:"title"`
	AssigneeID *int64     `json:"assignee_id"`
	Status     string     `json:"status"`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
	Links      shownLinks `json:"_links"`
}

type shownLinks struct {
	Self       link  `json:"self"`
	Collection link  `json:"collection"`
	Owner      *link `json:"owner,omitempty"`
	Complete   *link `json:"complete,omitempty"`
}

type link struct {
	Href   string `json:"href"`
	Method string `json:"method,omitempty"`
}

// hundred returns a page of 100 tasks twice: as a function that serves it, from
// parameters to the last byte, and as the values that encoding/json would take.
func hundred(t testing.TB) (serve func() []byte, values any) {
	s := &shelf{}
	var items []shownWork
	for id := int64(1); id <= 100; id++ {
		owner, at := id%10+1, 1_793_534_400_000_000+id*1_234_567
		title := fmt.Sprintf("Call the supplier about order %d", id*7919)
		doc := fmt.Appendf(nil, `{"title":%q,"assignee_id":%d,"status":"pending"}`, title, owner)
		s.rows = append(s.rows, store.Row{ID: id, Account: 1, Rev: 1, Seq: id, Created: at, Updated: at, Doc: doc})
		self, time := fmt.Sprint("/works/", id), time.UnixMicro(at).UTC()
		items = append(items, shownWork{id, title, &owner, "pending", time, time, shownLinks{
			link{Href: self}, link{Href: "/works"}, &link{Href: fmt.Sprint("/users/", owner)}, &link{self + "/complete", "POST"},
		}})
	}
	calendar := version.BuiltIn()
	keys, err := paginate.NewKeys(paginate.Key{ID: 1, Secret: [32]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	room := works.Open(resource.Options{Store: s, Calendar: calendar, Keys: func(string) *paginate.Keys { return keys }})
	route, w := room.Routes()[0], &body{discard: discard{make(http.Header)}}
	call := resource.Call{
		W: w, R: httptest.NewRequest("GET", "/works?limit=100", nil), Route: route, Path: "/works",
		Version: calendar.Find("1"), Account: 1, Type: resource.TypeJSON, Buf: make([]byte, 0, 1<<16),
	}
	serve = func() []byte {
		c := call
		if err := route.Serve(&c); err != nil {
			t.Fatal(err)
		}
		return w.last
	}
	return serve, map[string]any{"data": items}
}

// A body keeps what is written to it.
type body struct {
	discard
	last []byte
}

func (b *body) Write(p []byte) (int, error) {
	b.last = p
	return len(p), nil
}

// TestPageTime serves a page of 100 tasks in at most half the time that
// encoding/json takes to write its rows. The fastest of many runs counts, so
// that what else the machine does is not what is measured.
func TestPageTime(t *testing.T) {
	serve, values := hundred(t)
	var got, want struct{ Data []shownWork }
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(serve(), &got), json.Unmarshal(text, &want)); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("the two pages differ, or cannot be read: %v", err)
	}
	measure := func(do func()) time.Duration {
		start := time.Now()
		do()
		return time.Since(start)
	}
	ours, theirs := time.Hour, time.Hour
	for range 200 {
		ours = min(ours, measure(func() { serve() }))
		theirs = min(theirs, measure(func() { json.Marshal(values) }))
	}
	if ours > theirs/2 {
		t.Errorf("a page takes %v, want at most half of the %v of encoding/json", ours, theirs)
	}
}

// BenchmarkPage is a whole list request for 100 tasks, but for the database.
func BenchmarkPage(b *testing.B) {
	serve, _ := hundred(b)
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
}

// BenchmarkPageJSON is encoding/json on the rows of that page.
func BenchmarkPageJSON(b *testing.B) {
	_, values := hundred(b)
	b.ReportAllocs()
	for b.Loop() {
		json.Marshal(values)
	}
}
