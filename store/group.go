package store

import (
	"fmt"
	"slices"

	"github.com/parley-api/parley/event"
)

// A group is what is committed together: its jobs, what has been read for
// them and what they change. The engines fill it and write it; decide works on
// nothing else. One goroutine uses it, group after group.
type group struct {
	jobs   []*job
	tables []*tableState
	now    int64 // wall time of the group, in microseconds
	clock  clock
	began  clock // what the clock was before the group

	started bool // the clock has been read

	replays map[replayKey]*Kept // nil: known to be unknown or expired
	events  []event.Event       // to store, in order of Seq
	ahead   []int               // of events: those whose own time is after that of their commit
	keep    []keptReplay        // to store

	fanout     *fanout                 // nil: events have no deliveries
	subs       *subscriptions          // the endpoints of all accounts on disk
	known      bool                    // subs are what they were before the group
	touched    []*record               // endpoints that the current Tx has changed
	changed    []changedEndpoint       // what they want now
	moved      []changedEndpoint       // of the whole group
	edited     map[int64][]*subscriber // the endpoints of accounts where the group has changed one
	deliveries []event.Delivery
	cursors    []cursorRow // of events with more endpoints than fit
	fanning    chan<- struct{}
	taken      []int64          // from the outbox
	revived    []event.Delivery // that were dead
	each       func(sql string, args []any, f func(cursor)) error

	undo  []func() // takes back what the current Tx has changed
	miss  needs    // of a single question
	load  func(*needs) error
	fatal error // reading failed: nothing of the group can be decided
}

// A clock is the one row that orders all changes.
type clock struct {
	seq, at   int64
	endpoints int64 // seq of the last change of an endpoint
}

type rowKey struct{ account, id int64 }

type valueKey struct {
	account int64
	value   any
}

type replayKey struct {
	account int64
	key     string
}

type keptReplay struct {
	replayKey
	Kept
}

// A record is a row with its keys, as the group sees it by now.
type record struct {
	Row
	keys   []any
	base   []any // the keys in the database, of a stored row
	stored bool  // it was in the database before the group
	live   bool  // it exists
	dirty  bool  // it is to be written
	moved  bool  // a unique value of a stored row changed
}

// A tableState is what the group knows about a table.
type tableState struct {
	*table
	counter   int64 // highest id handed out
	counted   bool  // counter has been read
	bumped    bool  // counter is to be written
	rows      map[rowKey]*record
	exists    map[rowKey]bool
	holders   []map[valueKey]int64 // by column: the row that has a unique value, 0 for none
	referrers []map[rowKey]*referring
	dirty     []*record
}

// A referring is what the database holds, before the group, of rows that refer
// to one row by one column.
type referring struct {
	ids      []int64
	complete bool // ids are all, and their records have been read
}

// needs are questions to the database.
type needs struct {
	counters  []*tableState
	rows      []rowNeed
	exists    []rowNeed
	holders   []holderNeed
	referrers []referrerNeed
	replays   []replayKey
}

type rowNeed struct {
	t *tableState
	rowKey
}

type holderNeed struct {
	t      *tableState
	column int
	valueKey
}

type referrerNeed struct {
	t      *tableState // that refers
	column int
	rowKey      // referred to
	all    bool // every referring record; otherwise two ids will do
}

func (n *needs) clear() {
	n.counters, n.rows, n.exists = n.counters[:0], n.rows[:0], n.exists[:0]
	n.holders, n.referrers, n.replays = n.holders[:0], n.referrers[:0], n.replays[:0]
}

func newGroup(tables []*table) *group {
	g := &group{replays: make(map[replayKey]*Kept), edited: make(map[int64][]*subscriber)}
	for _, t := range tables {
		ts := &tableState{table: t, rows: make(map[rowKey]*record), exists: make(map[rowKey]bool)}
		ts.holders = make([]map[valueKey]int64, len(t.Columns))
		ts.referrers = make([]map[rowKey]*referring, len(t.Columns))
		for _, i := range t.uniques {
			ts.holders[i] = make(map[valueKey]int64)
		}
		for _, i := range t.refs {
			ts.referrers[i] = make(map[rowKey]*referring)
		}
		g.tables = append(g.tables, ts)
	}
	return g
}

