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
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley/event"
)

// Publish writes an event of an application's own in a transaction of the
// application's own, a *sql.Tx or a pgx.Tx on the database of the service: the
// event happens if and only if that transaction is committed. Account, Type
// and Doc, a JSON object, must be given; At, where it is 0, is the time at
// which the service takes the event in. Nothing else of it is used. A service
// that runs on the database takes the event in within a second and delivers it.
// The data is not held against the schema of its type.
//
// The tables are those of this package: run the service, or Open, once before.
// On SQLite the service cannot write while that transaction is open, so keep it
// short, and give the driver a busy timeout for the times when it is the
// service that writes.
func Publish(ctx context.Context, tx any, e event.Event) error {
	const insert = "INSERT INTO outbox (account, type, at, doc) VALUES ($1, $2, $3, $4)"
	if e.Account <= 0 || e.Type == "" || strings.Trim(e.Type, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		return errors.New("store: an event to publish needs an account, and a type such as invoice.paid")
	}
	if doc := bytes.TrimLeft(e.Doc, " \t\r\n"); len(doc) == 0 || doc[0] != '{' || !utf8.Valid(doc) || !json.Valid(doc) {
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
// does at the same time; what an earlier Tx of the group took is still there.
func (g *group) unbox() error {
	var last int64
	if n := len(g.taken); n > 0 {
		last = g.taken[n-1]
	}
	err := g.each("SELECT id, account, type, at, doc FROM outbox WHERE id > $1 ORDER BY id LIMIT $2", []any{last, int64(outboxSlice)}, func(c cursor) {
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
