package precond

import (
	"net/http"
	"strings"
	"time"
)

// rfc850 is the longer of the two obsolete forms of an HTTP-date.
const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"

// date returns the HTTP-date (RFC 9110, section 5.6.7) of a header field that
// may have one line only. Otherwise, or where the date is invalid, ok is
// false: the RFC has such a field ignored.
//
// [time.Parse] alone would let in fractions of a second, single digits and
// runs of spaces, so the shape of all that follows the day's name is checked
// before.
func date(lines []string) (t time.Time, ok bool) {
	if len(lines) != 1 {
		return time.Time{}, false
	}
	s := strings.Trim(lines[0], " \t")
	layout := ""
	switch {
	case ends(s, ", 00 aaa 0000 00:00:00 GMT"):
		layout = http.TimeFormat
	case ends(s, ", 00-aaa-00 00:00:00 GMT"):
		layout = rfc850
	case ends(s, " aaa _0 00:00:00 0000"):
		layout = time.ANSIC
	default:
		return time.Time{}, false
	}
	t, err := time.Parse(layout, s)
	return t, err == nil
}

// ends reports whether s ends in the shape of form, where 0 stands for a
// digit, _ for a digit or a space, a for a letter, and any other byte for
// itself.
func ends(s, form string) bool {
	if len(s) < len(form) {
		return false
	}
	s = s[len(s)-len(form):]
	for i := range len(form) {
		c, ok := s[i], false
		switch form[i] {
		case '0':
			ok = '0' <= c && c <= '9'
		case '_':
			ok = '0' <= c && c <= '9' || c == ' '
		case 'a':
			ok = 'a' <= c|0x20 && c|0x20 <= 'z'
		default:
			ok = c == form[i]
		}
		if !ok {
			return false
		}
	}
	return true
}
