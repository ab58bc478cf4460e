// Package problem is the ground the other conventions stand on: errors as
// RFC 9457 problem details.
//
// A handler returns an error; one place, [Write], turns it into a response. A
// [Problem] is an error that knows its response. Any other error becomes a
// 500 that tells the client nothing but the id of its request.
//
// Every problem has a [Kind], and every kind stands in one list, [Kinds], so
// that a service can publish a page for each and a test can prove that no
// response carries an unlisted type.
//
// The members are those of the contract: type, title, status, detail and
// instance, always present, followed by the extensions that apply. Nothing a
// client sent is echoed in a problem but the path, as instance.
package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// ContentType is the media type of every error body.
const ContentType = "application/problem+json"

// A Kind is one sort of problem: what its type URI names.
// Kinds are compared by pointer and are never changed after start-up.
type Kind struct {
	Name   string // kebab-case, the last segment of the type URI
	Title  string // short, the same for every occurrence
	Status int    // HTTP status code
	About  string // for people: when this happens
	Remedy string // for people: what to do about it
}

// Prefix is the path under which the kinds are documented.
const Prefix = "/problems/"

// Type returns the URI reference that identifies the kind.
func (k *Kind) Type() string { return Prefix + k.Name }

// New returns a problem of this kind. The detail explains this occurrence and
// must not repeat what the client sent.
func (k *Kind) New(detail string) *Problem { return &Problem{Kind: k, Detail: detail} }

// Newf is New with a format.
func (k *Kind) Newf(format string, args ...any) *Problem {
	return &Problem{Kind: k, Detail: fmt.Sprintf(format, args...)}
}

// A Problem is an error with a response of its own. Only Kind is required.
type Problem struct {
	Kind     *Kind
	Detail   string // empty means the kind's title
	Instance string // empty means the path of the request

	Errors     []FieldError // members of the body that are wrong
	Parameter  string       // the query parameter or header that is wrong
	Maximum    int64        // the limit that was exceeded; 0 leaves it out
	Allowed    []string     // what would have been accepted
	RetryAfter int          // seconds; also sent as a header; 0 leaves it out
	RequestID  string       // lets an operator find the log line; empty means the response's X-Request-Id

	Header http.Header // further header fields of the response
	Cause  error       // for the log only, never sent
}

// A FieldError points at one member of a request body.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON Pointer, RFC 6901
	Detail  string `json:"detail"`
}

// Error returns the kind and the detail, for logs.
func (p *Problem) Error() string {
	if p.Cause != nil {
		return p.Kind.Name + ": " + p.detail() + ": " + p.Cause.Error()
	}
	return p.Kind.Name + ": " + p.detail()
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Is reports whether target is a problem of the same kind, so that
// errors.Is(err, problem.NotFound.New("")) works.
func (p *Problem) Is(target error) bool {
	t, ok := target.(*Problem)
	return ok && t.Kind == p.Kind
}

// Set adds a header field to the response and returns the problem.
func (p *Problem) Set(name, value string) *Problem {
	if p.Header == nil {
		p.Header = make(http.Header, 1)
	}
	p.Header.Set(name, value)
	return p
}

// Because records the cause for the log and returns the problem.
func (p *Problem) Because(err error) *Problem {
	p.Cause = err
	return p
}

func (p *Problem) detail() string {
	if p.Detail == "" {
		return p.Kind.Title
	}
	return p.Detail
}

// From returns the problem in err's chain. An error without one, a nil error
// included, is an [Internal] problem with err as its cause.
func From(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); p != nil {
		return p
	} else if ok {
		err = errors.New("a nil *Problem was returned as an error")
	}
	return Internal.New("The server met an unexpected condition. The request id identifies it in the server's log.").Because(err)
}

// body is the order of members on the wire.
type body struct {
	Type       string       `json:"type"`
	Title      string       `json:"title"`
	Status     int          `json:"status"`
	Detail     string       `json:"detail"`
	Instance   string       `json:"instance"`
	Errors     []FieldError `json:"errors,omitempty"`
	Parameter  string       `json:"parameter,omitempty"`
	Maximum    int64        `json:"maximum,omitempty"`
	Allowed    []string     `json:"allowed,omitempty"`
	RetryAfter int          `json:"retry_after,omitempty"`
	RequestID  string       `json:"request_id,omitempty"`
}

// MarshalJSON returns the problem's body.
func (p *Problem) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body{
		Type: p.Kind.Type(), Title: p.Kind.Title, Status: p.Kind.Status, Detail: p.detail(),
		Instance: p.Instance, Errors: p.Errors, Parameter: p.Parameter, Maximum: p.Maximum,
		Allowed: p.Allowed, RetryAfter: p.RetryAfter, RequestID: p.RequestID,
	})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// A Shape renders a problem for a client that expects another error body than
// the problem detail, for example one of an older version of an API.
type Shape func(p *Problem) (contentType string, body []byte)

// Write answers the request with err, the only way an error leaves a service.
// It declares the answer uncacheable. Nothing may have been written before.
func Write(w http.ResponseWriter, r *http.Request, err error) { WriteShape(w, r, err, nil) }

// WriteShape is Write with the body rendered by shape; nil means the problem
// detail itself.
func WriteShape(w http.ResponseWriter, r *http.Request, err error, shape Shape) {
	p := *From(err) // a copy: a problem may be shared
	if p.Instance == "" {
		p.Instance = r.URL.EscapedPath()
	}
	if p.RequestID == "" {
		p.RequestID = w.Header().Get("X-Request-Id")
	}
	contentType := ContentType
	var b []byte
	if shape != nil {
		contentType, b = shape(&p)
	} else {
		b, _ = p.MarshalJSON() // strings and integers only: cannot fail
	}
	h := w.Header()
	for name, values := range p.Header {
		h[name] = slices.Clone(values)
	}
	for _, name := range []string{"Etag", "Last-Modified", "Location", "Content-Encoding", "Content-Range", "Content-Disposition", "Content-Digest", "Repr-Digest"} {
		if _, own := p.Header[name]; !own {
			h.Del(name) // of a response that was begun and then failed
		}
	}
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Kind.Status)
	if r.Method != http.MethodHead {
		w.Write(b)
	}
}

// Handler adapts a function that returns an error to an [http.Handler]. The
// function must not have begun its response when it returns an error.
type Handler func(w http.ResponseWriter, r *http.Request) error

func (f Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f(w, r); err != nil {
		Write(w, r, err)
	}
}
