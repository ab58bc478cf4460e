package parley_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley"
)

// A life is a version as the contract's decisions tell it; the tests work out
// from it what must happen, not from the calendar.
type life struct {
	name                         string
	major                        int // -1: none
	released, deprecated, sunset string
}

var lives = []life{
	{"2024-11-01", -1, "2024-11-01", "2025-11-01", "2026-11-01"},
	{"2025-11-01", 0, "2025-11-01", "2026-11-01", "2027-11-01"},
	{"2026-11-01", 1, "2026-11-01", "9999-12-31", "9999-12-31"},
}

// state is the state on a day, by the dates alone: they compare as texts.
func (l *life) state(day string) string {
	switch {
	case day < l.released:
		return "upcoming"
	case day < l.deprecated:
		return "active"
	case day < l.sunset:
		return "deprecated"
	}
	return "retired"
}

// successor is the name in the path of the version that a client should move
// to: the next one that is not retired.
func (l *life) successor(day string) string {
	for _, next := range lives {
		if next.name > l.name && next.state(day) != "retired" {
			return fmt.Sprintf("v%d", next.major)
		}
	}
	return ""
}

// check compares an answer with what the life says. The path is that of the
// request without its mount.
func (l *life) check(a *answer, day, path string) error {
	state := l.state(day)
	if got := a.header.Get("API-Version"); got != l.name {
		return fmt.Errorf("got API-Version: %s, want %s", got, l.name)
	}
	if gone := a.status == http.StatusGone; gone != (state == "retired") {
		return fmt.Errorf("got %d from a version that is %s", a.status, state)
	}
	links := strings.Join(a.header.Values("Link"), ", ")
	if state == "upcoming" || state == "active" {
		if a.header.Get("Sunset") != "" || a.header.Get("Deprecation") != "" || strings.Contains(links, "successor-version") {
			return fmt.Errorf("got Sunset %q, Deprecation %q, Link %q from a version that is %s", a.header.Get("Sunset"), a.header.Get("Deprecation"), links, state)
		}
		return nil
	}
	sunset, err := http.ParseTime(a.header.Get("Sunset"))
	if err != nil || sunset.Format(time.DateOnly) != l.sunset || a.header.Get("Deprecation") != "true" {
		return fmt.Errorf("got Sunset %q (%v), Deprecation %q, want %s and true", a.header.Get("Sunset"), err, a.header.Get("Deprecation"), l.sunset)
	}
	for _, want := range []string{
		"<https://api.example.com/" + l.successor(day) + path + `>; rel="successor-version"`,
		"<https://api.example.com/versions/" + l.name + `>; rel="deprecation"`,
	} {
		if !strings.Contains(links, want) {
			return fmt.Errorf("got Link: %s, want %s", links, want)
		}
	}
	return nil
}

