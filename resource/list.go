package resource

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/precond"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// sorts are the orders of every list. Ids are handed out in order of creation,
// so created_at needs no index of its own.
var sorts = []string{"id", "-id", "created_at", "-created_at"}

// parameters are the query parameters of the list in a version, besides those
// of its pages.
func (rm *Room) parameters(v *version.Version) []string {
	names := append(rm.filterNames(v), "sort", "updated_since", "api-version", "version")
	slices.Sort(names)
	return names
}

// NoParameters refuses query parameters where none has a meaning, but for
// those that carry the version.
func NoParameters(c *Call) error {
	if c.R.URL.RawQuery == "" {
		return nil
	}
	list := paginate.List{Parameters: []string{"api-version", "version"}}
	if version.Strip(c.R.URL.RawQuery) == "" {
		return nil
	}
	_, err := list.Parse(c.R.URL.RawQuery, nil)
	if err == nil {
		err = problem.InvalidParameter.New("This resource takes no query parameters.")
	}
	return err
}

// Ranges returns the Range header, which has a meaning for GET only. With
// If-Range it has none either: that needs a strong validator, and the ETag of a
// list is weak (RFC 9110, section 13.1.5).
func Ranges(c *Call) []string {
	if c.R.Method != http.MethodGet || c.R.Header["If-Range"] != nil {
		return nil
	}
	return c.R.Header["Range"]
}

// list answers GET of a collection.
func (rm *Room) list(c *Call) error {
	pages := &rm.pages[c.Version.Index()]
	plan, err := pages.Parse(c.R.URL.RawQuery, Ranges(c))
	if err != nil {
		return err
	}
	q, scope, err := rm.query(c, plan)
	if err != nil {
		return err
	}
	if over, err := rm.over(c); err != nil {
		return err
	} else if over != nil {
		q.Where = append(q.Where, store.Condition{Column: rm.parent.name, Values: []any{over.ID}})
		scope.Filters += "&" + rm.above.plural + "=" + strconv.FormatInt(over.ID, 10)
	}
	return Serve(c, Listing[store.Row]{
		Pages: pages, Plan: plan, Scope: scope, Keys: rm.Keys(plan.Cursor), Now: rm.Now(),
		Place: func(row *store.Row) Place {
			if q.Order == store.ByUpdated {
				return Place{ID: row.ID, Key: row.Updated, Rev: row.Rev}
			}
			return Place{ID: row.ID, Rev: row.Rev}
		},
		Fetch: func(w Window) ([]store.Row, error) {
			q.Mark, q.Back, q.Offset, q.Limit = w.Mark, w.Back, w.Offset, w.Limit
			if w.After {
				q.After = &store.Position{Key: w.Key, ID: w.ID}
			}
			return rm.Store.Page(c.Context(), rm.table, q)
		},
		Begin: func(limit int) ([]store.Row, int64, error) {
			q.Limit = limit
			return rm.Store.Begin(c.Context(), rm.table, q)
		},
		Count: func() (int64, error) { return rm.Store.Count(c.Context(), rm.table, q) },
		Item:  func(dst []byte, row *store.Row) ([]byte, error) { return rm.appendRow(dst, c, row) },
	})
}

// query turns the filters and the order of a request into the store's terms
// and the scope that cursors are bound to.
func (rm *Room) query(c *Call, plan paginate.Plan) (store.Query, paginate.Scope, error) {
	q := store.Query{Account: rm.account(c)}
	scope := paginate.Scope{Collection: rm.plural, Account: c.Account}
	if rm.system {
		scope.Account = 0
	}
	if rm.owner != nil {
		q.Where = []store.Condition{{Column: rm.owner.name, Values: []any{c.Account}}}
	}
	if c.R.URL.RawQuery == "" {
		return q, scope, nil
	}
	sort, _ := plan.Value("sort")
	if sort != "" && !slices.Contains(sorts, sort) {
		return q, scope, Parameter("sort", "The list cannot be sorted that way.", sorts...)
	}
	q.Desc, scope.Sort = strings.HasPrefix(sort, "-"), sort
	if since, ok := plan.Value("updated_since"); ok {
		t, err := ParseTime("updated_since", since)
		if err != nil {
			return q, scope, err
		}
		q.Since, q.Order, scope.Sort = t, store.ByUpdated, "updated_at"
		scope.Filters = "updated_since=" + strconv.FormatInt(t, 10)
		if sort != "" {
			return q, scope, Parameter("sort", "With updated_since a list is in order of change and cannot be sorted.")
		}
	}
	where, err := rm.conditions(c, plan, &scope)
	q.Where = append(q.Where, where...)
	return q, scope, err
}

