package version

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

// request returns a GET as a server sees it; an empty header is not sent.
func request(target, header, accept string) *http.Request {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		panic(err)
	}
	r := &http.Request{Method: "GET", URL: u, Header: http.Header{}}
	if header != "" {
		r.Header.Set("API-Version", header)
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return r
}

// status is 0 for no error and panics on one that is not a problem.
func status(err error) int {
	if err == nil {
		return 0
	}
	return err.(*problem.Problem).Kind.Status
}

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		target, header, accept string
		version, mount, path   string
		why                    string
	}{
		{"/tasks", "", "", "", "", "/tasks", "no carrier"},
		{"/", "", "", "", "", "/", "no carrier, the root"},
		{"/api", "", "", "", "", "/api", "the prefix alone is no mount"},
		{"/api/tasks", "", "", "", "", "/api/tasks", "the prefix without a version is no mount"},
		{"/api/", "", "", "", "", "/api/", "the same with a slash"},
		{"/api/api/v1/tasks", "", "", "", "", "/api/api/v1/tasks", "one prefix only"},
		{"/tasks/v1", "", "", "", "", "/tasks/v1", "a version further down is none"},
		{"/versions/2026-11-01", "", "", "", "", "/versions/2026-11-01", "the version resource"},

		{"/v1/tasks", "", "", "2026-11-01", "/v1", "/tasks", "major in the path"},
		{"/v0/tasks/7", "", "", "2025-11-01", "/v0", "/tasks/7", "major 0 in the path"},
		{"/api/v1/tasks", "", "", "2026-11-01", "/api/v1", "/tasks", "major after the prefix"},
		{"/2026-11-01/tasks", "", "", "2026-11-01", "/2026-11-01", "/tasks", "name in the path"},
		{"/api/2025-11-01/tasks", "", "", "2025-11-01", "/api/2025-11-01", "/tasks", "name after the prefix"},
		{"/v1", "", "", "2026-11-01", "/v1", "/", "nothing after the mount"},
		{"/api/v1", "", "", "2026-11-01", "/api/v1", "/", "nothing after the longer mount"},
		{"/v1/", "", "", "2026-11-01", "/v1", "/", "the root of a mount"},
		{"/v1//tasks", "", "", "2026-11-01", "/v1", "//tasks", "the rest is the router's"},
		{"/v1/v0/tasks", "", "", "2026-11-01", "/v1", "/v0/tasks", "one mount only"},
		{"/%76%31/a%2Fb", "", "", "2026-11-01", "/v1", "/a/b", "paths are matched decoded"},

		{"/v01/tasks", "", "", "", "", "/v01/tasks", "leading zero: not a version"},
		{"/v00/tasks", "", "", "", "", "/v00/tasks", "leading zero of zero"},
		{"/V1/tasks", "", "", "", "", "/V1/tasks", "upper case: not a version"},
		{"/v1.0/tasks", "", "", "", "", "/v1.0/tasks", "a point: not a version"},
		{"/v1.json", "", "", "", "", "/v1.json", "a format extension"},
		{"/v/tasks", "", "", "", "", "/v/tasks", "no number"},
		{"/v-1/tasks", "", "", "", "", "/v-1/tasks", "the mark for no major"},
		{"/1/tasks", "", "", "", "", "/1/tasks", "a bare number is no mount"},
		{"/2026-11-0/tasks", "", "", "", "", "/2026-11-0/tasks", "not a date"},

		{"/tasks", "1", "", "2026-11-01", "", "/tasks", "major in the header"},
		{"/tasks", " 2025-11-01\t", "", "2025-11-01", "", "/tasks", "name in the header, with blanks"},
		{"/tasks?version=1", "", "", "2026-11-01", "", "/tasks", "short parameter"},
		{"/tasks?a=b&api-version=2025-11-01&c", "", "", "2025-11-01", "", "/tasks", "long parameter among others"},
		{"/tasks?api-version=1&version=2026-11-01", "", "", "2026-11-01", "", "/tasks", "both parameters agree"},
		{"/tasks?%76ersion=%31", "", "", "2026-11-01", "", "/tasks", "an escaped parameter is the parameter"},
		{"/tasks?Version=1&conversion=2&version-x=3&versions=4", "", "", "", "", "/tasks", "other parameters that look alike"},
		{"/tasks?%zz=1&a=%zz", "", "", "", "", "/tasks", "bad escapes elsewhere are not ours"},
		{"/v1/tasks?version=1", "2026-11-01", "application/vnd.parley.v1+json", "2026-11-01", "/v1", "/tasks", "four carriers agree"},
	} {
		choice, err := BuiltIn().Choose(request(tt.target, tt.header, tt.accept), on(t, "2026-12-24"))
		if err != nil {
			t.Errorf("%s: %v (%s)", tt.target, err, tt.why)
			continue
		}
		got := ""
		if choice.Version != nil {
			got = choice.Version.Name
		}
		if got != tt.version || choice.Mount != tt.mount || choice.Path != tt.path || choice.Named != choice.Version {
			t.Errorf("%s: version %q, mount %q, path %q, want %q, %q, %q: %s",
				tt.target, got, choice.Mount, choice.Path, tt.version, tt.mount, tt.path, tt.why)
		}
	}
}

