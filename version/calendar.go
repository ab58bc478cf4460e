package version

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A Version is one version of the whole API. Fill in the exported fields and
// hand it to [NewCalendar]; one that comes out of a calendar must not be
// changed. Dates are at 00:00:00 UTC.
type Version struct {
	Name  string // lower-case letters, digits, "." and "-"; usually a date
	Major int    // the number in /v<major>; -1 means it has none

	Released   time.Time // required
	Deprecated time.Time // zero: not announced
	Sunset     time.Time // zero: not announced; the day it is retired

	// FallForward serves the next version that is not retired instead of
	// 410 once this one is. The policy guarantee sets it.
	FallForward bool

	// Changes is the migration guide: what a client of this version must
	// change to move to its successor.
	Changes []Note

	index   int
	next    *Version
	number  string // Major in decimal; "" for none
	segment string // "v1", or the name where there is no major
	wire    wire
}

// A Note is one breaking change, told to a client of the older version.
type Note struct {
	ID          string `json:"id"` // kebab-case, unique within its version
	Description string `json:"description"`
	Before      string `json:"before"` // what the client sends or reads now
	After       string `json:"after"`  // its equivalent in the successor
}

// A Status is where a version stands in its life, as it is called on the wire.
type Status string

// The states of a version. An upcoming version is reached only by a request
// that names it.
const (
	Upcoming   Status = "upcoming"
	Active     Status = "active"
	Deprecated Status = "deprecated"
	Retired    Status = "retired"
)

// Status returns the version's state at a moment.
func (v *Version) Status(at time.Time) Status {
	switch {
	case at.Before(v.Released):
		return Upcoming
	case v.Deprecated.IsZero() || at.Before(v.Deprecated):
		return Active
	case v.Sunset.IsZero() || at.Before(v.Sunset):
		return Deprecated
	}
	return Retired
}

// Successor returns the version released next, or nil for the newest.
func (v *Version) Successor() *Version { return v.next }

// Index returns the version's place in its calendar; 0 is the oldest.
func (v *Version) Index() int { return v.index }

// String returns the name.
func (v *Version) String() string { return v.Name }

// A Calendar holds the versions of an API. Make one with [NewCalendar] or
// [BuiltIn]. It is safe for concurrent use.
type Calendar struct {
	policy   Policy
	options  Options
	versions []*Version
	known    map[string]*Version // by name and by major
	mounts   map[string]*Version // by path segment: the name, and v<major>
	allowed  []string            // every key of known, oldest first
	accept   string              // application/vnd.<vendor>.v
}

// NewCalendar returns the calendar of the given versions, in any order. An
// empty policy means [Public]. It has the default [Options]; see
// [Calendar.Configure].
//
// The error names each version and date that is wrong, and where a date is too
// early the earliest right one. Refused are: no version at all; a name with
// other characters than a-z, 0-9, "." and "-", or that does not begin and end
// with a letter or digit, or is "api", the prefix of the paths /api/v1; two
// versions with the same name, major or release date; a date with a time of
// day; one of deprecated and sunset without the other; a deprecated version
// without a successor; a sunset before deprecated or before the successor's
// release; a sunset earlier than the policy promises.
func NewCalendar(policy Policy, versions ...Version) (*Calendar, error) {
	return build(policy, versions, Options{})
}

func build(policy Policy, versions []Version, opts Options) (*Calendar, error) {
	if policy == "" {
		policy = Public
	}
	if !policy.known() {
		return nil, fmt.Errorf("calendar: unknown policy %q; known are public, quarterly, guarantee and internal", policy)
	}
	if len(versions) == 0 {
		return nil, errors.New("calendar: at least one version is required")
	}
	c := assemble(policy, versions, opts)
	var errs []error
	for _, v := range c.versions {
		errs = append(errs, v.checkName(c), v.checkDates(policy))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("calendar with policy %s: %w", policy, err)
	}
	return c, nil
}

// assemble links copies of the versions together, without judging them.
func assemble(policy Policy, versions []Version, opts Options) *Calendar {
	c := &Calendar{
		policy: policy, options: opts,
		known: make(map[string]*Version), mounts: make(map[string]*Version),
		accept: "application/vnd." + opts.vendor() + ".v",
	}
	for _, v := range versions {
		v.Changes = slices.Clone(v.Changes)
		v.Released, v.Deprecated, v.Sunset = v.Released.UTC(), v.Deprecated.UTC(), v.Sunset.UTC()
		v.FallForward = v.FallForward || policy == Guarantee
		c.versions = append(c.versions, &v)
	}
	slices.SortStableFunc(c.versions, func(a, b *Version) int { return a.Released.Compare(b.Released) })
	for i, v := range c.versions {
		v.index, v.next, v.number, v.segment = i, nil, "", v.Name
		if i+1 < len(c.versions) {
			v.next = c.versions[i+1]
		}
		if v.Major >= 0 {
			v.number = strconv.Itoa(v.Major)
			v.segment = "v" + v.number
		}
		v.wire = newWire(v, opts)
		c.enter(v)
	}
	return c
}

// enter files v under every key that nobody had before it; checkName finds the
// keys that it did not get.
func (c *Calendar) enter(v *Version) {
	for _, key := range []string{v.Name, v.number} {
		if key != "" && c.known[key] == nil {
			c.known[key] = v
			c.allowed = append(c.allowed, key)
		}
	}
	for _, key := range []string{v.Name, v.segment} {
		if c.mounts[key] == nil {
			c.mounts[key] = v
		}
	}
}

// Policy returns the promise that the calendar keeps.
func (c *Calendar) Policy() Policy { return c.policy }

// Versions returns every version, oldest first. The slice is the caller's, the
// versions are the calendar's.
func (c *Calendar) Versions() []*Version { return slices.Clone(c.versions) }

// Find returns the version with the given name ("2026-11-01") or major ("1"),
// or nil.
func (c *Calendar) Find(name string) *Version { return c.known[name] }

// Latest returns the newest version that is released. Before the first release
// that is the oldest version, so that it is never nil.
func (c *Calendar) Latest(at time.Time) *Version {
	for _, v := range slices.Backward(c.versions) {
		if !at.Before(v.Released) {
			return v
		}
	}
	return c.versions[0]
}

// Serving returns the version that answers for v: v itself, or, where v is
// retired and falls forward, the next version that is not retired. A result
// that is retired is answered with [Calendar.Retired]. For nil it is nil.
func (c *Calendar) Serving(v *Version, at time.Time) *Version {
	if v == nil || !v.FallForward || v.Status(at) != Retired {
		return v
	}
	return v.living(at)
}

// living returns the first successor that is not retired. There always is one
// for a version with a successor: the newest is never deprecated.
func (v *Version) living(at time.Time) *Version {
	n := v.next
	for n != nil && n.next != nil && n.Status(at) == Retired {
		n = n.next
	}
	return n
}
