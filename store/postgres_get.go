package store

import (
	"context"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
)

// A lookup is a question for one row by its key, on its way to the database.
type lookup struct {
	sql     string
	account int64
	key     any
	row     Row
	err     error
	done    chan struct{}
}

const (
	lookups     = 64 // that go to the database together, at most
	lookupTurns = 2  // in which others may join a group of them

	lookupPatience = 10 * time.Second
)

// get asks for one row. Questions that are asked at the same time travel
// together, which costs both sides a fraction of a round trip each; one that is
// asked alone goes at once.
func (e *postgresEngine) get(ctx context.Context, sql string, account int64, key any) (Row, error) {
	if err := ctx.Err(); err != nil {
		return Row{}, err
	}
	l := &lookup{sql: sql, account: account, key: key, done: make(chan struct{})}
	select {
	case e.lookups <- l:
	case <-ctx.Done():
		return Row{}, ctx.Err()
	}
	select {
	case <-l.done:
		return l.row, l.err
	case <-ctx.Done():
		return Row{}, ctx.Err()
	}
}

// look answers questions until the engine is closed.
func (e *postgresEngine) look() {
	group := make([]*lookup, 0, lookups)
	for l := range e.lookups {
		group = e.gather(append(group[:0], l))
		e.answer(group)
		for _, l := range group {
			close(l.done)
		}
		clear(group)
	}
}

// gather takes what waits behind the first question. It does not wait for more.
func (e *postgresEngine) gather(group []*lookup) []*lookup {
	for turn := 0; len(group) < lookups; {
		select {
		case l, open := <-e.lookups:
			if !open {
				return group
			}
			group = append(group, l)
			continue
		default:
		}
		if turn++; turn > lookupTurns {
			return group
		}
		runtime.Gosched()
	}
	return group
}

// answer asks a group's questions in one round trip. Where that fails each is
// asked alone, so that one that cannot be asked spoils no other.
func (e *postgresEngine) answer(group []*lookup) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupPatience)
	defer cancel()
	if len(group) > 1 && e.answerTogether(ctx, group) == nil {
		return
	}
	for _, l := range group {
		l.row = Row{Account: l.account}
		l.err = e.query(ctx, l.sql, []any{l.account, l.key}, l.scan)
		l.settle()
	}
}

func (e *postgresEngine) answerTogether(ctx context.Context, group []*lookup) error {
	var batch pgx.Batch
	for _, l := range group {
		batch.Queue(l.sql, l.account, l.key)
	}
	results := e.pool.SendBatch(ctx, &batch)
	defer results.Close()
	for _, l := range group {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		l.row, l.err = Row{Account: l.account}, nil
		if err := walk(rows, l.scan); err != nil {
			return err
		}
		l.settle()
	}
	return results.Close()
}

func (l *lookup) scan(c cursor) {
	l.row.ID, l.row.Rev, l.row.Seq = c.int(0), c.int(1), c.int(2)
	l.row.Created, l.row.Updated, l.row.Doc = c.int(3), c.int(4), c.bytes(5)
}

// settle makes a question that found nothing an error.
func (l *lookup) settle() {
	if l.err == nil && l.row.ID == 0 {
		l.err = ErrNotFound
	}
	if l.err != nil {
		l.row = Row{}
	}
}
