package storetest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/parley-api/parley/store"
)

func pageCases() []rule {
	return []rule{
		{"lists", "every filter, order, direction and start gives what a plain walk gives", pages},
		{"a walk on a mark", "rows made during a walk neither show up in it nor shift it", pageMark},
		{"a walk by change", "what changes during a walk lies beyond its mark, so that a poller goes on from the last time it saw", pageChange},
		{"filters", "equality, several values, null and flags select exactly theirs", filters},
	}
}

// crowd makes forty tasks, changes every third and deletes every seventh. It
// returns what is left, in order of ids.
func crowd(b *bench) []store.Row {
	b.Commit(b.NewUser("a@x"), b.NewUser("b@x"))
	for i := range 40 {
		b.clock.Add(10)
		w := b.NewTask([]string{"new", "open", "done"}[i%3], nil, nil)
		if i%4 == 0 {
			w.Keys[2] = int64(1 + i%8/4)
		}
		if i%2 == 0 {
			w.Keys[1] = i%3 == 0
		}
		b.Commit(w)
		b.CommitFor(2, b.NewTask("new", nil, nil))
	}
	for i := int64(79); i > 0; i -= 6 { // odd ids are account 1's
		b.Commit(b.SetTask(i, "open", nil, nil))
	}
	for i := int64(1); i < 80; i += 14 {
		b.Commit(b.Drop(b.Tasks, i))
	}
	return b.Rows(b.Tasks)
}

func pages(b *bench) {
	all := crowd(b)
	b.Same("rows", len(all), 34)
	status := map[int64]string{}
	for _, r := range all {
		status[r.ID] = string(r.Doc)
	}
	mid := all[15]
	for _, where := range []string{"", "open", "none"} {
		for _, since := range []int64{0, all[20].Updated, 2 * start} {
			for _, mark := range []int64{0, all[25].ID, all[22].Updated} {
				q := store.Query{Account: 1, Since: since, Mark: mark}
				if where != "" {
					q.Where = []store.Condition{{Column: "status", Values: []any{where}}}
				}
				for q.Order = store.ByID; q.Order <= store.ByUpdated; q.Order++ {
					selected := slices.DeleteFunc(slices.Clone(all), func(r store.Row) bool {
						beyond := r.ID > mark
						if q.Order == store.ByUpdated {
							beyond = r.Updated > mark
						}
						return r.Updated < since || mark != 0 && beyond || where != "" && string(r.Doc) != fmt.Sprintf(`{"status":%q}`, where)
					})
					pageWalks(b, selected, q, mid)
				}
			}
		}
	}
}

// pageWalks compares every walk over what q selects with a plain one.
func pageWalks(b *bench, selected []store.Row, q store.Query, mid store.Row) {
	b.Helper()
	b.Same(fmt.Sprintf("count of %+v", q), must(b.S.Count(b.ctx, b.Tasks, q))(b), int64(len(selected)))
	compare := func(r store.Row, p store.Position) int {
		if q.Order == store.ByID {
			return cmp.Compare(r.ID, p.ID)
		}
		return cmp.Or(cmp.Compare(r.Updated, p.Key), cmp.Compare(r.ID, p.ID))
	}
	slices.SortFunc(selected, func(x, y store.Row) int { return compare(x, store.Position{Key: y.Updated, ID: y.ID}) })
	for _, after := range []*store.Position{nil, {Key: mid.Updated, ID: mid.ID}, {Key: mid.Updated, ID: mid.ID - 1}, {}, {Key: 1 << 60, ID: 1 << 60}} {
		for _, way := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			for _, window := range [][2]int{{0, 0}, {0, 5}, {4, 6}, {50, 5}} {
				q.After, q.Desc, q.Back, q.Offset, q.Limit = after, way[0], way[1], window[0], window[1]
				side := func(r store.Row) int { return compare(r, *after) }
				want := walkModel(selected, q.Desc, q.Back, after != nil, side, q.Offset, q.Limit)
				got := must(b.S.Page(b.ctx, b.Tasks, q))(b)
				if len(got) != 0 || len(want) != 0 {
					b.Same(fmt.Sprintf("%+v after %+v", q, after), got, want)
				}
			}
		}
	}
}

