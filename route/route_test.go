package route

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

// entries is the table that most tests look things up in.
var entries = []struct{ method, pattern string }{
	{"GET", "/"},
	{"GET", "/tasks"},
	{"POST", "/tasks"},
	{"GET", "/tasks/{id}"},
	{"PATCH", "/tasks/{id}"},
	{"DELETE", "/tasks/{id}"},
	{"POST", "/tasks/{id}/complete"},
	{"GET", "/tasks/recent"},
	{"POST", "/graphql"},
	{"GET", "/users/{id}/orders/{order}/items/{item}"},
}

func table() *Table[string] {
	t := new(Table[string])
	for _, e := range entries {
		t.Add(e.method, e.pattern, e.method+" "+e.pattern)
	}
	return t
}

func TestMatch(t *testing.T) {
	found := func(value string, args ...string) string { return fmt.Sprint(value, args) }
	for _, test := range []struct{ why, method, path, want string }{
		{"a collection", "GET", "/tasks", found("GET /tasks")},
		{"another method of it", "POST", "/tasks", found("POST /tasks")},
		{"an item", "GET", "/tasks/7", found("GET /tasks/{id}", "7")},
		{"HEAD is answered by GET", "HEAD", "/tasks/7", found("GET /tasks/{id}", "7")},
		{"an action", "POST", "/tasks/7/complete", found("POST /tasks/{id}/complete", "7")},
		{"the root", "GET", "/", found("GET /")},
		{"a literal wins over a parameter", "GET", "/tasks/recent", found("GET /tasks/recent")},
		{"and is the resource of its own methods only", "DELETE", "/tasks/recent", "405 GET, HEAD, OPTIONS"},
		{"three parameters", "GET", "/users/1/orders/2/items/3", found("GET /users/{id}/orders/{order}/items/{item}", "1", "2", "3")},
		{"a parameter takes a segment as it is", "GET", "/tasks/a b.é", found("GET /tasks/{id}", "a b.é")},
		{"braces in a path are nothing special", "GET", "/tasks/{id}", found("GET /tasks/{id}", "{id}")},

		{"an extension is another path", "GET", "/tasks.json", "404"},
		{"of an item it is part of the id, which is the room's to refuse", "GET", "/tasks/7.json", found("GET /tasks/{id}", "7.json")},
		{"a trailing slash is another path", "GET", "/tasks/", "404"},
		{"after an item too", "GET", "/tasks/7/", "404"},
		{"after an action too", "POST", "/tasks/7/complete/", "404"},
		{"an empty segment", "GET", "//tasks", "404"},
		{"in the middle", "GET", "/tasks//complete", "404"},
		{"two slashes", "GET", "//", "404"},
		{"no path", "GET", "", "404"},
		{"a path without a slash", "GET", "tasks", "404"},
		{"the target of OPTIONS for a server", "OPTIONS", "*", "404"},
		{"case matters", "GET", "/Tasks", "404"},
		{"an unknown collection", "GET", "/nothing", "404"},
		{"a prefix of a pattern is no path", "GET", "/users/1/orders", "404"},
		{"nor is one that goes on", "GET", "/tasks/7/complete/now", "404"},
		{"a literal that leads nowhere is not taken back", "POST", "/tasks/recent/complete", "404"},
		{"dots are not resolved", "GET", "/users/../tasks", "404"},
		{"an unknown method of an unknown path", "BREW", "/nothing", "404"},

		{"a method that the path lacks", "PUT", "/tasks", "405 GET, HEAD, OPTIONS, POST"},
		{"of an item", "POST", "/tasks/7", "405 DELETE, GET, HEAD, OPTIONS, PATCH"},
		{"HEAD where there is no GET", "HEAD", "/tasks/7/complete", "405 OPTIONS, POST"},
		{"GET where there is none", "GET", "/graphql", "405 OPTIONS, POST"},
		{"an unknown method", "BREW", "/tasks", "405 GET, HEAD, OPTIONS, POST"},
		{"methods are case-sensitive", "get", "/tasks", "405 GET, HEAD, OPTIONS, POST"},
		{"no method", "", "/tasks", "405 GET, HEAD, OPTIONS, POST"},

		{"OPTIONS of a path", "OPTIONS", "/tasks", "options GET, HEAD, OPTIONS, POST"},
		{"OPTIONS without GET", "OPTIONS", "/graphql", "options OPTIONS, POST"},
		{"OPTIONS of nothing", "OPTIONS", "/nothing", "404"},
	} {
		if got := outcome(table().Match(test.method, test.path)); got != test.want {
			t.Errorf("%s: %s %s: got %s, want %s", test.why, test.method, test.path, got, test.want)
		}
	}
}

