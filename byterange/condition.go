package byterange

import (
	"net/http"
	"strings"
	"time"
)

// heeded reports whether If-Range lets the Range header count (RFC 9110,
// section 13.1.5): there is none, or it is the very tag of the representation
// and strong, or its very date in one of the three forms of section 5.6.7.
// Anything else, malformed or weak, asks for the whole.
func heeded(lines []string, etag string, modified time.Time) bool {
	if len(lines) != 1 {
		return len(lines) == 0
	}
	value := strings.Trim(lines[0], " \t")
	if strings.HasPrefix(value, `"`) {
		return value == etag && len(value) > 1 && strings.IndexByte(value[1:], '"') == len(value)-2
	}
	if modified.IsZero() {
		return false
	}
	modified = modified.UTC()
	return value == modified.Format(http.TimeFormat) || value == modified.Format(rfc850) || value == modified.Format(time.ANSIC)
}

// rfc850 is the longer of the two obsolete forms of an HTTP-date.
const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"
