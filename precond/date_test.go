package precond

import (
	"testing"
	"time"
)

func TestDate(t *testing.T) {
	second := modified.Truncate(time.Second)
	for _, c := range []struct {
		why, value string
		want       time.Time // zero: invalid
	}{
		{"the form to send", at, second},
		{"RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", second},
		{"RFC 850 with the longest name of a day", "Wednesday, 02-Nov-94 08:49:37 GMT", second.AddDate(0, 0, -4)},
		{"asctime", "Sun Nov  6 08:49:37 1994", second},
		{"white space around", " " + at + "\t", second},
		{"another zone", "Sun, 06 Nov 1994 08:49:37 CET", time.Time{}},
		{"another zone in RFC 850", "Sunday, 06-Nov-94 08:49:37 PST", time.Time{}},
		{"an offset", "Sun, 06 Nov 1994 08:49:37 +0000", time.Time{}},
		{"a fraction", "Sun, 06 Nov 1994 08:49:37.5 GMT", time.Time{}},
		{"a fraction in RFC 850", "Sunday, 06-Nov-94 08:49:37.5 GMT", time.Time{}},
		{"a fraction in asctime", "Sun Nov  6 08:49:37.5 1994", time.Time{}},
		{"asctime with a zero", "Sun Nov 06 08:49:37 1994", second},
		{"an hour of one digit", "Sun, 06 Nov 1994  8:49:37 GMT", time.Time{}},
		{"two spaces", "Sun,  06 Nov 1994 08:49:37 GMT", time.Time{}},
		{"no such name of a day", "Son, 06 Nov 1994 08:49:37 GMT", time.Time{}},
		{"no such name of a month", "Sun, 06 N8v 1994 08:49:37 GMT", time.Time{}},
		{"a short name in RFC 850", "Sun, 06-Nov-94 08:49:37 GMT", time.Time{}},
		{"no such day", "Sun, 31 Feb 1994 08:49:37 GMT", time.Time{}},
		{"no such hour", "Sun, 06 Nov 1994 24:49:37 GMT", time.Time{}},
		{"ISO 8601", "1994-11-06T08:49:37Z", time.Time{}},
		{"a number", "784111777", time.Time{}},
		{"empty", "", time.Time{}},
	} {
		got, ok := date([]string{c.value})
		if ok != !c.want.IsZero() || ok && !got.Equal(c.want) {
			t.Errorf("%s: date(%q) = %v, %v, want %v", c.why, c.value, got, ok, c.want)
		}
	}
}
