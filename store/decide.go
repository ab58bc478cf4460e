package store

import (
	"errors"
	"slices"

	"github.com/parley-api/parley/event"
)

// decide walks the jobs in order. Each sees what the earlier ones changed; one
// that fails leaves no trace. It returns an error only where reading failed, so
// that nothing is decided.
func (g *group) decide() error {
	if !g.started {
		return errors.New("store: the clock has no row; restore a backup")
	}
	for _, j := range g.jobs {
		if j.run != nil {
			continue
		}
		before, events, ahead, keep, revived := g.clock, len(g.events), len(g.ahead), len(g.keep), len(g.revived)
		g.undo, g.touched, g.changed = g.undo[:0], g.touched[:0], g.changed[:0]
		j.rows, j.err = g.tx(j)
		if g.fatal != nil {
			return g.fatal
		}
		if j.err == nil {
			if err := g.fan(events); err != nil {
				return err
			}
			continue
		}
		j.rows = nil
		for i := len(g.undo) - 1; i >= 0; i-- {
			g.undo[i]()
		}
		g.clock, g.events, g.ahead, g.keep, g.revived = before, g.events[:events], g.ahead[:ahead], g.keep[:keep], g.revived[:revived]
	}
	if len(g.edited) > 0 {
		g.clock.endpoints = g.seq()
	}
	return nil
}

