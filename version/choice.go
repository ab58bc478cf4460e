package version

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-api/parley/problem"
)

// A Choice is what a request says about the version it wants.
type Choice struct {
	// Version answers the request; nil means that no carrier names one. It
	// differs from Named only where Named is retired and falls forward.
	Version *Version
	Named   *Version // the version that the carriers name, or nil

	// Mount is the part of the path that names the version, as the client
	// wrote it: "", "/v1", "/api/v1", "/2026-11-01" or "/api/2026-11-01".
	// Links that stay on the client's mount begin with it.
	Mount string
	// Path is the rest of the path, decoded as in [net/url.URL]. It begins
	// with "/" after a mount, and without one is the path unchanged.
	Path string

	ByAccept bool // the Accept header names the version
}

// The carriers, as problems call them.
const (
	byPath   = "path"
	byHeader = "API-Version"
	byAccept = "Accept"
)

// Choose finds the version that a request names: in the path (/v<major>/…,
// /<name>/…, and both after /api), the header API-Version, the query
// (api-version or version, a name or a major), or a media range
// application/vnd.<vendor>.v<major>+json of Accept whose weight is not 0. A
// request may name it in several places if they agree. A path that only looks
// alike, such as /v01/tasks or /V1/tasks, is no mount and stays whole.
//
// Choose consumes nothing: a caller that refuses unknown query parameters takes
// those of the version out with [Strip].
//
// Every error is a [problem.Problem]:
//   - NotFound: a path names a version that does not exist, by /v<number> or by a date;
//   - UnknownVersion: another carrier does;
//   - VersionMismatch: two carriers, or two ranges of Accept, disagree;
//   - BadRequest: API-Version is repeated or empty;
//   - InvalidParameter: a version parameter is repeated or empty;
//   - VersionRetired: the version is retired and does not fall forward. Only
//     with this error is the Choice complete.
func (c *Calendar) Choose(r *http.Request, at time.Time) (Choice, error) {
	choice := Choice{Path: r.URL.Path}
	var named claim
	if err := c.fromPath(&choice, &named); err != nil {
		return choice, err
	}
	if values := r.Header["Api-Version"]; len(values) > 0 {
		if err := c.fromHeader(values, &named); err != nil {
			return choice, err
		}
	}
	if r.URL.RawQuery != "" {
		if err := c.fromQuery(r.URL.RawQuery, &named); err != nil {
			return choice, err
		}
	}
	for _, line := range r.Header["Accept"] {
		found, err := c.fromAccept(line, &named)
		if err != nil {
			return choice, err
		}
		choice.ByAccept = choice.ByAccept || found
	}
	if named.version == nil {
		return choice, nil
	}
	choice.Named = named.version
	choice.Version = c.Serving(named.version, at)
	if choice.Version.Status(at) == Retired {
		return choice, c.Retired(choice.Version, at, choice.Mount, r.URL)
	}
	return choice, nil
}

// A claim is the version named so far and the carrier that did.
type claim struct {
	version *Version
	by      string
}

// add takes in what a carrier names; a nil version is one that does not exist.
func (n *claim) add(c *Calendar, v *Version, by string) error {
	switch {
	case v == nil:
		p := problem.UnknownVersion.Newf("%s names a version that does not exist.", carrier(by))
		p.Parameter = by
		p.Allowed = slices.Clone(c.allowed)
		return p
	case n.version == nil:
		n.version, n.by = v, by
	case n.version != v && n.by == by:
		p := problem.VersionMismatch.Newf("%s names two different versions.", carrier(by))
		p.Parameter = by
		return p
	case n.version != v:
		p := problem.VersionMismatch.Newf("%s and %s name different versions.", carrier(n.by), lower(carrier(by)))
		p.Parameter = by
		return p
	}
	return nil
}

// carrier says in words where a version was named.
func carrier(by string) string {
	switch by {
	case byPath:
		return "The path"
	case byHeader, byAccept:
		return "The " + by + " header"
	}
	return "The query parameter " + by
}

func lower(sentence string) string { return strings.ToLower(sentence[:1]) + sentence[1:] }

// fromPath splits the path of choice where it begins with a mount.
func (c *Calendar) fromPath(choice *Choice, named *claim) error {
	path := choice.Path
	if len(path) < 2 || path[0] != '/' {
		return nil
	}
	end := segment(path, 1)
	begin := 1
	if path[1:end] == "api" && end < len(path) {
		begin = end + 1
		end = segment(path, begin)
	}
	name := path[begin:end]
	v := c.mounts[name]
	if v == nil {
		if looksLikeVersion(name) {
			return problem.NotFound.New("The path names a version that does not exist.")
		}
		return nil
	}
	choice.Mount, choice.Path = path[:end], path[end:]
	if choice.Path == "" {
		choice.Path = "/"
	}
	return named.add(c, v, byPath)
}

// segment returns the end of the path segment that begins at i.
func segment(path string, i int) int {
	if n := strings.IndexByte(path[i:], '/'); n >= 0 {
		return i + n
	}
	return len(path)
}

// looksLikeVersion tells v<number> without leading zeros, and a date.
func looksLikeVersion(s string) bool {
	if len(s) > 1 && s[0] == 'v' {
		return digits(s[1:]) && (len(s) == 2 || s[1] != '0')
	}
	return len(s) == len(time.DateOnly) && s[4] == '-' && s[7] == '-' &&
		digits(s[:4]) && digits(s[5:7]) && digits(s[8:])
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func (c *Calendar) fromHeader(values []string, named *claim) error {
	value := strings.Trim(values[0], " \t")
	detail := ""
	switch {
	case len(values) > 1 || strings.Contains(value, ","):
		detail = "The API-Version header names more than one version."
	case value == "":
		detail = "The API-Version header is empty."
	default:
		return named.add(c, c.known[value], byHeader)
	}
	p := problem.BadRequest.New(detail)
	p.Parameter = byHeader
	return p
}
