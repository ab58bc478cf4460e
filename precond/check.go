package precond

import (
	"net/http"
	"time"

	"github.com/parley-api/parley/problem"
)

// A Result says how to go on with a request whose preconditions hold.
type Result int

const (
	Proceed     Result = iota // perform the method
	NotModified               // answer with [WriteNotModified]
)

// String returns "proceed" or "not modified".
func (r Result) String() string {
	if r == NotModified {
		return "not modified"
	}
	return "proceed"
}

// Check evaluates the request's preconditions in the order of RFC 9110,
// section 13.2.2: If-Match by strong comparison, or in its absence
// If-Unmodified-Since; then If-None-Match by weak comparison, or in its
// absence, for GET and HEAD, If-Modified-Since.
//
// etag is the current entity tag, as [ETag] or [Weak] makes it; "" means that
// there is no current representation. modified is when it was last changed,
// and counts in whole seconds; zero means unknown, and then fields with dates
// are ignored, as invalid dates are. Call it when the request would succeed
// without conditions, and before it has any effect. It is safe for concurrent
// use.
//
// The errors are [problem.PreconditionFail] and, for a list of entity tags
// that is malformed or longer than 100, [problem.BadRequest]. The result then
// means nothing. [NotModified] comes back for GET and HEAD only.
func Check(r *http.Request, etag string, modified time.Time) (Result, error) {
	match, unmodified := r.Header["If-Match"], r.Header["If-Unmodified-Since"]
	noneMatch, modifiedSince := r.Header["If-None-Match"], r.Header["If-Modified-Since"]
	if len(match) == 0 && len(unmodified) == 0 && len(noneMatch) == 0 && len(modifiedSince) == 0 {
		return Proceed, nil
	}
	switch r.Method {
	case http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return Proceed, nil // they select no representation (section 13.2.1)
	}
	if err := write(match, unmodified, etag, modified); err != nil {
		return Proceed, err
	}
	return read(r.Method, noneMatch, modifiedSince, etag, modified)
}

// write evaluates the fields that guard against a lost update.
func write(match, since []string, etag string, modified time.Time) error {
	if len(match) > 0 {
		list, err := parse("If-Match", match, etag)
		if err != nil {
			return err
		}
		if list.strong || list.any && etag != "" {
			return nil
		}
		return failed("If-Match")
	}
	if t, ok := date(since); ok && !modified.IsZero() && modified.Truncate(time.Second).After(t) {
		return failed("If-Unmodified-Since")
	}
	return nil
}

// read evaluates the fields that save a transfer, or guard a creation.
func read(method string, noneMatch, since []string, etag string, modified time.Time) (Result, error) {
	safe := method == http.MethodGet || method == http.MethodHead
	if len(noneMatch) > 0 {
		list, err := parse("If-None-Match", noneMatch, etag)
		switch {
		case err != nil:
			return Proceed, err
		case !list.weak && (!list.any || etag == ""):
			return Proceed, nil
		case safe:
			return NotModified, nil
		}
		return Proceed, failed("If-None-Match")
	}
	if !safe || modified.IsZero() {
		return Proceed, nil
	}
	if t, ok := date(since); ok && !modified.Truncate(time.Second).After(t) {
		return NotModified, nil
	}
	return Proceed, nil
}

// HasMatch reports whether the request makes its write depend on the state it
// has seen: whether it carries If-Match, or an If-Unmodified-Since with a
// valid date. Where it does, a write that finds its row changed since [Check]
// must fail and not be tried again on the newer row.
func HasMatch(r *http.Request) bool {
	if len(r.Header["If-Match"]) > 0 {
		return true
	}
	_, ok := date(r.Header["If-Unmodified-Since"])
	return ok
}

// WriteNotModified answers 304 (RFC 9110, section 15.4.5). Of the header
// fields that were set it drops those that describe a body; ETag,
// Last-Modified, Cache-Control, Expires, Vary and all others are sent.
// Nothing may have been written before or may be after.
func WriteNotModified(w http.ResponseWriter) {
	h := w.Header()
	for _, name := range [...]string{
		"Content-Type", "Content-Length", "Content-Encoding", "Content-Language",
		"Content-Range", "Content-Disposition", "Content-Digest",
	} {
		delete(h, name)
	}
	w.WriteHeader(http.StatusNotModified)
}

func failed(name string) *problem.Problem {
	return problem.PreconditionFail.Newf("The resource is not in the state that %s asks for.", name)
}
