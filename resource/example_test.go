package resource_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/route"
	"github.com/parley-api/parley/version"
)

// A Note is a resource, said once: its members and their rules are tags.
type Note struct {
	Text  string   `json:"text" parley:"required,max=200"`
	Tags  []string `json:"tags" parley:"max=5"`
	State string   `json:"state"`
}

var notes = resource.Define("note", "notes", resource.Rules[Note]{
	About: "Something written down.",
	States: resource.States{
		Field: "state", Initial: "open",
		Moves: map[string][]string{"open": {"closed"}, "closed": {"open"}},
	},
	Actions: resource.Actions{"close": {To: "closed", About: "Close a note"}},
})

// A definition becomes a room, and a room a set of routes. The package parley
// serves them with accounts, keys, limits and all else; this is the least that
// does.
func Example() {
	calendar := version.BuiltIn()
	room := notes.Open(resource.Options{Store: newMemory(), Calendar: calendar})
	var table route.Table[*resource.Route]
	for _, r := range room.Routes() {
		table.Add(r.Method, r.Pattern, r)
	}
	handler := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		match, err := table.Match(r.Method, r.URL.Path)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		return match.Value.Serve(&resource.Call{
			W: w, R: r, Route: match.Value, Args: match.Args, Path: r.URL.Path, Version: calendar.Find("1"),
			Account: 1, Type: resource.TypeJSON, ContentType: r.Header.Get("Content-Type"), Body: body,
		})
	})

	ask := func(method, path, body string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		fmt.Println(method, path, w.Code)
		fmt.Println(w.Body)
	}
	ask("POST", "/notes", `{"text":"milk","tags":["shop"]}`)
	ask("POST", "/notes/1/close", ``)
	ask("PATCH", "/notes/1", `{"text":"","colour":"red"}`)
	ask("DELETE", "/notes/1", ``)
	// Output:
	// POST /notes 201
	// {"id":1,"text":"milk","tags":["shop"],"state":"open","created_at":"2026-11-01T12:00:00.000001Z","updated_at":"2026-11-01T12:00:00.000001Z","_links":{"self":{"href":"/notes/1"},"collection":{"href":"/notes"},"close":{"href":"/notes/1/close","method":"POST"}}}
	// POST /notes/1/close 200
	// {"id":1,"text":"milk","tags":["shop"],"state":"closed","created_at":"2026-11-01T12:00:00.000001Z","updated_at":"2026-11-01T12:00:00.000002Z","_links":{"self":{"href":"/notes/1"},"collection":{"href":"/notes"}}}
	// PATCH /notes/1 422
	// {"type":"/problems/validation-failed","title":"Invalid content","status":422,"detail":"The body is well-formed and not valid: see errors.","instance":"/notes/1","errors":[{"pointer":"/text","detail":"must not be empty"},{"pointer":"/colour","detail":"is not a member of this resource"}]}
	// DELETE /notes/1 204
}

// A definition that cannot be served is refused when the program starts.
func ExampleDefine() {
	type Broken struct {
		Text string `json:"text" parley:"required,maximum=200"`
	}
	defer func() { fmt.Println(recover()) }()
	resource.Define("broken", "brokens", resource.Rules[Broken]{})
	// Output: resource: resource_test.Broken.Text: the rule "maximum=200" is not understood here
}
