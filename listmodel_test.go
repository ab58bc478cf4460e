package parley_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-api/parley/problem"
)

// A listModel is what the list of tasks must answer, said as plainly as it can
// be: everything is worked out anew from all rows.
type listModel struct {
	rows    []listRow
	cursors map[string]listCursor // that the service has issued for these rows
}

// A listRow is a task.
type listRow struct {
	id, assignee int64
	status       string
	updated      time.Time
}

// A listCursor is what a cursor stands for.
type listCursor struct {
	style, scope string
	id           int64 // of the row at the edge
	back         bool
}

// A listRequest is a query, in pairs as they stand in the URL, and the values
// of Range.
type listRequest struct {
	pairs  [][2]string
	ranges []string
}

func (r listRequest) String() string {
	var all []string
	for _, p := range r.pairs {
		all = append(all, p[0]+"="+p[1])
	}
	return "/tasks?" + strings.Join(all, "&")
}

// A fault is one thing that is wrong with a request.
type fault struct {
	kind      *problem.Kind
	parameter string
}

// A listAnswer is what must come back: one of the faults, if there are any.
type listAnswer struct {
	faults      []fault
	unsatisfied bool // 416, where there is no fault
	style       string
	page, size  int
	ids         []int64
	more, less  bool // rows come after, or before
	total       int  // of all rows that the filters leave
	counted     bool // the total was asked for
	first       int  // of a range
}

// styles are the parameters of each.
var styles = map[string][2]string{"cursor": {"cursor", "limit"}, "offset": {"page", "size"}, "token": {"page_token", "page_size"}}

const listMaximum, listDefault = 100, 20

var digits = regexp.MustCompile(`^[0-9]+$`)

// number reads digits of any length; what is beyond an int64 is its maximum.
func number(s string) (int64, bool) {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || !digits.MatchString(s) {
		return 0, false
	}
	if !n.IsInt64() {
		return math.MaxInt64, true
	}
	return n.Int64(), true
}

// answer works out what a request must be answered with.
func (m *listModel) answer(r listRequest) *listAnswer {
	a := &listAnswer{style: "cursor", size: listDefault, page: 1}
	values := a.read(r)
	a.choose(values)
	rows, scope := a.selected(m.rows, values)
	a.total = len(rows)
	a.counted = a.boolean(values)
	a.number(values)
	switch {
	case r.ranges != nil:
		a.ranged(r.ranges, values, rows)
	case a.style == "offset":
		a.cut(rows, min(int64(a.page-1)*int64(a.size), int64(len(rows))))
	default:
		a.walk(m, values[styles[a.style][0]], scope, rows)
	}
	return a
}

func (a *listAnswer) bad(kind *problem.Kind, parameter string) {
	a.faults = append(a.faults, fault{kind, parameter})
}

// read decodes the query: unknown, repeated, empty and unreadable parameters
// are wrong.
func (a *listAnswer) read(r listRequest) map[string]string {
	known := []string{"page", "size", "cursor", "limit", "page_token", "page_size", "include_total", "sort", "status", "assignee_id", "updated_since"}
	values := make(map[string]string)
	for _, p := range r.pairs {
		name, err := url.QueryUnescape(p[0])
		if err != nil {
			a.bad(problem.InvalidParameter, "")
			continue
		}
		value, err := url.QueryUnescape(p[1])
		_, twice := values[name]
		if err != nil || strings.Contains(p[1], ";") || twice || value == "" || !slices.Contains(known, name) {
			a.bad(problem.InvalidParameter, name)
		}
		if !twice {
			values[name] = value
		}
	}
	return values
}

// choose finds the style. Parameters of two are wrong.
func (a *listAnswer) choose(values map[string]string) {
	var seen, names []string
	for style, pair := range styles {
		for _, name := range pair {
			if _, ok := values[name]; ok {
				names = append(names, name)
				if !slices.Contains(seen, style) {
					seen = append(seen, style)
				}
			}
		}
	}
	if len(seen) > 1 {
		for _, name := range names {
			a.bad(problem.InvalidParameter, name)
		}
	}
	if len(seen) > 0 {
		a.style = seen[0]
	}
}

func (a *listAnswer) boolean(values map[string]string) bool {
	v, ok := values["include_total"]
	if ok && v != "true" && v != "false" {
		a.bad(problem.InvalidParameter, "include_total")
	}
	return v == "true"
}

// number reads the sizes and the page.
func (a *listAnswer) number(values map[string]string) {
	for _, name := range []string{"size", "limit", "page_size"} {
		if v, ok := values[name]; ok {
			n, ok := number(v)
			if !ok || n < 1 || n > listMaximum {
				a.bad(problem.InvalidPageSize, name)
			} else {
				a.size = int(n)
			}
		}
	}
	if v, ok := values["page"]; ok {
		n, ok := number(v)
		if !ok || n < 1 || n > (math.MaxInt64-1)/int64(a.size) {
			a.bad(problem.InvalidParameter, "page")
		} else {
			a.page = int(n)
		}
	}
}