func TestChooseByAccept(t *testing.T) {
	for _, tt := range []struct {
		accept  []string
		version string
		why     string
	}{
		{[]string{"application/vnd.parley.v1+json"}, "2026-11-01", "alone"},
		{[]string{"text/html, application/vnd.parley.v0+json ; q=0.5, */*;q=0.1"}, "2025-11-01", "in a list, any weight"},
		{[]string{"text/html", "application/vnd.parley.v1+json"}, "2026-11-01", "on a second line"},
		{[]string{"Application/VND.Parley.V1+JSON"}, "2026-11-01", "media types know no case"},
		{[]string{"application/vnd.parley.v1+json, application/vnd.parley.v0+json;q=0"}, "2026-11-01", "weight 0 is a refusal"},
		{[]string{"application/vnd.parley.v1+json, application/vnd.parley.v7+json;Q=0.000"}, "2026-11-01", "a refusal of one unknown"},
		{[]string{"application/vnd.parley.v1+json;q=0"}, "", "only refused"},
		{[]string{`text/plain;x=",application/vnd.parley.v7+json,"`}, "", "inside a quoted string"},
		{[]string{`text/plain;x="\",application/vnd.parley.v7+json"`}, "", "inside a quoted string with a quote"},
		{[]string{`application/vnd.parley.v1+json;x=";q=0"`}, "2026-11-01", "a weight inside a quoted string is none"},
		{[]string{"application/vnd.parley.v1+json;q=0.x"}, "2026-11-01", "a malformed weight is content negotiation's matter"},
		{[]string{"application/vnd.parley.v1+xml"}, "", "another format"},
		{[]string{"application/vnd.parley.video+json"}, "", "another type of the vendor"},
		{[]string{"application/vnd.parley.v+json"}, "", "no number"},
		{[]string{"application/vnd.other.v7+json"}, "", "another vendor"},
		{[]string{"application/json", "*/*", ""}, "", "plain ranges"},
	} {
		r := request("/tasks", "", "")
		r.Header["Accept"] = tt.accept
		choice, err := BuiltIn().Choose(r, on(t, "2026-12-24"))
		if err != nil {
			t.Errorf("%q: %v (%s)", tt.accept, err, tt.why)
			continue
		}
		got := ""
		if choice.Version != nil {
			got = choice.Version.Name
		}
		if got != tt.version || choice.ByAccept != (tt.version != "") {
			t.Errorf("%q: %q (by Accept: %v), want %q: %s", tt.accept, got, choice.ByAccept, tt.version, tt.why)
		}
	}
}

