package negotiate

import (
	"slices"
	"strings"

	"github.com/parley-api/parley/problem"
)

// What an Accept header may be made of, all its lines together.
const (
	maxRanges = 100
	maxBytes  = 8 << 10
)

// Offers are the media types one resource can be represented in, in the
// server's order of preference. They never change and are safe for concurrent
// use. Make them with [New].
type Offers struct {
	types  []string // as given
	offers []offer  // the same, taken apart
	exact  []string // what Choose answers to each of types, sent alone
}

type offer struct {
	media
	list []parameter
	json bool
}

type parameter struct{ name, value string }

// New returns the offers, best first. A type may have parameters, as in
// "text/html; charset=utf-8". It panics where there is no type, or one that is
// not a valid media type, has a wildcard, a q parameter, or a parameter twice.
func New(types ...string) *Offers {
	if len(types) == 0 {
		panic("negotiate: no media type to offer")
	}
	o := &Offers{types: slices.Clone(types)}
	for _, t := range types {
		o.offers = append(o.offers, parseOffer(t))
	}
	for _, t := range types {
		best, err := o.weigh([]string{t})
		if err != nil {
			panic("negotiate: offer " + t + " does not accept itself") // cannot be
		}
		o.exact = append(o.exact, best)
	}
	return o
}

func parseOffer(t string) offer {
	m, rest, ok := cut(t)
	if !ok || rest != "" || m.sub == "*" || strings.TrimSpace(t) != t {
		panic("negotiate: invalid media type " + t)
	}
	f := offer{media: m}
	for name, value := range m.each {
		if name = strings.ToLower(name); name == "q" || f.has(name) >= 0 {
			panic("negotiate: invalid parameter in media type " + t)
		}
		f.list = append(f.list, parameter{name, value})
	}
	f.json = strings.EqualFold(m.sub, "json") || len(m.sub) > len("+json") &&
		strings.EqualFold(m.sub[len(m.sub)-len("+json"):], "+json")
	return f
}

// Types returns the offers as they were given to [New]. The slice is the
// caller's.
func (o *Offers) Types() []string { return slices.Clone(o.types) }

// Choose returns the offer that the client prefers, as it was given to [New].
// accept is r.Header["Accept"]; without it, or with nothing in it, that is the
// first offer.
//
// The rules are those of RFC 9110, section 12.5.1: of the ranges that match an
// offer the most specific gives its quality, and 0 excludes it. A range with
// parameters matches only an offer that has the same ones; charset=utf-8 is
// ignored on an offer of JSON that names no charset. The highest quality wins;
// between equal ones a type that is named beats one that only a wildcard
// matches, and then the server's order decides. Where a client gives the same
// range twice, the higher quality counts.
//
// The errors are [problem.NotAcceptable], with the offers as Allowed, and
// [problem.BadRequest] for a header that does not parse, or has more than 100
// ranges or 8 KiB.
func (o *Offers) Choose(accept []string) (string, error) {
	switch len(accept) {
	case 0:
		return o.types[0], nil
	case 1:
		if accept[0] == "*/*" || accept[0] == "" {
			return o.types[0], nil
		}
		for i, t := range o.types {
			if t == accept[0] {
				return o.exact[i], nil
			}
		}
	}
	return o.weigh(accept)
}

// A grade is what the ranges read so far say about one offer.
type grade struct {
	rank rank // of the most specific range that matches; 0 means none does
	q    int
}

// A rank says how specific a range is: the class first, then the number of
// parameters that matched.
type rank int

const (
	anything rank = (iota + 1) << 16 // */*
	anySub                           // type/*
	named                            // type/subtype

	class = ^rank(1<<16 - 1)
)

// weigh is Choose without its short cuts.
func (o *Offers) weigh(accept []string) (string, error) {
	size := 0
	for _, line := range accept {
		size += len(line)
	}
	if size > maxBytes {
		return "", tooMuch("The Accept header is longer than 8192 bytes.", maxBytes)
	}
	var room [8]grade // keeps the usual handful of offers off the heap
	grades := room[:min(len(o.offers), len(room))]
	if len(o.offers) > len(room) {
		grades = make([]grade, len(o.offers))
	}
	ranges := 0
	for _, line := range accept {
		for s := trim(line); s != ""; s = trim(s) {
			if s[0] == ',' {
				s = s[1:]
				continue
			}
			if ranges++; ranges > maxRanges {
				return "", tooMuch("The Accept header has more than 100 media ranges.", maxRanges)
			}
			m, rest, ok := cut(s)
			q, valid := m.weight()
			if s = rest; !ok || !valid || s != "" && s[0] != ',' {
				return "", malformed("Accept", "The Accept header is not a list of media ranges.")
			}
			o.grade(grades, m, q)
		}
	}
	if ranges == 0 {
		return o.types[0], nil
	}
	return o.best(grades)
}

// grade enters one range of weight q into the grades.
func (o *Offers) grade(grades []grade, m media, q int) {
	for i := range grades {
		g := &grades[i]
		switch r := o.offers[i].match(m); {
		case r > g.rank:
			*g = grade{r, q}
		case r == g.rank && r > 0:
			g.q = max(g.q, q)
		}
	}
}

func (o *Offers) best(grades []grade) (string, error) {
	best := -1
	var top grade
	for i, g := range grades {
		g.rank &= class
		if g.rank == 0 || g.q == 0 {
			continue
		}
		if best < 0 || g.q > top.q || g.q == top.q && g.rank > top.rank {
			best, top = i, g
		}
	}
	if best < 0 {
		p := problem.NotAcceptable.New("None of the media types in the Accept header can be produced.")
		p.Allowed = o.Types()
		return "", p
	}
	return o.types[best], nil
}

// match returns how specifically the range names the offer; 0 means not at all.
func (f *offer) match(m media) rank {
	var r rank
	switch {
	case m.kind == "*":
		r = anything
	case !strings.EqualFold(m.kind, f.kind):
		return 0
	case m.sub == "*":
		r = anySub
	case strings.EqualFold(m.sub, f.sub):
		r = named
	default:
		return 0
	}
	for name, value := range m.each {
		if strings.EqualFold(name, "q") {
			continue
		}
		charset := strings.EqualFold(name, "charset")
		i := f.has(name)
		switch {
		case i >= 0 && (f.list[i].value == value || charset && strings.EqualFold(f.list[i].value, value)):
			r++
		case i < 0 && charset && f.json && strings.EqualFold(value, "utf-8"):
		default:
			return 0
		}
	}
	return r
}

// has returns the index of the offer's parameter of that name, or -1.
func (f *offer) has(name string) int {
	for i := range f.list {
		if strings.EqualFold(f.list[i].name, name) {
			return i
		}
	}
	return -1
}

func malformed(header, detail string) *problem.Problem {
	p := problem.BadRequest.New(detail)
	p.Parameter = header
	return p
}

func tooMuch(detail string, maximum int64) *problem.Problem {
	p := malformed("Accept", detail)
	p.Maximum = maximum
	return p
}
