// Package digest reads and writes the header fields Content-Digest and
// Repr-Digest (RFC 9530), with SHA-256.
//
// Content-Digest is of the bytes of one message: of a 206 those of its part.
// Repr-Digest is of the whole representation, whatever part of it is sent. In a
// request without a content coding both are of the same bytes.
package digest

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/parley-api/parley/problem"
)

// A Sum is a SHA-256.
type Sum = [sha256.Size]byte

const (
	prefix = "sha-256=:"
	suffix = ":"
)

// Format returns a value of the header fields: sha-256=:…:
func Format(sum Sum) string {
	var b [len(prefix) + 44 + len(suffix)]byte
	base64.StdEncoding.Encode(b[copy(b[:], prefix):], sum[:])
	copy(b[len(b)-len(suffix):], suffix)
	return string(b[:])
}

// Value reads what Format writes. It reports false for anything else.
func Value(s string) (sum Sum, ok bool) {
	inner, begins := strings.CutPrefix(s, prefix)
	inner, ends := strings.CutSuffix(inner, suffix)
	if !begins || !ends {
		return sum, false
	}
	return decode(inner)
}

// decode reads the base64 of a sum, in the one spelling there is.
func decode(s string) (sum Sum, ok bool) {
	if len(s) != 44 {
		return sum, false
	}
	var b [33]byte
	n, err := base64.StdEncoding.Strict().Decode(b[:], []byte(s))
	return Sum(b[:32]), err == nil && n == len(sum)
}

// Parse reads a header field, by its name for the error and the lines there
// are. It reports false where the field is absent or names other algorithms
// only, which a recipient ignores (RFC 9530, section 2). The error is a
// problem.BadRequest for what is no dictionary of byte sequences, or has a
// SHA-256 of the wrong length. Of several values for one algorithm the last
// counts (RFC 9651, section 4.2.2).
func Parse(name string, lines []string) (sum Sum, ok bool, err error) {
	malformed := func() (Sum, bool, error) {
		p := problem.BadRequest.Newf("The header %s is not a list of digests such as sha-256=:…:, with base64 between the colons.", name)
		p.Parameter = name
		return Sum{}, false, p
	}
	rest := strings.Trim(strings.Join(lines, ","), " ")
	if rest == "" {
		if len(lines) > 0 {
			return malformed()
		}
		return sum, false, nil
	}
	for {
		var key, value string
		var good bool
		if key, value, rest, good = member(rest); !good {
			return malformed()
		}
		if key == "sha-256" {
			if sum, ok = decode(value); !ok {
				return malformed()
			}
		} else if _, err := base64.StdEncoding.DecodeString(value); err != nil {
			return malformed()
		}
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			return sum, ok, nil
		}
		if rest[0] != ',' {
			return malformed()
		}
		if rest = strings.TrimLeft(rest[1:], " \t"); rest == "" {
			return malformed() // a comma at the end
		}
	}
}

// member cuts one member off a dictionary: its key, what stands between the
// colons, and what follows it and its parameters.
func member(s string) (key, value, rest string, ok bool) {
	key, rest = cutKey(s)
	if key == "" || !strings.HasPrefix(rest, "=:") {
		return "", "", "", false
	}
	value, rest, ok = strings.Cut(rest[2:], ":")
	for ok && strings.HasPrefix(rest, ";") {
		rest, ok = parameter(strings.TrimLeft(rest[1:], " "))
	}
	return key, value, rest, ok
}

// parameter cuts one parameter off; nobody has defined any, so what it says
// does not matter.
func parameter(s string) (rest string, ok bool) {
	key, rest := cutKey(s)
	if key == "" || !strings.HasPrefix(rest, "=") {
		return rest, key != ""
	}
	rest = rest[1:]
	if strings.HasPrefix(rest, `"`) {
		_, rest, ok = strings.Cut(rest[1:], `"`)
		return rest, ok
	}
	end := strings.IndexAny(rest, " \t,;")
	if end < 0 {
		end = len(rest)
	}
	return rest[end:], end > 0
}

// cutKey cuts a key of a dictionary off.
func cutKey(s string) (key, rest string) {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c == '*'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')) {
			return s[:i], s[i:]
		}
	}
	return s, ""
}
