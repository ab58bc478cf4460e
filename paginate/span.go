package paginate

import (
	"strconv"
	"strings"

	"github.com/parley-api/parley/problem"
)

// A Span is the part of a collection that a Range header came down to.
type Span struct {
	Unit   string // the collection; also the value of Accept-Ranges
	Offset int64  // position of the first row, from 0
	Count  int    // rows, at least 1
	Total  int64  // rows of the whole collection, with the request's filters
}

// ContentRange returns the value of the Content-Range header of the 206.
func (s Span) ContentRange() string {
	b := make([]byte, 0, 64)
	b = append(append(b, s.Unit...), ' ')
	b = strconv.AppendInt(b, s.Offset, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, s.Offset+int64(s.Count)-1, 10)
	b = append(b, '/')
	return string(strconv.AppendInt(b, s.Total, 10))
}

// parseRange reads the Range header into the plan: RFC 9110, section 14.2,
// with the collection's name as the unit. A list gives one part, so several
// ranges are refused with 400, as is a second Range header.
func (p *Plan) parseRange(values []string) error {
	if len(values) > 1 {
		return malformed("The Range header appears more than once.")
	}
	unit, set, found := strings.Cut(strings.Trim(values[0], " \t"), "=")
	if !found || !token(unit) || !visible(set) {
		return malformed("The Range header is not of the form unit=first-last, unit=first- or unit=-count.")
	}
	if !strings.EqualFold(unit, p.list.Collection) {
		if !p.list.RFC {
			p.Style, p.foreign = Ranged, true
		}
		return nil
	}
	spec := ""
	for part := range strings.SplitSeq(set, ",") {
		part = strings.Trim(part, " \t")
		if part != "" && spec != "" {
			return malformed("The Range header names several ranges; a list gives one at a time.")
		}
		spec += part
	}
	p.Style = Ranged
	return p.parseSpec(spec)
}

// parseSpec reads one range: first-last, first- or -count.
func (p *Plan) parseSpec(spec string) error {
	from, to, found := strings.Cut(spec, "-")
	first, okFirst := number(from)
	last, okLast := number(to)
	if !found || from == "" && !okLast || from != "" && !okFirst || to != "" && !okLast || from != "" && to != "" && over(from, to) {
		return malformed("The Range header is not of the form unit=first-last, unit=first- or unit=-count.")
	}
	p.first, p.last = first, last
	maximum := p.list.Limits.maximum()
	size := int64(maximum)
	switch {
	case from == "":
		p.first, size = -1, last
	case to == "":
		p.last = -1
	case last-first >= int64(maximum):
		size = int64(maximum) + 1
	default:
		size = last - first + 1
	}
	if size > int64(maximum) {
		return tooMany(maximum)
	}
	p.Size = int(size)
	return nil
}

// Resolve gives the part of the collection that a plan in [Ranged] style
// asks for; it is for no other style. The total is the number of rows that the
// request's filters leave, best counted in the same snapshot as the rows are
// read. The error is a [problem.RangeUnsatisfied] with its Content-Range
// where no such row exists or the unit is not the list's, or a
// [problem.InvalidPageSize] where an open range covers more rows than the
// maximum.
func (p Plan) Resolve(total int64) (Span, error) {
	total = max(total, 0)
	if p.foreign {
		return Span{}, p.unsatisfied(total, "The list is addressed in the unit that Accept-Ranges names, and no other.")
	}
	first, last := p.first, p.last
	switch {
	case first < 0 && last == 0:
		first = total
	case first < 0:
		first = max(total-last, 0)
	}
	if p.first < 0 || last < 0 || last >= total {
		last = total - 1
	}
	if first > last {
		return Span{}, p.unsatisfied(total, "The list has no rows in this range.")
	}
	if maximum := p.list.Limits.maximum(); last-first >= int64(maximum) {
		return Span{}, tooMany(maximum)
	}
	return Span{Unit: p.list.Collection, Offset: first, Count: int(last - first + 1), Total: total}, nil
}

func (p Plan) unsatisfied(total int64, detail string) error {
	value := "*/" + strconv.FormatInt(total, 10)
	if p.list.RFC {
		value = p.list.Collection + " " + value
	}
	bad := problem.RangeUnsatisfied.New(detail)
	bad.Parameter = "Range"
	return bad.Set("Content-Range", value).Set("Accept-Ranges", p.list.Collection)
}

func malformed(detail string) error {
	p := problem.MalformedRange.New(detail)
	p.Parameter = "Range"
	return p
}

func tooMany(maximum int) error {
	return oversize("Range", "A range of this list holds at most "+strconv.Itoa(maximum)+" rows.", maximum)
}

// over reports whether the numeral a is larger than b, at any length.
func over(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

// token reports whether s is a token of RFC 9110, section 5.6.2.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// visible reports whether s can be the ranges of some unit: visible ASCII and
// blanks, and something besides commas.
func visible(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x21 || c > 0x7e) && c != ' ' && c != '\t' {
			return false
		}
	}
	return strings.Trim(s, ", \t") != ""
}
