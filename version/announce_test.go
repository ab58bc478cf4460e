package version

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/parley-api/parley/problem"
)

func TestAnnounce(t *testing.T) {
	const base = "https://api.example.com"
	deprecated := func(sunset, deprecation, successor, name string) http.Header {
		return http.Header{
			"Api-Version": {name}, "Sunset": {sunset}, "Deprecation": {deprecation},
			"Link": {"<" + successor + `>; rel="successor-version"`, "<" + base + "/versions/" + name + `>; rel="deprecation"`},
		}
	}
	for _, tt := range []struct {
		opts                      Options
		version, at, mount, where string
		want                      http.Header
		why                       string
	}{
		{Options{BaseURL: base}, "1", "2026-12-24", "/v1", "/v1/tasks", http.Header{"Api-Version": {"2026-11-01"}}, "active"},
		{Options{BaseURL: base}, "1", "2026-01-01", "", "/tasks", http.Header{"Api-Version": {"2026-11-01"}}, "upcoming"},
		{Options{BaseURL: base}, "0", "2026-10-31", "", "/tasks", http.Header{"Api-Version": {"2025-11-01"}}, "the day before it is deprecated"},
		{Options{BaseURL: base}, "0", "2026-11-01", "/v0", "/v0/tasks/7",
			deprecated("Mon, 01 Nov 2027 00:00:00 GMT", "true", base+"/v1/tasks/7", "2025-11-01"), "deprecated from this day on"},
		{Options{BaseURL: base + "/", RFC: true}, "0", "2026-11-01", "/api/2025-11-01", "/api/2025-11-01/tasks",
			deprecated("Mon, 01 Nov 2027 00:00:00 GMT", "@1793491200", base+"/v1/tasks", "2025-11-01"), "profile rfc, base with a slash, another mount"},
		{Options{BaseURL: base}, "2024-11-01", "2025-12-01", "", "/tasks?a=1&version=2024-11-01&b=2",
			deprecated("Sun, 01 Nov 2026 00:00:00 GMT", "true", base+"/v0/tasks?a=1&b=2", "2024-11-01"), "the query goes along, the version does not"},
		{Options{BaseURL: base}, "2024-11-01", "2026-12-01", "", "/tasks",
			deprecated("Sun, 01 Nov 2026 00:00:00 GMT", "true", base+"/v0/tasks", "2024-11-01"), "retired: the same"},
		{Options{BaseURL: base}, "2024-11-01", "2027-12-01", "", "/tasks",
			deprecated("Sun, 01 Nov 2026 00:00:00 GMT", "true", base+"/v1/tasks", "2024-11-01"), "the successor is retired too"},
	} {
		c := BuiltIn().Configure(&tt.opts)
		h := http.Header{}
		c.Announce(h, c.Find(tt.version), on(t, tt.at), tt.mount, request(tt.where, "", "").URL)
		if !reflect.DeepEqual(h, tt.want) {
			t.Errorf("%s at %s:\n got %q\nwant %q\n%s", tt.version, tt.at, h, tt.want, tt.why)
		}
	}
}

func TestAnnounceSuccessorWithoutMajor(t *testing.T) {
	c := mustCalendar(t, "", v(t, "2024-q1", -1, "2024-01-01", "2024-04-01", "2025-01-01"), v(t, "2024-q2", -1, "2024-04-01", "", ""))
	h := http.Header{}
	c.Announce(h, c.Find("2024-q1"), on(t, "2024-05-01"), "/2024-q1", request("/2024-q1/tasks", "", "").URL)
	want := []string{`</2024-q2/tasks>; rel="successor-version"`, `</versions/2024-q1>; rel="deprecation"`}
	if got := h["Link"]; !slices.Equal(got, want) {
		t.Errorf("Link is %q, want %q", got, want)
	}
}

func TestAnnounceKeepsOtherLinks(t *testing.T) {
	c := BuiltIn()
	for range 2 { // the second time would show what the first did to shared values
		h := http.Header{"Link": {`</tasks?cursor=x>; rel="next"`}}
		c.Announce(h, c.Find("0"), on(t, "2026-12-24"), "", request("/tasks", "", "").URL)
		h.Add("Link", `</tasks>; rel="prev"`)
		h.Add("Sunset", "x")
		h.Add("API-Version", "x")
		if len(h["Link"]) != 4 || len(h["Sunset"]) != 2 || len(h["Api-Version"]) != 2 {
			t.Errorf("headers are %q", h)
		}
	}
}

func TestRetired(t *testing.T) {
	c := BuiltIn().Configure(&Options{BaseURL: "https://api.example.com"})
	r := request("/api/2024-11-01/tasks/7?limit=2", "", "")
	choice, err := c.Choose(r, on(t, "2026-11-01"))
	if choice.Version == nil || choice.Version.Name != "2024-11-01" || choice.Path != "/tasks/7" {
		t.Errorf("the choice beside the problem is %+v", choice)
	}
	w := httptest.NewRecorder()
	problem.Write(w, r, err)
	h := w.Result().Header
	want := map[string][]string{
		"Api-Version": {"2024-11-01"},
		"Sunset":      {"Sun, 01 Nov 2026 00:00:00 GMT"},
		"Deprecation": {"true"},
		"Link": {
			`<https://api.example.com/v0/tasks/7?limit=2>; rel="successor-version"`,
			`<https://api.example.com/versions/2024-11-01>; rel="deprecation"`,
		},
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got := h[name]; !slices.Equal(got, want[name]) {
			t.Errorf("%s is %q, want %q", name, got, want[name])
		}
	}
	if w.Code != 410 {
		t.Errorf("status is %d, want 410", w.Code)
	}
}

func TestRest(t *testing.T) {
	for _, tt := range []struct{ mount, target, want, why string }{
		{"", "/tasks", "/tasks", "no mount"},
		{"/v1", "/v1/tasks", "/tasks", "a mount"},
		{"/v1", "/v1", "/", "a mount alone"},
		{"/v1", "/v1?a=1", "/?a=1", "a mount and a query"},
		{"/v1", "/v10/tasks", "/v10/tasks", "not the mount of this path"},
		{"/v1", "/tasks", "/tasks", "a path that lost its mount already"},
		{"/v1", "/%76%31/a%2Fb%20c", "/a%2Fb%20c", "an escaped mount, and escapes that stay"},
		{"/v1", "/v1%2Ftasks", "/tasks", "an escaped slash after the mount"},
		{"/v1", "/v1%2ftasks", "/tasks", "the same in lower case"},
		{"", "/a?x=<>\"é&version=1", "/a?x=%3C%3E%22%C3%A9", "a query cannot leave the Link"},
		{"", "/a>b", "/a%3Eb", "neither can a path"},
		{"", "//evil.test/x", "//evil.test/x", "only ever after the base"},
	} {
		if got := Rest(tt.mount, request(tt.target, "", "").URL); got != tt.want {
			t.Errorf("Rest(%q, %q) is %q, want %q: %s", tt.mount, tt.target, got, tt.want, tt.why)
		}
	}
	for _, u := range []url.URL{{Path: "*"}, {}} {
		if got := Rest("", &u); got != "/" {
			t.Errorf("Rest of path %q is %q, want /", u.Path, got)
		}
	}
}
