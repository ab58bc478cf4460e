package console

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/parley-api/parley/version"
)

// Versions returns the page of all versions, newest first, as they stand at a
// moment. It changes with the day, as the days left do.
func Versions(c *version.Calendar, at time.Time) Page {
	data := struct {
		frame
		Promise  string
		At       time.Time
		Timeline timeline
		Versions []view
	}{frame: frame{"Versions", "/versions"}, Promise: promise(c.Policy()), At: at.UTC(), Timeline: draw(c, at)}
	for _, v := range slices.Backward(c.Versions()) {
		data.Versions = append(data.Versions, look(c, v, at))
	}
	return render("versions", data)
}

// Version returns the page of one version of the calendar as it stands at a
// moment: its life, how a request names it, and the migration guide to its
// successor. It changes with the day.
func Version(c *version.Calendar, v *version.Version, at time.Time) Page {
	return render("version", struct {
		frame
		Version view
	}{frame{"Version " + v.Name, "/versions"}, look(c, v, at)})
}

// A view is a version as its pages show it.
type view struct {
	*version.Version
	Status  version.Status
	Latest  bool
	Summary string
	Gone    bool // requests are answered with 410
	Onward  bool // the successor has a successor
	Steps   []step

	Mounts, Keys                   []string // how a request names it
	Successor, Predecessor, Living *peer    // nil: none
}

// A peer is another version, as a link.
type peer struct{ Name, Path string }

// A step is a date in a version's life.
type step struct {
	Name string
	Date time.Time
	When string // "in 3 days"; empty where there is no date
	Past bool
	Led  bool // the next one is past too
}

func look(c *version.Calendar, v *version.Version, at time.Time) view {
	w := view{
		Version: v, Status: v.Status(at), Latest: c.Latest(at) == v,
		Steps: steps(v, at), Mounts: []string{"/" + v.Name + "/…"}, Keys: []string{v.Name},
		Successor: link(v.Successor()),
	}
	if v.Major >= 0 {
		number := strconv.Itoa(v.Major)
		w.Mounts = slices.Insert(w.Mounts, 0, "/v"+number+"/…", "/api/v"+number+"/…")
		w.Keys = append(w.Keys, number)
	}
	if next := v.Successor(); next != nil {
		w.Onward = next.Successor() != nil
	}
	if v.Index() > 0 {
		w.Predecessor = link(c.Versions()[v.Index()-1])
	}
	w.Gone = w.Status == version.Retired && !v.FallForward
	if w.Status == version.Deprecated || w.Status == version.Retired {
		w.Living = link(living(v, at))
	}
	w.Summary = summary(v, w.Latest, at)
	return w
}

func link(v *version.Version) *peer {
	if v == nil {
		return nil
	}
	return &peer{v.Name, path(v)}
}

// Path returns where the version's page is.
func (v view) Path() string { return path(v.Version) }

// A version's name has only characters that need no escaping in a path.
func path(v *version.Version) string { return "/versions/" + v.Name }

// Count says how many changes there are.
func (v view) Count() string {
	if n := len(v.Changes); n != 1 {
		return strconv.Itoa(n) + " changes"
	}
	return "1 change"
}

// living returns the first successor that is not retired, or nil.
func living(v *version.Version, at time.Time) *version.Version {
	for v = v.Successor(); v != nil && v.Status(at) == version.Retired; {
		v = v.Successor()
	}
	return v
}

func steps(v *version.Version, at time.Time) []step {
	steps := []step{
		{Name: "Released", Date: v.Released}, {Name: "Deprecated", Date: v.Deprecated}, {Name: "Retired", Date: v.Sunset},
	}
	for i := range steps {
		s := &steps[i]
		if s.Date.IsZero() {
			continue
		}
		s.When, s.Past = when(s.Date, at), !at.Before(s.Date)
		if i > 0 {
			steps[i-1].Led = s.Past
		}
	}
	return steps
}

// summary says in a sentence or two where the version stands.
func summary(v *version.Version, latest bool, at time.Time) string {
	switch v.Status(at) {
	case version.Upcoming:
		return "It will be released " + when(v.Released, at) + ". Until then only a request that names it gets it."
	case version.Deprecated:
		return count(ahead(v.Sunset, at)) + " left: it is retired on " + v.Sunset.Format(longDate) + "."
	case version.Retired:
		if next := living(v, at); v.FallForward && next != nil {
			return "Retired " + when(v.Sunset, at) + ". A request to it is served by " + next.Name + "."
		}
		return "Retired " + when(v.Sunset, at) + "."
	}
	start := "Supported."
	if latest {
		start = "The latest version, and what a new account gets."
	}
	if v.Deprecated.IsZero() {
		return start + " No end is announced."
	}
	return fmt.Sprintf("%s It will be deprecated %s and retired on %s.", start, when(v.Deprecated, at), v.Sunset.Format(longDate))
}

// promise says what the policy of a calendar gives its clients.
func promise(p version.Policy) string {
	switch p {
	case version.Public:
		return "Before one is retired it is deprecated for at least 6 months."
	case version.Quarterly:
		return "Each is supported for at least 12 months, 9 of them beside its successor, and its end is announced at least 3 months ahead."
	case version.Guarantee:
		return "Each is guaranteed for at least 2 years. After its end, requests to it are served by the next one."
	}
	return "The end of each is announced with its date."
}
