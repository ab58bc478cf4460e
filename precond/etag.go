package precond

import (
	"strings"

	"github.com/parley-api/parley/problem"
)

// maxTags is how many entity tags one header field may list.
const maxTags = 100

// ETag returns the strong entity tag of opaque: opaque in quotes. It panics
// where opaque has a byte that a tag cannot carry (RFC 9110, section 8.8.3): a
// space, a quote or a control character.
func ETag(opaque string) string {
	validate(opaque)
	return `"` + opaque + `"`
}

// Weak returns the weak entity tag of opaque, for representations that are
// equivalent and not the same byte for byte. It panics as [ETag] does.
func Weak(opaque string) string {
	validate(opaque)
	return `W/"` + opaque + `"`
}

func validate(opaque string) {
	for i := range len(opaque) {
		if !etagc(opaque[i]) {
			panic("precond: byte not allowed in an entity tag")
		}
	}
}

func etagc(c byte) bool { return c > ' ' && c != '"' && c != 0x7f }

// A list is what an If-Match or If-None-Match header says about one current
// tag.
type list struct {
	any    bool // "*"
	strong bool // a tag of the list is the current one by strong comparison
	weak   bool // by weak comparison (RFC 9110, section 8.8.3.2)
}

// parse reads all lines of the header of that name against the current tag,
// which may be empty and then equals none.
func parse(name string, lines []string, current string) (l list, err error) {
	opaque, isWeak := split(current)
	tags := 0
	for _, line := range lines {
		for s := trim(line); s != ""; s = trim(s) {
			if s[0] == ',' {
				s = s[1:]
				continue
			}
			if tags++; tags > maxTags {
				return list{}, tooMany(name)
			}
			tag, rest, ok := cut(s)
			s = trim(rest)
			if !ok || l.any || tag == "*" && tags > 1 || s != "" && s[0] != ',' {
				return list{}, malformed(name)
			}
			if tag == "*" {
				l.any = true
				continue
			}
			o, w := split(tag)
			same := current != "" && o == opaque
			l.weak = l.weak || same
			l.strong = l.strong || same && !w && !isWeak
		}
	}
	return l, nil
}

// cut reads one entity tag, or "*", at the start of s.
func cut(s string) (tag, rest string, ok bool) {
	if s[0] == '*' {
		return s[:1], s[1:], true
	}
	i := 0
	if strings.HasPrefix(s, "W/") {
		i = 2
	}
	if i == len(s) || s[i] != '"' {
		return "", "", false
	}
	for i++; i < len(s) && etagc(s[i]); i++ {
	}
	if i == len(s) || s[i] != '"' {
		return "", "", false
	}
	return s[:i+1], s[i+1:], true
}

// split takes the mark of weakness off a tag. The quotes stay.
func split(tag string) (opaque string, weak bool) { return strings.CutPrefix(tag, "W/") }

// trim removes optional white space from the start of s.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

func malformed(name string) *problem.Problem {
	p := problem.BadRequest.Newf("The %s header is neither * nor a list of entity tags.", name)
	p.Parameter = name
	return p
}

func tooMany(name string) *problem.Problem {
	p := problem.BadRequest.Newf("The %s header has more than %d entity tags.", name, maxTags)
	p.Parameter = name
	p.Maximum = maxTags
	return p
}