func TestChooseRefuses(t *testing.T) {
	known := []string{"2024-11-01", "2025-11-01", "0", "2026-11-01", "1"}
	for _, tt := range []struct {
		target, header, accept string
		kind                   *problem.Kind
		parameter              string
		why                    string
	}{
		{"/v7/tasks", "", "", problem.NotFound, "", "unknown major in the path"},
		{"/api/v7/tasks", "", "", problem.NotFound, "", "unknown major after the prefix"},
		{"/v7", "", "", problem.NotFound, "", "unknown major alone"},
		{"/v99999999999999999999/tasks", "", "", problem.NotFound, "", "a major no integer holds"},
		{"/2020-01-01/tasks", "", "", problem.NotFound, "", "unknown date in the path"},
		{"/api/2020-01-01/tasks", "", "", problem.NotFound, "", "unknown date after the prefix"},
		{"/v7/tasks", "9", "", problem.NotFound, "", "the path comes first"},

		{"/tasks", "7", "", problem.UnknownVersion, "API-Version", "unknown major"},
		{"/tasks", "v1", "", problem.UnknownVersion, "API-Version", "no such name"},
		{"/tasks", "01", "", problem.UnknownVersion, "API-Version", "leading zero"},
		{"/v1/tasks", "7", "", problem.UnknownVersion, "API-Version", "unknown beside a known one"},
		{"/tasks?version=2020-01-01", "", "", problem.UnknownVersion, "version", "unknown date"},
		{"/tasks?api-version=1;x", "", "", problem.UnknownVersion, "api-version", "a semicolon does not separate"},
		{"/tasks?version=%zz", "", "", problem.UnknownVersion, "version", "a bad escape"},
		{"/tasks?version=+1", "", "", problem.UnknownVersion, "version", "a blank belongs to the value"},
		{"/tasks", "", "application/vnd.parley.v7+json", problem.UnknownVersion, "Accept", "unknown major"},
		{"/tasks", "", "application/vnd.parley.v01+json", problem.UnknownVersion, "Accept", "leading zero"},
		{"/tasks", "", "application/vnd.parley.v2026-11-01+json", problem.UnknownVersion, "Accept", "a media type has majors only"},

		{"/v1/tasks", "0", "", problem.VersionMismatch, "API-Version", "path and header"},
		{"/v1/tasks?version=0", "", "", problem.VersionMismatch, "version", "path and query"},
		{"/v1/tasks", "", "application/vnd.parley.v0+json", problem.VersionMismatch, "Accept", "path and Accept"},
		{"/tasks?version=0", "1", "", problem.VersionMismatch, "version", "header and query"},
		{"/tasks", "1", "application/vnd.parley.v0+json", problem.VersionMismatch, "Accept", "header and Accept"},
		{"/tasks?version=1", "", "application/vnd.parley.v0+json", problem.VersionMismatch, "Accept", "query and Accept"},
		{"/tasks?version=1&api-version=0", "", "", problem.VersionMismatch, "api-version", "the two parameters"},
		{"/tasks", "", "application/vnd.parley.v0+json, application/vnd.parley.v1+json", problem.VersionMismatch, "Accept", "two ranges"},
		{"/2024-11-01/tasks", "1", "", problem.VersionMismatch, "API-Version", "one of them retired: the request is wrong first"},

		{"/tasks", " ", "", problem.BadRequest, "API-Version", "empty"},
		{"/tasks", "1, 1", "", problem.BadRequest, "API-Version", "repeated, joined by a proxy"},
		{"/tasks?version=", "", "", problem.InvalidParameter, "version", "empty"},
		{"/tasks?a&api-version", "", "", problem.InvalidParameter, "api-version", "empty, without the equals sign"},
		{"/tasks?version=1&version=1", "", "", problem.InvalidParameter, "version", "repeated"},
		{"/tasks?api-version=1&api%2Dversion=1", "", "", problem.InvalidParameter, "api-version", "repeated in another spelling"},
	} {
		_, err := BuiltIn().Choose(request(tt.target, tt.header, tt.accept), on(t, "2026-12-24"))
		p, ok := err.(*problem.Problem)
		if !ok || p.Kind != tt.kind || p.Parameter != tt.parameter {
			t.Errorf("%s, %q, %q: %+v, want %s with parameter %q: %s", tt.target, tt.header, tt.accept, err, tt.kind.Name, tt.parameter, tt.why)
			continue
		}
		if want := tt.kind == problem.UnknownVersion; want != slices.Equal(p.Allowed, known) {
			t.Errorf("%s: allowed is %q: %s", tt.target, p.Allowed, tt.why)
		}
	}
	r := request("/tasks", "", "")
	r.Header["Api-Version"] = []string{"1", "1"}
	if _, err := BuiltIn().Choose(r, on(t, "2026-12-24")); !errors.Is(err, problem.BadRequest.New("")) {
		t.Errorf("header on two lines: %v, want a bad request", err)
	}
}

