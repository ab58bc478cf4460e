package openapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/version"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// load reads a document, JSON or YAML.
func load(t testing.TB, text []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("loading: %v", err)
	}
	return doc
}

// validate checks a document and its examples, which takes a while.
func validate(t testing.TB, doc *openapi3.T) {
	t.Helper()
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation(),
		openapi3.EnableSchemaPatternValidation(), openapi3.EnableMultiError()); err != nil {
		t.Fatalf("validating: %v", err)
	}
}

func each(t *testing.T, f func(t *testing.T, v *version.Version)) {
	for _, v := range version.BuiltIn().Versions() {
		t.Run(v.Name, func(t *testing.T) { f(t, v) })
	}
}

// tree reads a document into plain values.
func tree(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// at follows names down a tree.
func at(t testing.TB, value any, path ...string) any {
	t.Helper()
	for _, name := range path {
		m, _ := value.(map[string]any)
		next, ok := m[name]
		if !ok {
			t.Fatalf("nothing at %q of %q", name, path)
		}
		value = next
	}
	return value
}

func TestBuildIsValid(t *testing.T) {
	each(t, func(t *testing.T, v *version.Version) {
		text := build(t, v)
		doc := load(t, text)
		validate(t, doc)
		if got := doc.Info.Version; got != v.Name {
			t.Errorf("info.version = %q, want %q", got, v.Name)
		}
		if !doc.IsOpenAPI31OrLater() {
			t.Errorf("openapi = %q, want 3.1", doc.OpenAPI)
		}
		y, err := YAML(text)
		if err != nil {
			t.Fatal(err)
		}
		again := load(t, y)
		if got, want := again.Paths.Len(), doc.Paths.Len(); got != want {
			t.Errorf("the YAML has %d paths, want %d", got, want)
		}
	})
}

func TestBuildIsDeterministic(t *testing.T) {
	each(t, func(t *testing.T, v *version.Version) {
		first := build(t, v)
		for range 5 {
			if !bytes.Equal(first, build(t, v)) {
				t.Fatal("the same input gave two documents")
			}
		}
		if !bytes.HasPrefix(first, []byte("{\n  \"openapi\": \"3.1.0\",\n")) || !bytes.HasSuffix(first, []byte("}\n")) {
			t.Errorf("the document is not indented by two spaces: %.40q", first)
		}
	})
}

func TestReferences(t *testing.T) {
	each(t, func(t *testing.T, v *version.Version) {
		text := build(t, v)
		doc := tree(t, text)
		used := make(map[string]bool)
		for _, path := range references(text) {
			rest, ok := strings.CutPrefix(path, "#/")
			if !ok {
				t.Errorf("%s leads out of the document", path)
				continue
			}
			at(t, doc, strings.Split(rest, "/")...)
			used[path] = true
		}
		for section, parts := range at(t, doc, "components").(map[string]any) {
			for name := range parts.(map[string]any) {
				if section != "securitySchemes" && !used["#/components/"+section+"/"+name] {
					t.Errorf("components/%s/%s is not used", section, name)
				}
			}
		}
	})
}

func TestHeadersAreDefinedOnce(t *testing.T) {
	each(t, func(t *testing.T, v *version.Version) {
		doc := tree(t, build(t, v))
		check := func(where string, response any) {
			headers, _ := response.(map[string]any)["headers"].(map[string]any)
			for name, h := range headers {
				got, _ := h.(map[string]any)["$ref"].(string)
				if want := "#/components/headers/" + name; got != want {
					t.Errorf("%s: header %s is %v, want a reference to %s", where, name, h, want)
				}
			}
		}
		for path, item := range at(t, doc, "paths").(map[string]any) {
			for method, op := range item.(map[string]any) {
				if method == "parameters" {
					continue
				}
				for status, response := range at(t, op, "responses").(map[string]any) {
					check(method+" "+path+" "+status, response)
				}
			}
		}
		for name, response := range at(t, doc, "components", "responses").(map[string]any) {
			check(name, response)
		}
	})
}

func TestOperationIDsAreUnique(t *testing.T) {
	each(t, func(t *testing.T, v *version.Version) {
		seen := make(map[string]string)
		for path, item := range load(t, build(t, v)).Paths.Map() {
			for method, op := range item.Operations() {
				if other := seen[op.OperationID]; other != "" || op.OperationID == "" {
					t.Errorf("%s %s has the id %q, as has %q", method, path, op.OperationID, other)
				}
				seen[op.OperationID] = method + " " + path
				if len(op.Tags) != 1 || op.Summary == "" || op.Description == "" {
					t.Errorf("%s %s lacks a tag, a summary or a description", method, path)
				}
			}
		}
	})
}

func TestGolden(t *testing.T) {
	_, routes := open(t, task.Resource)
	for _, v := range version.BuiltIn().Versions()[1:] {
		got, err := Build(info(v), routes)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "task-"+v.Name+".json")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what Build gives; run go test ./openapi -update and read the difference", file)
		}
	}
}

