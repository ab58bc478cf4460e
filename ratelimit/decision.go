package ratelimit

import (
	"net/http"
	"strconv"
	"time"

	"github.com/parley-api/parley/problem"
)

// The names of the response header fields, as they are spelt on the wire and
// stand in the http.Header map. They are not in net/http's canonical form
// ("Ratelimit"): use the map, h[ratelimit.Header], rather than h.Get, to read
// them on the side that sets them. A client's h.Get finds them.
const (
	Header       = "RateLimit"
	PolicyHeader = "RateLimit-Policy"
)

// A Decision says whether a request is allowed and where its credential
// stands after it.
type Decision struct {
	Allowed    bool
	Left       int           // requests that may be made at once now
	Reset      time.Duration // until the full burst is available again
	RetryAfter time.Duration // until the next request is allowed; 0 means now
}

// Problem returns the answer to a request that was not allowed:
// problem.RateLimited (429), with Retry-After in whole seconds, at least 1.
func (d Decision) Problem() *problem.Problem {
	p := problem.RateLimited.New("The quota of this credential is used up. Retry-After says when the next request is allowed.")
	p.RetryAfter = max(1, seconds(d.RetryAfter))
	return p
}

// seconds rounds up: a client that waits as long as it is told is not early.
func seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}

// fields returns the part of the field RateLimit that never changes, and the
// whole value of RateLimit-Policy.
func fields(p Policy) (prefix string, policy []string) {
	name := `"` + p.Name + `"`
	quota, window := strconv.Itoa(p.Quota), strconv.Itoa(seconds(p.Window))
	return name + ";r=", []string{name + ";q=" + quota + ";w=" + window}
}

// SetHeader sets the fields RateLimit-Policy and RateLimit, on an answer of
// any status. The value of the first is shared by all answers and must not be
// changed in place.
func (l *Limiter) SetHeader(h http.Header, d Decision) {
	if l == nil {
		return
	}
	var room [128]byte
	b := append(room[:0], l.prefix...)
	b = strconv.AppendInt(b, int64(d.Left), 10)
	b = append(b, ";t="...)
	b = strconv.AppendInt(b, int64(seconds(d.Reset)), 10)
	h[PolicyHeader] = l.policy
	h[Header] = []string{string(b)}
}

// Handler gives next a limit. key returns the credential that a request counts
// for, such as the id of its API key; where it returns "", the request is
// exempt and gets no header fields. A request over the limit is answered with
// [Decision.Problem] and does not reach next. A nil l gives next itself.
// Handler panics if key or next is nil.
func Handler(l *Limiter, key func(*http.Request) string, next http.Handler) http.Handler {
	if key == nil || next == nil {
		panic("ratelimit: Handler needs a key and a next handler")
	}
	if l == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k := key(r); k != "" {
			d := l.Take(k)
			l.SetHeader(w.Header(), d)
			if !d.Allowed {
				problem.Write(w, r, d.Problem())
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