// Every carrier, in every state of the version that it names.
func TestChooseByState(t *testing.T) {
	carriers := []struct{ target, header, accept string }{
		{"/v0/tasks", "", ""}, {"/api/v0/tasks", "", ""}, {"/2025-11-01/tasks", "", ""}, {"/api/2025-11-01/tasks", "", ""},
		{"/tasks", "0", ""}, {"/tasks", "2025-11-01", ""},
		{"/tasks?version=0", "", ""}, {"/tasks?api-version=2025-11-01", "", ""},
		{"/tasks", "", "application/vnd.parley.v0+json"},
	}
	yes := true
	forward, err := BuiltIn().Move(Move{Name: "2025-11-01", FallForward: &yes})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at     string
		status Status
	}{
		{"2025-10-31", Upcoming}, {"2025-11-01", Active}, {"2026-10-31", Active},
		{"2026-11-01", Deprecated}, {"2027-10-31", Deprecated}, {"2027-11-01", Retired},
	} {
		for _, r := range carriers {
			for _, c := range []*Calendar{BuiltIn(), forward} {
				at := on(t, tt.at)
				choice, err := c.Choose(request(r.target, r.header, r.accept), at)
				named, serving, code := c.Find("0"), c.Find("0"), 0
				if tt.status == Retired && c == forward {
					serving = c.Find("1")
				} else if tt.status == Retired {
					code = 410
				}
				if status(err) != code || choice.Named != named || choice.Version != serving || choice.Path != "/tasks" {
					t.Errorf("%+v at %s: %+v, %v; want %s served by %s, status %d", r, tt.at, choice, err, named, serving, code)
				}
			}
		}
	}
}

func TestChooseOtherVendor(t *testing.T) {
	c := BuiltIn().Configure(&Options{Vendor: "acme"})
	at := on(t, "2026-12-24")
	if choice, err := c.Choose(request("/", "", "application/vnd.acme.v1+json"), at); err != nil || !choice.ByAccept {
		t.Errorf("own vendor: %+v, %v", choice, err)
	}
	if choice, err := c.Choose(request("/", "", "application/vnd.parley.v1+json"), at); err != nil || choice.Version != nil {
		t.Errorf("another vendor: %+v, %v", choice, err)
	}
	if choice, err := c.Configure(nil).Choose(request("/", "", "application/vnd.parley.v1+json"), at); err != nil || !choice.ByAccept {
		t.Errorf("nil options: %+v, %v", choice, err)
	}
}

func TestChooseOddTargets(t *testing.T) {
	for _, path := range []string{"", "*", "/"} {
		r := &http.Request{Method: "OPTIONS", URL: &url.URL{Path: path}, Header: http.Header{}}
		if choice, err := BuiltIn().Choose(r, on(t, "2026-12-24")); err != nil || choice != (Choice{Path: path}) {
			t.Errorf("path %q: %+v, %v; want it untouched", path, choice, err)
		}
	}
}

var (
	mountModel  = regexp.MustCompile(`^(?:/api)?/(?:v(0|[1-9]\d*)|(\d{4}-\d{2}-\d{2}))(?s:/.*)?$`)
	vendorModel = regexp.MustCompile(`^(?i:application/vnd\.parley\.v)((?s:[0-9].*))(?i:\+json)$`)
	weightModel = regexp.MustCompile(`^[qQ](?:=|$)`)
	zeroModel   = regexp.MustCompile(`^[qQ]=0(?:\.0*)?$`)
	fieldModel  = regexp.MustCompile(`^/[!$%&'()*+,;=:@?~./_0-9A-Za-z\[\]-]*$`)
)

// model is Choose by regular expressions and maps: the name of the version, or
// the status of the error.
func model(u *url.URL, header, accept string) string {
	names := map[string]string{
		"2024-11-01": "2024-11-01", "2025-11-01": "2025-11-01", "2026-11-01": "2026-11-01",
		"0": "2025-11-01", "1": "2026-11-01",
	}
	var named []string // "" for one that does not exist
	if m := mountModel.FindStringSubmatch(u.Path); m != nil {
		if names[m[1]+m[2]] == "" {
			return "404"
		}
		named = append(named, names[m[1]+m[2]])
	}
	if header != "" {
		named = append(named, names[strings.Trim(header, " \t")])
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		key, value, _ := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(key)
		if err != nil || key != "version" && key != "api-version" {
			continue
		}
		if seen[key] {
			return "400"
		}
		seen[key] = true
		value, _ = url.QueryUnescape(value)
		named = append(named, names[value])
	}
	for element := range strings.SplitSeq(accept, ",") {
		parts := strings.Split(element, ";")
		for i := range parts {
			parts[i] = strings.Trim(parts[i], " \t")
		}
		m := vendorModel.FindStringSubmatch(parts[0])
		q := slices.IndexFunc(parts[1:], weightModel.MatchString)
		switch {
		case m == nil || q >= 0 && zeroModel.MatchString(parts[1+q]):
		case len(m[1]) == 1:
			named = append(named, names[m[1]])
		default:
			named = append(named, "")
		}
	}
	switch named = slices.Compact(named); {
	case len(named) == 0:
		return ""
	case len(named) > 1 || named[0] == "":
		return "400"
	case named[0] == "2024-11-01":
		return "410"
	}
	return named[0]
}