// selected filters and sorts the rows, and says in one text by what.
func (a *listAnswer) selected(all []listRow, values map[string]string) (rows []listRow, scope string) {
	rows = slices.Clone(all)
	keep := func(ok func(listRow) bool) {
		rows = slices.DeleteFunc(rows, func(r listRow) bool { return !ok(r) })
	}
	scope = fmt.Sprint(values["status"], values["assignee_id"], values["updated_since"], values["sort"])
	if v, ok := values["status"]; ok {
		if !slices.Contains([]string{"pending", "in_progress", "done"}, v) {
			a.bad(problem.InvalidParameter, "status")
		}
		keep(func(r listRow) bool { return r.status == v })
	}
	if v, ok := values["assignee_id"]; ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || !digits.MatchString(strings.TrimPrefix(v, "-")) {
			a.bad(problem.InvalidParameter, "assignee_id")
		}
		keep(func(r listRow) bool { return r.assignee == n })
	}
	sort, sorted := values["sort"]
	if sorted && !slices.Contains([]string{"id", "-id", "created_at", "-created_at"}, sort) {
		a.bad(problem.InvalidParameter, "sort")
	}
	if strings.HasPrefix(sort, "-") {
		slices.Reverse(rows)
	}
	if v, ok := values["updated_since"]; ok {
		since, err := time.Parse(time.RFC3339, v)
		if err != nil || since.Year() < 1970 {
			a.bad(problem.InvalidParameter, "updated_since")
		}
		if sorted {
			a.bad(problem.InvalidParameter, "sort")
		}
		keep(func(r listRow) bool { return !r.updated.Before(since) })
		slices.SortStableFunc(rows, func(x, y listRow) int { return cmp.Or(x.updated.Compare(y.updated), cmp.Compare(x.id, y.id)) })
	}
	return rows, scope
}

// cut takes the page that begins at a place.
func (a *listAnswer) cut(rows []listRow, from int64) {
	to := min(from+int64(a.size), int64(len(rows)))
	for _, r := range rows[from:to] {
		a.ids = append(a.ids, r.id)
	}
	a.less, a.more = from > 0, to < int64(len(rows))
}

// walk takes the page that a cursor leads to. It leads nowhere in another
// style, with other filters or in another order.
func (a *listAnswer) walk(m *listModel, cursor, scope string, rows []listRow) {
	if cursor == "" {
		a.cut(rows, 0)
		return
	}
	at, issued := m.cursors[cursor]
	edge := slices.IndexFunc(rows, func(r listRow) bool { return r.id == at.id })
	switch {
	case !issued || at.style != a.style || at.scope != scope || edge < 0:
		a.bad(problem.InvalidCursor, styles[a.style][0])
	case at.back:
		size := a.size
		from := max(edge-size, 0)
		a.size = edge - from
		a.cut(rows, int64(from))
		a.size = size
	default:
		a.cut(rows, int64(edge)+1)
	}
}

var rangeForm = regexp.MustCompile(`^([!#$%&'*+.^_|~0-9A-Za-z-]+)=([\x20-\x7e]*[\x21-\x2b\x2d-\x7e][\x20-\x7e]*)$`)
var rangeOne = regexp.MustCompile(`^[, ]*([0-9]*)-([0-9]*)[, ]*$`)

// ranged takes the rows of a Range header, which no pagination parameter may
// stand beside.
func (a *listAnswer) ranged(ranges []string, values map[string]string, rows []listRow) {
	a.style = "range"
	for _, name := range []string{"page", "size", "cursor", "limit", "page_token", "page_size", "include_total"} {
		if _, ok := values[name]; ok {
			a.bad(problem.InvalidParameter, name)
		}
	}
	form := rangeForm.FindStringSubmatch(ranges[0])
	if form == nil || len(ranges) > 1 {
		a.bad(problem.MalformedRange, "Range")
		return
	}
	if !strings.EqualFold(form[1], "tasks") {
		a.unsatisfied = true
		return
	}
	one := rangeOne.FindStringSubmatch(form[2])
	if one == nil || one[1]+one[2] == "" {
		a.bad(problem.MalformedRange, "Range")
		return
	}
	first, last := int64(0), int64(len(rows)-1)
	from, _ := number(one[1])
	to, _ := number(one[2])
	wanted := to - from
	switch {
	case one[1] == "":
		first, wanted = max(last+1-to, 0), to-1
	case one[2] == "":
		first, wanted = from, last-from
	default:
		first, last = from, min(to, last)
	}
	switch {
	case one[1] != "" && one[2] != "" && wanted < 0:
		a.bad(problem.MalformedRange, "Range")
	case wanted >= listMaximum:
		a.bad(problem.InvalidPageSize, "Range")
	case first > last:
		a.unsatisfied = true
	default:
		a.first, a.size = int(first), int(last-first)+1
		a.cut(rows, first)
	}
}