// conditions reads the filters. Names and values are those of the version.
func (rm *Room) conditions(c *Call, plan paginate.Plan, scope *paginate.Scope) ([]store.Condition, error) {
	var where []store.Condition
	for _, name := range rm.pages[c.Version.Index()].Parameters {
		text, ok := plan.Value(name)
		if !ok || slices.Contains([]string{"sort", "updated_since", "api-version", "version"}, name) {
			continue
		}
		latest, values, err := rm.chain.Filter(c.Version, name, text)
		if err != nil {
			return nil, err
		}
		f := rm.plan.byName[latest]
		if f == nil || !slices.Contains(rm.filters, f) {
			return nil, Parameter(name, "This list has no such filter.")
		}
		cond := store.Condition{Column: f.name}
		for _, v := range values {
			value, err := f.filter(v)
			if err != nil {
				return nil, rm.chain.Problem(c.Version, err)
			}
			cond.Values = append(cond.Values, value)
		}
		where = append(where, cond)
		scope.Filters += "&" + latest + "=" + strings.Join(values, "|")
	}
	return where, nil
}

// filter reads a query parameter as a value of a column.
func (f *field) filter(text string) (any, error) {
	switch f.kind {
	case kindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && text[0] != '+' { // one way to write a number
			return n, nil
		}
		return nil, Parameter(f.name, "The filter must be a whole number.")
	case kindBool:
		if text == "true" || text == "false" {
			return text == "true", nil
		}
		return nil, Parameter(f.name, "The filter must be true or false.", "true", "false")
	}
	if f.enum != nil && !slices.Contains(f.enum, text) {
		return nil, Parameter(f.name, "The filter has a value that does not exist.", f.enum...)
	}
	return text, nil
}

// Parameter is the 400 for a query parameter.
func Parameter(name, detail string, allowed ...string) *problem.Problem {
	p := problem.InvalidParameter.New(detail)
	p.Parameter, p.Allowed = name, allowed
	return p
}

// ParseTime reads a timestamp in a query as microseconds since 1970.
func ParseTime(name, text string) (int64, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return 0, Parameter(name, "The timestamp must be in the form 2006-01-02T15:04:05Z.")
	}
	return t.UnixMicro(), nil
}

// A Window is the part of a list that a page needs.
type Window struct {
	Mark, Key, ID int64
	After, Back   bool
	Offset, Limit int
}

// A Place is where a row stands in its list, and its revision.
type Place struct{ ID, Key, Rev int64 }

// A Listing is a list request and where its rows, of type R, come from. Serve
// renders it in the style asked for.
type Listing[R any] struct {
	Pages *paginate.List
	Plan  paginate.Plan
	Scope paginate.Scope
	Keys  *paginate.Keys
	Now   time.Time

	Fetch func(Window) ([]R, error)

	// Begin reads the first page of a walk and the mark of the snapshot that
	// the walk stands on, which comes back in the Windows of its other pages.
	// Where it is nil, Mark gives the mark and then Fetch the rows; a mark of 0
	// means that there are none.
	Begin func(limit int) ([]R, int64, error)
	Mark  func() (int64, error)

	Count func() (int64, error)
	Place func(*R) Place
	Item  func(dst []byte, row *R) ([]byte, error)
}

// Serve answers a list request.
func Serve[R any](c *Call, l Listing[R]) error {
	page := paginate.Page{Total: -1}
	var err error
	if l.Plan.IncludeTotal || l.Plan.Style == paginate.Ranged {
		if page.Total, err = l.Count(); err != nil {
			return err
		}
	}
	if l.Plan.Style == paginate.Ranged {
		return l.ranged(c, page)
	}
	rows, err := l.fetch(&page)
	if err != nil {
		return err
	}
	links, err := l.Plan.Links(c.Mount+c.Path, page, l.Keys, l.Scope, l.Now)
	if err != nil {
		return err
	}
	return l.send(c, http.StatusOK, page, rows, links)
}

// fetch reads the rows of a page and finds its neighbours.
func (l *Listing[R]) fetch(page *paginate.Page) ([]R, error) {
	size := l.Plan.Size
	w := Window{Limit: size + 1, Offset: int(l.Plan.Offset)}
	if l.Plan.Style == paginate.Offset {
		rows, err := l.Fetch(w)
		page.HasNext = len(rows) > size
		return rows[:min(size, len(rows))], err
	}
	at, err := l.Plan.Resume(l.Keys, l.Scope, l.Now)
	if err != nil {
		return nil, err
	}
	if l.Plan.Cursor != "" {
		w.After, w.Mark, w.Key, w.ID, w.Back = true, at.Mark, at.Key, at.ID, at.Back
	}
	rows, err := l.read(&w)
	if err != nil {
		return nil, err
	}
	more := len(rows) > size
	if w.Back {
		page.HasNext, page.HasPrev = true, more
		if more {
			rows = rows[1:]
		}
	} else {
		page.HasNext, page.HasPrev = more, w.After
		rows = rows[:min(size, len(rows))]
	}
	if len(rows) > 0 {
		page.Prev, page.Next = l.position(w.Mark, &rows[0]), l.position(w.Mark, &rows[len(rows)-1])
	} else {
		page.HasNext, page.HasPrev = false, false
	}
	return rows, nil
}