func FuzzChoose(f *testing.F) {
	for _, s := range []struct{ path, header, query, accept string }{
		{"/tasks", "", "", "*/*"},
		{"/v1/tasks", "1", "version=1&api-version=2026-11-01", "application/vnd.parley.v1+json"},
		{"/api/v7", "2024-11-01", "version", "application/vnd.parley.v0+json;q=0.00, a/b"},
		{"/api/2025-11-01/a%2Fb", " 0", "%76ersion=%30&x=<>", "Application/Vnd.Parley.V0+Json"},
		{"//v1", ",", "&&version=1&", ";,;q"},
		{"/v01", "01", "version=01", "application/vnd.parley.v01+json"},
		{"/%2Fv1%2F", "\x00", "version=1;version=2", "application/vnd.parley.v1+json;x=q=0;q=0"},
	} {
		f.Add(s.path, s.header, s.query, s.accept)
	}
	c := BuiltIn().Configure(&Options{BaseURL: "https://a.test"})
	at := on(f, "2026-12-24")
	f.Fuzz(func(t *testing.T, path, header, query, accept string) {
		u, err := url.ParseRequestURI("/" + strings.TrimPrefix(path, "/") + "?" + query)
		if err != nil {
			return
		}
		r := &http.Request{Method: "GET", URL: u, Header: http.Header{}}
		if header != "" {
			r.Header["Api-Version"] = []string{header}
		}
		r.Header["Accept"] = []string{accept}
		choice, err := c.Choose(r, at)
		got := ""
		if err != nil {
			got = strconv.Itoa(status(err))
		} else if choice.Version != nil {
			got = choice.Version.Name
		}
		if choice.Path == "" || choice.Path[0] != '/' ||
			choice.Mount+choice.Path != u.Path && choice.Mount+choice.Path != u.Path+"/" {
			t.Errorf("path %q became %q and %q", u.Path, choice.Mount, choice.Path)
		}
		if !strings.Contains(accept, `"`) { // the model does not know quoted strings
			if want := model(u, header, accept); got != want {
				t.Errorf("path %q, header %q, query %q, accept %q: got %q, want %q", u.Path, header, u.RawQuery, accept, got, want)
			}
		}
		rest := Rest(choice.Mount, u)
		if !fieldModel.MatchString(rest) {
			t.Errorf("the rest of %q is not fit for a header: %q", u, rest)
		}
		if back, err := url.ParseRequestURI(rest); err != nil || back.Path != choice.Path {
			t.Errorf("the rest of %q is %q, whose path is not %q: %v", u, rest, choice.Path, err)
		} else if q, _ := url.ParseQuery(back.RawQuery); q.Has("version") || q.Has("api-version") {
			t.Errorf("the rest of %q still names the version: %q", u, rest)
		}
	})
}

func plainRequest() *http.Request {
	r := request("/tasks/42?limit=20&status=done", "", "application/json, text/plain;q=0.9, */*;q=0.1")
	r.Header.Set("Authorization", "Bearer x")
	r.Header.Set("User-Agent", "test")
	return r
}

func TestPlainRequestAllocatesNothing(t *testing.T) {
	c, at, r, h := BuiltIn(), on(t, "2026-12-24"), plainRequest(), http.Header{"Api-Version": nil}
	if n := testing.AllocsPerRun(100, func() { serve(t, c, r, h, at) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func serve(t testing.TB, c *Calendar, r *http.Request, h http.Header, at time.Time) {
	choice, err := c.Choose(r, at)
	if err != nil {
		t.Fatal(err)
	}
	v := choice.Version
	if v == nil {
		v = c.Latest(at)
	}
	c.Announce(h, v, at, choice.Mount, r.URL)
}

func BenchmarkPlain(b *testing.B) {
	c, at, r, h := BuiltIn(), on(b, "2026-12-24"), plainRequest(), http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		serve(b, c, r, h, at)
	}
}

func BenchmarkMount(b *testing.B) {
	c, at, r, h := BuiltIn(), on(b, "2026-12-24"), request("/api/v1/tasks", "", "*/*"), http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		serve(b, c, r, h, at)
	}
}

func BenchmarkDeprecated(b *testing.B) {
	c, at, r := BuiltIn(), on(b, "2026-12-24"), request("/v0/tasks?limit=20", "", "*/*")
	h := http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		delete(h, "Link")
		serve(b, c, r, h, at)
	}
}
