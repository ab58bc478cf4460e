package openapi

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/version"
)

// An Info says what a description is about. Title, Calendar and Version are
// required.
type Info struct {
	Title       string
	Description string            // CommonMark; a paragraph on the version is added
	ServerURL   string            // without a version; empty means where the description came from
	Calendar    *version.Calendar // every version that exists
	Version     *version.Version  // the one to describe, of that calendar
	Limits      paginate.Limits   // of the lists; zero means 20 and 100
	Kinds       []*problem.Kind   // nil means problem.Kinds()

	// At is when the description is read: it decides whether the version is
	// deprecated. Zero means a day on which every deprecation that has a date
	// is in effect.
	At time.Time
	// Vendor is the name in application/vnd.<vendor>.v<major>+json. Empty
	// means "parley".
	Vendor string
	// Errors is the error body of a version that had another one than the
	// problem detail. Nil means the problem detail.
	Errors *Media
}

// filled returns the info with the defaults in the place of zeros, or what is
// missing.
func (i Info) filled() (Info, error) {
	switch {
	case i.Title == "":
		return i, errors.New("Info has no Title")
	case i.Calendar == nil || i.Version == nil || i.Calendar.Find(i.Version.Name) == nil:
		return i, errors.New("Info needs a Calendar and one of its versions")
	}
	if i.Kinds == nil {
		i.Kinds = problem.Kinds()
	}
	if i.Vendor == "" {
		i.Vendor = "parley"
	}
	if i.Limits.Maximum <= 0 {
		i.Limits.Maximum = 100
	}
	if i.Limits.Default <= 0 {
		i.Limits.Default = 20
	}
	i.Limits.Default = min(i.Limits.Default, i.Limits.Maximum)
	i.ServerURL = strings.TrimRight(i.ServerURL, "/")
	return i, nil
}

// deprecated reports whether answers carry the headers of a deprecation.
func (i *Info) deprecated() bool {
	d := i.Version.Deprecated
	return !d.IsZero() && (i.At.IsZero() || !i.At.Before(d))
}

// types are the media types of what a resource shows: JSON, and the type that
// names the version where it has a number.
func (i *Info) types() []string {
	if i.Version.Major < 0 {
		return []string{"application/json"}
	}
	return []string{"application/json", "application/vnd." + i.Vendor + ".v" + strconv.Itoa(i.Version.Major) + "+json"}
}

// names are what a request can call the version.
func (i *Info) names() []string {
	if i.Version.Major < 0 {
		return []string{i.Version.Name}
	}
	return []string{i.Version.Name, strconv.Itoa(i.Version.Major)}
}

// object renders the Info Object.
func (i *Info) object() object {
	contact := obj("name", i.Title)
	if i.ServerURL != "" {
		contact.set("url", i.ServerURL)
	}
	return obj(
		"title", i.Title,
		"version", i.Version.Name,
		"description", strings.TrimSpace(i.Description+"\n\n"+i.about()),
		"contact", contact,
		"license", obj("name", "Apache-2.0", "identifier", "Apache-2.0"),
	)
}

// about says how to reach the version and how long it lives.
func (i *Info) about() string {
	v, path := i.Version, i.Version.Name
	if v.Major >= 0 {
		path = "v" + strconv.Itoa(v.Major)
	}
	text := "This is version `" + v.Name + "`. A request names it with the path prefix `/" + path +
		"`, the header `API-Version: " + v.Name + "`, the query parameter `api-version` or `version`"
	if types := i.types(); len(types) > 1 {
		text += ", or the media type `" + types[1] + "` in `Accept`"
	}
	text += ". A request that names none gets the version that its account is pinned to."
	if i.deprecated() {
		text += "\n\nThe version is deprecated since " + v.Deprecated.Format(time.DateOnly) + " and retired on " +
			v.Sunset.Format(time.DateOnly) + "; from then on it answers 410. `/versions/" + v.Name + "` lists what to change."
	}
	return text
}