// outcome sums a match up in a line.
func outcome(m Match[string], err error) string {
	p := problem.From(err)
	switch {
	case err != nil && p.Kind == problem.MethodNotAllowed:
		if p.Header.Get("Allow") != m.Allow || !strings.Contains(p.Detail, m.Allow) || m.Pattern == "" || m.Value != "" {
			return fmt.Sprintf("a bad 405: %+v %v", m, p)
		}
		return "405 " + m.Allow
	case err != nil && p.Kind == problem.NotFound:
		if m.Pattern != "" || m.Allow != "" || m.Value != "" {
			return fmt.Sprintf("a bad 404: %+v", m)
		}
		return "404"
	case err != nil:
		return err.Error()
	case m.Options:
		if m.Value != "" || m.Pattern == "" {
			return fmt.Sprintf("bad options: %+v", m)
		}
		return "options " + m.Allow
	}
	if !strings.HasSuffix(m.Value, " "+m.Pattern) {
		return fmt.Sprintf("value and pattern differ: %+v", m)
	}
	args := m.Args[:]
	for len(args) > 0 && args[len(args)-1] == "" {
		args = args[:len(args)-1]
	}
	return fmt.Sprint(m.Value, args)
}

func TestZeroTable(t *testing.T) {
	var empty Table[string]
	for _, path := range []string{"/", "/tasks", ""} {
		if got := outcome(empty.Match("GET", path)); got != "404" {
			t.Errorf("%q in an empty table: %s, want 404", path, got)
		}
	}
	if got := empty.Routes(); len(got) != 0 {
		t.Errorf("an empty table has the routes %v", got)
	}
}

func TestAddPanics(t *testing.T) {
	for _, test := range []struct{ why, method, pattern string }{
		{"no pattern", "GET", ""},
		{"no slash before it", "GET", "tasks"},
		{"a slash after it", "GET", "/users/"},
		{"an empty segment", "GET", "/users//x"},
		{"two slashes", "GET", "//"},
		{"a brace that is not closed", "GET", "/users/{id"},
		{"a brace that is not opened", "GET", "/users/id}"},
		{"a parameter that is part of a segment", "GET", "/users/{id}.json"},
		{"or begins in its middle", "GET", "/users/x{id}"},
		{"a parameter without a name", "GET", "/users/{}"},
		{"a brace in a name", "GET", "/users/{a}{b}"},
		{"more parameters than Args holds", "GET", "/{a}/{b}/{c}/{d}"},
		{"the same entry again", "GET", "/tasks/{id}"},
		{"the same path with another name for its parameter", "PUT", "/tasks/{number}"},
		{"HEAD, which GET answers", "HEAD", "/tasks"},
		{"OPTIONS, which every path answers", "OPTIONS", "/tasks"},
		{"no method", "", "/tasks"},
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				if !strings.HasPrefix(text, "route: ") || !strings.Contains(text, test.pattern) {
					t.Errorf("%s: Add(%q, %q) panics with %q, want a text that names the pattern", test.why, test.method, test.pattern, text)
				}
			}()
			table().Add(test.method, test.pattern, "")
		}()
	}
}

func TestRoutes(t *testing.T) {
	want := []string{
		"GET /", "POST /graphql", "GET /tasks", "POST /tasks", "GET /tasks/recent",
		"DELETE /tasks/{id}", "GET /tasks/{id}", "PATCH /tasks/{id}", "POST /tasks/{id}/complete",
		"GET /users/{id}/orders/{order}/items/{item}",
	}
	for range 3 { // the order is no accident of a map
		var got []string
		for _, e := range table().Routes() {
			if e.Value != e.Method+" "+e.Pattern {
				t.Errorf("%s %s has the value %s", e.Method, e.Pattern, e.Value)
			}
			got = append(got, e.Value)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in order of patterns, then methods:\n got %q\nwant %q", got, want)
		}
	}
}