// reset forgets everything and takes new jobs.
func (g *group) reset(jobs []*job, now int64) {
	g.jobs, g.now, g.started, g.fatal = jobs, now, false, nil
	clear(g.replays)
	clear(g.events)
	clear(g.keep)
	clear(g.undo[:cap(g.undo)])
	clear(g.deliveries)
	clear(g.edited)
	clear(g.touched)
	clear(g.changed)
	clear(g.moved)
	g.known, g.moved = false, g.moved[:0]
	g.deliveries, g.cursors, g.taken, g.revived = g.deliveries[:0], g.cursors[:0], g.taken[:0], g.revived[:0]
	g.events, g.ahead, g.keep, g.undo = g.events[:0], g.ahead[:0], g.keep[:0], g.undo[:0]
	for _, ts := range g.tables {
		clear(ts.rows)
		clear(ts.exists)
		for _, i := range ts.uniques {
			clear(ts.holders[i])
		}
		for _, i := range ts.refs {
			clear(ts.referrers[i])
		}
		clear(ts.dirty)
		ts.dirty = ts.dirty[:0]
		ts.counted, ts.bumped = false, false
	}
}

// idle reports whether there is nothing to write.
func (g *group) idle() bool {
	if len(g.events) > 0 || len(g.keep) > 0 || len(g.revived) > 0 || slices.ContainsFunc(g.jobs, func(j *job) bool { return j.run != nil }) {
		return false
	}
	for _, ts := range g.tables {
		if len(ts.dirty) > 0 {
			return false
		}
	}
	return true
}

// loose reports whether none of it was promised to be on disk.
func (g *group) loose() bool {
	return !slices.ContainsFunc(g.jobs, func(j *job) bool { return !j.loose })
}

// prefetch collects the questions that can be known before anything is read.
func (g *group) prefetch(n *needs) {
	n.clear()
	for _, j := range g.jobs {
		if j.run != nil {
			continue
		}
		if r := j.tx.Replay; r != nil {
			n.replays = append(n.replays, replayKey{j.tx.Account, r.Key})
		}
		for i := range j.tx.Writes {
			w := &j.tx.Writes[i]
			g.prefetchWrite(n, g.tables[j.tables[i].index], w, j.tx.Account)
		}
	}
}

func (g *group) prefetchWrite(n *needs, ts *tableState, w *Write, account int64) {
	key := rowKey{account, w.ID}
	switch w.Op {
	case Insert:
		if !ts.counted {
			ts.counted = true
			n.counters = append(n.counters, ts)
		}
	case Update:
		n.rows = append(n.rows, rowNeed{ts, key})
	case Delete:
		n.rows = append(n.rows, rowNeed{ts, key})
		for _, r := range ts.table.referrers {
			all := r.table.Columns[r.column].OnDelete == SetNull
			n.referrers = append(n.referrers, referrerNeed{g.tables[r.table.index], r.column, key, all})
		}
		return
	}
	for _, i := range ts.refs {
		if id, ok := w.Keys[i].(int64); ok {
			n.exists = append(n.exists, rowNeed{g.tables[ts.targets[i].index], rowKey{account, id}})
		}
	}
	for _, i := range ts.uniques {
		if w.Keys[i] != nil {
			n.holders = append(n.holders, holderNeed{ts, i, valueKey{account, w.Keys[i]}})
		}
	}
}

// absent marks the answers of all questions as "no" before they are filled in.
func (n *needs) absent(g *group) {
	for _, c := range n.counters {
		c.counter, c.counted = 0, true
	}
	for _, r := range n.rows {
		r.t.rows[r.rowKey] = nil
	}
	for _, r := range n.exists {
		r.t.exists[r.rowKey] = false
	}
	for _, h := range n.holders {
		h.t.holders[h.column][h.valueKey] = 0
	}
	for _, r := range n.referrers {
		r.t.referrers[r.column][r.rowKey] = &referring{complete: true}
	}
	for _, k := range n.replays {
		g.replays[k] = nil
	}
}

// found puts a record that was read into the group, unless the group already
// has a newer one.
func (ts *tableState) found(r *record) *record {
	key := rowKey{r.Account, r.ID}
	if have := ts.rows[key]; have != nil {
		return have
	}
	r.stored, r.live, r.base = true, true, r.keys
	r.Reshape = r.Seq <= ts.reshape
	ts.rows[key] = r
	return r
}

