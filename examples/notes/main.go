// Notes is a whole service of somebody's own in one file: a resource with
// rules, states, an action, a reference, events and an older version. Run it,
// and it has accounts, keys, lists, conditions, webhooks to come, versions,
// OpenAPI and documentation:
//
//	go run ./examples/notes
//	curl -H "Authorization: Bearer <the key it prints>" http://127.0.0.1:8081/notes
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// A Notebook holds notes.
type Notebook struct {
	Name string `json:"name" parley:"required,max=80,line,unique"`
}

// A Note is a text in a notebook.
type Note struct {
	Text       string   `json:"text" parley:"required,max=2000" about:"What it says."`
	Tags       []string `json:"tags" parley:"max=10"`
	NotebookID *int64   `json:"notebook_id" parley:"ref=notebooks,ondelete=null"`
	Words      int64    `json:"words" parley:"readonly"`
	State      string   `json:"state"`
}

// A Note2025 is a note before it could be archived: its text was called body.
type Note2025 struct {
	Body       string   `json:"body" parley:"required,max=2000"`
	Tags       []string `json:"tags" parley:"max=10"`
	NotebookID *int64   `json:"notebook_id" parley:"ref=notebooks"`
}

var notebooks = resource.Define("notebook", "notebooks", resource.Rules[Notebook]{})

var notes = resource.Define("note", "notes", resource.Rules[Note]{
	About: "A text to remember.",
	States: resource.States{
		Field: "state", Initial: "open",
		Moves: map[string][]string{"open": {"archived"}, "archived": {"open"}},
		Enter: map[string]string{"archived": "archived"},
	},
	Actions: resource.Actions{"archive": {To: "archived", About: "Archive a note"}},
	Filters: []string{"state", "notebook_id"},
	Links:   resource.Links{"notebook": resource.Ref("notebook_id")},
	Check: func(next, _ *Note) []problem.FieldError {
		next.Words = int64(len(strings.Fields(next.Text)))
		if next.Words == 0 {
			return []problem.FieldError{{Pointer: "/text", Detail: "must have at least one word"}}
		}
		return nil
	},
	Changes: []version.Step{version.Between("2025-11-01", "2026-11-01", version.Change[Note2025, Note]{
		Down: func(n Note) Note2025 { return Note2025{n.Text, n.Tags, n.NotebookID} },
		Up: func(old Note2025, was *Note) (Note, error) {
			next := Note{Text: old.Body, Tags: old.Tags, NotebookID: old.NotebookID, State: "open"}
			if was != nil {
				next.State, next.Words = was.State, was.Words
			}
			return next, nil
		},
		Fields: map[string]string{"/body": "/text"},
	})},
})

func main() {
	app, err := parley.New(context.Background(), parley.Config{Addr: "127.0.0.1:8081", Data: "./notes-data"}, notebooks, notes)
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close()
	if key := app.FirstKey(); key != "" {
		fmt.Println("Admin key (shown once):", key)
	}
	log.Fatal(http.ListenAndServe(app.Addr(), app))
}