// Every 404 and 405 is a problem of its own: one request's must not carry
// another's header.
func TestProblemsAreFresh(t *testing.T) {
	tasks := table()
	_, first := tasks.Match("PUT", "/tasks")
	problem.From(first).Set("Allow", "changed")
	_, second := tasks.Match("PUT", "/tasks")
	if got, want := problem.From(second).Header.Get("Allow"), "GET, HEAD, OPTIONS, POST"; got != want {
		t.Errorf("Allow is %q, want %q", got, want)
	}
}

func TestConcurrentMatch(t *testing.T) {
	tasks := table()
	done := make(chan error)
	for i := range 8 {
		go func() {
			id := fmt.Sprint(i)
			for range 200 {
				if m, err := tasks.Match("GET", "/tasks/"+id); err != nil || m.Args[0] != id {
					done <- fmt.Errorf("got %v, %v, want the id %s", m.Args, err, id)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// model matches as the documentation says, slowly: it keeps the patterns that
// still agree with the path, segment by segment, those with the literal first.
func model(method, path string) string {
	if !strings.HasPrefix(path, "/") {
		return "404"
	}
	byPattern := make(map[string][]string)
	for _, e := range entries {
		byPattern[e.pattern] = append(byPattern[e.pattern], e.method)
	}
	left := slices.Collect(maps.Keys(byPattern))
	segments := strings.Split(path, "/")
	part := func(pattern string, i int) string {
		if parts := strings.Split(pattern, "/"); i < len(parts) {
			return parts[i]
		}
		return "\x00none"
	}
	for i, s := range segments {
		literal := func(p string) bool { return part(p, i) == s && !strings.HasPrefix(s, "{") }
		param := func(p string) bool { return strings.HasPrefix(part(p, i), "{") && s != "" }
		keep := param
		if slices.ContainsFunc(left, literal) {
			keep = literal
		}
		left = slices.DeleteFunc(left, func(p string) bool { return !keep(p) })
	}
	left = slices.DeleteFunc(left, func(p string) bool { return strings.Count(p, "/") != strings.Count(path, "/") })
	if len(left) != 1 {
		return "404"
	}
	pattern := left[0]
	methods := byPattern[pattern]
	allow := append([]string{"OPTIONS"}, methods...)
	if slices.Contains(methods, "GET") {
		allow = append(allow, "HEAD")
	}
	slices.Sort(allow)
	var args []string
	for i, s := range strings.Split(pattern, "/") {
		if strings.HasPrefix(s, "{") {
			args = append(args, segments[i])
		}
	}
	switch {
	case method == "OPTIONS":
		return "options " + strings.Join(allow, ", ")
	case slices.Contains(allow, method):
		if method == "HEAD" {
			method = "GET"
		}
		return fmt.Sprint(method+" "+pattern, args)
	}
	return "405 " + strings.Join(allow, ", ")
}

func FuzzMatch(f *testing.F) {
	for _, e := range entries {
		f.Add(e.method, e.pattern)
	}
	for _, path := range []string{"", "/", "//", "/tasks/", "/tasks/recent/complete", "/tasks/7", "/tasks//complete", "/users/1/orders/2/items/3", "tasks", "/tasks/\xff"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "get"} {
			f.Add(method, path)
		}
	}
	all := table()
	f.Fuzz(func(t *testing.T, method, path string) {
		if got, want := outcome(all.Match(method, path)), model(method, path); got != want {
			t.Errorf("%q %q: got %s, the model says %s", method, path, got, want)
		}
	})
}

// A hit allocates nothing: it happens on every request.
func TestMatchAllocates(t *testing.T) {
	tasks := table()
	for _, path := range []string{"/tasks", "/tasks/7", "/users/1/orders/2/items/3"} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := tasks.Match("GET", path); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", path, n)
		}
	}
}

func TestValuesOfAnyKind(t *testing.T) {
	var handlers Table[http.Handler]
	handlers.Add("GET", "/x", http.NotFoundHandler())
	m, err := handlers.Match("GET", "/x")
	if err != nil || m.Value == nil {
		t.Errorf("got %v, %v, want a handler", m.Value, err)
	}
	if m, err := handlers.Match("PUT", "/x"); !errors.Is(err, problem.MethodNotAllowed.New("")) || !reflect.ValueOf(&m.Value).Elem().IsNil() {
		t.Errorf("got %v, %v, want no handler and 405", m.Value, err)
	}
}

func BenchmarkMatch(b *testing.B) {
	tasks := table()
	for _, path := range []string{"/tasks", "/tasks/7", "/users/1/orders/2/items/3"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tasks.Match("GET", path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