func pageMark(b *bench) {
	for range 5 {
		b.Commit(b.NewTask("a", nil, nil))
	}
	for _, down := range []bool{false, true} {
		want := []int64{1, 2, 3, 4, 5}
		if down {
			slices.Reverse(want)
		}
		seen := walkOn(b, store.Query{Account: 1, Desc: down, Limit: 2}, func() {
			late := b.Commit(b.NewTask("late", nil, nil))[0]
			b.Commit(b.SetTask(3, "b", nil, nil), b.Drop(b.Tasks, late.ID))
		})
		b.Same("the walk", seen, want)
	}
	_, mark, err := b.S.Begin(b.ctx, b.Tasks, store.Query{Account: 9})
	b.Same("the mark of nothing", mark, int64(0))
	b.Same("the error of nothing", err, nil)
}

// pageChange is the walk of somebody who remembers the last time of change:
// each row is seen as often as it changed, and none is missed.
func pageChange(b *bench) {
	for range 5 {
		b.Commit(b.NewTask("a", nil, nil))
	}
	step := 0
	q := store.Query{Account: 1, Order: store.ByUpdated, Limit: 2}
	seen := walkOn(b, q, func() {
		if step++; step == 1 { // behind the mark, in this order
			b.Commit(b.NewTask("new", nil, nil))
			b.Commit(b.SetTask(1, "b", nil, nil), b.SetTask(5, "b", nil, nil))
		}
	})
	b.Same("the first walk, of what did not change meanwhile", seen, []int64{1, 2, 3, 4})
	q.Since = b.Row(b.Tasks, 4).Updated
	b.Same("the second, from the last time on", walkOn(b, q, func() {}), []int64{4, 6, 1, 5})
}

// walkOn walks page by page and returns the ids. Between runs after each page.
func walkOn(b *bench, q store.Query, between func()) (seen []int64) {
	b.Helper()
	rows, mark, err := b.S.Begin(b.ctx, b.Tasks, q)
	q.Mark = mark
	for ; err == nil && len(rows) > 0; rows, err = b.S.Page(b.ctx, b.Tasks, q) {
		for _, r := range rows {
			seen = append(seen, r.ID)
		}
		last := rows[len(rows)-1]
		q.After = &store.Position{Key: last.Updated, ID: last.ID}
		between()
	}
	if err != nil {
		b.Fatal(err)
	}
	return seen
}

func filters(b *bench) {
	b.Commit(b.NewUser("a@x"), b.NewUser("b@x"))
	for i, k := range [][]any{{"new", true, int64(1), nil}, {"new", false, int64(2), nil}, {"done", nil, nil, nil}, {"it's", true, int64(1), nil}} {
		w := b.NewTask("x", nil, nil)
		w.Keys = k
		if row := b.Commit(w)[0]; row.ID != int64(i+1) {
			b.Fatalf("id %d", row.ID)
		}
	}
	for _, c := range []struct {
		where []store.Condition
		want  []int64
	}{
		{[]store.Condition{{Column: "status", Values: []any{"new"}}}, []int64{1, 2}},
		{[]store.Condition{{Column: "status", Values: []any{"new", "done"}}}, []int64{1, 2, 3}},
		{[]store.Condition{{Column: "status", Values: []any{"it's"}}}, []int64{4}},
		{[]store.Condition{{Column: "status", Values: nil}}, nil},
		{[]store.Condition{{Column: "status", Values: []any{"\x00"}}}, nil},
		{[]store.Condition{{Column: "status", Values: []any{"\xff", "done"}}}, []int64{3}},
		{[]store.Condition{{Column: "urgent", Values: []any{true}}}, []int64{1, 4}},
		{[]store.Condition{{Column: "urgent", Values: []any{nil}}}, []int64{3}},
		{[]store.Condition{{Column: "urgent", Values: []any{nil, false}}}, []int64{2, 3}},
		{[]store.Condition{{Column: "assignee_id", Values: []any{int64(1)}}, {Column: "status", Values: []any{"new"}}}, []int64{1}},
		{[]store.Condition{{Column: "assignee_id", Values: []any{int64(2), nil}}}, []int64{2, 3}},
	} {
		q := store.Query{Account: 1, Where: c.where}
		var got []int64
		for _, r := range must(b.S.Page(b.ctx, b.Tasks, q))(b) {
			got = append(got, r.ID)
		}
		b.Same(fmt.Sprint(c.where), got, c.want)
		b.Same("count", must(b.S.Count(b.ctx, b.Tasks, q))(b), int64(len(c.want)))
	}
}
