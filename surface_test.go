package parley_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/resource"
)

// entrances are where every path answers with the same behaviour.
var entrances = []string{"", "/v1", "/api/v1"}

// A caller makes requests with one key; "" means none.
type caller struct {
	t   testing.TB
	url string
	key string
}

// A reply is an answer that has arrived.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// call makes a request. A body is sent as JSON unless the lines of the header,
// each "Name: value", say otherwise.
func (c caller) call(method, path, body string, lines ...string) *reply {
	c.t.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != "" {
		r.Header.Set("Content-Type", resource.TypeJSON)
	}
	r.Header.Set("Accept-Encoding", "identity") // else the transport adds gzip to a GET, and not to a HEAD
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20)) // one is a gibibyte
	if err != nil {
		c.t.Fatal(err)
	}
	return &reply{resp.StatusCode, resp.Header, b}
}

// json reads the body as an object; nil means that it is none.
func (r *reply) json() (object map[string]any) {
	json.Unmarshal(r.body, &object)
	return object
}

// isProblem reports whether the answer is a problem of a kind, by the name of
// the kind.
func (r *reply) isProblem(status int, kind string) bool {
	return r.status == status && r.json()["type"] == "/problems/"+kind
}

func (r *reply) String() string { return fmt.Sprintf("%d %.500s", r.status, r.body) }

// newborns are bodies that create a resource, by collection. %s is a text that
// differs each time.
var newborns = map[string]string{
	"/tasks":    `{"title":"%s"}`,
	"/users":    `{"name":"%s","email":"%[1]s@example.com"}`,
	"/files":    "%s",
	"/images":   "GIF89a %s",
	"/accounts": `{"name":"%s"}`,
	"/api-keys": `{"name":"%s","scopes":["events:read"]}`,
}

// typeOf is the header line of a body of newborns that is no JSON.
func typeOf(collection string) []string {
	if newborns[collection] == "" || newborns[collection][0] == '{' {
		return nil
	}
	return []string{"Content-Type: application/octet-stream"}
}

// A surface is a service with rows in it, seen from outside.
type surface struct {
	*service
	caller
	methods map[string][]string // by pattern
	args    map[string]string   // values of the parameter behind a prefix
}

func openSurface(t *testing.T, engine string) *surface {
	svc := start(t, engine, nil)
	s := &surface{svc, caller{t, svc.URL, adminKey}, make(map[string][]string), make(map[string]string)}
	for _, r := range s.Routes() {
		s.methods[r.Pattern] = append(s.methods[r.Pattern], r.Method)
		if r.Kind != resource.Create {
			continue
		}
		if newborns[r.Pattern] == "" {
			t.Errorf("newborns does not say how to create one of %s", r.Pattern)
		}
		for i := range 2 {
			if got := s.call(http.MethodPost, r.Pattern, fmt.Sprintf(newborns[r.Pattern], fmt.Sprintf("surface-%d", i)), typeOf(r.Pattern)...); got.status != http.StatusCreated {
				t.Fatalf("POST %s: got %s, want 201", r.Pattern, got)
			}
		}
	}
	return s
}

// example gives a pattern's parameters values that exist.
func (s *surface) example(pattern string) string {
	prefix, rest, found := strings.Cut(pattern, "/{")
	if !found {
		return pattern
	}
	_, rest, _ = strings.Cut(rest, "}")
	if s.args[prefix] == "" {
		s.args[prefix] = s.find(prefix)
	}
	return s.example(prefix + "/" + s.args[prefix] + rest)
}

// find returns the name of something that exists below a path.
func (s *surface) find(prefix string) string {
	if prefix == "/docs" {
		return string(regexp.MustCompile(`start-[0-9a-f]+`).Find(s.call(http.MethodGet, prefix, "").body))
	}
	var page struct {
		Data []struct {
			ID         any
			Name, Type string
		}
	}
	got := s.call(http.MethodGet, prefix+"?limit=1", "", "Accept: application/json")
	if err := json.Unmarshal(got.body, &page); err != nil || len(page.Data) != 1 {
		s.t.Fatalf("GET %s: got %s, want one item", prefix, got)
	}
	switch first := page.Data[0]; {
	case first.ID != nil:
		return fmt.Sprint(first.ID)
	case first.Name != "":
		return first.Name
	default:
		return first.Type[strings.LastIndex(first.Type, "/")+1:]
	}
}

// lists returns the patterns that are lists: a GET with another GET one
// parameter below it. The documentation is a page with files.
func (s *surface) lists() []string {
	var all []string
	for _, r := range s.Routes() {
		below := slices.ContainsFunc(s.Routes(), func(o *resource.Route) bool {
			rest, ok := strings.CutPrefix(o.Pattern, r.Pattern+"/{")
			return ok && o.Method == http.MethodGet && strings.HasSuffix(rest, "}") && !strings.Contains(rest, "/")
		})
		if r.Method == http.MethodGet && (r.Kind == resource.List || below) && r.Pattern != "/docs" {
			all = append(all, r.Pattern)
		}
	}
	return all
}