func TestStatuses(t *testing.T) {
	latest, older := version.BuiltIn().Find("1"), version.BuiltIn().Find("0")
	for _, c := range []struct {
		id, want, why string
		v             *version.Version
	}{
		{"listTasks", "200 206 304 400 401 403 406 412 416 429 500 503", "a list has ranges and conditions and no id", latest},
		{"createTask", "201 400 401 403 406 408 409 413 415 422 429 500 503", "a create has a body and no conditions", latest},
		{"getTask", "200 304 400 401 403 404 406 412 429 500 503", "a read has conditions", latest},
		{"replaceTask", "200 400 401 403 404 406 408 409 412 413 415 422 429 500 503", "PUT has a body and conditions", latest},
		{"updateTask", "200 400 401 403 404 406 408 409 412 413 415 422 429 500 503", "PATCH too", latest},
		{"deleteTask", "204 400 401 403 404 406 409 412 429 500 503", "DELETE has no body; others may refer to the row", latest},
		{"completeTask", "200 400 401 403 404 406 409 412 422 429 500 503", "an action has no body; its key may be reused", latest},
		{"getTask", "200 304 400 401 403 404 406 410 412 429 500 503", "a version that has a successor will be retired", older},
		{"getHealth", "200 400 406 429 500 503", "what is public needs no key; its quota is the address's", latest},
		{"sendPing", "204 400 401 406 408 413 415 422 429 500 503", "without a scope every key will do", latest},
		{"getEvent", "200 304 400 401 403 404 406 412 429 500 503", "the kind counts for operations by hand too", latest},
	} {
		t.Run(c.id+" "+c.v.Name, func(t *testing.T) {
			var got []string
			for status := range operation(t, build(t, c.v), c.id).Responses.Map() {
				got = append(got, status)
			}
			slices.Sort(got)
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("got  %s\nwant %s\n(%s)", got, c.want, c.why)
			}
		})
	}
}

func operation(t testing.TB, text []byte, id string) *openapi3.Operation {
	t.Helper()
	for _, item := range load(t, text).Paths.Map() {
		for _, op := range item.Operations() {
			if op.OperationID == id {
				return op
			}
		}
	}
	t.Fatalf("no operation %s", id)
	return nil
}

func TestVersions(t *testing.T) {
	before, after := time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		version    string
		at         time.Time
		deprecated bool
		types      []string
		member     string
		why        string
	}{
		{"2026-11-01", time.Time{}, false, []string{"application/json", "application/vnd.parley.v1+json"}, "title", "the latest"},
		{"2025-11-01", time.Time{}, true, []string{"application/json", "application/vnd.parley.v0+json"}, "name", "its deprecation has a date"},
		{"2025-11-01", after, true, []string{"application/json", "application/vnd.parley.v0+json"}, "name", "from this day on"},
		{"2025-11-01", before, false, []string{"application/json", "application/vnd.parley.v0+json"}, "name", "the day before"},
		{"2024-11-01", time.Time{}, true, []string{"application/json"}, "name", "no major, no media type of its own"},
	} {
		t.Run(c.version+" "+c.why, func(t *testing.T) {
			_, routes := open(t, task.Resource)
			i := info(version.BuiltIn().Find(c.version))
			i.At = c.at
			text, err := Build(i, routes)
			if err != nil {
				t.Fatal(err)
			}
			op := operation(t, text, "getTask")
			if op.Deprecated != c.deprecated {
				t.Errorf("deprecated = %v, want %v", op.Deprecated, c.deprecated)
			}
			for _, status := range []int{200, 304, 404} {
				for _, name := range []string{"Sunset", "Deprecation", "Link"} {
					if got := op.Responses.Status(status).Value.Headers[name] != nil; got != c.deprecated {
						t.Errorf("%d lists %s: %v, want %v", status, name, got, c.deprecated)
					}
				}
			}
			var types []string
			for name := range op.Responses.Status(200).Value.Content {
				types = append(types, name)
			}
			if slices.Sort(types); !slices.Equal(types, c.types) {
				t.Errorf("media types = %q, want %q", types, c.types)
			}
			at(t, tree(t, text), "components", "schemas", "Task", "properties", c.member)
		})
	}
}

