package store

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-api/parley/event"
)

// groupTables are two tables with everything: unique values, references of
// both sorts, a reference to oneself.
func groupTables() (people, things *Table) {
	clearing := func(doc []byte, column string) ([]byte, []string, error) {
		return fmt.Appendf(nil, `{"cleared":%q}`, column), []string{"cleared"}, nil
	}
	people = &Table{Name: "people", Clear: clearing, Columns: []Column{
		{Name: "email", Kind: Text, Unique: true}, {Name: "boss_id", Kind: Int, Ref: "people", OnDelete: SetNull}}}
	things = &Table{Name: "things", Clear: clearing, Columns: []Column{
		{Name: "tag", Kind: Int, Unique: true}, {Name: "owner_id", Kind: Int, Ref: "people"}, {Name: "user_id", Kind: Int, Ref: "people", OnDelete: SetNull},
		{Name: "part_of", Kind: Int, Ref: "things"}}}
	return people, things
}

// settleAll commits Txs as the groups that are given.
func settleAll(t interface{ Fatal(...any) }, s *Store, groups ...[]*Tx) []*job {
	g := newGroup(s.list)
	var all []*job
	for _, txs := range groups {
		var jobs []*job
		for _, tx := range txs {
			j, err := s.job(tx)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, j)
		}
		s.settle(g, jobs)
		all = append(all, jobs...)
	}
	return all
}

// TestGroup proves that a group gives what its Txs give one after the other.
func TestGroup(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		people, things := groupTables()
		// Account 1 is written in groups, account 2 one by one. Their ids and
		// numbers differ, but not in their order.
		s := opened(t, open, people, things)
		var ids [2][2][]int64 // of each account, by table: what was made
		rapid.Check(t, func(r *rapid.T) {
			var groups []*Tx
			plan := drawPlan(r)
			marks := [2]int{len(ids[0][0]), len(ids[0][1])}
			for _, p := range plan {
				groups = append(groups, p.tx(1, people, things, ids[0]))
			}
			grouped := settleAll(r, s, groups)
			note := func(account int, jobs []*job) {
				for _, j := range jobs {
					for i, row := range j.rows {
						if j.tx.Writes[i].Op == Insert {
							table := j.tables[i].index
							ids[account][table] = append(ids[account][table], row.ID)
						}
					}
				}
			}
			single := []*job{}
			for _, p := range plan {
				old := [2][]int64{ids[1][0][:marks[0]], ids[1][1][:marks[1]]}
				single = append(single, settleAll(r, s, []*Tx{p.tx(2, people, things, old)})...)
			}
			note(0, grouped)
			note(1, single)
			for i := range plan {
				if got, want := answer(grouped[i], ids[0]), answer(single[i], ids[1]); got != want {
					r.Fatalf("transaction %d of %d:\n in a group %s\n alone      %s", i, len(plan), got, want)
				}
			}
			if got, want := dump(t, s, 1, ids[0]), dump(t, s, 2, ids[1]); got != want {
				r.Fatalf("in a group\n%s\nalone\n%s", got, want)
			}
		})
	})
}

// A step is one write with ids that are drawn as places in the list of those
// that were made, so that it means the same in both accounts.
type step struct {
	table, op       int
	place           int
	key             any
	refs            [3]int
	stale, events   bool
	redoKey, redone any
}

type plan struct {
	steps []step
	key   string
}

func drawPlan(r *rapid.T) []plan {
	place := rapid.IntRange(-1, 5)
	value := rapid.SampledFrom([]any{nil, int64(1), int64(2), int64(3)})
	draw := rapid.Custom(func(r *rapid.T) step {
		return step{
			table: rapid.IntRange(0, 1).Draw(r, "table"), op: rapid.SampledFrom([]int{1, 1, 2, 2, 3}).Draw(r, "op"),
			place: rapid.IntRange(0, 5).Draw(r, "place"), key: value.Draw(r, "key"),
			refs:  [3]int{place.Draw(r, "a"), place.Draw(r, "b"), place.Draw(r, "c")},
			stale: rapid.Bool().Draw(r, "stale"), events: rapid.Bool().Draw(r, "events"),
			redoKey: value.Draw(r, "redoKey"), redone: rapid.SampledFrom([]any{nil, "nothing", "delete", "error", "panic"}).Draw(r, "redone"),
		}
	})
	one := rapid.Custom(func(r *rapid.T) plan {
		return plan{rapid.SliceOfN(draw, 1, 3).Draw(r, "steps"), rapid.SampledFrom([]string{"", "", "k", "l"}).Draw(r, "key")}
	})
	return rapid.SliceOfN(one, 1, 12).Draw(r, "plan")
}

func at(list []int64, place int) any {
	if place < 0 || len(list) == 0 {
		return nil
	}
	return list[max(0, len(list)-1-place)]
}

func (p plan) tx(account int64, people, things *Table, ids [2][]int64) *Tx {
	tx := &Tx{Account: account}
	for _, s := range p.steps {
		tx.Writes = append(tx.Writes, s.write(people, things, ids))
	}
	if p.key != "" {
		tx.Replay = &Replay{Key: p.key + fmt.Sprint(len(ids[0])), Answer: func(rows []Row) []byte { return fmt.Append(nil, len(rows)) }}
		tx.Events = []event.Event{{Type: "own", Doc: []byte(p.key)}}
	}
	return tx
}

