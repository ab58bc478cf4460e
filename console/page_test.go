package console_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/console"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/version"
)

// today is a day on which the built-in calendar has a version of each state
// but upcoming.
var today = time.Date(2026, time.November, 15, 9, 30, 0, 0, time.UTC)

// site returns every page by its path, as a service would serve them.
func site() map[string]console.Page {
	c := version.BuiltIn()
	pages := map[string]console.Page{
		"/": console.Index("Parley", []console.Link{
			{Path: "/docs", Title: "Reference", About: "Every operation."},
			{Path: "/openapi", Title: "OpenAPI description"},
			{Path: "/tasks", Title: "Tasks", About: "Things to do.", Key: true},
		}),
		"/problems": console.Problems(problem.Kinds()),
		"/versions": console.Versions(c, today),
	}
	for _, k := range problem.Kinds() {
		pages[k.Type()] = console.Problem(k)
	}
	for _, v := range c.Versions() {
		pages["/versions/"+v.Name] = console.Version(c, v, today)
	}
	return pages
}

// An element is a start tag of a page.
type element struct {
	name string
	attr map[string]string
}

// parse returns the start tags of a page and fails where a tag is not closed,
// or closed in the wrong place.
func parse(t *testing.T, html []byte) []element {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(html))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var all []element
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page does not parse: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{token.Name.Local, make(map[string]string)}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			all, open = append(all, e), append(open, e.name)
		case xml.EndElement:
			if last := open[len(open)-1]; last != token.Name.Local {
				t.Fatalf("</%s> closes <%s>", token.Name.Local, last)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
	return all
}

func TestStructure(t *testing.T) {
	for path, page := range site() {
		t.Run(path, func(t *testing.T) {
			all := parse(t, page.HTML)
			checkLandmarks(t, all)
			checkHeadings(t, all)
			checkReferences(t, all)
		})
	}
}

func checkLandmarks(t *testing.T, all []element) {
	t.Helper()
	count := make(map[string]int)
	for _, e := range all {
		count[e.name]++
	}
	for _, name := range []string{"html", "title", "header", "main", "footer", "h1", "style"} {
		if count[name] != 1 {
			t.Errorf("<%s> is there %d times, want 1", name, count[name])
		}
	}
	for _, name := range []string{"script", "img", "iframe", "form", "base", "object"} {
		if count[name] != 0 {
			t.Errorf("<%s> is there, and the policy does not allow it", name)
		}
	}
	for _, e := range all {
		if e.name == "html" && e.attr["lang"] != "en" {
			t.Errorf("lang is %q, want en", e.attr["lang"])
		}
		if e.name == "nav" && e.attr["aria-label"] == "" {
			t.Error("a <nav> has no label")
		}
		for name := range e.attr {
			if name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s> has the attribute %s, which the policy does not allow", e.name, name)
			}
		}
	}
}

func checkHeadings(t *testing.T, all []element) {
	t.Helper()
	level := 0
	for _, e := range all {
		if len(e.name) != 2 || e.name[0] != 'h' || e.name[1] < '1' || e.name[1] > '6' {
			continue
		}
		next := int(e.name[1] - '0')
		if next > level+1 {
			t.Errorf("a heading of level %d follows one of level %d", next, level)
		}
		level = next
	}
}

// checkReferences checks that the page loads nothing, that its links stay on
// the host and that those within it have a target.
func checkReferences(t *testing.T, all []element) {
	t.Helper()
	ids := make(map[string]bool)
	for _, e := range all {
		id := e.attr["id"]
		if id != "" && ids[id] {
			t.Errorf("the id %s is there twice", id)
		}
		ids[id] = true
	}
	known := slices.Concat(slices.Collect(maps.Keys(site())), []string{"/docs", "/openapi"})
	for _, e := range all {
		if by, ok := e.attr["aria-labelledby"]; ok && !ids[by] {
			t.Errorf("<%s> is labelled by %s, which is not there", e.name, by)
		}
		if src, ok := e.attr["src"]; ok {
			t.Errorf("<%s> loads %s", e.name, src)
		}
		href, ok := e.attr["href"]
		if !ok {
			continue
		}
		path, fragment, local := strings.Cut(href, "#")
		switch {
		case e.name == "link" && strings.HasPrefix(href, "data:image/svg+xml;base64,"):
		case e.name != "a":
			t.Errorf("<%s> loads %s", e.name, href)
		case path == "" && local && ids[fragment]:
		case !slices.Contains(known, path):
			t.Errorf("a link leads to %s, which is no page", href)
		}
	}
}

