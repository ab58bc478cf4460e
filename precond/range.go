package precond

import (
	"net/http"
	"strings"
	"time"
)

// Range reports whether a Range header is to be heeded (RFC 9110, section
// 13.1.5): there is no If-Range, or it is the current tag by strong
// comparison, or a date that is exactly the one of modified, in whole seconds.
// Anything else, malformed or weak, gives false: the whole representation is
// to be sent. etag and modified are those of [Check].
func Range(r *http.Request, etag string, modified time.Time) bool {
	lines := r.Header["If-Range"]
	if len(lines) == 0 {
		return true
	}
	if !strings.Contains(lines[0], `"`) {
		t, ok := date(lines)
		return ok && !modified.IsZero() && t.Equal(modified.Truncate(time.Second))
	}
	tag, rest, ok := cut(trim(lines[0]))
	return ok && len(lines) == 1 && trim(rest) == "" && tag == etag && tag[0] == '"'
}
