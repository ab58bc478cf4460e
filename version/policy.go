package version

import (
	"errors"
	"fmt"
	"time"
)

// A Policy is a promise about how long versions live.
type Policy string

// The policies. Months are those of the calendar: six months after 31 August
// is the last day of February.
const (
	// Public, the default: at least 6 months between deprecated and sunset.
	Public Policy = "public"
	// Quarterly: at least 12 months from release to sunset, 9 months from the
	// successor's release to sunset, 3 months from deprecated to sunset.
	Quarterly Policy = "quarterly"
	// Guarantee: at least 2 years from release to sunset; after it every
	// version falls forward to the next one that is not retired.
	Guarantee Policy = "guarantee"
	// Internal: no minimum.
	Internal Policy = "internal"
)

func (p Policy) known() bool {
	switch p {
	case Public, Quarterly, Guarantee, Internal:
		return true
	}
	return false
}

// A rule is one lower bound on a sunset date.
type rule struct {
	earliest time.Time
	why      string
}

// rules returns the bounds on the sunset of v, which has a successor and both
// dates.
func (p Policy) rules(v *Version) []rule {
	rules := []rule{
		{v.Deprecated, "a version is not retired before it is deprecated"},
		{v.next.Released, "a version is not retired before its successor is released"},
	}
	switch p {
	case Public:
		rules = append(rules, rule{months(v.Deprecated, 6), "6 months of notice from deprecated"})
	case Quarterly:
		rules = append(rules,
			rule{months(v.Released, 12), "12 months of support from its release"},
			rule{months(v.next.Released, 9), "9 months of overlap with its successor"},
			rule{months(v.Deprecated, 3), "3 months of notice from deprecated"})
	case Guarantee:
		rules = append(rules, rule{months(v.Released, 24), "2 years guaranteed from its release"})
	}
	return rules
}

// months returns the same day n months later, or the last day of that month
// where the month is shorter.
func months(t time.Time, n int) time.Time {
	later := t.AddDate(0, n, 0)
	if later.Day() != t.Day() {
		later = later.AddDate(0, 0, -later.Day())
	}
	return later
}

func (v *Version) checkName(c *Calendar) error {
	var errs []error
	if !validName(v.Name) {
		errs = append(errs, fmt.Errorf(`version %q: the name must be made of a-z, 0-9, "." and "-", begin and end with a letter or digit, and not be "api"`, v.Name))
	}
	if v.Major < -1 {
		errs = append(errs, fmt.Errorf("version %q: the major %d is negative; -1 means none", v.Name, v.Major))
	}
	for _, other := range []*Version{c.known[v.Name], c.mounts[v.Name]} {
		if other != v {
			return errors.Join(append(errs, fmt.Errorf("version %q: the name is taken by another version or its major", v.Name))...)
		}
	}
	if v.Major >= 0 && (c.known[v.number] != v || c.mounts[v.segment] != v) {
		errs = append(errs, fmt.Errorf("version %q: the major %d is taken by another version", v.Name, v.Major))
	}
	return errors.Join(errs...)
}

func validName(name string) bool {
	if name == "" || name == "api" {
		return false
	}
	for i := range len(name) {
		b := name[i]
		word := b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
		inner := i > 0 && i < len(name)-1
		if !word && !(inner && (b == '.' || b == '-')) {
			return false
		}
	}
	return true
}

func (v *Version) checkDates(p Policy) error {
	if v.Released.IsZero() {
		return fmt.Errorf("version %q: released is missing", v.Name)
	}
	for _, d := range []struct {
		name string
		at   time.Time
	}{{"released", v.Released}, {"deprecated", v.Deprecated}, {"sunset", v.Sunset}} {
		if !d.at.Equal(d.at.Truncate(24 * time.Hour)) {
			return fmt.Errorf("version %q: %s %s is not at 00:00:00 UTC", v.Name, d.name, d.at.Format(time.RFC3339))
		}
	}
	if v.next != nil && v.next.Released.Equal(v.Released) {
		return fmt.Errorf("version %q: released %s is also the release of %q; the earliest right date for one of them is %s",
			v.Name, day(v.Released), v.next.Name, day(v.Released.AddDate(0, 0, 1)))
	}
	switch {
	case v.Deprecated.IsZero() && v.Sunset.IsZero():
		return nil
	case v.Sunset.IsZero():
		return fmt.Errorf("version %q: deprecated %s has no sunset; a deprecation names the end-of-life date", v.Name, day(v.Deprecated))
	case v.Deprecated.IsZero():
		return fmt.Errorf("version %q: sunset %s has no deprecated; the end of life is announced ahead", v.Name, day(v.Sunset))
	case v.next == nil:
		return fmt.Errorf("version %q: deprecated %s and has no successor to move to", v.Name, day(v.Deprecated))
	case v.Deprecated.Before(v.Released):
		return fmt.Errorf("version %q: deprecated %s is before its release; the earliest right date is %s", v.Name, day(v.Deprecated), day(v.Released))
	}
	return v.checkSunset(p)
}

// checkSunset reports the strictest rule that the sunset breaks, so that the
// date it names is right by every rule.
func (v *Version) checkSunset(p Policy) error {
	var strictest rule
	for _, r := range p.rules(v) {
		if r.earliest.After(strictest.earliest) {
			strictest = r
		}
	}
	if !v.Sunset.Before(strictest.earliest) {
		return nil
	}
	return fmt.Errorf("version %q: sunset %s is too early (deprecated %s): %s; the earliest right date is %s",
		v.Name, day(v.Sunset), day(v.Deprecated), strictest.why, day(strictest.earliest))
}

func day(t time.Time) string { return t.Format(time.DateOnly) }
