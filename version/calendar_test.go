package version

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// on returns a date; "" is the zero time.
func on(t testing.TB, date string) time.Time {
	t.Helper()
	if date == "" {
		return time.Time{}
	}
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// v returns a version without notes.
func v(t testing.TB, name string, major int, released, deprecated, sunset string) Version {
	t.Helper()
	return Version{Name: name, Major: major, Released: on(t, released), Deprecated: on(t, deprecated), Sunset: on(t, sunset)}
}

func mustCalendar(t testing.TB, p Policy, versions ...Version) *Calendar {
	t.Helper()
	c, err := NewCalendar(p, versions...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBuiltIn(t *testing.T) {
	c := BuiltIn()
	if got := c.Policy(); got != Public {
		t.Errorf("policy is %q, want %q", got, Public)
	}
	var names []string
	for i, v := range c.Versions() {
		names = append(names, v.String())
		if v.Index() != i {
			t.Errorf("%s has index %d, want %d", v, v.Index(), i)
		}
		if newest := i == 2; newest != (v.Successor() == nil) || newest != (len(v.Changes) == 0) {
			t.Errorf("%s has successor %v and %d notes; only the newest has neither", v, v.Successor(), len(v.Changes))
		}
		for _, n := range v.Changes {
			if n.ID == "" || n.Description == "" || n.Before == "" || n.After == "" {
				t.Errorf("%s has an incomplete note %+v", v, n)
			}
		}
	}
	if got, want := strings.Join(names, " "), "2024-11-01 2025-11-01 2026-11-01"; got != want {
		t.Errorf("versions are %s, want %s", got, want)
	}
	for _, p := range []Policy{Quarterly, Guarantee, Internal} {
		if _, err := c.Revise(p); err != nil {
			t.Errorf("under %s: %v", p, err)
		}
	}
}

// The day-by-day model knows dates as text and nothing of the code.
func TestEveryDay(t *testing.T) {
	c := BuiltIn()
	rows := []struct{ name, released, deprecated, sunset string }{
		{"2024-11-01", "2024-11-01", "2025-11-01", "2026-11-01"},
		{"2025-11-01", "2025-11-01", "2026-11-01", "2027-11-01"},
		{"2026-11-01", "2026-11-01", "9999", "9999"},
	}
	model := func(i int, day string) Status {
		switch r := rows[i]; {
		case day < r.released:
			return Upcoming
		case day < r.deprecated:
			return Active
		case day < r.sunset:
			return Deprecated
		}
		return Retired
	}
	days := 0
	for d := on(t, "2024-01-01"); d.Year() < 2029; d = d.AddDate(0, 0, 1) {
		days++
		text := d.Format(time.DateOnly)
		for _, at := range []time.Time{d, d.Add(24*time.Hour - 1), d.In(time.FixedZone("", -9*3600))} {
			latest := 0
			for i, v := range c.Versions() {
				want := model(i, text)
				if got := v.Status(at); got != want {
					t.Fatalf("%s at %s is %s, want %s", v, at, got, want)
				}
				if want != Upcoming {
					latest = i
				}
				if got := c.Serving(v, at); got != v {
					t.Fatalf("%s at %s is served by %s, want itself: it does not fall forward", v, at, got)
				}
			}
			if got := c.Latest(at).Index(); got != latest {
				t.Fatalf("latest at %s is version %d, want %d", at, got, latest)
			}
		}
	}
	if days != 1827 {
		t.Errorf("walked %d days, want 1827", days)
	}
}

func TestFind(t *testing.T) {
	c := BuiltIn()
	for _, tt := range []struct{ name, want, why string }{
		{"2024-11-01", "2024-11-01", "a name"},
		{"2026-11-01", "2026-11-01", "a name"},
		{"1", "2026-11-01", "a major"},
		{"0", "2025-11-01", "major 0 is a number as any other"},
		{"", "", "nothing is no version, not the one without a major"},
		{"-1", "", "the mark for no major is not a name"},
		{"01", "", "a number has one spelling"},
		{"v1", "", "the v belongs to paths and media types"},
		{"2", "", "not in the calendar"},
		{"2026-11-1", "", "a name is matched whole"},
	} {
		got := ""
		if v := c.Find(tt.name); v != nil {
			got = v.Name
		}
		if got != tt.want {
			t.Errorf("Find(%q) is %q, want %q: %s", tt.name, got, tt.want, tt.why)
		}
	}
}

func TestServing(t *testing.T) {
	one := v(t, "one", 1, "2020-01-01", "2021-01-01", "2022-01-01")
	two := v(t, "two", 2, "2021-01-01", "2022-01-01", "2023-01-01")
	three := v(t, "three", 3, "2022-01-01", "", "")
	one.FallForward = true
	c := mustCalendar(t, Public, three, one, two)
	for _, tt := range []struct{ version, at, want, why string }{
		{"one", "2019-06-01", "one", "upcoming"},
		{"one", "2020-06-01", "one", "active"},
		{"one", "2021-06-01", "one", "deprecated"},
		{"one", "2022-01-01", "two", "retired: the next one"},
		{"one", "2023-01-01", "three", "the next one is retired too"},
		{"two", "2023-01-01", "two", "does not fall forward itself"},
		{"three", "2030-01-01", "three", "the newest"},
	} {
		if got := c.Serving(c.Find(tt.version), on(t, tt.at)); got.Name != tt.want {
			t.Errorf("%s at %s is served by %s, want %s: %s", tt.version, tt.at, got, tt.want, tt.why)
		}
	}
	if got := c.Serving(nil, on(t, "2020-01-01")); got != nil {
		t.Errorf("Serving(nil) is %v, want nil", got)
	}
}

func TestCalendarIsACopy(t *testing.T) {
	given := []Version{v(t, "b", -1, "2021-01-01", "", ""), v(t, "a", -1, "2020-01-01", "", "")}
	given[1].Changes = []Note{{ID: "kept"}}
	c := mustCalendar(t, Public, given...)
	given[1].Name, given[1].Changes[0].ID = "x", "x"
	list := c.Versions()
	if list[0].Name != "a" || list[0].Changes[0].ID != "kept" {
		t.Errorf("the calendar changed with what it was made of: %+v", list[0])
	}
	list[0] = nil
	if c.Versions()[0] == nil {
		t.Error("the slice of Versions is the calendar's own")
	}
}

func TestConcurrentUse(t *testing.T) {
	c := BuiltIn()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 200 {
				at := on(t, "2024-01-01").AddDate(0, 0, i*8)
				choice, err := c.Choose(request("/v0/tasks?version=0", "", ""), at)
				if choice.Version == nil {
					t.Errorf("no version: %v", err)
					return
				}
				c.Announce(map[string][]string{}, choice.Version, at, choice.Mount, request("/v0/tasks", "", "").URL)
				slices.Reverse(c.Versions())
			}
		})
	}
	wg.Wait()
}
