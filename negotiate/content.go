package negotiate

import (
	"net/http"
	"slices"
	"strings"

	"github.com/parley-api/parley/problem"
)

// Content returns the media type of the request's body, in lower case and
// without parameters, if it is one of accepted, which are media types without
// parameters. A request that has neither a body nor a Content-Type gives "".
// It does not touch the body. It is safe for concurrent use.
//
// The errors are
//   - [problem.UnsupportedMedia] with accepted as Allowed and as the response
//     header Accept-Post, Accept-Patch or, for another method, Accept: the type
//     is not one of accepted, is missing or malformed, or has a charset other
//     than UTF-8;
//   - [problem.UnsupportedMedia] with the response header Accept-Encoding: the
//     body has a content coding;
//   - [problem.BadRequest]: there is more than one Content-Type line.
func Content(r *http.Request, accepted ...string) (string, error) {
	types, codings := r.Header["Content-Type"], r.Header["Content-Encoding"]
	if len(types) == 1 && len(codings) == 0 && slices.Contains(accepted, types[0]) {
		return strings.ToLower(types[0]), nil
	}
	if len(types) > 1 {
		return "", malformed("Content-Type", "The request has more than one Content-Type header.")
	}
	if coded(codings) {
		p := problem.UnsupportedMedia.New("The request body has a content coding, and none is accepted here.")
		p.Allowed = []string{"identity"}
		return "", p.Set("Accept-Encoding", "identity")
	}
	var s string
	if len(types) == 1 {
		s = trim(types[0])
	}
	if s == "" {
		if r.ContentLength == 0 {
			return "", nil
		}
		return "", unsupported(r, accepted, "The request has a body and no Content-Type header.")
	}
	m, rest, ok := cut(s)
	i := -1
	if ok && rest == "" {
		i = slices.IndexFunc(accepted, m.is)
	}
	if i < 0 {
		return "", unsupported(r, accepted, "The media type of the request body is not one that is accepted here.")
	}
	if !utf8(m) {
		return "", unsupported(r, accepted, "The charset of the request body is not UTF-8.")
	}
	return strings.ToLower(accepted[i]), nil
}

// coded reports whether a Content-Encoding header names a coding other than
// identity.
func coded(lines []string) bool {
	for _, line := range lines {
		for coding := range strings.SplitSeq(line, ",") {
			coding = strings.Trim(coding, " \t")
			if coding != "" && !strings.EqualFold(coding, "identity") {
				return true
			}
		}
	}
	return false
}

// utf8 reports whether m has no charset or only UTF-8.
func utf8(m media) bool {
	for name, value := range m.each {
		if strings.EqualFold(name, "charset") && !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

func unsupported(r *http.Request, accepted []string, detail string) *problem.Problem {
	header := "Accept"
	switch r.Method {
	case http.MethodPost:
		header = "Accept-Post"
	case http.MethodPatch:
		header = "Accept-Patch"
	}
	p := problem.UnsupportedMedia.New(detail)
	p.Allowed = slices.Clone(accepted) // a copy keeps the argument off the heap
	return p.Set(header, strings.Join(accepted, ", "))
}