func (s step) write(people, things *Table, ids [2][]int64) Write {
	w := Write{Table: people, Op: Op(s.op), Version: "v"}
	refs := [3]any{at(ids[0], s.refs[0]), at(ids[0], s.refs[1]), at(ids[1], s.refs[2])}
	keys := func(key any) []any {
		if s.table == 0 {
			if key != nil {
				key = fmt.Sprint(key)
			}
			return []any{key, refs[0]}
		}
		return []any{key, refs[0], refs[1], refs[2]}
	}
	if s.table == 1 {
		w.Table = things
	}
	if id, ok := at(ids[s.table], s.place).(int64); ok {
		w.ID = id
	}
	w.Doc, w.Keys = fmt.Appendf(nil, `{"key":"%v"}`, s.key), keys(s.key)
	if s.events {
		w.Events = []string{"one", "two"}
	}
	if s.stale && s.op > 1 {
		w.IfRev = 1
		w.Redo = func(row Row) (*Write, error) {
			switch s.redone {
			case "nothing":
				return nil, nil
			case "delete":
				return &Write{Op: Delete, Events: w.Events}, nil
			case "error":
				return nil, fmt.Errorf("refused")
			case "panic":
				panic("no")
			}
			return &Write{Op: Update, Doc: append(row.Doc[:len(row.Doc):len(row.Doc)], ' '), Keys: keys(s.redoKey), Events: w.Events}, nil
		}
	}
	return w
}

// placeOf returns where an id stands among those that were made, which is the
// same in both accounts.
func placeOf(list []int64, id int64) int {
	for i, have := range list {
		if have == id {
			return i
		}
	}
	return -1
}

func answer(j *job, ids [2][]int64) string {
	var b strings.Builder
	for i, row := range j.rows {
		fmt.Fprintf(&b, "%d:%d:%s ", placeOf(ids[j.tables[i].index], row.ID), row.Rev, row.Doc)
	}
	fmt.Fprintf(&b, "%v", j.err)
	if r, ok := j.err.(*ReplayedError); ok {
		fmt.Fprintf(&b, " %s", r.Kept.Answer)
	}
	return b.String()
}

// dump tells everything an account has, without what must differ.
func dump(t *testing.T, s *Store, account int64, ids [2][]int64) string {
	var b strings.Builder
	for i, r := range s.list {
		// Rows come in the order of their last change, which has to agree too.
		rows, err := s.Page(t.Context(), r.Table, Query{Account: account, Order: ByUpdated, Desc: true, Limit: 300})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			fmt.Fprintf(&b, "%s %d rev %d %s", r.Name, placeOf(ids[i], row.ID), row.Rev, row.Doc)
			for k, c := range r.Columns {
				fmt.Fprintf(&b, " %v", keyOf(t, s, r, account, row.ID, k, c, ids))
			}
			b.WriteByte('\n')
		}
	}
	events, err := s.Events(t.Context(), EventQuery{Account: account, Desc: true, Limit: 300})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		where := -1
		for i, r := range s.list {
			if r.Name == e.Resource {
				where = placeOf(ids[i], e.Subject)
			}
		}
		fmt.Fprintf(&b, "%s %s %d rev %d %s\n", e.Type, e.Resource, where, e.Rev, e.Doc)
	}
	return b.String()
}

func keyOf(t *testing.T, s *Store, r *table, account, id int64, k int, c Column, ids [2][]int64) any {
	var v any
	err := s.engine.query(t.Context(), "SELECT k_"+c.Name+" FROM "+r.sql+" WHERE account = $1 AND id = $2", []any{account, id}, func(cur cursor) {
		v = scanKey(c.Kind, cur, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := v.(int64); ok && c.Ref != "" {
		return placeOf(ids[r.targets[k].index], n)
	}
	return v
}

// TestSpoilt puts a Tx into a group that only the database refuses.
func TestSpoilt(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		notes := &Table{Name: "notes"}
		s := opened(t, open, notes)
		if _, ok := s.engine.(*sqliteEngine); ok {
			execute(t, s, "CREATE TRIGGER poison BEFORE INSERT ON r_notes WHEN new.doc LIKE '%poison%' BEGIN SELECT RAISE(ABORT, 'poison'); END")
		} else {
			execute(t, s, "ALTER TABLE r_notes ADD CONSTRAINT poison CHECK (doc NOT LIKE '%poison%')")
		}
		var txs []*Tx
		for _, text := range []string{"a", "b", "poison", "c"} {
			w := note(text)
			w.Table = notes
			txs = append(txs, &Tx{Account: 1, Writes: []Write{w}})
		}
		var got []bool
		for _, j := range settleAll(t, s, txs) {
			got = append(got, j.err == nil)
		}
		if want := []bool{true, true, false, true}; !reflect.DeepEqual(got, want) {
			t.Errorf("successes %v, want %v", got, want)
		}
		if n, err := s.Count(t.Context(), notes, Query{Account: 1}); n != 3 || err != nil {
			t.Errorf("%d rows, %v, want 3", n, err)
		}
	})
}