// The words that a path is made of, besides collections and parameters.
var (
	singles = []string{"healthz", "readyz", "openapi", "docs", "metrics", "usage", "largefile"} // of which there is one
	verbs   = []string{"complete"}                                                              // the contract shows it
	open    = []string{                                                                         // no key is asked for
		"/", "/docs", "/docs/{file}", "/healthz", "/openapi", "/problems", "/problems/{name}", "/readyz", "/versions", "/versions/{name}",
	}
)

// TestNames holds every pattern against the rules for URIs, and every route
// against those for scopes.
func TestNames(t *testing.T) {
	s := openSurface(t, "sqlite")
	segment := regexp.MustCompile(`^([a-z]+(-[a-z]+)*|\{[a-z]+\})$`)
	lists := s.lists()
	for _, r := range s.Routes() {
		path := ""
		for word := range strings.SplitSeq(r.Pattern[1:], "/") {
			path += "/" + word
			switch {
			case r.Pattern == "/":
			case !segment.MatchString(word):
				t.Errorf("%s: %q is not lower case with hyphens, without an extension", r.Pattern, word)
			case word[0] == '{' || slices.Contains(singles, word):
			case slices.Contains(verbs, word):
				if r.Method != http.MethodPost || path != r.Pattern {
					t.Errorf("%s %s: an action is a POST at the end of a path", r.Method, r.Pattern)
				}
			case !strings.HasSuffix(word, "s") || !slices.Contains(lists, path):
				t.Errorf("%s: %q is neither a collection in the plural nor among the words with a reason", r.Pattern, word)
			}
		}
		checkScope(t, r)
	}
	if len(lists) < 8 {
		t.Errorf("got lists %v, want eight at least", lists)
	}
}

func checkScope(t *testing.T, r *resource.Route) {
	t.Helper()
	collection, _, _ := strings.Cut(r.Pattern[1:], "/")
	want := collection + ":write"
	if r.Method == http.MethodGet {
		want = collection + ":read"
	}
	switch public := slices.Contains(open, r.Pattern); {
	case r.Public != public:
		t.Errorf("%s %s: got public %v, want %v", r.Method, r.Pattern, r.Public, public)
	case public && r.Scope != "":
		t.Errorf("%s %s: public, with the scope %s", r.Method, r.Pattern, r.Scope)
	case r.Pattern == "/largefile" && r.Scope == "files:read":
	case !public && r.Scope != "admin" && r.Scope != want && !(collection == "event-types" && r.Scope == "events:read"):
		t.Errorf("%s %s: got the scope %q, want %s or admin", r.Method, r.Pattern, r.Scope, want)
	}
}

// TestMethods asks every path, on every mount, for its methods.
func TestMethods(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			s := openSurface(t, engine)
			for pattern := range s.methods {
				for _, mount := range entrances {
					s.checkMethods(mount, pattern)
				}
			}
		})
	}
}

func (s *surface) checkMethods(mount, pattern string) {
	path, methods := mount+s.example(pattern), append(slices.Clone(s.methods[pattern]), http.MethodOptions)
	if slices.Contains(methods, http.MethodGet) {
		methods = append(methods, http.MethodHead)
		s.checkHead(path)
	}
	slices.Sort(methods)
	allow := strings.Join(methods, ", ")
	nobody := caller{s.t, s.caller.url, ""}
	if got := nobody.call(http.MethodOptions, path, ""); got.status != http.StatusNoContent || got.header.Get("Allow") != allow || len(got.body) > 0 {
		s.t.Errorf("OPTIONS %s: got %s with Allow %q, want 204 with %q", path, got, got.header.Get("Allow"), allow)
	}
	for _, method := range []string{http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodPost, http.MethodTrace, "BREW"} {
		if slices.Contains(methods, method) {
			continue
		}
		got := s.call(method, path, "")
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != allow {
			s.t.Errorf("%s %s: got %s with Allow %q, want 405 with %q", method, path, got, got.header.Get("Allow"), allow)
		}
	}
	if pattern == "/" {
		return
	}
	for _, other := range []string{path + ".json", path + ".xml", path + "/", strings.ToUpper(path), mount + "/" + path[len(mount):]} {
		if got := s.call(http.MethodGet, other, ""); got.status != http.StatusNotFound || got.json()["type"] != "/problems/not-found" {
			s.t.Errorf("GET %s: got %s, want 404", other, got)
		}
	}
}

// checkHead compares HEAD with GET.
func (s *surface) checkHead(path string) {
	get, head := s.call(http.MethodGet, path, ""), s.call(http.MethodHead, path, "")
	if get.status != http.StatusOK || head.status != get.status {
		s.t.Errorf("%s: got %d for GET and %d for HEAD, want 200", path, get.status, head.status)
	}
	if len(head.body) > 0 {
		s.t.Errorf("HEAD %s: got a body", path)
	}
	for name := range get.header {
		if want, got := get.header.Get(name), head.header.Get(name); want != got && !slices.Contains([]string{"Date", "X-Request-Id", "Link", "Content-Length"}, name) {
			s.t.Errorf("HEAD %s: got %s: %q, want %q as with GET", path, name, got, want)
		}
	}
	if head.header.Get("Content-Length") == "" && !strings.HasSuffix(path, "/metrics") {
		s.t.Errorf("HEAD %s: got no Content-Length", path)
	}
}