// read reads the rows of a window, and its mark where a walk begins.
func (l *Listing[R]) read(w *Window) (rows []R, err error) {
	switch {
	case w.After:
		return l.Fetch(*w)
	case l.Begin != nil:
		rows, w.Mark, err = l.Begin(w.Limit)
		return rows, err
	}
	if w.Mark, err = l.Mark(); err != nil || w.Mark == 0 {
		return nil, err
	}
	return l.Fetch(*w)
}

func (l *Listing[R]) position(mark int64, row *R) paginate.Position {
	at := l.Place(row)
	return paginate.Position{Mark: mark, ID: at.ID, Key: at.Key}
}

// ranged answers a Range in units of the collection.
func (l *Listing[R]) ranged(c *Call, page paginate.Page) error {
	span, err := l.Plan.Resolve(page.Total)
	if err != nil {
		return err
	}
	rows, err := l.Fetch(Window{Offset: int(span.Offset), Limit: span.Count})
	if err != nil {
		return err
	}
	span.Count = len(rows)
	c.W.Header()["Content-Range"] = []string{span.ContentRange()}
	return l.send(c, http.StatusPartialContent, page, rows, paginate.Links{})
}

// send writes the page. Its ETag is weak and made of what the rows are, since
// cursors are sealed anew each time.
func (l *Listing[R]) send(c *Call, status int, page paginate.Page, rows []R, links paginate.Links) error {
	etag := l.etag(c, page, rows)
	h := c.W.Header()
	result, err := precond.Check(c.R, etag, time.Time{})
	if err != nil {
		delete(h, "Content-Range")
		return err
	}
	h["Accept-Ranges"] = []string{l.Pages.Collection}
	if result == precond.NotModified {
		c.notModified(etag)
		return nil
	}
	if header := links.Header(); header != "" {
		h.Add("Link", header)
	}
	var failed error
	page.Rows = len(rows)
	page.Item = func(dst []byte, i int) []byte {
		dst, err := l.Item(dst, &rows[i])
		if err != nil {
			failed = err
		}
		return dst
	}
	body := l.Plan.Append(c.Buf, page, links)
	c.Buf = body[:0]
	if failed != nil {
		return failed
	}
	c.Send(status, etag, body)
	return nil
}

// etag hashes ids and revisions with the version, the format and the
// parameters (FNV-1a).
func (l *Listing[R]) etag(c *Call, page paginate.Page, rows []R) string {
	h := uint64(14695981039346656037)
	text := func(s string) {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	number := func(n int64) {
		for i := range 8 {
			h = (h ^ uint64(byte(n>>(8*i)))) * 1099511628211
		}
	}
	text(c.Version.Name)
	text(c.Type)
	text(c.Mount)
	text(c.R.URL.RawQuery)
	number(page.Total)
	if page.HasNext {
		number(1)
	}
	for i := range rows {
		at := l.Place(&rows[i])
		number(at.ID)
		number(at.Rev)
	}
	b := append(make([]byte, 0, 24), `W/"`...)
	b = strconv.AppendUint(b, h, 36)
	return string(append(b, '"'))
}

// Fixed answers a list request from items that are all in memory and never
// change their order. Item writes one of them; its index is its place.
func Fixed[R any](c *Call, o *Options, collection string, items []R, item func(dst []byte, row *R) ([]byte, error)) error {
	pages := &paginate.List{Collection: collection, Limits: o.Limits, RFC: o.RFC, Parameters: []string{"api-version", "version"}}
	plan, err := pages.Parse(c.R.URL.RawQuery, Ranges(c))
	if err != nil {
		return err
	}
	type entry struct {
		at  int
		row *R
	}
	return Serve(c, Listing[entry]{
		Pages: pages, Plan: plan, Keys: o.Keys(plan.Cursor), Now: o.Now(), Scope: paginate.Scope{Collection: collection, Account: c.Account},
		Fetch: func(w Window) ([]entry, error) {
			from, to := w.Offset, min(w.Offset+w.Limit, len(items))
			if w.After && w.Back {
				from, to = max(int(w.ID)-1-w.Limit, 0), min(int(w.ID)-1, len(items))
			} else if w.After {
				from, to = int(w.ID), min(int(w.ID)+w.Limit, len(items))
			}
			var out []entry
			for i := from; i < to; i++ {
				out = append(out, entry{i, &items[i]})
			}
			return out, nil
		},
		Mark:  func() (int64, error) { return int64(len(items)), nil },
		Count: func() (int64, error) { return int64(len(items)), nil },
		Place: func(e *entry) Place { return Place{ID: int64(e.at) + 1, Rev: 1} },
		Item:  func(dst []byte, e *entry) ([]byte, error) { return item(dst, e.row) },
	})
}
