// Package paginate is the convention for lists: three styles of pagination
// over one request, their response envelopes, sealed cursors, the Link header,
// ranges of a collection, and an iterator for the client's side.
//
// The package knows neither a database nor a router. A handler says once what
// its list accepts, as a [List]. For each request it then
//
//  1. calls [List.Parse], which turns the query and the Range header into a
//     [Plan] or into the 400 that the client deserves;
//  2. calls [Plan.Resume] for the position a cursor or page token stands for,
//     or, in [Ranged] style, [Plan.Resolve] with the total;
//  3. fetches the rows, one more than [Plan.Size] to learn whether a further
//     page exists;
//  4. calls [Plan.Links] and [Plan.Append], which render that page in the
//     style the client asked for.
//
// The parameters choose the style: page and size, cursor and limit, or
// page_token and page_size. Without any of them a list answers in cursor
// style. Sizes above the maximum are refused, never capped.
//
// Every error that a client can cause is a [problem.Problem]. Values that the
// client sent are not repeated in it; the name of an unknown parameter stands
// in the member parameter, shortened, and nowhere else.
package paginate

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/parley-api/parley/problem"
)

// Limits bounds the size of a page.
type Limits struct {
	Default int // rows where the client names no size; 0 means 20, never more than Maximum
	Maximum int // largest size a client may ask for; 0 means 100
}

func (l Limits) maximum() int {
	if l.Maximum <= 0 {
		return 100
	}
	return l.Maximum
}

func (l Limits) size() int {
	if l.Default <= 0 {
		return min(20, l.maximum())
	}
	return min(l.Default, l.maximum())
}

// A Style is one way to ask for the pages of a list.
type Style byte

// The styles. A request without any parameter or Range header is in Cursor
// style.
const (
	Cursor Style = iota // cursor, limit
	Offset              // page, size
	Token               // page_token, page_size
	Ranged              // Range: <collection>=<first>-<last>
)

// A List says what one list accepts. It must not be changed once requests
// are served; it is then safe for concurrent use.
type List struct {
	// Collection is the plural name of the resource, in lower case with
	// hyphens: the array's name in Token style and the unit of Range.
	Collection string

	// Limits bounds the size of a page; zero means 20 and 100.
	Limits Limits

	// Parameters names the further query parameters that are accepted:
	// filters, sort, and those that carry the API version. Any other
	// parameter is refused.
	Parameters []string

	// RFC turns two rules of the contract to the letter of RFC 9110: a
	// Range in another unit is ignored, and the Content-Range of a 416
	// begins with the unit. False means 416, and */<total> alone.
	RFC bool
}

// own are the parameters of the convention itself.
var own = [...]string{"cursor", "include_total", "limit", "page", "page_size", "page_token", "size"}

// A Plan is what one request asks of a list.
type Plan struct {
	Style Style

	// Size is the number of rows the client wants. In Ranged style the
	// count comes from Resolve instead.
	Size int

	Page   int64 // in Offset style, from 1; Page * Size + 1 does not overflow
	Offset int64 // in Offset style, the rows before the page

	// Cursor is the cursor or page token as it was sent; empty on the
	// first page. Resume opens it.
	Cursor string

	// IncludeTotal says that the client wants the total.
	IncludeTotal bool

	list    *List
	query   string
	first   int64 // Ranged; -1 in a suffix range
	last    int64 // Ranged; -1 in an open range, the count in a suffix range
	foreign bool  // Ranged, in a unit that is not the list's
}

// Parse reads the parameters of a list request: the raw query and the values
// of the Range header, which the caller leaves out for methods other than GET.
// Every error is a 400: [problem.InvalidPageSize] with the maximum,
// [problem.MalformedRange], or [problem.InvalidParameter] for a parameter that
// is unknown, repeated, empty, unreadable, or of a second style. Further
// parameters are checked for these too; their values are the caller's to
// judge, by way of [Plan.Value].
func (l *List) Parse(rawQuery string, ranges []string) (Plan, error) {
	p := Plan{Style: Cursor, Size: l.Limits.size(), list: l, query: rawQuery}
	if rawQuery == "" && len(ranges) == 0 {
		return p, nil
	}
	paging, err := p.scan()
	if err != nil {
		return Plan{}, err
	}
	if len(ranges) > 0 {
		if err := p.parseRange(ranges); err != nil {
			return Plan{}, err
		}
	}
	if p.Style == Ranged && paging != "" {
		return Plan{}, invalid(paging, "The Range header and the pagination parameters exclude each other; send one or the other.")
	}
	return p, nil
}

