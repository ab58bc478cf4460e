package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/parley-api/parley"
)

// TestNotes walks through the example as its user would.
func TestNotes(t *testing.T) {
	app, err := parley.New(t.Context(), parley.Config{Data: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, notebooks, notes)
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	server := httptest.NewServer(app)
	defer server.Close()
	key := app.FirstKey()

	steps := []struct {
		why, method, path, body string
		status                  int
		want                    string
	}{
		{"a reference needs its row first", "POST", "/notebooks", `{"name":"ideas"}`, 201, `"name":"ideas"`},
		{"readonly members are computed", "POST", "/notes", `{"text":"buy more chalk","notebook_id":1}`, 201, `"words":3`},
		{"the definition's own rule has a pointer", "POST", "/notes", `{"text":" "}`, 422, `"pointer":"/text"`},
		{"an old client sees the old shape", "GET", "/v0/notes/1", "", 200, `"body":"buy more chalk"`},
		{"and its mistakes in its own words", "POST", "/v0/notes", `{"body":" "}`, 422, `"pointer":"/body"`},
		{"an action is a link while it can be made", "GET", "/notes/1", "", 200, `"archive":{"href":"/notes/1/archive","method":"POST"}`},
		{"and moves the state", "POST", "/notes/1/archive", "", 200, `"state":"archived"`},
		{"entering a state is an event", "GET", "/events?type=note.archived", "", 200, `"type":"note.archived"`},
		{"filters come from the definition", "GET", "/notes?state=archived", "", 200, `"id":1`},
		{"unique is within the account", "POST", "/notebooks", `{"name":"ideas"}`, 409, `/problems/duplicate`},
		{"ondelete=null lets the notebook go", "DELETE", "/notebooks/1", "", 204, ""},
		{"and the note stays without it", "GET", "/notes/1", "", 200, `"notebook_id":null`},
		{"all of it is described", "GET", "/openapi", "", 200, `"/notes/{id}/archive"`},
	}
	for _, s := range steps {
		req, _ := http.NewRequestWithContext(t.Context(), s.method, server.URL+s.path, strings.NewReader(s.body))
		req.Header.Set("Authorization", "Bearer "+key)
		if s.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != s.status || !strings.Contains(string(got), s.want) {
			t.Errorf("%s: %s %s\ngot  %d %s\nwant %d with %s", s.why, s.method, s.path, resp.StatusCode, got, s.status, s.want)
		}
	}
}

// TestShort keeps the promise of the documentation.
func TestShort(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 100 {
		t.Errorf("the example has %d lines, want at most 100", lines)
	}
}
