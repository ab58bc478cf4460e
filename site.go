package parley

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/parley-api/parley/console"
	"github.com/parley-api/parley/internal/eventlog"
	"github.com/parley-api/parley/internal/largefile"
	"github.com/parley-api/parley/openapi"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// A site is what a service says about itself: health, problems, versions and
// its description.
type site struct {
	app   *App
	log   *eventlog.Room
	guide http.Handler // of the documentation
	large *largefile.File

	mu           sync.Mutex
	descriptions map[string][]byte // by version and media type
}

func newSite(a *App, log *eventlog.Room) *site {
	return &site{app: a, log: log, guide: console.Docs("Parley", "/openapi"), large: largefile.New(), descriptions: make(map[string][]byte)}
}

// send answers with a small JSON document.
func (s *site) send(c *resource.Call, v any) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return c.Show(etagOf(body), body)
}

// page answers with a page for people.
func (s *site) page(c *resource.Call, p console.Page) error {
	c.W.Header().Set("Content-Security-Policy", p.CSP)
	c.Type = "text/html; charset=utf-8"
	return c.Show(etagOf(p.HTML), p.HTML)
}

func html(c *resource.Call) bool { return c.Type == "text/html" }

func (s *site) index(c *resource.Call) error {
	if html(c) {
		return s.page(c, console.Index("Parley", s.links()))
	}
	type href struct {
		Href string `json:"href"`
	}
	all := map[string]href{"self": {c.Mount + "/"}}
	for _, l := range s.links() {
		all[strings.TrimPrefix(l.Path, "/")] = href{c.Mount + l.Path}
	}
	return s.send(c, map[string]any{"_links": all})
}

// links are the places to begin.
func (s *site) links() []console.Link {
	links := []console.Link{
		{Path: "/docs", Title: "Documentation", About: "Every path, to read and to try."},
		{Path: "/openapi", Title: "Description", About: "The same for machines: OpenAPI 3.1, as JSON or YAML."},
		{Path: "/versions", Title: "Versions", About: "What is active, what retires when, and how to move on."},
		{Path: "/problems", Title: "Problems", About: "Every error, when it happens and what to do."},
	}
	rooms := slices.Clone(s.app.rooms) // the service's own come last
	slices.SortStableFunc(rooms, func(a, b *resource.Room) int {
		if a.System() == b.System() {
			return 0
		}
		if a.System() {
			return 1
		}
		return -1
	})
	for _, room := range rooms {
		links = append(links, console.Link{Path: "/" + room.Plural(), Title: resource.Title(room.Plural()), About: room.About(), Key: true})
	}
	return links
}

func (s *site) health(c *resource.Call) error {
	c.Send(http.StatusOK, "", []byte(`{"status":"ok"}`))
	return nil
}

func (s *site) ready(c *resource.Call) error {
	if err := s.app.store.Ping(c.Context()); err != nil {
		p := problem.Unavailable.New("The database does not answer.").Because(err)
		p.RetryAfter = 1
		return p
	}
	c.Send(http.StatusOK, "", []byte(`{"status":"ready"}`))
	return nil
}

// kindBody is a kind of problem as JSON.
type kindBody struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	About  string `json:"about"`
	Remedy string `json:"remedy"`
}

func bodyOf(k *problem.Kind) kindBody {
	return kindBody{k.Type(), k.Title, k.Status, k.About, k.Remedy}
}

func (s *site) problems(c *resource.Call) error {
	if html(c) {
		return s.page(c, console.Problems(problem.Kinds()))
	}
	return resource.Fixed(c, &s.app.shared, "problems", problem.Kinds(), func(dst []byte, k **problem.Kind) ([]byte, error) {
		b, err := json.Marshal(bodyOf(*k))
		return append(dst, b...), err
	})
}

func (s *site) problem(c *resource.Call) error {
	for _, k := range problem.Kinds() {
		if k.Name != c.Args[0] {
			continue
		}
		if html(c) {
			return s.page(c, console.Problem(k))
		}
		return s.send(c, bodyOf(k))
	}
	return problem.NotFound.New("There is no such kind of problem.")
}

