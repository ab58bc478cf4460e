package negotiate

import "strings"

// A media is one media type or media range, cut out of a header value and not
// copied. Its parameters are kept as they came, once their syntax is checked.
type media struct {
	kind, sub string
	params    string
}

// cut reads a media range (RFC 9110, section 12.5.1) at the start of s. What
// follows it is returned as rest, without leading white space. A lone "*"
// stands for "*/*": the HTTP client of older Java versions sends it.
func cut(s string) (m media, rest string, ok bool) {
	m.kind, s = token(s)
	if strings.HasPrefix(s, "/") {
		m.sub, s = token(s[1:])
	} else if m.kind == "*" {
		m.sub = "*"
	}
	if m.kind == "" || m.sub == "" || m.kind == "*" && m.sub != "*" {
		return media{}, "", false
	}
	start := s
	for s = trim(s); strings.HasPrefix(s, ";"); s = trim(s) {
		if _, _, s, ok = param(s[1:]); !ok {
			return media{}, "", false
		}
	}
	m.params = start[:len(start)-len(s)]
	return m, s, true
}

// each yields the parameters in order, the values unquoted.
func (m media) each(yield func(name, value string) bool) {
	for s := trim(m.params); s != ""; s = trim(s) {
		var name, value string
		name, value, s, _ = param(s[1:])
		if name != "" && !yield(name, unquote(value)) {
			return
		}
	}
}

// is reports whether m is of the media type t, which has no parameters.
func (m media) is(t string) bool {
	n := len(m.kind)
	return len(t) == n+1+len(m.sub) && t[n] == '/' &&
		strings.EqualFold(t[:n], m.kind) && strings.EqualFold(t[n+1:], m.sub)
}

// weight returns the quality in thousandths, 1000 where there is none. A q is
// the weight wherever it stands among the parameters (RFC 9110, section
// 12.5.1), quoted or not; a second one, or one that is no qvalue, is an error.
func (m media) weight() (q int, ok bool) {
	q, seen := 1000, false
	for name, value := range m.each {
		if !strings.EqualFold(name, "q") {
			continue
		}
		if seen {
			return 0, false
		}
		if q, seen = quality(value); !seen {
			return 0, false
		}
	}
	return q, true
}

// quality reads a qvalue (RFC 9110, section 12.4.2). Two common departures
// are let through: a missing zero before the point, and more than three
// digits after it, of which the fourth and later count only in so far as a
// weight above zero stays above it.
func quality(s string) (q int, ok bool) {
	whole, digits, point := strings.Cut(s, ".")
	if whole != "0" && whole != "1" && (whole != "" || digits == "") {
		return 0, false
	}
	if whole == "1" {
		return 1000, !point || strings.Trim(digits, "0") == ""
	}
	unit, more := 100, false
	for i := range len(digits) {
		d := int(digits[i]) - '0'
		if d < 0 || d > 9 {
			return 0, false
		}
		q += d * unit
		unit /= 10
		more = more || d > 0
	}
	if q == 0 && more {
		q = 1
	}
	return q, true
}

// param reads OWS [ name "=" value ] at the start of s, which is what follows
// a semicolon. The name is empty where there is no parameter; the value is
// raw, with its quotes.
func param(s string) (name, value, rest string, ok bool) {
	name, s = token(trim(s))
	if name == "" {
		return "", "", s, true
	}
	if !strings.HasPrefix(s, "=") {
		return "", "", "", false
	}
	if s = s[1:]; strings.HasPrefix(s, `"`) {
		n := quoted(s)
		return name, s[:n], s[n:], n > 0
	}
	value, s = token(s)
	return name, value, s, value != ""
}

// quoted returns the length of the quoted-string at the start of s, which
// begins with a quote, or 0 where it is malformed.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			return i + 1
		}
		if s[i] == '\\' {
			if i++; i == len(s) {
				return 0
			}
		}
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return 0
		}
	}
	return 0
}

// unquote returns the value that a token or a quoted-string stands for. It
// allocates only where there is a backslash.
func unquote(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// token splits s after the token (RFC 9110, section 5.6.2) it begins with,
// which may be empty.
func token(s string) (tok, rest string) {
	i := 0
	for i < len(s) && tchar(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// The characters of a token as bits: those below 64, and the rest less 64.
const (
	low = (1<<10-1)<<'0' | 1<<'!' | 1<<'#' | 1<<'$' | 1<<'%' | 1<<'&' | 1<<'\'' |
		1<<'*' | 1<<'+' | 1<<'-' | 1<<'.'
	high = (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64) |
		1<<('^'-64) | 1<<('_'-64) | 1<<('`'-64) | 1<<('|'-64) | 1<<('~'-64)
)

func tchar(c byte) bool {
	if c < 64 {
		return uint64(low)>>c&1 != 0
	}
	return c < 128 && uint64(high)>>(c-64)&1 != 0
}

// trim removes optional white space from the start of s.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}
