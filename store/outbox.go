package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley/event"
)

// Publish writes an event of an application's own in a transaction of the
// application's own, a *sql.Tx or a pgx.Tx on the database of the service: the
// event happens if and only if that transaction is committed. Account, Type
// and Doc, a JSON object, must be given; At is the time at which the service
// takes it in where it is 0. A service that runs on the database does so
// within a second, and delivers it. The data is not held against the schema of
// its type.
//
// The tables are those of this package: run the service, or Open, once before.
func Publish(ctx context.Context, tx any, e event.Event) error {
	const insert = "INSERT INTO outbox (account, type, at, doc) VALUES ($1, $2, $3, $4)"
	if e.Account <= 0 || e.Type == "" || strings.Trim(e.Type, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		return errors.New("store: an event to publish needs an account, and a type such as invoice.paid")
	}
	if doc := bytes.TrimLeft(e.Doc, " \t\r\n"); len(doc) == 0 || doc[0] != '{' || !json.Valid(doc) {
		return errors.New("store: the document of an event to publish must be a JSON object")
	}
	var err error
	switch tx := tx.(type) {
	case *sql.Tx:
		_, err = tx.ExecContext(ctx, insert, e.Account, e.Type, e.At, string(e.Doc))
	case pgx.Tx:
		_, err = tx.Exec(ctx, insert, e.Account, e.Type, e.At, string(e.Doc))
	default:
		return fmt.Errorf("store: cannot publish in a %T: give a *sql.Tx or a pgx.Tx", tx)
	}
	if err != nil {
		return fmt.Errorf("store: publishing an event: %w", err)
	}
	return nil
}

const (
	outboxSlice = 200
	outboxPause = 250 * time.Millisecond
)

// unbox takes events out of the outbox. The clock is locked, so no other node
// does at the same time.
func (g *group) unbox() error {
	err := g.each("SELECT id, account, type, at, doc FROM outbox ORDER BY id LIMIT $1", []any{int64(outboxSlice)}, func(c cursor) {
		g.taken = append(g.taken, c.int(0))
		g.publish(&event.Event{Account: c.int(1), Type: c.text(2), At: c.int(3), Doc: c.bytes(4)})
	})
	g.fatal = err
	return err
}

// collect looks into the outbox again and again.
func (s *Store) collect() {
	tick := time.NewTicker(outboxPause)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		if err := s.emptyOutbox(s.life); err != nil && s.life.Err() == nil {
			s.options.Log.Warn("taking events out of the outbox", "error", err)
		}
	}
}

func (s *Store) emptyOutbox(ctx context.Context) error {
	for {
		n, err := s.number(ctx, "SELECT count(*) FROM (SELECT id FROM outbox LIMIT 1) AS o")
		if err != nil || n == 0 {
			return err
		}
		if _, err := s.Commit(ctx, &Tx{outbox: true}); err != nil {
			return err
		}
	}
}

// deleteTakenSQL removes an event that was taken in.
const deleteTakenSQL = "DELETE FROM outbox WHERE id = $1"

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

// fanSlice goes on with the oldest event.
func (s *Store) fanSlice(ctx context.Context) (more bool, err error) {
	var list []event.Delivery
	release := func() {
		for i := range list {
			if list[i].Fence != 0 {
				s.fanout.Taker.Release(list[i].Endpoint)
			}
		}
		list = list[:0]
	}
	err = s.work(ctx, func(db session) (err error) {
		release() // of an earlier run
		list, more, err = s.fanCursor(db, list)
		return err
	})
	if err != nil {
		release()
		return false, err
	}
	g := group{fanout: s.fanout, subs: &s.subs, deliveries: list}
	g.handOff(true)
	return more, nil
}

func (s *Store) fanCursor(db session, list []event.Delivery) ([]event.Delivery, bool, error) {
	var cur cursorRow
	err := db.query(skipLocked(db, "SELECT seq, account, after, at FROM fanout ORDER BY seq LIMIT 1{lock}"), nil, func(c cursor) {
		cur = cursorRow{c.int(0), c.int(1), c.int(2), c.int(3)}
	})
	if err != nil || cur.seq == 0 {
		return list, false, err
	}
	if err := s.refresh(db); err != nil {
		return list, false, err
	}
	var e *event.Event
	err = db.query(eventSQL+" WHERE account = $1 AND seq = $2", []any{cur.account, cur.seq}, func(c cursor) {
		v := scanEvent(c, cur.account)
		e = &v
	})
	if err != nil {
		return list, false, err
	}
	g := group{fanout: s.fanout, now: s.now(), clock: clock{at: cur.at}}
	left := false
	if e != nil {
		for _, sub := range s.subs.match(e.Account, e.Type) {
			if sub.id <= cur.after || sub.created > cur.at {
				continue
			}
			if left = len(list) == fanSlice; left {
				break
			}
			d := g.deliver(sub, e)
			list = append(list, d)
			_, err := db.run(deliverySQL+"VALUES ($1, $2, $3, $4, 0, 0, 0, $5, $6, $7, 0, '', '')", d.Endpoint, d.Seq, d.Account, d.Version, d.Born, d.Due, d.Fence)
			if err != nil {
				return list, false, err
			}
		}
	}
	if !left {
		_, err = db.run("DELETE FROM fanout WHERE seq = $1", cur.seq)
	} else {
		_, err = db.run("UPDATE fanout SET after = $1 WHERE seq = $2", list[len(list)-1].Endpoint, cur.seq)
	}
	return list, true, err
}

// refresh reads the endpoints where they are not known or have changed.
func (s *Store) refresh(db session) error {
	var as int64
	if err := db.query("SELECT endpoints FROM clock", nil, func(c cursor) { as = c.int(0) }); err != nil {
		return err
	}
	if s.subs.fresh(as) {
		return nil
	}
	list, err := s.fanout.load(db.query)
	if err == nil {
		s.subs.reset(list, as)
	}
	return err
}