func TestErrorsOfAnOlderVersion(t *testing.T) {
	_, routes := open(t, task.Resource)
	i := info(version.BuiltIn().Find("2024-11-01"))
	i.Errors = &Media{"application/json", Schema{"Error", `{"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}`}}
	text, err := Build(i, routes)
	if err != nil {
		t.Fatal(err)
	}
	op := operation(t, text, "getTask")
	for _, c := range []struct {
		status int
		want   string
		why    string
	}{
		{404, "application/json", "the version's own shape"},
		{400, "application/json application/problem+json", "the version may not be known yet"},
		{410, "application/json application/problem+json", "the retired version is answered for"},
	} {
		var got []string
		for name := range op.Responses.Status(c.status).Value.Content {
			got = append(got, name)
		}
		slices.Sort(got)
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%d: got %s, want %s (%s)", c.status, got, c.want, c.why)
		}
	}
}

func TestProblemsHaveExamples(t *testing.T) {
	doc := tree(t, build(t, version.BuiltIn().Find("1")))
	for _, k := range problem.Kinds() {
		if slices.Contains([]int{405, 410, 507}, k.Status) {
			continue // no operation of the latest version answers so; 507 is for bytes
		}
		example := at(t, doc, "components", "responses", failureOf(k.Status).name, "content", problem.ContentType, "examples", k.Name, "value")
		if got := at(t, example, "type"); got != k.Type() {
			t.Errorf("the example of %s has the type %v", k.Name, got)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	_, routes := open(t, task.Resource)
	ping := Operation{Method: "POST", Pattern: "/pings", ID: "sendPing", Summary: "Send a ping"}
	with := func(f func(*Operation)) []Operation {
		op := ping
		f(&op)
		return []Operation{op}
	}
	for _, c := range []struct {
		name  string
		info  func(*Info)
		route *resource.Route
		extra []Operation
		want  string
	}{
		{name: "no title", info: func(i *Info) { i.Title = "" }, want: "Title"},
		{name: "no version", info: func(i *Info) { i.Version = nil }, want: "Calendar"},
		{name: "a version of another calendar", info: func(i *Info) { i.Version = &version.Version{Name: "x"} }, want: "Calendar"},
		{name: "a named route that nothing describes", route: &resource.Route{Method: "GET", Pattern: "/x", Operation: "getX"}, want: "GET /x"},
		{name: "two of one path", extra: []Operation{ping, ping}, want: "twice"},
		{name: "two of one id", extra: append(with(func(op *Operation) { op.Pattern = "/others" }), ping), want: "twice"},
		{name: "no id", extra: with(func(op *Operation) { op.ID = "" }), want: "ID"},
		{name: "the same path under another name", extra: with(func(op *Operation) { op.Pattern = "/tasks/{name}" }), want: "same path"},
		{name: "a method that OpenAPI does not have", extra: with(func(op *Operation) { op.Method = "BREW" }), want: "method"},
		{name: "a schema that is not JSON", extra: with(func(op *Operation) { op.Shows = Schema{JSON: "{"} }), want: "schema"},
		{name: "another schema of a name", extra: with(func(op *Operation) { op.Shows = Schema{"Task", "{}"} }), want: "Task"},
		{name: "a reference to nothing", extra: with(func(op *Operation) { op.Shows = Schema{Name: "Nothing"} }), want: "nowhere"},
		{name: "a reference to elsewhere", extra: with(func(op *Operation) { op.Shows = Schema{JSON: `{"$ref":"https://example.com/"}`} }), want: "nowhere"},
		{name: "a list without a name", extra: with(func(op *Operation) { op.Kind = resource.List }), want: "Collection"},
		{name: "a bad parameter", extra: with(func(op *Operation) { op.Parameters = []Parameter{{Name: "x", Schema: Schema{JSON: "no"}}} }), want: "parameter x"},
		{name: "a bad header", extra: with(func(op *Operation) {
			op.Answers = []Answer{{Status: 200, Headers: []Header{{Name: "X-Y", Schema: Schema{JSON: "no"}}}}}
		}), want: "header X-Y"},
		{name: "a known header said otherwise", extra: with(func(op *Operation) {
			op.Answers = []Answer{{Status: 200, Headers: []Header{{Name: "ETag", About: "Mine."}}}}
		}), want: "ETag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i, all := info(version.BuiltIn().Find("1")), routes
			if c.info != nil {
				c.info(&i)
			}
			if c.route != nil {
				all = append(slices.Clone(routes), c.route)
			}
			_, err := Build(i, all, c.extra...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one about %q", err, c.want)
			}
		})
	}
}

func TestRoutesByHand(t *testing.T) {
	routes := []*resource.Route{
		{Method: "GET", Pattern: "/metrics"},
		{Method: "GET", Pattern: "/docs/{file}", Operation: "getFile", Summary: "Get a file", Public: true, Single: true},
		{Method: "GET", Pattern: "/versions", Operation: "listVersions", Summary: "List versions", Public: true},
		{Method: "POST", Pattern: "/pings", Operation: "sendPing", Summary: "Send a ping", Scope: "admin"},
	}
	text, err := Build(info(version.BuiltIn().Find("1")), routes,
		Operation{Method: "POST", Pattern: "/pings"}, Operation{Method: "GET", Pattern: "/docs/{file}", Answers: []Answer{{Status: 200, Media: []Media{{Type: "*/*"}}}}},
		Operation{Method: "GET", Pattern: "/versions", Shows: Schema{JSON: `{"type":"array"}`}})
	if err != nil {
		t.Fatal(err)
	}
	doc := load(t, text)
	if doc.Paths.Value("/metrics") != nil {
		t.Error("a route without a name is described")
	}
	if op := operation(t, text, "listVersions"); op.Security == nil || len(*op.Security) != 0 {
		t.Error("a public route asks for a key")
	}
	if op := operation(t, text, "getFile"); op.Responses.Status(406) != nil {
		t.Error("a route with one representation lists 406")
	}
	if op := operation(t, text, "sendPing"); op.Summary != "Send a ping" || op.Responses.Status(403) == nil {
		t.Error("what the route says was not taken over")
	}
	if i, j := strings.Index(string(text), `"/versions"`), strings.Index(string(text), `"/pings"`); i > j {
		t.Error("the paths are not in the order of the routes")
	}
}

func TestPagesForPeople(t *testing.T) {
	ok := operation(t, build(t, version.BuiltIn().Find("1")), "getEvent").Responses.Status(200).Value
	for _, name := range []string{"application/json", "application/vnd.parley.v1+json", "text/html"} {
		if ok.Content[name] == nil {
			t.Errorf("the answer has no %s", name)
		}
	}
	if ok.Headers["Content-Security-Policy"] == nil {
		t.Error("the header of a page is missing")
	}
}

func TestServerURL(t *testing.T) {
	for _, c := range []struct{ url, want, why string }{
		{"https://api.parley.dev/", "https://api.parley.dev", "a slash would double that of the paths"},
		{"", "/", "where the description came from"},
	} {
		i := info(version.BuiltIn().Find("1"))
		i.ServerURL = c.url
		text, err := Build(i, nil, extra()[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := load(t, text).Servers[0].URL; got != c.want {
			t.Errorf("server = %q, want %q (%s)", got, c.want, c.why)
		}
	}
}

// The names of components must be usable as such.
func TestComponentNames(t *testing.T) {
	name := regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)
	doc := tree(t, build(t, version.BuiltIn().Find("1")))
	for section, parts := range at(t, doc, "components").(map[string]any) {
		for n := range parts.(map[string]any) {
			if !name.MatchString(n) {
				t.Errorf("components/%s/%s has a bad name", section, n)
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	_, routes := open(b, all()...)
	i, more := info(version.BuiltIn().Find("1")), extra()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(i, routes, more...); err != nil {
			b.Fatal(err)
		}
	}
}