// scan reads the query into the plan and returns the name of the first
// pagination parameter, include_total among them.
func (p *Plan) scan() (paging string, err error) {
	var room [16]string
	seen, chosen := room[:0], false
	for rest := p.query; rest != ""; {
		var pair string
		if pair, rest, _ = strings.Cut(rest, "&"); pair == "" {
			continue
		}
		name, value, err := p.list.read(pair, seen)
		if err != nil {
			return "", err
		}
		seen = append(seen, name)
		style, places := styleOf(name)
		switch {
		case places && chosen && style != p.Style:
			return "", invalid(name, "Parameters of two styles are mixed. Use page and size, or cursor and limit, or page_token and page_size.")
		case places:
			p.Style, chosen = style, true
		case name != "include_total":
			continue
		}
		if err := p.set(name, value); err != nil {
			return "", err
		}
		if paging == "" {
			paging = name
		}
	}
	return paging, p.place()
}

// read splits one pair of the query and checks what holds for every
// parameter.
func (l *List) read(pair string, seen []string) (name, value string, err error) {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, ok := unescape(rawName)
	if !ok {
		return "", "", invalid("", "The query string is not well-formed.")
	}
	if !slices.Contains(own[:], name) && !slices.Contains(l.Parameters, name) {
		p := invalid(printable(name), "The list does not know this parameter.")
		p.Allowed = l.names()
		return "", "", p
	}
	if value, ok = unescape(rawValue); !ok {
		return "", "", invalid(name, "The value of "+name+" is not well-formed.")
	}
	if value == "" {
		return "", "", invalid(name, "The parameter "+name+" is empty.")
	}
	if slices.Contains(seen, name) {
		return "", "", invalid(name, "The parameter "+name+" appears more than once.")
	}
	return name, value, nil
}

func styleOf(name string) (style Style, ok bool) {
	switch name {
	case "cursor", "limit":
		return Cursor, true
	case "page", "size":
		return Offset, true
	case "page_token", "page_size":
		return Token, true
	}
	return 0, false
}

// set takes over one pagination parameter.
func (p *Plan) set(name, value string) error {
	switch name {
	case "cursor", "page_token":
		p.Cursor = value
	case "limit", "size", "page_size":
		maximum := p.list.Limits.maximum()
		n, ok := number(value)
		if !ok || n < 1 || n > int64(maximum) {
			return oversize(name, name+" must be a whole number from 1 to "+strconv.Itoa(maximum)+".", maximum)
		}
		p.Size = int(n)
	case "page":
		n, ok := number(value)
		if !ok || n < 1 {
			return invalid(name, "page must be a whole number, and 1 or more.")
		}
		p.Page = n
	case "include_total":
		if value != "true" && value != "false" {
			bad := invalid(name, "include_total must be true or false.")
			bad.Allowed = []string{"false", "true"}
			return bad
		}
		p.IncludeTotal = value == "true"
	}
	return nil
}

// place computes the offset, once page and size are both known.
func (p *Plan) place() error {
	if p.Style != Offset {
		return nil
	}
	p.Page = max(p.Page, 1)
	if p.Page > (math.MaxInt64-1)/int64(p.Size) {
		return invalid("page", "page is too large.")
	}
	p.Offset = (p.Page - 1) * int64(p.Size)
	return nil
}

// names returns every accepted parameter, sorted.
func (l *List) names() []string {
	all := slices.Concat(own[:], l.Parameters)
	slices.Sort(all)
	return slices.Compact(all)
}

func invalid(parameter, detail string) *problem.Problem {
	return &problem.Problem{Kind: problem.InvalidParameter, Detail: detail, Parameter: parameter}
}

func oversize(parameter, detail string, maximum int) *problem.Problem {
	return &problem.Problem{Kind: problem.InvalidPageSize, Detail: detail, Parameter: parameter, Maximum: int64(maximum)}
}

// number reads decimal digits, nothing else. What does not fit saturates.
func number(s string) (n int64, ok bool) {
	for i := range len(s) {
		d := int64(s[i]) - '0'
		if d < 0 || d > 9 {
			return 0, false
		}
		if n > (math.MaxInt64-d)/10 {
			n = math.MaxInt64
		} else {
			n = n*10 + d
		}
	}
	return n, s != ""
}

// printable returns the first 64 printable characters of s.
func printable(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == 64 {
			break
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			n++
		}
	}
	return b.String()
}
