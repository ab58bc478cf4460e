package parley_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A choice is which tasks a walk is over and in which order.
type choice struct {
	status string
	owner  int64
	since  time.Time
	sort   string
}

// choose makes one up. The times are those of rows.
func choose(random *rand.Rand, b *band, rows []shown) (c choice) {
	if random.IntN(2) == 0 {
		c.status = randomState(random)
	}
	if random.IntN(3) == 0 {
		c.owner = b.owners[random.IntN(len(b.owners))]
	}
	switch {
	case random.IntN(3) > 0:
		c.sort = []string{"", "id", "-id", "created_at", "-created_at"}[random.IntN(5)]
	case len(rows) > 0:
		c.since = rows[random.IntN(len(rows))].Updated
	default:
		c.since = time.Unix(0, 0).UTC()
	}
	return c
}

func (c choice) query() url.Values {
	q := url.Values{}
	if c.status != "" {
		q.Set("status", c.status)
	}
	if c.owner != 0 {
		q.Set("assignee_id", strconv.FormatInt(c.owner, 10))
	}
	if !c.since.IsZero() {
		q.Set("updated_since", c.since.Format(time.RFC3339Nano))
	}
	if c.sort != "" {
		q.Set("sort", c.sort)
	}
	return q
}

func (c choice) matches(s shown) bool {
	return (c.status == "" || s.Status == c.status) && (c.owner == 0 || s.Owner != nil && *s.Owner == c.owner) && !s.Updated.Before(c.since)
}

// compare orders tasks as the walk does.
func (c choice) compare(a, b shown) int {
	if !c.since.IsZero() {
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.ID, b.ID))
	}
	if strings.HasPrefix(c.sort, "-") {
		a, b = b, a
	}
	return cmp.Compare(a.ID, b.ID)
}

// of returns the rows that are chosen, in order.
func (c choice) of(rows []shown) []shown {
	rows = slices.DeleteFunc(slices.Clone(rows), func(s shown) bool { return !c.matches(s) })
	slices.SortFunc(rows, c.compare)
	return rows
}

// A leaf is one page of a walk.
type leaf struct {
	rows       []shown
	next, prev string
}

// turn reads a page: in cursor style, or with "page_token" in token style.
func (b *band) turn(random *rand.Rand, c choice, style, cursor string, size int) leaf {
	var page struct {
		Data, Tasks []shown
		Token       string `json:"next_page_token"`
		Pagination  struct {
			Next string `json:"next_cursor"`
			Prev string `json:"prev_cursor"`
			More bool   `json:"has_more"`
		}
	}
	q := c.query()
	q.Set(map[string]string{"cursor": "limit", "page_token": "page_size"}[style], strconv.Itoa(size))
	if cursor != "" {
		q.Set(style, cursor)
	}
	if got := b.send(random, "GET", "/tasks?"+q.Encode(), "", &page); got != 200 {
		b.t.Fatalf("GET /tasks?%s: got %d", q.Encode(), got)
	}
	if page.Pagination.More != (page.Pagination.Next != "") {
		b.t.Errorf("has_more is %v, next_cursor %q", page.Pagination.More, page.Pagination.Next)
	}
	if len(page.Data)+len(page.Tasks) > size {
		b.t.Errorf("%d rows on a page of %d", len(page.Data)+len(page.Tasks), size)
	}
	return leaf{append(page.Data, page.Tasks...), page.Pagination.Next + page.Token, page.Pagination.Prev}
}

func ids(rows []shown) []int64 {
	all := make([]int64, len(rows))
	for i, r := range rows {
		all[i] = r.ID
	}
	return all
}

// all reads every task of the account.
func (b *band) all(random *rand.Rand) (rows []shown) {
	for cursor := ""; ; {
		l := b.turn(random, choice{}, "cursor", cursor, 100)
		rows = append(rows, l.rows...)
		if cursor = l.next; cursor == "" {
			return rows
		}
	}
}

// seeds are of the rounds of a property: the first is always the same, another
// is new each time and told where it fails.
func seeds(t *testing.T, rounds int, property func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	fresh := uint64(time.Now().UnixNano())
	for i := range rounds {
		seed := uint64(i)
		if i > rounds/2 {
			seed = fresh + uint64(i)
		}
		if property(t, rand.New(rand.NewPCG(seed, 3))); t.Failed() {
			t.Fatalf("with the seed %d", seed)
		}
	}
}

// TestListStill walks over tasks that nobody changes, in every style: pages
// meet without a gap, and prev_cursor leads exactly to the rows before.
func TestListStill(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			nodes := startNodes(t, engine)
			seeds(t, 20, func(t *testing.T, random *rand.Rand) {
				b := newBand(t, nodes)
				b.fill(random, random.IntN(40))
				rows := b.all(random)
				for range 6 {
					c := choose(random, b, rows)
					want := c.of(rows)
					b.zigzag(random, c, want)
					b.offsets(random, c, want)
					b.tokens(random, c, want)
				}
			})
		})
	}
}

// zigzag goes forth and back at random, with pages of any size.
func (b *band) zigzag(random *rand.Rand, c choice, want []shown) {
	b.t.Helper()
	size := 1 + random.IntN(9)
	l, from, to := b.turn(random, c, "cursor", "", size), 0, min(size, len(want))
	for step := 0; ; step++ {
		if !slices.Equal(ids(l.rows), ids(want[from:to])) || (l.next != "") != (to < len(want)) || (l.prev != "") != (from > 0) {
			b.t.Fatalf("%+v, rows %d to %d of %d: got %v, next %v, prev %v, want %v", c, from, to, len(want), ids(l.rows), l.next != "", l.prev != "", ids(want[from:to]))
		}
		size = 1 + random.IntN(9)
		switch back := random.IntN(3) == 0; {
		case step > 30 || l.next == "" && l.prev == "":
			return
		case l.next == "" || back && l.prev != "":
			from, to = max(from-size, 0), from
			l = b.turn(random, c, "cursor", l.prev, size)
		default:
			from, to = to, min(to+size, len(want))
			l = b.turn(random, c, "cursor", l.next, size)
		}
	}
}