// versionBody is a version as JSON.
type versionBody struct {
	Name       string         `json:"name"`
	Major      *int           `json:"major"`
	Status     version.Status `json:"status"`
	Released   string         `json:"released"`
	Deprecated *string        `json:"deprecated"`
	Sunset     *string        `json:"sunset"`
	Successor  *string        `json:"successor"`
	Changes    []version.Note `json:"changes"`
}

func (s *site) versionBody(v *version.Version) versionBody {
	b := versionBody{Name: v.Name, Status: v.Status(s.app.now()), Released: v.Released.Format("2006-01-02"), Changes: v.Changes}
	if v.Major >= 0 {
		b.Major = &v.Major
	}
	if !v.Deprecated.IsZero() {
		day := v.Deprecated.Format("2006-01-02")
		b.Deprecated = &day
	}
	if !v.Sunset.IsZero() {
		day := v.Sunset.Format("2006-01-02")
		b.Sunset = &day
	}
	if next := v.Successor(); next != nil {
		b.Successor = &next.Name
	}
	return b
}

func (s *site) versions(c *resource.Call) error {
	if html(c) {
		return s.page(c, console.Versions(s.app.calendar, s.app.now()))
	}
	return resource.Fixed(c, &s.app.shared, "versions", s.app.calendar.Versions(), func(dst []byte, v **version.Version) ([]byte, error) {
		b, err := json.Marshal(s.versionBody(*v))
		return append(dst, b...), err
	})
}

func (s *site) version(c *resource.Call) error {
	v := s.app.calendar.Find(c.Args[0])
	if v == nil || v.Name != c.Args[0] {
		return problem.NotFound.New("There is no such version.")
	}
	if html(c) {
		return s.page(c, console.Version(s.app.calendar, v, s.app.now()))
	}
	return s.send(c, s.versionBody(v))
}

// openapi answers with the description of the version asked for.
func (s *site) openapi(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	body, err := s.describe(c.Version, strings.HasSuffix(c.Type, "yaml"))
	if err != nil {
		return err
	}
	return c.Show(etagOf(body), body)
}

// prove builds the description of the latest version, so that a route that
// cannot be described is found at the start. The others have the same routes,
// and are built when somebody asks.
func (s *site) prove() error {
	_, err := s.describe(s.app.calendar.Latest(s.app.now()), false)
	return err
}

// describe builds a description once.
func (s *site) describe(v *version.Version, yaml bool) ([]byte, error) {
	key := v.Name + " " + string(v.Status(s.app.now())) // a deprecation changes the description
	if yaml {
		key += " yaml"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.descriptions[key]; ok {
		return b, nil
	}
	b, err := openapi.Build(openapi.Info{
		Title: "Parley", Description: "The manners of a first-rate HTTP and JSON interface.",
		Calendar: s.app.calendar, Version: v, Limits: s.app.set.limits, Kinds: problem.Kinds(), At: s.app.now(),
		Errors: s.errors(v),
	}, s.app.Routes(), s.operations()...)
	if err == nil && yaml {
		b, err = openapi.YAML(b)
	}
	if err == nil {
		s.descriptions[key] = b
	}
	return b, err
}

// operations are those of the routes that are there.
func (s *site) operations() []openapi.Operation {
	return slices.DeleteFunc(operations(), func(op openapi.Operation) bool { return op.Pattern == "/largefile" && !s.app.set.LargeFile })
}

// errors describes the error body of a version that had another.
func (s *site) errors(v *version.Version) *openapi.Media {
	if !s.app.plainErrors(v) {
		return nil
	}
	return &openapi.Media{Type: resource.TypeJSON, Schema: openapi.Schema{Name: "Error", JSON: `{"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}`}}
}

func (s *site) docs(c *resource.Call) error {
	s.guide.ServeHTTP(c.W, c.R)
	return nil
}

func (s *site) metrics(c *resource.Call) error {
	c.W.Header().Set("Cache-Control", "no-store")
	s.app.Metrics().ServeHTTP(c.W, c.R)
	return nil
}