func TestPolicy(t *testing.T) {
	for path, page := range site() {
		_, rest, _ := strings.Cut(string(page.HTML), "<style>")
		style, _, _ := strings.Cut(rest, "</style>")
		sum := sha256.Sum256([]byte(style))
		want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !strings.Contains(page.CSP, want) {
			t.Errorf("%s: policy is %q, want it to have %q", path, page.CSP, want)
		}
		for _, want := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(page.CSP, want) {
				t.Errorf("%s: policy is %q, want it to have %q", path, page.CSP, want)
			}
		}
		for _, bad := range []string{"unsafe", "http", "*"} {
			if strings.Contains(page.CSP, bad) {
				t.Errorf("%s: policy is %q, want it without %q", path, page.CSP, bad)
			}
		}
	}
}

// has checks that each text is on the page, in this order.
func has(t *testing.T, page console.Page, texts ...string) {
	t.Helper()
	rest := string(page.HTML)
	for _, want := range texts {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("the page lacks %q, or it is out of place", want)
			continue
		}
		rest = after
	}
}

func lacks(t *testing.T, page console.Page, texts ...string) {
	t.Helper()
	for _, bad := range texts {
		if bytes.Contains(page.HTML, []byte(bad)) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// What a page shows is text, whatever it is made of.
func TestEscape(t *testing.T) {
	const bad = `</pre><script>alert(1)</script>"onload='x`
	kind := &problem.Kind{Name: "odd", Title: bad, Status: 400, About: bad, Remedy: bad}
	c, err := version.NewCalendar(version.Internal,
		version.Version{
			Name: "a", Major: -1, Released: today.Truncate(24 * time.Hour),
			Changes: []version.Note{{ID: bad, Description: bad, Before: bad, After: bad}},
		},
		version.Version{Name: "b", Major: -1, Released: today.Truncate(24*time.Hour).AddDate(0, 0, 1)},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		page console.Page
		why  string
	}{
		{console.Problem(kind), "a kind of an application's own"},
		{console.Problems([]*problem.Kind{kind}), "the same, listed"},
		{console.Version(c, c.Find("a"), today), "the notes of a version"},
		{console.Index(bad, []console.Link{{Path: "/" + bad, Title: bad, About: bad}, {Path: "/" + bad, Title: bad, About: bad, Key: true}}), "titles and links"},
	} {
		if bytes.Contains(tt.page.HTML, []byte("<script")) {
			t.Errorf("%s: a script came through", tt.why)
		}
		for _, e := range parse(t, tt.page.HTML) {
			if _, ok := e.attr["onload"]; ok {
				t.Errorf("%s: an attribute came through", tt.why)
			}
		}
	}
}

func TestIndex(t *testing.T) {
	page := console.Index("Notes", []console.Link{
		{Path: "/docs", Title: "Reference"}, {Path: "/notes", Title: "Notes", About: "What to remember.", Key: true},
	})
	has(t, page, "<h1>Notes</h1>", `href="/docs">Reference</a>`, `"$BASE/notes"`, `Authorization: Bearer $KEY`, "<h3>Notes</h3>", "What to remember.")
	lacks(t, page, `href="/notes"`)

	plain := console.Index("Notes", nil)
	has(t, plain, `<h3><a href="/docs">`, `<h3><a href="/versions">`, `<h3><a href="/problems">`, `<h3><a href="/openapi">`, `"$BASE/&lt;collection&gt;"`)
	lacks(t, plain, "<h2>Resources</h2>")
}

func TestPathsStayOnTheHost(t *testing.T) {
	for _, tt := range []struct{ path, why string }{
		{"", "nothing"},
		{"docs", "relative"},
		{"//example.com/x", "another host"},
		{`/\example.com`, "another host, for a browser"},
		{"https://example.com/", "another host, in full"},
		{"javascript:alert(1)", "a script"},
	} {
		for name, make := range map[string]func(){
			"Index": func() { console.Index("x", []console.Link{{Path: tt.path}}) },
			"Docs":  func() { console.Docs("x", tt.path) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s took %q: %s", name, tt.path, tt.why)
					}
				}()
				make()
			}()
		}
	}
}
