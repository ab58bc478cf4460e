package paginate

import "strconv"

// A Page is one page as it was fetched.
type Page struct {
	Rows int                            // rows on the page
	Item func(dst []byte, i int) []byte // appends row i as JSON; not called where Rows is 0

	// HasNext says that rows follow. The caller learns it without the
	// total by fetching one row more than it shows.
	HasNext bool
	// HasPrev says that rows come before. Offset style does not read it.
	HasPrev bool

	// Next and Prev are the edges of the page, sealed where HasNext and
	// HasPrev say so in Cursor and Token style. Their Back is set for the
	// caller.
	Next, Prev Position

	// Total is the number of rows on all pages, shown where the plan's
	// IncludeTotal is set and Total is not negative.
	Total int64
}

// Append appends the response body in the plan's style to dst. The links are
// those of [Plan.Links] for the same page. In Ranged style the body is the
// data alone; the caller answers 206 with [Span.ContentRange].
func (p Plan) Append(dst []byte, page Page, links Links) []byte {
	name := "data"
	if p.Style == Token {
		name = p.list.Collection
	}
	dst = append(append(append(dst, `{"`...), name...), `":[`...)
	for i := range page.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = page.Item(dst, i)
	}
	dst = append(dst, ']')
	total := p.IncludeTotal && page.Total >= 0
	switch p.Style {
	case Cursor:
		dst = p.appendCursor(dst, page, links, total)
	case Offset:
		dst = p.appendOffset(dst, page, links, total)
	case Token:
		dst = appendString(dst, `,"next_page_token":`, links.NextCursor)
		if total {
			dst = appendNumber(dst, `,"total":`, page.Total)
		}
	}
	return append(dst, '}')
}

// appendCursor appends the cursor pagination envelope.
func (p Plan) appendCursor(dst []byte, page Page, links Links, total bool) []byte {
	dst = appendNumber(dst, `,"pagination":{"limit":`, int64(p.Size))
	dst = appendNullable(dst, `,"next_cursor":`, links.NextCursor)
	dst = appendNullable(dst, `,"prev_cursor":`, links.PrevCursor)
	dst = append(dst, `,"has_more":`...)
	dst = strconv.AppendBool(dst, page.HasNext)
	if total {
		dst = appendNumber(dst, `,"total":`, page.Total)
	}
	dst = appendString(dst, `},"_links":{"self":`, links.Self)
	dst = appendString(dst, `,"next":`, links.Next)
	return append(dst, '}')
}

// appendOffset appends the offset pagination envelope.
func (p Plan) appendOffset(dst []byte, page Page, links Links, total bool) []byte {
	dst = appendNumber(dst, `,"pagination":{"page":`, p.Page)
	dst = appendNumber(dst, `,"size":`, int64(p.Size))
	if total {
		dst = appendNumber(dst, `,"total":`, page.Total)
		dst = appendNumber(dst, `,"total_pages":`, p.pages(page.Total))
	}
	dst = appendString(dst, `},"_links":{"self":`, links.Self)
	dst = appendString(dst, `,"first":`, links.First)
	dst = appendString(dst, `,"prev":`, links.Prev)
	dst = appendString(dst, `,"next":`, links.Next)
	dst = appendString(dst, `,"last":`, links.Last)
	return append(dst, '}')
}

// pages returns how many pages the total fills.
func (p Plan) pages(total int64) int64 {
	if total <= 0 {
		return 0
	}
	return (total-1)/int64(p.Size) + 1
}

// appendString appends a member, or nothing where s is empty. Links and
// cursors hold no character that JSON escapes.
func appendString(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	dst = append(append(dst, name...), '"')
	return append(append(dst, s...), '"')
}

func appendNullable(dst []byte, name, s string) []byte {
	if s == "" {
		return append(append(dst, name...), "null"...)
	}
	return appendString(dst, name, s)
}

func appendNumber(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(dst, name...), n, 10)
}