// found puts a kept replay into the group, unless it has expired.
func (g *group) found(k replayKey, kept Kept) {
	if !expired(kept.Created, g.now) {
		g.replays[k] = &kept
	}
}

// ask answers the single question in g.miss.
func (g *group) ask() error {
	if g.fatal == nil {
		g.fatal = g.load(&g.miss)
	}
	g.miss.clear()
	return g.fatal
}

func (g *group) row(ts *tableState, key rowKey) (*record, error) {
	rec, known := ts.rows[key]
	if known {
		return rec, nil
	}
	g.miss.rows = append(g.miss.rows, rowNeed{ts, key})
	err := g.ask()
	return ts.rows[key], err
}

func (g *group) present(ts *tableState, key rowKey) (bool, error) {
	if rec, known := ts.rows[key]; known {
		return rec != nil && rec.live, nil
	}
	if is, known := ts.exists[key]; known {
		return is, nil
	}
	g.miss.exists = append(g.miss.exists, rowNeed{ts, key})
	err := g.ask()
	return ts.exists[key], err
}

func (g *group) holder(ts *tableState, column int, v valueKey) (int64, error) {
	if id, known := ts.holders[column][v]; known {
		return id, nil
	}
	g.miss.holders = append(g.miss.holders, holderNeed{ts, column, v})
	err := g.ask()
	return ts.holders[column][v], err
}

func (g *group) replay(k replayKey) (*Kept, error) {
	if kept, known := g.replays[k]; known {
		return kept, nil
	}
	g.miss.replays = append(g.miss.replays, k)
	err := g.ask()
	return g.replays[k], err
}

func (g *group) referring(ts *tableState, column int, key rowKey, all bool) (*referring, error) {
	if r := ts.referrers[column][key]; r != nil && (r.complete || !all) {
		return r, nil
	}
	g.miss.referrers = append(g.miss.referrers, referrerNeed{ts, column, key, all})
	if err := g.ask(); err != nil {
		return nil, err
	}
	return ts.referrers[column][key], nil
}

// next hands out an id.
func (g *group) next(ts *tableState) (int64, error) {
	if !ts.counted {
		g.miss.counters = append(g.miss.counters, ts)
		if err := g.ask(); err != nil {
			return 0, err
		}
	}
	old, was := ts.counter, ts.bumped
	g.undo = append(g.undo, func() { ts.counter, ts.bumped = old, was })
	ts.counter, ts.bumped = ts.counter+1, true
	return ts.counter, nil
}

// start sets the clock, as it was read.
func (g *group) start(c clock) { g.clock, g.began, g.started = c, c, true }

// minute reports whether the group begins a new minute of the clock.
func (g *group) minute() bool {
	const length = 60_000_000
	return g.began.seq > 0 && g.clock.at/length != g.began.at/length
}

// tick hands out a time, later than every other.
func (g *group) tick() int64 {
	g.clock.at = max(g.clock.at+1, g.now)
	return g.clock.at
}

// seq hands out a sequence number.
func (g *group) seq() int64 {
	g.clock.seq++
	return g.clock.seq
}

// touch makes a record one that is to be written.
func (g *group) touch(ts *tableState, rec *record) {
	old, n := *rec, len(ts.dirty)
	g.undo = append(g.undo, func() { *rec, ts.dirty = old, ts.dirty[:n] })
	if !rec.dirty {
		rec.dirty = true
		ts.dirty = append(ts.dirty, rec)
	}
	if g.fanout != nil && ts.table == g.fanout.table {
		g.touched = append(g.touched, rec)
	}
}

// hold says that a row now has a unique value; id 0 says that none has.
func (g *group) hold(ts *tableState, column int, v valueKey, id int64) {
	m := ts.holders[column]
	old, known := m[v]
	g.undo = append(g.undo, func() {
		if known {
			m[v] = old
		} else {
			delete(m, v)
		}
	})
	m[v] = id
}

// call runs an application's function and turns its panic into an error.
func call(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: %s panicked: %v", what, p)
		}
	}()
	return f()
}