func (g *group) tx(j *job) ([]Row, error) {
	tx := j.tx
	if tx.outbox {
		return nil, g.unbox()
	}
	if tx.Replay != nil {
		kept, err := g.replay(replayKey{tx.Account, tx.Replay.Key})
		if err != nil {
			return nil, err
		}
		if kept != nil {
			return nil, &ReplayedError{Kept: *kept}
		}
	}
	rows := make([]Row, len(tx.Writes))
	for i := range tx.Writes {
		row, err := g.write(g.tables[j.tables[i].index], tx.Account, &tx.Writes[i])
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	for i := range tx.Events {
		e := &tx.Events[i]
		e.Account = tx.Account
		g.publish(e)
	}
	if tx.Revive != nil {
		if err := g.revive(tx.Account, tx.Revive); err != nil {
			return nil, err
		}
	}
	if err := g.reread(); err != nil {
		return nil, err
	}
	if tx.Replay != nil {
		return rows, g.remember(tx, rows)
	}
	return rows, nil
}

// publish stores an event about no row.
func (g *group) publish(e *event.Event) {
	e.Seq = g.seq()
	switch at := g.tick(); {
	case e.At == 0:
		e.At = at
	case e.At > at:
		g.ahead = append(g.ahead, len(g.events))
	}
	g.events = append(g.events, *e)
}

// revive gives a dead delivery another chance, once in a group.
func (g *group) revive(account int64, d *event.Delivery) error {
	if slices.ContainsFunc(g.revived, func(r event.Delivery) bool { return r.Endpoint == d.Endpoint && r.Seq == d.Seq }) {
		return ErrStale
	}
	state := int64(-1)
	err := g.each("SELECT state FROM delivery WHERE account = $1 AND seq = $2 AND endpoint = $3", []any{account, d.Seq, d.Endpoint}, func(c cursor) {
		state = c.int(0)
	})
	switch {
	case err != nil:
		g.fatal = err
		return err
	case state < 0:
		return ErrNotFound
	case event.State(state) != event.Dead:
		return ErrStale
	}
	g.revived = append(g.revived, event.Delivery{Account: account, Seq: d.Seq, Endpoint: d.Endpoint})
	return nil
}

// reviveSQL is for a delivery that is dead. Where another node recovers it at
// the same moment there is nothing left to do.
const reviveSQL = "UPDATE delivery SET state = 0, spent = 0, due = $1, fence = 0, done = 0, reason = '' WHERE account = $2 AND seq = $3 AND endpoint = $4 AND state = 3"

// remember keeps the record of a Tx. It is the last thing that can fail.
func (g *group) remember(tx *Tx, rows []Row) error {
	kept := Kept{Print: tx.Replay.Print, Created: max(g.now, g.clock.at)}
	if tx.Replay.Answer != nil {
		err := call("Replay.Answer", func() error {
			kept.Answer = tx.Replay.Answer(rows)
			return nil
		})
		if err != nil {
			return err
		}
	}
	key := replayKey{tx.Account, tx.Replay.Key}
	g.replays[key] = &kept
	g.keep = append(g.keep, keptReplay{key, kept})
	return nil
}

func (g *group) write(ts *tableState, account int64, w *Write) (Row, error) {
	if w.Op == Insert {
		return g.insert(ts, account, w)
	}
	rec, err := g.row(ts, rowKey{account, w.ID})
	if err != nil {
		return Row{}, err
	}
	if rec == nil || !rec.live {
		return Row{}, ErrNotFound
	}
	if w.IfRev != 0 && w.IfRev != rec.Rev {
		if w, err = g.redo(ts, rec, w); err != nil {
			return Row{}, err
		}
		if w == nil {
			return rec.Row, nil
		}
	}
	if w.Op == Delete {
		return g.delete(ts, rec, w)
	}
	err = g.change(ts, rec, w)
	return rec.Row, err
}

func (g *group) redo(ts *tableState, rec *record, w *Write) (again *Write, err error) {
	if w.Redo == nil {
		return nil, ErrStale
	}
	err = call("Write.Redo", func() (err error) {
		again, err = w.Redo(rec.Row)
		return err
	})
	if err != nil || again == nil {
		return nil, err
	}
	if again.Op == Insert {
		return nil, errors.New("store: Redo returned an Insert")
	}
	return again, ts.fits(again)
}

func (g *group) insert(ts *tableState, account int64, w *Write) (Row, error) {
	rec := &record{keys: w.Keys}
	rec.Account = account
	if err := g.checkKeys(ts, rec, nil, w.Keys); err != nil {
		return Row{}, err
	}
	id, err := g.next(ts)
	if err != nil {
		return Row{}, err
	}
	rec.ID, rec.Rev, rec.Doc = id, 1, w.Doc
	key := rowKey{account, id}
	g.touch(ts, rec)
	g.undo = append(g.undo, func() { delete(ts.rows, key) })
	ts.rows[key] = rec
	rec.live, rec.Seq, rec.Created = true, g.seq(), g.tick()
	rec.Updated = rec.Created
	for _, i := range ts.uniques {
		if w.Keys[i] != nil {
			g.hold(ts, i, valueKey{account, w.Keys[i]}, id)
		}
	}
	g.emit(ts, rec, w.Events, w.Version, rec.Rev, rec.Updated)
	return rec.Row, nil
}

// change updates a record.
func (g *group) change(ts *tableState, rec *record, w *Write) error {
	if err := g.checkKeys(ts, rec, rec.keys, w.Keys); err != nil {
		return err
	}
	g.touch(ts, rec)
	for _, i := range ts.uniques {
		was, is := rec.keys[i], w.Keys[i]
		if was == is {
			continue
		}
		rec.moved = rec.stored
		if was != nil {
			g.hold(ts, i, valueKey{rec.Account, was}, 0)
		}
		if is != nil {
			g.hold(ts, i, valueKey{rec.Account, is}, rec.ID)
		}
	}
	if w.Quiet {
		rec.Doc, rec.keys = w.Doc, w.Keys
		return nil
	}
	rec.Rev++
	rec.Seq, rec.Updated = g.seq(), g.tick()
	rec.Doc, rec.keys, rec.Reshape = w.Doc, w.Keys, false
	g.emit(ts, rec, w.Events, w.Version, rec.Rev, rec.Updated)
	return nil
}

// checkKeys reports whether the references of a record exist and its unique
// values are free. Values that it has already, in was, are not looked up.
func (g *group) checkKeys(ts *tableState, rec *record, was, is []any) error {
	for _, i := range ts.refs {
		id, ok := is[i].(int64)
		if !ok || (was != nil && was[i] == is[i]) {
			continue
		}
		there, err := g.present(g.tables[ts.targets[i].index], rowKey{rec.Account, id})
		if err != nil {
			return err
		}
		if !there {
			return &MissingRefError{Column: ts.Columns[i].Name}
		}
	}
	for _, i := range ts.uniques {
		if is[i] == nil || (was != nil && was[i] == is[i]) {
			continue
		}
		id, err := g.holder(ts, i, valueKey{rec.Account, is[i]})
		if err != nil {
			return err
		}
		if id != 0 {
			return &DuplicateError{Column: ts.Columns[i].Name}
		}
	}
	return nil
}

// delete deletes a record after it has dealt with those that refer to it. The
// Row it returns is the last.
func (g *group) delete(ts *tableState, rec *record, w *Write) (Row, error) {
	for _, r := range ts.table.referrers {
		if r.table.Columns[r.column].OnDelete == SetNull {
			continue
		}
		held, err := g.referenced(g.tables[r.table.index], r.column, rec)
		if err != nil {
			return Row{}, err
		}
		if held {
			return Row{}, &ReferencedError{Table: r.table.Name}
		}
	}
	for _, r := range ts.table.referrers {
		if r.table.Columns[r.column].OnDelete != SetNull {
			continue
		}
		if err := g.release(g.tables[r.table.index], r.column, rec, w.Version); err != nil {
			return Row{}, err
		}
	}
	g.touch(ts, rec)
	rec.live = false
	for _, i := range ts.uniques {
		if rec.keys[i] != nil {
			g.hold(ts, i, valueKey{rec.Account, rec.keys[i]}, 0)
		}
	}
	g.seq() // of the deletion itself
	g.emit(ts, rec, w.Events, w.Version, rec.Rev+1, g.tick())
	return rec.Row, nil
}

// refers reports whether a record, by now, refers to another by a column.
func (rec *record) refers(column int, to *record) bool {
	return rec.live && rec != to && rec.Account == to.Account && rec.keys[column] == any(to.ID)
}

// referenced reports whether any row of ts refers to a record.
func (g *group) referenced(ts *tableState, column int, to *record) (bool, error) {
	key := rowKey{to.Account, to.ID}
	for _, all := range []bool{false, true} {
		r, err := g.referring(ts, column, key, all)
		if err != nil {
			return false, err
		}
		for _, id := range r.ids {
			rec := ts.rows[rowKey{to.Account, id}]
			if rec == nil || rec.refers(column, to) {
				return true, nil
			}
		}
		if r.complete {
			break
		}
	}
	for _, rec := range ts.dirty {
		if rec.refers(column, to) {
			return true, nil
		}
	}
	return false, nil
}

// release sets the references to a record to null.
func (g *group) release(ts *tableState, column int, to *record, version string) error {
	r, err := g.referring(ts, column, rowKey{to.Account, to.ID}, true)
	if err != nil {
		return err
	}
	for _, id := range r.ids {
		rec, err := g.row(ts, rowKey{to.Account, id})
		if err != nil {
			return err
		}
		if rec == nil || !rec.refers(column, to) {
			continue
		}
		if err := g.clearRef(ts, column, rec, version); err != nil {
			return err
		}
	}
	for _, rec := range ts.dirty { // rows that the group itself made refer
		if !rec.refers(column, to) {
			continue
		}
		if err := g.clearRef(ts, column, rec, version); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) clearRef(ts *tableState, column int, rec *record, version string) error {
	w := Write{Version: version, Keys: append([]any(nil), rec.keys...)}
	w.Keys[column] = nil
	err := call("Table.Clear", func() (err error) {
		w.Doc, w.Events, err = ts.Clear(rec.Doc, ts.Columns[column].Name)
		return err
	})
	if err != nil {
		return err
	}
	return g.change(ts, rec, &w)
}

// emit stores an event of each type about a record.
func (g *group) emit(ts *tableState, rec *record, types []string, version string, rev, at int64) {
	for _, typ := range types {
		g.events = append(g.events, event.Event{
			Seq: g.seq(), Account: rec.Account, Type: typ, At: at,
			Resource: ts.Name, Subject: rec.ID, Rev: rev, Created: rec.Created, Updated: rec.Updated,
			Version: version, Doc: rec.Doc,
		})
	}
}