// TestLists asks every list, on every mount, in every style.
func TestLists(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			s := openSurface(t, engine)
			for _, pattern := range s.lists() {
				for _, mount := range entrances {
					s.checkStyles(mount + s.example(pattern))
					s.checkRefusals(mount + s.example(pattern))
				}
			}
		})
	}
}

// page asks for a page and returns its items, as JSON, and the rest of it.
func (s *surface) page(path, array string) (items []string, rest map[string]any) {
	s.t.Helper()
	got := s.call(http.MethodGet, path, "", "Accept: application/json")
	rest = got.json()
	rows, ok := rest[array].([]any)
	if got.status != http.StatusOK || !ok {
		s.t.Errorf("GET %s: got %s, want 200 with an array %s", path, got, array)
	}
	for _, row := range rows {
		b, _ := json.Marshal(row)
		items = append(items, string(b))
	}
	return items, rest
}

// member follows names into an object; nil means that one is missing.
func member(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func (s *surface) checkStyles(path string) {
	expect := func(query string, rest map[string]any, want any, names ...string) {
		s.t.Helper()
		if got := member(rest, names...); got != want {
			s.t.Errorf("GET %s%s: got %v for %s, want %v", path, query, got, strings.Join(names, "."), want)
		}
	}
	_, rest := s.page(path, "data")
	expect("", rest, 20.0, "pagination", "limit")
	expect("", rest, path, "_links", "self")

	first, rest := s.page(path+"?limit=1", "data")
	expect("?limit=1", rest, 1.0, "pagination", "limit")
	expect("?limit=1", rest, true, "pagination", "has_more")
	expect("?limit=1", rest, nil, "pagination", "total")
	cursor, _ := member(rest, "pagination", "next_cursor").(string)
	next, _ := member(rest, "_links", "next").(string)
	if !strings.HasPrefix(next, path+"?") {
		s.t.Errorf("GET %s?limit=1: got the next page at %q, want it on the same mount", path, next)
	}
	second, _ := s.page(path+"?limit=1&cursor="+cursor, "data")

	offset, rest := s.page(path+"?page=1&size=1", "data")
	expect("?page=1&size=1", rest, 1.0, "pagination", "page")
	expect("?page=1&size=1", rest, 1.0, "pagination", "size")
	expect("?page=1&size=1", rest, path+"?page=1&size=1", "_links", "first")
	expect("?page=1&size=1", rest, path+"?page=2&size=1", "_links", "next")
	behind, _ := s.page(path+"?page=2&size=1", "data")
	_, rest = s.page(path+"?page=1&size=1&include_total=true", "data")
	if total, _ := member(rest, "pagination", "total").(float64); total < 2 {
		s.t.Errorf("GET %s?page=1&size=1&include_total=true: got the total %v, want two at least", path, total)
	}

	name := path[strings.LastIndex(path, "/")+1:]
	token, rest := s.page(path+"?page_size=1", name)
	after, _ := rest["next_page_token"].(string)
	last, _ := s.page(path+"?page_size=1&page_token="+after, name)

	for _, page := range [][]string{offset, token} {
		if !slices.Equal(page, first) || len(first) != 1 {
			s.t.Errorf("%s: got %v on page one, and %v in cursor style; want the same one item", path, page, first)
		}
	}
	for _, page := range [][]string{behind, last} {
		if !slices.Equal(page, second) || len(second) != 1 || slices.Equal(first, second) {
			s.t.Errorf("%s: got %v on page two, and %v in cursor style; want the same one item", path, page, second)
		}
	}
}

func (s *surface) checkRefusals(path string) {
	tests := []struct{ why, query, kind, parameter string }{
		{"a size is refused, not capped", "limit=101", "invalid-page-size", "limit"},
		{"in every style", "size=101", "invalid-page-size", "size"},
		{"in every style", "page_size=101", "invalid-page-size", "page_size"},
		{"an empty page is none", "limit=0", "invalid-page-size", "limit"},
		{"a parameter must be known", "surprise=1", "invalid-parameter", "surprise"},
		{"styles do not mix", "page=1&limit=1", "invalid-parameter", "limit"},
		{"a cursor is one of ours", "cursor=1", "invalid-cursor", ""},
		{"a token is one of ours", "page_token=1", "invalid-cursor", ""},
	}
	for _, test := range tests {
		got := s.call(http.MethodGet, path+"?"+test.query, "", "Accept: application/json")
		body := got.json()
		if !got.isProblem(http.StatusBadRequest, test.kind) || test.parameter != "" && body["parameter"] != test.parameter {
			s.t.Errorf("GET %s?%s: %s: got %s, want 400 %s", path, test.query, test.why, got, test.kind)
		}
		if detail, _ := body["detail"].(string); test.kind == "invalid-page-size" && (body["maximum"] != 100.0 || !strings.Contains(detail, "100")) {
			s.t.Errorf("GET %s?%s: got %s, want the maximum named", path, test.query, got)
		}
	}
}
