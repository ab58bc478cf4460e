package store

import (
	sqlite3 "modernc.org/sqlite/lib"
)

func (e *sqliteEngine) commit(g *group) error {
	e.gate.Lock()
	defer e.gate.Unlock()
	if err := e.loosen(g.loose()); err != nil {
		return sqliteFailure(err)
	}
	defer e.rollback()
	if err := e.decide(g); err != nil {
		return spoilt(err)
	}
	if g.idle() {
		return nil
	}
	if err := e.apply(g); err != nil {
		return spoilt(err)
	}
	for _, j := range g.jobs {
		if j.run == nil {
			continue
		}
		if err := j.run(e.writer); err != nil {
			if sqliteCode(err) == 0 { // its own
				return &outcome{err: err, spoilt: true}
			}
			return spoilt(err)
		}
	}
	err := e.recent.commit(func() error { _, err := e.writer.run("COMMIT"); return err })
	if err != nil {
		if sqliteCode(err) == sqlite3.SQLITE_IOERR {
			return err // perhaps written, so not ErrUnavailable
		}
		return sqliteFailure(err)
	}
	e.keeper.note(e.writer.written())
	return nil
}

// spoilt tells an error that one Tx may be the reason of from those that say
// something about the database.
func spoilt(err error) error {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		return &outcome{err: err, spoilt: true}
	}
	return sqliteFailure(err)
}

// decide locks the clock and reads as the group asks: with the file at hand, a
// question costs no round trip.
func (e *sqliteEngine) decide(g *group) error {
	w := e.writer
	if _, err := w.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := w.query("SELECT seq, at, endpoints FROM clock", nil, func(c cursor) { g.start(clock{c.int(0), c.int(1), c.int(2)}) })
	if err != nil {
		return err
	}
	g.load = func(n *needs) error { return e.load(g, n) }
	g.each = w.query
	return g.decide()
}

// load answers questions one by one.
func (e *sqliteEngine) load(g *group, n *needs) error {
	n.absent(g)
	for _, ts := range n.counters {
		if err := e.writer.query(ts.counterSQL, nil, func(c cursor) { ts.counter = c.int(0) }); err != nil {
			return err
		}
	}
	for _, r := range n.rows {
		if err := e.records(r.t, r.t.recordSQL+" WHERE account = $1 AND id = $2", r.account, r.id, nil); err != nil {
			return err
		}
	}
	for _, r := range n.exists {
		if err := e.pair(r.t.existsSQL, r.account, r.id, func(*stmt) { r.t.exists[r.rowKey] = true }); err != nil {
			return err
		}
	}
	for _, h := range n.holders {
		err := e.pair(h.t.holderSQL[h.column], h.account, h.value, func(s *stmt) { h.t.holders[h.column][h.valueKey] = s.int(0) })
		if err != nil {
			return err
		}
	}
	for _, r := range n.referrers {
		if err := e.loadReferrers(r); err != nil {
			return err
		}
	}
	for _, k := range n.replays {
		if err := e.pair(replaySQL, k.account, []byte(k.key), func(s *stmt) { g.found(k, scanKept(s)) }); err != nil {
			return err
		}
	}
	return nil
}

func (e *sqliteEngine) loadReferrers(r referrerNeed) error {
	to := r.t.referrers[r.column][r.rowKey]
	if r.all {
		return e.records(r.t, r.t.referringSQL[r.column], r.account, r.id, func(rec *record) { to.ids = append(to.ids, rec.ID) })
	}
	err := e.pair(r.t.refersSQL[r.column], r.account, r.id, func(s *stmt) { to.ids = append(to.ids, s.int(0)) })
	to.complete = len(to.ids) < 2
	return err
}

// pair runs a statement with two parameters and calls each for every row.
func (e *sqliteEngine) pair(sql string, account int64, second any, each func(*stmt)) error {
	s, err := e.writer.prepare(sql)
	if err != nil {
		return err
	}
	defer s.reset()
	s.bindInt(1, account)
	s.bind(2, second)
	for {
		more, err := s.step()
		if err != nil || !more {
			return err
		}
		if each != nil {
			each(s)
		}
	}
}

// records reads records into the group.
func (e *sqliteEngine) records(ts *tableState, sql string, account, second int64, each func(*record)) error {
	return e.pair(sql, account, second, func(s *stmt) {
		rec := ts.found(scanRecord(ts.table, s))
		if each != nil {
			each(rec)
		}
	})
}

// scanRecord reads what recordSQL selects.
func scanRecord(t *table, c cursor) *record {
	rec := &record{Row: Row{Account: c.int(0), ID: c.int(1), Rev: c.int(2), Seq: c.int(3), Created: c.int(4), Updated: c.int(5), Doc: c.bytes(6)}}
	rec.keys = make([]any, len(t.Columns))
	for i := range t.Columns {
		rec.keys[i] = scanKey(t.Columns[i].Kind, c, 7+i)
	}
	return rec
}

func scanKey(k Kind, c cursor, i int) any {
	switch {
	case c.null(i):
		return nil
	case k == Int:
		return c.int(i)
	case k == Bool:
		return c.bool(i)
	}
	return c.text(i)
}

// apply writes what the group has decided. Values that become free are freed
// before others take them.
func (e *sqliteEngine) apply(g *group) error {
	for _, ts := range g.tables {
		if len(ts.dirty) == 0 {
			continue
		}
		if err := e.applyTable(ts); err != nil {
			return err
		}
		if err := e.count(ts); err != nil {
			return err
		}
	}
	return e.applySystem(g)
}

