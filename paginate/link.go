package paginate

import (
	"strconv"
	"time"
)

// Links are the neighbours of a page, as relative URLs of path and query and
// as cursors. What does not exist is empty. Header and body show the same.
type Links struct {
	Self, First, Prev, Next, Last string
	NextCursor, PrevCursor        string // or page tokens
}

// Links returns the links of a page. They keep the parameters that the client
// sent; only the page, the cursor or the page token changes. The path is that
// of the request on the mount the client used, escaped as
// [net/url.URL.EscapedPath] gives it. Cursors are sealed with keys for scope
// and expire after [Lifetime]; keys may be nil in the other styles. The only
// error is that of [Keys.Seal]. In Ranged style there are no links.
func (p Plan) Links(path string, page Page, keys *Keys, scope Scope, now time.Time) (Links, error) {
	if p.Style == Ranged {
		return Links{}, nil
	}
	var room [1024]byte
	var first, prev, next, last, nextCursor, prevCursor part
	l := linker{path: path, query: p.query, name: parameter[p.Style]}
	buf, self := l.link(room[:0], nil)
	if p.Style == Offset {
		buf, first, prev, next, last = p.offsets(buf, l, page)
	} else {
		s := sealer{keys, scope, p.Style, now.Add(Lifetime)}
		page.Next.Back, page.Prev.Back = false, true
		var err error
		if page.HasNext {
			if buf, nextCursor, next, err = l.seal(buf, s, page.Next); err != nil {
				return Links{}, err
			}
		}
		if page.HasPrev {
			if buf, prevCursor, prev, err = l.seal(buf, s, page.Prev); err != nil {
				return Links{}, err
			}
		}
	}
	all := string(buf)
	return Links{
		Self: self.of(all), First: first.of(all), Prev: prev.of(all), Next: next.of(all), Last: last.of(all),
		NextCursor: nextCursor.of(all), PrevCursor: prevCursor.of(all),
	}, nil
}

// parameter is the one that leads from page to page in each style.
var parameter = [...]string{Cursor: "cursor", Offset: "page", Token: "page_token"}

// offsets writes the links of a page in Offset style. Beyond the end, where
// the total says so, the page before is the last one that exists.
func (p Plan) offsets(buf []byte, l linker, page Page) (_ []byte, first, prev, next, last part) {
	known := p.IncludeTotal && page.Total >= 0
	end := max(p.pages(page.Total), 1)
	buf, first = l.page(buf, 1)
	if p.Page > 1 {
		before := p.Page - 1
		if known {
			before = min(before, end)
		}
		buf, prev = l.page(buf, before)
	}
	if page.HasNext {
		buf, next = l.page(buf, p.Page+1)
	}
	if known {
		buf, last = l.page(buf, end)
	}
	return buf, first, prev, next, last
}

// Header returns the value of the Link header, RFC 8288: next and prev, and
// in Offset style first and last. It is empty where there are none.
func (l Links) Header() string {
	var room [1024]byte
	b := room[:0]
	b = appendRel(b, l.Next, "next")
	b = appendRel(b, l.Prev, "prev")
	b = appendRel(b, l.First, "first")
	b = appendRel(b, l.Last, "last")
	return string(b)
}

func appendRel(b []byte, link, rel string) []byte {
	if link == "" {
		return b
	}
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	b = append(append(b, '<'), link...)
	return append(append(append(b, `>; rel="`...), rel...), '"')
}

// A part is a stretch of the buffer that all links of a page are written to,
// so that they become one string.
type part struct{ from, to int }

func (p part) of(s string) string { return s[p.from:p.to] }

// A linker writes links that differ in one parameter.
type linker struct{ path, query, name string }

// link writes one link, with value for the parameter; nil leaves the query as
// it is.
func (l linker) link(buf, value []byte) ([]byte, part) {
	from := len(buf)
	if value == nil {
		l.name = ""
	}
	buf = appendSafe(buf, l.path, true)
	buf = appendQuery(buf, l.query, l.name, value)
	return buf, part{from, len(buf)}
}

func (l linker) page(buf []byte, n int64) ([]byte, part) {
	var room [20]byte
	return l.link(buf, strconv.AppendInt(room[:0], n, 10))
}

// A sealer is what the cursors of one page have in common.
type sealer struct {
	keys    *Keys
	scope   Scope
	style   Style
	expires time.Time
}

// seal writes a cursor and the link that carries it.
func (l linker) seal(buf []byte, s sealer, at Position) (_ []byte, cursor, link part, err error) {
	from := len(buf)
	if buf, err = s.keys.AppendSeal(buf, s.scope, s.style, at, s.expires); err != nil {
		return nil, part{}, part{}, err
	}
	cursor = part{from, len(buf)}
	buf, link = l.link(buf, buf[from:])
	return buf, cursor, link, nil
}