// date is the first moment of a day.
func date(t testing.TB, day string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A carrier is one way to name a version: it changes a request for a path.
type carrier struct {
	name  string
	needs bool // a number
	apply func(r *outgoing, l *life)
}

// An outgoing is a request in the making.
type outgoing struct {
	mount, path string
	query       []string
	lines       []string
}

func (o *outgoing) head(method string) string {
	target := o.mount + o.path
	if len(o.query) > 0 {
		target += "?" + strings.Join(o.query, "&")
	}
	return strings.Join(append([]string{method + " " + target + " HTTP/1.1"}, o.lines...), "\n")
}

var carriers = []carrier{
	{"path, by number", true, func(o *outgoing, l *life) { o.mount = fmt.Sprintf("/v%d", l.major) }},
	{"path after /api, by number", true, func(o *outgoing, l *life) { o.mount = fmt.Sprintf("/api/v%d", l.major) }},
	{"path, by name", false, func(o *outgoing, l *life) { o.mount = "/" + l.name }},
	{"path after /api, by name", false, func(o *outgoing, l *life) { o.mount = "/api/" + l.name }},
	{"header, by number", true, func(o *outgoing, l *life) { o.lines = append(o.lines, fmt.Sprintf("API-Version: %d", l.major)) }},
	{"header, by name", false, func(o *outgoing, l *life) { o.lines = append(o.lines, "API-Version: "+l.name) }},
	{"api-version, by number", true, func(o *outgoing, l *life) { o.query = append(o.query, fmt.Sprintf("api-version=%d", l.major)) }},
	{"api-version, by name", false, func(o *outgoing, l *life) { o.query = append(o.query, "api-version="+l.name) }},
	{"version, by number", true, func(o *outgoing, l *life) { o.query = append(o.query, fmt.Sprintf("version=%d", l.major)) }},
	{"version, by name", false, func(o *outgoing, l *life) { o.query = append(o.query, "version="+l.name) }},
	{"Accept", true, func(o *outgoing, l *life) {
		o.lines = append(o.lines, fmt.Sprintf("Accept: application/vnd.parley.v%d+json", l.major))
	}},
}

// place is which of the four carriers a way belongs to: two ways in one place
// cannot be used at once.
func (c *carrier) place() string {
	place, _, _ := strings.Cut(strings.ReplaceAll(c.name, " after", ","), ",")
	return place
}

// able reports whether a carrier can name a version.
func (c *carrier) able(l *life) bool { return !c.needs || l.major >= 0 }

// TestCarriers names every version by every carrier, and by every two of them,
// in every state that it has in its life (spec, Version carriers, Retirement).
func TestCarriers(t *testing.T) {
	clock := &clock{frozen: true, day: today}
	svc := start(t, "sqlite", func(cfg *parley.Config) { cfg.Now = clock.now })
	addr := strings.TrimPrefix(svc.URL, "http://")
	ask(t, svc, `{"title": "One row"}`, "POST /v1/tasks HTTP/1.1", "Authorization: Bearer "+adminKey, "Content-Type: application/json")
	send := func(o *outgoing, key bool) *answer {
		t.Helper()
		if key {
			o.lines = append(o.lines, "Authorization: Bearer "+adminKey)
		}
		a, err := converse(addr, newSent(o.head("GET"), ""))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, day := range []string{"2024-05-01", "2025-05-01", "2026-05-01", "2027-05-01", "2028-05-01"} {
		clock.set(date(t, day))
		for i := range lives {
			l := &lives[i]
			for _, first := range carriers {
				if !first.able(l) {
					continue
				}
				o := &outgoing{path: "/tasks/1"}
				first.apply(o, l)
				retired := l.state(day) == "retired"
				a := send(o, !retired) // 410 is said before anybody is asked for a key
				if err := l.check(a, day, "/tasks/1"); err != nil {
					t.Errorf("%s, %s in the %s: %v", day, l.name, first.name, err)
				}
				if !retired {
					checkShape(t, l, a, o.mount)
				}
				checkPairs(t, first, l, day, send)
			}
		}
	}
}

// checkShape looks at the task and its links.
func checkShape(t *testing.T, l *life, a *answer, mount string) {
	t.Helper()
	var body struct {
		Title, Name string
		Links       map[string]struct{ Href string } `json:"_links"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil || a.status != 200 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if latest := l.name == "2026-11-01"; latest != (body.Title == "One row") || latest == (body.Name == "One row") {
		t.Errorf("%s: got %s, want its own shape", l.name, a.body)
	}
	if got, want := body.Links["self"].Href, mount+"/tasks/1"; got != want {
		t.Errorf("%s: got a link to %s, want %s", l.name, got, want)
	}
}

// checkPairs names the version a second time, by a carrier in another place,
// and then another version.
func checkPairs(t *testing.T, first carrier, l *life, day string, send func(*outgoing, bool) *answer) {
	t.Helper()
	for _, second := range carriers {
		if second.place() == first.place() {
			continue
		}
		for i := range lives {
			other := &lives[i]
			if !second.able(other) {
				continue
			}
			o := &outgoing{path: "/tasks/1"}
			first.apply(o, l)
			second.apply(o, other)
			a := send(o, true)
			if other == l {
				if err := l.check(a, day, "/tasks/1"); err != nil {
					t.Errorf("%s, %s in the %s and in the %s: %v", day, l.name, first.name, second.name, err)
				}
				continue
			}
			// While 2024-11-01 is the latest, the error has its shape.
			if got := a.problem().Type; a.status != 400 || got != "/problems/version-mismatch" && !a.plainError() {
				t.Errorf("%s, %s in the %s and %s in the %s: got %d %s, want 400 version-mismatch", day, l.name, first.name, other.name, second.name, a.status, got)
			}
		}
	}
}

// TestCarrierGarbage puts what is no version into every carrier, on every
// mount.
func TestCarrierGarbage(t *testing.T) {
	svc := start(t, "sqlite", func(cfg *parley.Config) { cfg.Now = func() time.Time { return today } })
	addr := strings.TrimPrefix(svc.URL, "http://")
	garbage := []string{"2", "01", "-1", "+1", "1.0", "v1", "latest", "2026-11-02", "2026-13-01", "2026-11-1", "20261101", "%31%20", "1%00", "%C3%A4", strings.Repeat("9", 400)}
	for _, mount := range []string{"", "/v1", "/api/v1", "/2026-11-01", "/v0"} {
		for _, g := range garbage {
			for _, tt := range []struct {
				where, kind string
				lines       []string
			}{
				{"header", "unknown-version", []string{"GET " + mount + "/tasks HTTP/1.1", "API-Version: " + g}},
				{"api-version", "unknown-version", []string{"GET " + mount + "/tasks?api-version=" + g + " HTTP/1.1"}},
				{"version", "unknown-version", []string{"GET " + mount + "/tasks?version=" + g + " HTTP/1.1"}},
			} {
				a, err := converse(addr, newSent(strings.Join(append(tt.lines, "Authorization: Bearer "+adminKey), "\n"), ""))
				if err != nil {
					t.Fatal(err)
				}
				if got := a.problem().Type; a.status != 400 || got != "/problems/"+tt.kind {
					t.Errorf("%.40q in the %s on %q: got %d %s, want 400 %s", g, tt.where, mount, a.status, got, tt.kind)
				}
				if strings.Contains(string(a.body), g) && len(g) > 2 && !strings.Contains(a.problem().Instance, g) {
					t.Errorf("%.40q in the %s is echoed: %s", g, tt.where, a.body)
				}
			}
		}
	}
	for _, tt := range []struct {
		why, line string
		status    int
	}{
		{"a number that no version has", "GET /v2/tasks", 404},
		{"a date that no version has", "GET /2026-11-02/tasks", 404},
		{"a second spelling", "GET /v01/tasks", 404},
		{"a capital", "GET /V1/tasks", 404},
		{"two mounts", "GET /v1/v1/tasks", 404},
		{"/api alone", "GET /api/tasks", 404},
		{"an escaped mount is the same path", "GET /%761/tasks", 200},
	} {
		a := ask(t, svc, "", tt.line+" HTTP/1.1", "Authorization: Bearer "+adminKey)
		if a.status != tt.status {
			t.Errorf("%s: %s: got %d, want %d", tt.why, tt.line, a.status, tt.status)
		}
	}
	for _, accept := range []string{"application/vnd.parley.v2+json", "application/vnd.parley.v0+json, application/vnd.parley.v2+json"} {
		a := ask(t, svc, "", "GET /tasks HTTP/1.1", "Authorization: Bearer "+adminKey, "Accept: "+accept)
		if got := a.problem().Type; a.status != 400 || got != "/problems/unknown-version" {
			t.Errorf("Accept %s: got %d %s, want 400 unknown-version", accept, a.status, got)
		}
	}
}

// TestLinksAnswer follows the links of deprecated and retired versions: both
// must lead somewhere (spec, Retirement).
func TestLinksAnswer(t *testing.T) {
	clock := &clock{frozen: true, day: today}
	svc := start(t, "sqlite", func(cfg *parley.Config) { cfg.Now = clock.now })
	ask(t, svc, `{"title": "One row"}`, "POST /v1/tasks HTTP/1.1", "Authorization: Bearer "+adminKey, "Content-Type: application/json")
	followed := 0
	for _, day := range []string{"2026-05-01", "2027-05-01", "2028-05-01"} {
		clock.set(date(t, day))
		for _, path := range []string{"/2024-11-01/tasks/1", "/v0/tasks/1", "/v0/tasks?limit=5", "/api/v0/tasks", "/tasks/1?version=0", "/v0/openapi", "/v0/versions"} {
			a := ask(t, svc, "", "GET "+path+" HTTP/1.1", "Authorization: Bearer "+adminKey, "Accept: application/json")
			for _, link := range strings.Split(strings.Join(a.header.Values("Link"), ", "), ", <") {
				target, rest, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
				if !strings.Contains(rest, "successor-version") && !strings.Contains(rest, "deprecation") {
					continue
				}
				followed++
				rel := strings.TrimPrefix(target, "https://api.example.com")
				if b := ask(t, svc, "", "GET "+rel+" HTTP/1.1", "Authorization: Bearer "+adminKey, "Accept: application/json"); b.status != 200 {
					t.Errorf("%s, %s: the link %s answers %d, want 200", day, path, link, b.status)
				}
			}
		}
	}
	if followed < 30 {
		t.Errorf("followed %d links, want thirty at least", followed)
	}
}