func (e *sqliteEngine) applyTable(ts *tableState) error {
	moved := 0
	for _, rec := range ts.dirty {
		if rec.stored && !rec.live {
			if err := e.pair(ts.deleteSQL, rec.Account, rec.ID, nil); err != nil {
				return err
			}
		} else if rec.moved {
			moved++
		}
	}
	for _, rec := range ts.dirty {
		if moved > 1 && rec.moved && rec.live {
			if err := e.pair(ts.clearSQL, rec.Account, rec.ID, nil); err != nil {
				return err
			}
			rec.base = nil
		}
	}
	for _, rec := range ts.dirty {
		if rec.live && rec.stored {
			if err := e.update(ts, rec); err != nil {
				return err
			}
		}
	}
	for _, rec := range ts.dirty {
		if rec.live && !rec.stored {
			if err := e.insert(ts, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// update writes a row and those of its keys that differ from the base.
func (e *sqliteEngine) update(ts *tableState, rec *record) error {
	change := change{table: ts.index}
	set := make([]bool, len(rec.keys))
	for i, k := range rec.keys {
		set[i] = rec.base == nil || rec.base[i] != k || i >= 64
		if set[i] && i < 64 {
			change.columns |= 1 << i
		}
	}
	s := e.updates[change]
	if s == nil {
		var err error
		if s, err = e.writer.prepare(ts.updateSQL(set)); err != nil {
			return err
		}
		e.updates[change] = s
	}
	defer s.reset()
	s.bindInt(1, rec.Rev)
	s.bindInt(2, rec.Seq)
	s.bindInt(3, rec.Updated)
	s.bindDoc(4, rec.Doc)
	n := 5
	for i, k := range rec.keys {
		if set[i] {
			s.bind(n, k)
			n++
		}
	}
	s.bindInt(n, rec.Account)
	s.bindInt(n+1, rec.ID)
	_, err := s.step()
	return err
}

func (e *sqliteEngine) insert(ts *tableState, rec *record) error {
	s, err := e.writer.prepare(ts.insertSQL)
	if err != nil {
		return err
	}
	defer s.reset()
	s.bindInt(1, rec.Account)
	s.bindInt(2, rec.ID)
	s.bindInt(3, rec.Rev)
	s.bindInt(4, rec.Seq)
	s.bindInt(5, rec.Created)
	s.bindInt(6, rec.Updated)
	s.bindDoc(7, rec.Doc)
	for i, k := range rec.keys {
		s.bind(8+i, k)
	}
	_, err = s.step()
	return err
}

func (e *sqliteEngine) count(ts *tableState) error {
	if !ts.bumped {
		return nil
	}
	_, err := e.writer.run("INSERT INTO counter (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", ts.Name, ts.counter)
	return err
}

func (e *sqliteEngine) applySystem(g *group) error {
	s, err := e.writer.prepare("INSERT INTO event (account, seq, type, at, resource, subject, rev, created, updated, version, doc) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
	if err != nil {
		return err
	}
	for i := range g.events {
		v := &g.events[i]
		s.bindInt(1, v.Account)
		s.bindInt(2, v.Seq)
		s.bindText(3, v.Type)
		s.bindInt(4, v.At)
		s.bindText(5, v.Resource)
		s.bindInt(6, v.Subject)
		s.bindInt(7, v.Rev)
		s.bindInt(8, v.Created)
		s.bindInt(9, v.Updated)
		s.bindText(10, v.Version)
		s.bindDoc(11, v.Doc)
		_, err := s.step()
		s.reset()
		if err != nil {
			return err
		}
	}
	for _, i := range g.ahead {
		v := &g.events[i]
		if _, err := e.writer.run("INSERT INTO ahead (account, seq, at) VALUES ($1, $2, $3)", v.Account, v.Seq, v.At); err != nil {
			return err
		}
	}
	if err := insertDeliveries(e.writer, g.deliveries); err != nil {
		return err
	}
	for _, c := range g.cursors {
		if _, err := e.writer.run(cursorSQL, c.seq, c.account, c.after, c.at); err != nil {
			return err
		}
	}
	for i := range g.revived {
		if _, err := e.writer.run(reviveSQL, g.now, g.revived[i].Account, g.revived[i].Seq, g.revived[i].Endpoint); err != nil {
			return err
		}
	}
	for _, id := range g.taken {
		if _, err := e.writer.run(deleteTakenSQL, id); err != nil {
			return err
		}
	}
	if g.minute() {
		if _, err := e.writer.run("INSERT INTO tick (at, seq) VALUES ($1, $2)", g.began.at, g.began.seq); err != nil {
			return err
		}
	}
	for i := range g.keep {
		k := &g.keep[i]
		_, err := e.writer.run(`INSERT INTO replay (account, key, print, answer, created) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (account, key) DO UPDATE SET print = excluded.print, answer = excluded.answer, created = excluded.created`,
			k.account, []byte(k.key), k.Print[:], k.Answer, k.Created)
		if err != nil {
			return err
		}
	}
	if g.clock == g.began {
		return nil
	}
	_, err = e.writer.run("UPDATE clock SET seq = $1, at = $2, endpoints = $3", g.clock.seq, g.clock.at, g.clock.endpoints)
	return err
}
