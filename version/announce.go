package version

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/parley-api/parley/problem"
)

// Options say how a calendar shows itself on the wire. A nil *Options is the
// zero one.
type Options struct {
	// Vendor is the name in application/vnd.<vendor>.v<major>+json.
	// Empty means "parley".
	Vendor string
	// BaseURL begins the links, for example "https://api.example.com". It
	// must be a well-formed absolute URL without query and fragment; a slash
	// at its end does not count. Empty makes the links relative to the host.
	BaseURL string
	// RFC writes Deprecation as RFC 9745 has it, "@" and the Unix time of
	// the deprecation, instead of the contract's "true".
	RFC bool
}

func (o Options) vendor() string {
	if o.Vendor == "" {
		return "parley"
	}
	return o.Vendor
}

// Configure returns the same calendar with these options in place of its own.
// Its versions are not those of the receiver.
func (c *Calendar) Configure(opts *Options) *Calendar {
	if opts == nil {
		opts = &Options{}
	}
	versions := make([]Version, len(c.versions))
	for i, v := range c.versions {
		versions[i] = *v
	}
	return assemble(c.policy, versions, *opts)
}

// wire is what responses say about a version, made once. Each slice is shared
// by all responses, and a header's Add cannot write into one that is full.
type wire struct {
	name        []string // API-Version
	sunset      []string
	deprecation []string
	root        string // {base_url}/v<major>, where a predecessor's link points
	guide       string // the whole Link to the migration guide
}

func newWire(v *Version, opts Options) wire {
	base := strings.TrimRight(opts.BaseURL, "/")
	w := wire{name: []string{v.Name}, root: base + "/" + v.segment}
	if v.Deprecated.IsZero() {
		return w
	}
	w.sunset = []string{v.Sunset.Format(http.TimeFormat)}
	w.deprecation = []string{"true"}
	if opts.RFC {
		w.deprecation = []string{"@" + strconv.FormatInt(v.Deprecated.Unix(), 10)}
	}
	w.guide = "<" + base + "/versions/" + v.Name + `>; rel="deprecation"`
	return w
}

// Announce writes into h that v serves the response: API-Version with its
// name, always. For a deprecated version, and for a retired one, it sets Sunset
// and Deprecation too and adds two Link fields: the same request on the
// successor (rel="successor-version"; on the next one, where the successor is
// retired by now) and the migration guide (rel="deprecation").
//
// The mount is [Choice.Mount] and u the URL of the request as it arrived. Call
// it once for a response; values put into h are shared and must not be
// changed in place.
func (c *Calendar) Announce(h http.Header, v *Version, at time.Time, mount string, u *url.URL) {
	h["Api-Version"] = v.wire.name
	if v.Deprecated.IsZero() || at.Before(v.Deprecated) {
		return
	}
	h["Sunset"] = v.wire.sunset
	h["Deprecation"] = v.wire.deprecation
	successor := "<" + v.living(at).wire.root + Rest(mount, u) + `>; rel="successor-version"`
	h["Link"] = append(h["Link"], successor, v.wire.guide)
}

// Retired returns the VersionRetired problem (410) for v, which must be retired, with
// the header fields of [Calendar.Announce]. [Calendar.Choose] answers with it
// where a carrier names the version; where an account's pin does, the caller
// does.
func (c *Calendar) Retired(v *Version, at time.Time, mount string, u *url.URL) *problem.Problem {
	p := problem.VersionRetired.Newf("Version %s was retired on %s. Version %s takes its place.",
		v.Name, day(v.Sunset), v.living(at).Name)
	p.Header = make(http.Header, 4)
	c.Announce(p.Header, v, at, mount, u)
	return p
}

// Rest returns the path of u after the mount and the query without the version
// parameters, escaped so that it can stand in a Link field. It begins with "/".
// A mount that u's path does not begin with counts as none.
func Rest(mount string, u *url.URL) string {
	path := u.EscapedPath()
	if rest, ok := strings.CutPrefix(u.Path, mount); ok && (rest == "" || rest[0] == '/') {
		path = skip(path, len(mount))
	}
	switch {
	case len(path) > 2 && fold(path[:3], "%2F"):
		path = "/" + path[3:]
	case path == "" || path[0] != '/':
		path = "/"
	}
	if query := Strip(u.RawQuery); query != "" {
		path += "?" + escapeQuery(query)
	}
	return path
}

// skip drops the first n decoded bytes of an escaped path.
func skip(escaped string, n int) string {
	i := 0
	for ; n > 0 && i < len(escaped); n-- {
		if escaped[i] == '%' {
			i += 2
		}
		i++
	}
	return escaped[min(i, len(escaped)):]
}

// escapeQuery escapes what RFC 3986, section 3.4, does not allow in a query; a
// server accepts much of it.
func escapeQuery(raw string) string {
	const hex = "0123456789ABCDEF"
	clean := true
	for i := range len(raw) {
		clean = clean && inQuery(raw[i])
	}
	if clean {
		return raw
	}
	var b strings.Builder
	for i := range len(raw) {
		if c := raw[i]; inQuery(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func inQuery(b byte) bool {
	return b > ' ' && b < 0x7f && strings.IndexByte("\"#<>[\\]^`{|}", b) < 0
}
