package version

import (
	"strings"
	"testing"
	"time"
)

// Each case is a version "old" with a successor "new", so that one line says
// everything about it.
func TestPolicies(t *testing.T) {
	for _, tt := range []struct {
		policy                               Policy
		released, successor, deprecated, end string
		earliest                             string // "" where the calendar is right
		why                                  string
	}{
		{"", "2024-01-01", "2025-01-01", "2025-01-01", "2025-07-01", "", "public is the default, 6 months to the day"},
		{"", "2024-01-01", "2025-01-01", "2025-01-01", "2025-06-30", "2025-07-01", "a day less than 6 months"},
		{Public, "2024-01-01", "2025-01-01", "2025-08-31", "2026-02-28", "", "6 months after 31 August is the end of February"},
		{Public, "2024-01-01", "2025-01-01", "2025-08-31", "2026-02-27", "2026-02-28", "a day before it"},
		{Public, "2024-01-01", "2025-01-01", "2023-01-01", "2025-07-01", "2024-01-01", "deprecated before its release"},
		{Public, "2024-01-01", "2026-01-01", "2025-01-01", "2025-12-31", "2026-01-01", "retired before the successor is there"},
		{Public, "2024-01-01", "2025-01-01", "2025-06-01", "2025-05-01", "2025-12-01", "deprecated after sunset"},
		{Public, "2024-01-01", "2025-01-01", "", "", "", "nothing announced"},

		{Quarterly, "2025-01-01", "2025-04-01", "2025-10-01", "2026-01-01", "", "12, 9 and 3 months to the day"},
		{Quarterly, "2025-01-01", "2025-03-01", "2025-09-01", "2025-12-31", "2026-01-01", "a day less than 12 months of support"},
		{Quarterly, "2025-01-01", "2025-05-01", "2025-10-01", "2026-01-31", "2026-02-01", "a day less than 9 months of overlap"},
		{Quarterly, "2025-01-01", "2025-04-01", "2025-11-01", "2026-01-31", "2026-02-01", "a day less than 3 months of notice"},
		{Quarterly, "2025-01-01", "2025-06-01", "2025-11-01", "2025-12-01", "2026-03-01", "all three broken: the date is right by each"},

		{Guarantee, "2024-01-01", "2025-01-01", "2025-12-31", "2026-01-01", "", "2 years to the day, whatever the notice"},
		{Guarantee, "2024-01-01", "2025-01-01", "2025-01-01", "2025-12-31", "2026-01-01", "a day less than 2 years"},
		{Guarantee, "2024-02-29", "2025-01-01", "2025-01-01", "2026-02-28", "", "2 years after a leap day"},

		{Internal, "2024-01-01", "2024-01-02", "2024-01-02", "2024-01-02", "", "no minimum"},
		{Internal, "2024-01-01", "2024-01-02", "2024-01-03", "2024-01-02", "2024-01-03", "but not before it is deprecated"},
	} {
		c, err := NewCalendar(tt.policy,
			v(t, "new", 1, tt.successor, "", ""), v(t, "old", 0, tt.released, tt.deprecated, tt.end))
		switch {
		case tt.earliest == "" && err != nil:
			t.Errorf("%s %s: %v, want no error", tt.policy, tt.why, err)
		case tt.earliest == "":
			if want := tt.policy == Guarantee; c.Find("0").FallForward != want {
				t.Errorf("%s %s: falls forward %v, want %v", tt.policy, tt.why, !want, want)
			}
		case err == nil:
			t.Errorf("%s %s: no error", tt.policy, tt.why)
		default:
			for _, part := range []string{`version "old"`, "earliest right date is " + tt.earliest} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s %s: error %q lacks %q", tt.policy, tt.why, err, part)
				}
			}
			if !strings.Contains(err.Error(), tt.deprecated) || !strings.Contains(err.Error(), tt.end) && tt.earliest != tt.released {
				t.Errorf("%s %s: error %q does not name the wrong date", tt.policy, tt.why, err)
			}
		}
	}
}

func TestNewCalendarRefuses(t *testing.T) {
	good := v(t, "good", 1, "2024-01-01", "", "")
	named := func(name string) []Version { return []Version{good, v(t, name, -1, "2025-01-01", "", "")} }
	for _, tt := range []struct {
		policy   Policy
		versions []Version
		want     string
		why      string
	}{
		{"", nil, "at least one", "no version at all"},
		{"forever", []Version{good}, "unknown policy", "a policy nobody knows"},
		{"", named(""), "name must", "no name"},
		{"", named("2025_01"), "name must", "underscore"},
		{"", named("Spring"), "name must", "upper case"},
		{"", named("a/b"), "name must", "a slash would end the segment"},
		{"", named("é"), "name must", "not ASCII"},
		{"", named(".."), "name must", "a path would climb"},
		{"", named("-1"), "name must", "begins with a hyphen"},
		{"", named("a."), "name must", "ends with a dot"},
		{"", named("api"), "name must", "the prefix of mounts"},
		{"", named("good"), "name is taken", "the same name"},
		{"", named("1"), "name is taken", "another version's major"},
		{"", named("v1"), "name is taken", "another version's mount"},
		{"", []Version{v(t, "v1", -1, "2023-01-01", "", ""), good}, "major 1 is taken", "an older name in the way of a major"},
		{"", []Version{good, v(t, "b", 1, "2025-01-01", "", "")}, "major 1 is taken", "the same major"},
		{"", []Version{v(t, "b", -2, "2025-01-01", "", "")}, "negative", "a negative major"},
		{"", []Version{v(t, "b", 2, "", "", "")}, "released is missing", "no release"},
		{"", []Version{good, v(t, "b", 2, "2024-01-01", "", "")}, "also the release", "no order between them"},
		{"", []Version{{Name: "b", Released: time.Date(2024, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))}}, "not at 00:00:00 UTC", "midnight somewhere else"},
		{"", []Version{v(t, "b", 0, "2023-01-01", "2024-01-01", ""), good}, "has no sunset", "deprecated without an end"},
		{"", []Version{v(t, "b", 0, "2023-01-01", "", "2024-01-01"), good}, "has no deprecated", "an end nobody announced"},
		{"", []Version{v(t, "b", 0, "2023-01-01", "2024-01-01", "2025-01-01")}, "no successor", "nowhere to move to"},
	} {
		if _, err := NewCalendar(tt.policy, tt.versions...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.why, err, tt.want)
		}
	}
}

func TestNewCalendarNamesEveryError(t *testing.T) {
	_, err := NewCalendar("", v(t, "A", 0, "2023-01-01", "2024-01-01", ""), v(t, "b", 0, "2024-01-01", "", ""))
	for _, want := range []string{`"A": the name`, `"A": deprecated`, `"b": the major 0`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %s", err, want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"2026-q3", "2026", "2026.11", "spring-2026", "v9", "a"} {
		c := mustCalendar(t, "", v(t, name, 3, "2024-01-01", "", ""))
		for _, path := range []string{"/" + name + "/tasks", "/api/" + name + "/tasks", "/v3/tasks"} {
			choice, err := c.Choose(request(path, name, ""), on(t, "2025-01-01"))
			if err != nil || choice.Version == nil || choice.Path != "/tasks" {
				t.Errorf("%s: %+v, %v; want version %s and path /tasks", path, choice, err, name)
			}
		}
	}
}