// offsets reads all pages by their numbers.
func (b *band) offsets(random *rand.Rand, c choice, want []shown) {
	b.t.Helper()
	size := 1 + random.IntN(12)
	var got []shown
	for page := 1; ; page++ {
		var body struct {
			Data       []shown
			Pagination struct{ Total int }
			Links      struct{ Next string } `json:"_links"`
		}
		q := c.query()
		q.Set("page", strconv.Itoa(page))
		q.Set("size", strconv.Itoa(size))
		q.Set("include_total", "true")
		b.send(random, "GET", "/tasks?"+q.Encode(), "", &body)
		got = append(got, body.Data...)
		if body.Pagination.Total != len(want) {
			b.t.Fatalf("%+v: total %d, want %d", c, body.Pagination.Total, len(want))
		}
		if body.Links.Next == "" {
			break
		}
	}
	if !slices.Equal(ids(got), ids(want)) {
		b.t.Fatalf("%+v by offset: got %v, want %v", c, ids(got), ids(want))
	}
}

// tokens reads all pages by token.
func (b *band) tokens(random *rand.Rand, c choice, want []shown) {
	b.t.Helper()
	var got []shown
	for token := ""; ; {
		l := b.turn(random, c, "page_token", token, 1+random.IntN(9))
		got = append(got, l.rows...)
		if token = l.next; token == "" {
			break
		}
	}
	if !slices.Equal(ids(got), ids(want)) {
		b.t.Fatalf("%+v by token: got %v, want %v", c, ids(got), ids(want))
	}
}

// TestListMoving walks while others insert, update and delete: each row that
// matches throughout is seen exactly once and in order, forth and back, and
// nothing of what is made after the first page.
func TestListMoving(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			nodes := startNodes(t, engine)
			seeds(t, 30, func(t *testing.T, random *rand.Rand) {
				b := newBand(t, nodes)
				b.fill(random, 10+random.IntN(50))
				for range 3 {
					rows := b.all(random)
					c := choose(random, b, rows)
					b.moving(random, c, rows, []string{"cursor", "page_token"}[random.IntN(2)])
				}
			})
		})
	}
}

// moving is one walk. Others leave the rows with an even place alone, but for
// their titles where the order is not that of change.
func (b *band) moving(random *rand.Rand, c choice, rows []shown, style string) {
	b.t.Helper()
	var still []shown
	for i, r := range rows {
		if i%2 == 0 {
			still = append(still, r)
		}
	}
	end := play(random.Uint64(), 4, func(random *rand.Rand) {
		i := random.IntN(len(rows))
		path := fmt.Sprint("/tasks/", rows[i].ID)
		switch {
		case random.IntN(3) == 0:
			b.post(random)
		case i%2 == 1 && random.IntN(8) == 0:
			b.send(random, "DELETE", path, "", nil)
		case i%2 == 1:
			b.send(random, "PATCH", path, `{"status": "`+randomState(random)+`"}`, nil)
		case c.since.IsZero():
			b.send(random, "PATCH", path, fmt.Sprintf(`{"title": "%d"}`, random.Int()), nil)
		}
	})
	defer end()
	want := c.of(still)
	first := b.turn(random, c, style, "", 1+random.IntN(6))
	late := b.post(random) // whatever is made or changed from here on
	forth, last := slices.Clone(first.rows), first
	for last.next != "" {
		last = b.turn(random, c, style, last.next, 1+random.IntN(6))
		forth = append(forth, last.rows...)
	}
	b.judgeWalk(c, "forth", forth, want, late)
	if style != "cursor" || len(last.rows) == 0 {
		return
	}
	back := slices.Clone(last.rows)
	for last.prev != "" {
		last = b.turn(random, c, style, last.prev, 1+random.IntN(6))
		back = append(slices.Clone(last.rows), back...)
	}
	b.judgeWalk(c, "back", back, want, late)
}

// judgeWalk compares what a walk has seen with what it must have seen.
func (b *band) judgeWalk(c choice, way string, seen, want []shown, late shown) {
	b.t.Helper()
	for i, s := range seen {
		if !c.matches(s) {
			b.t.Fatalf("%+v %s: %+v does not match", c, way, s)
		}
		if i > 0 && c.compare(seen[i-1], s) >= 0 && c.since.IsZero() {
			b.t.Fatalf("%+v %s: %d stands after %d: %v", c, way, s.ID, seen[i-1].ID, ids(seen))
		}
		if c.since.IsZero() && s.ID >= late.ID || !c.since.IsZero() && !s.Updated.Before(late.Updated) {
			b.t.Fatalf("%+v %s: %+v is later than the first page, as %+v was", c, way, s, late)
		}
	}
	var kept []shown
	for _, s := range seen {
		if slices.ContainsFunc(want, func(w shown) bool { return w.ID == s.ID }) {
			kept = append(kept, s)
		}
	}
	if !slices.Equal(ids(kept), ids(want)) {
		b.t.Fatalf("%+v %s: of the rows that stayed got %v, want %v", c, way, ids(kept), ids(want))
	}
	if !c.since.IsZero() && !slices.IsSortedFunc(seen, c.compare) {
		b.t.Fatalf("%+v %s: not in order of change: %v", c, way, ids(seen))
	}
}
