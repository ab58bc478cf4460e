package store

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-api/parley/event"
)

// A cursorRow is an event whose fan-out goes on after its transaction.
type cursorRow struct {
	seq, account int64
	after        int64 // the last endpoint that has its delivery
	at           int64 // the time of the transaction: later endpoints get none
}

// fanOn writes the deliveries of events that have more endpoints than their
// own transaction took, at the start and whenever there are some.
func (s *Store) fanOn() {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		more, err := s.fanSlice(s.life)
		if err != nil && s.life.Err() == nil {
			s.options.Log.Warn("fanning events out", "error", err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-s.life.Done():
			return
		case <-s.fanning:
		case <-tick.C:
		}
	}
}

const fanSlice = 500

// fanSlice goes on with the oldest event that no other node is at. It reports
// whether there was one.
func (s *Store) fanSlice(ctx context.Context) (more bool, err error) {
	taker := s.fanout.Taker
	var list []event.Delivery
	err = s.work(ctx, func(db session) (err error) {
		handOver(taker, list, false) // of an earlier run
		list, more, err = s.fanCursor(db, taker, list[:0])
		return err
	})
	handOver(taker, list, err == nil)
	return more, err
}

// fanCursor writes a slice of the deliveries of one event and moves its
// cursor. The list it returns is what had places, also where it fails.
func (s *Store) fanCursor(db session, taker Taker, list []event.Delivery) ([]event.Delivery, bool, error) {
	var cur cursorRow
	err := db.query(skipLocked(db, "SELECT seq, account, after, at FROM fanout ORDER BY seq LIMIT 1{lock}"), nil, func(c cursor) {
		cur = cursorRow{c.int(0), c.int(1), c.int(2), c.int(3)}
	})
	if err != nil || cur.seq == 0 {
		return list, false, err
	}
	e, subs, err := s.rest(db, cur)
	if err != nil {
		return list, false, err
	}
	now, left := s.now(), len(subs) > fanSlice
	for _, sub := range subs[:min(len(subs), fanSlice)] {
		list = append(list, deliver(taker, sub, e, min(cur.at, now), now))
	}
	if err := insertDeliveries(db, list); err != nil {
		return list, false, err
	}
	if left {
		_, err = db.run("UPDATE fanout SET after = $1 WHERE seq = $2", list[len(list)-1].Endpoint, cur.seq)
	} else {
		_, err = db.run("DELETE FROM fanout WHERE seq = $1", cur.seq)
	}
	return list, true, err
}

// rest returns an event and the endpoints that were there when it happened and
// have no delivery of it yet. What it reads of endpoints may belong to a
// transaction that is still open, so it is not remembered.
func (s *Store) rest(db session, cur cursorRow) (*event.Event, []*subscriber, error) {
	var e *event.Event
	err := db.query(eventSQL+" WHERE account = $1 AND seq = $2", []any{cur.account, cur.seq}, func(c cursor) {
		v := scanEvent(c, cur.account)
		e = &v
	})
	if err != nil || e == nil {
		return nil, nil, err
	}
	var as int64
	if err := db.query("SELECT endpoints FROM clock", nil, func(c cursor) { as = c.int(0) }); err != nil {
		return nil, nil, err
	}
	var all []*subscriber
	if s.subs.fresh(as) {
		all = s.subs.match(e.Account, e.Type)
	} else {
		list, err := s.fanout.load(db.query)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the endpoints: %w", err)
		}
		all = matching(byAccount(list)[e.Account], e.Type)
	}
	var rest []*subscriber
	for _, sub := range all {
		if sub.id > cur.after && sub.created <= cur.at {
			rest = append(rest, sub)
		}
	}
	return e, rest, nil
}
