package paginate

import (
	"net/url"
	"strings"
)

// unescape decodes one name or value of a query, without allocating where
// nothing is escaped. A semicolon is refused, as net/url does, because
// some servers in between take it for a separator.
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, ';') >= 0 {
		return "", false
	}
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, true
	}
	s, err := url.QueryUnescape(s)
	return s, err == nil
}

// Value returns the value of one parameter, decoded, and whether the request
// carries it. Parse has made sure that it then appears once and is not empty.
func (p Plan) Value(name string) (string, bool) {
	for rest := p.query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if pair != "" && named(pair, name) {
			_, value, _ := strings.Cut(pair, "=")
			return unescape(value)
		}
	}
	return "", false
}

// named reports whether a pair of the query, which Parse has accepted, is the
// parameter of that name.
func named(pair, name string) bool {
	raw, _, _ := strings.Cut(pair, "=")
	if raw == name {
		return true
	}
	if strings.IndexByte(raw, '%') < 0 && strings.IndexByte(raw, '+') < 0 {
		return false
	}
	decoded, _ := unescape(raw)
	return decoded == name
}

// appendQuery appends the query with its parameter name set to value, in its
// place or at the end. An empty name changes nothing. The value must not need
// escaping. What it appends begins with a question mark, or is empty.
func appendQuery(dst []byte, query, name string, value []byte) []byte {
	mark, done := byte('?'), name == ""
	for rest := query; rest != ""; {
		var pair string
		if pair, rest, _ = strings.Cut(rest, "&"); pair == "" {
			continue
		}
		dst = append(dst, mark)
		mark = '&'
		if name != "" && named(pair, name) {
			dst, done = appendPair(dst, name, value), true
		} else {
			dst = appendSafe(dst, pair, false)
		}
	}
	if !done {
		dst = appendPair(append(dst, mark), name, value)
	}
	return dst
}

func appendPair(dst []byte, name string, value []byte) []byte {
	dst = append(append(dst, name...), '=')
	return append(dst, value...)
}

// appendSafe appends a part of a URL that is escaped already, and escapes
// what a client or a path may have left bare: the result can stand in a JSON
// string and between the angle brackets of a Link header as it is.
func appendSafe(dst []byte, s string, path bool) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if bare[c] && !(path && c == '?') {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// bare tells which bytes may stand in a query as they are: RFC 3986, section
// 3.4, and the percent sign of what is escaped already. It is never changed.
var bare = func() (set [256]bool) {
	const digits, lower = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	for _, c := range []byte(digits + lower + strings.ToUpper(lower) + "-._~!$&'()*+,;=:@/?%") {
		set[c] = true
	}
	return set
}()
