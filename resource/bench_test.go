package resource_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-api/parley/resource"
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
