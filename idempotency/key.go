package idempotency

import (
	"net/http"
	"strings"

	"github.com/parley-api/parley/problem"
)

// Key returns the request's idempotency key, or "" when it carries none.
//
// A key is 1 to [MaxKey] visible ASCII characters (0x21 to 0x7E). A value that
// begins with a double quote is read as a String of RFC 9651, section 3.3.3,
// which is the form of the IETF's draft: `"abc"` is the same key as `abc`.
//
// A field that is repeated, empty, too long or has other characters gives a
// problem.BadRequest whose Parameter is [Header].
func Key(r *http.Request) (string, error) {
	values, present := r.Header[Header]
	if !present || len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", badKey("The header must be sent once.")
	}
	key, ok := values[0], true
	if strings.HasPrefix(key, `"`) {
		if key, ok = unquote(key); !ok {
			return "", badKey("The header begins with a double quote and is not one complete quoted string.")
		}
	}
	switch {
	case key == "":
		return "", badKey("The key is empty; it must have 1 to 255 characters.")
	case len(key) > MaxKey:
		return "", badKey("The key is too long; it must have 1 to 255 characters.")
	case !visible(key):
		return "", badKey("The key must consist of visible ASCII characters, without spaces.")
	}
	return key, nil
}

func badKey(detail string) *problem.Problem {
	p := problem.BadRequest.New(detail)
	p.Parameter = Header
	return p
}

// unquote returns what stands between the quotes of s, a String of RFC 9651
// without parameters. Inside it only \" and \\ may be escaped.
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	if !strings.ContainsAny(s, `"\`) {
		return s, true
	}
	plain := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			return "", false
		}
		if c == '\\' {
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
			c = s[i]
		}
		plain = append(plain, c)
	}
	return string(plain), true
}

func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
