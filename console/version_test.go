package console_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/console"
	"github.com/parley-api/parley/version"
)

func on(t *testing.T, date string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestVersions(t *testing.T) {
	page := console.Versions(version.BuiltIn(), today)
	has(t, page, "deprecated for at least 6 months", "<svg", "</svg>",
		`href="/versions/2026-11-01"`, `badge active">active`, `badge latest">latest`, "No end is announced.",
		`<time datetime="2026-11-01">1 November 2026</time>`, "not announced", "/v1/", "none",
		`href="/versions/2025-11-01"`, `badge deprecated">deprecated`, "351 days left",
		`<time datetime="2027-11-01">1 November 2027</time>`, `href="/versions/2026-11-01"`,
		`href="/versions/2024-11-01"`, `badge retired">retired`, "Retired 14 days ago.", "410 Gone")
}

func TestPromise(t *testing.T) {
	for _, tt := range []struct {
		policy version.Policy
		want   string
		why    string
	}{
		{version.Public, "at least 6 months", "the default"},
		{version.Quarterly, "at least 12 months", "quarterly"},
		{version.Guarantee, "at least 2 years", "guarantee"},
		{version.Internal, "announced with its date", "nothing is promised"},
	} {
		c, err := version.NewCalendar(tt.policy, version.Version{Name: "a", Major: 1, Released: on(t, "2026-01-01")})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(tt.why, func(t *testing.T) { has(t, console.Versions(c, today), tt.want) })
	}
}

func TestVersion(t *testing.T) {
	c := version.BuiltIn()
	for _, tt := range []struct {
		name, at    string
		want, never []string
		why         string
	}{
		{"2026-11-01", "2026-11-15",
			[]string{"<h1>Version 2026-11-01</h1>", "active", "latest", "The latest version", "14 days ago", "/v1/…", "API-Version: 1", "This is the newest version.", "/versions/2025-11-01#migration"},
			[]string{"Before, in", "410"}, "the newest: nothing to move to, and the guide that leads to it"},
		{"2026-11-01", "2026-10-31",
			[]string{"upcoming", "released in 1 day", "only a request that names it"},
			[]string{"badge latest"}, "not released yet"},
		{"2025-11-01", "2026-11-15",
			[]string{"deprecated", "351 days left", "Move to <a href=\"/versions/2026-11-01\">", "Migration guide to 2026-11-01", "2 changes must be made",
				`id="task-name-title"`, "Before, in 2025-11-01", "{&#34;name&#34;: &#34;&lt;text&gt;&#34;}", "After, in 2026-11-01", "title", `id="task-done-status"`},
			[]string{"410", "has a successor itself"}, "deprecated: days left, and the guide"},
		{"2025-11-01", "2026-10-31",
			[]string{"active", "latest", "It will be deprecated in 1 day"},
			[]string{"days left"}, "its end is announced and has not begun"},
		{"2024-11-01", "2026-11-15",
			[]string{"retired", "Retired 14 days ago.", `<a href="/problems/version-retired">410 Gone</a>`, "Move to <a href=\"/versions/2025-11-01\">", "1 change must be made", "2025-11-01 has a successor itself", "/versions/2025-11-01#migration"},
			[]string{"Coming from", "/v-1"}, "retired, without a major, and the oldest"},
		{"2024-11-01", "2027-11-01",
			[]string{"Move to <a href=\"/versions/2026-11-01\">", "Migration guide to 2025-11-01"},
			nil, "its successor is retired too: move on to the one that lives"},
		{"2025-11-01", "2027-11-01",
			[]string{"Retired today."}, nil, "the first day of the end"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			page := console.Version(c, c.Find(tt.name), on(t, tt.at))
			has(t, page, tt.want...)
			lacks(t, page, tt.never...)
		})
	}
}

func TestVersionFallsForward(t *testing.T) {
	yes := true
	c, err := version.BuiltIn().Move(version.Move{Name: "2024-11-01", FallForward: &yes})
	if err != nil {
		t.Fatal(err)
	}
	page := console.Version(c, c.Find("2024-11-01"), today)
	has(t, page, "served by 2025-11-01")
	lacks(t, page, "410")
}

func TestVersionWithoutChanges(t *testing.T) {
	c, err := version.NewCalendar("",
		version.Version{Name: "a", Major: 1, Released: on(t, "2025-01-01")},
		version.Version{Name: "b", Major: 2, Released: on(t, "2026-01-01")})
	if err != nil {
		t.Fatal(err)
	}
	has(t, console.Version(c, c.Find("a"), today), "Supported. No end is announced.", "Nothing needs to be changed")
}

// A calendar of any length has a drawing that stays within its frame.
func TestTimeline(t *testing.T) {
	var versions []version.Version
	for year := range 20 {
		versions = append(versions, version.Version{Name: on(t, "2010-03-01").AddDate(year, 0, 0).Format("2006"), Major: year, Released: on(t, "2010-03-01").AddDate(year, 0, 0)})
	}
	c, err := version.NewCalendar("", versions...)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"2000-01-01", "2010-03-01", "2020-06-01", "2060-01-01"} {
		for _, e := range parse(t, console.Versions(c, on(t, at)).HTML) {
			for _, name := range []string{"x", "x1", "width"} {
				value, ok := e.attr[name]
				if !ok || e.name == "svg" {
					continue
				}
				if share := percent(t, value); share < 0 || share > 100 {
					t.Errorf("at %s: %s of <%s> is %s", at, name, e.name, value)
				}
			}
		}
	}
}

func percent(t *testing.T, value string) float64 {
	t.Helper()
	share, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
	if err != nil {
		t.Fatalf("%q is not a percentage", value)
	}
	return share
}
