package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteEngine is one SQLite file: a connection that writes, one that moves
// the log into the file, and several that read.
type sqliteEngine struct {
	lock    *os.File
	readers chan *conn
	size    int

	gate   sync.Mutex // held while the writer's connection is used, or must not be
	writer *conn
	keeper *checkpointer
}

const pageSize = 8192

func openSQLite(path string, o *Options) (engine, error) {
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	e := &sqliteEngine{lock: lock, readers: make(chan *conn, o.Readers)}
	common := []string{"PRAGMA busy_timeout = 10000", "PRAGMA temp_store = MEMORY", "PRAGMA foreign_keys = OFF"}
	writing := append(common, fmt.Sprintf("PRAGMA page_size = %d", pageSize), "PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = FULL", "PRAGMA wal_autocheckpoint = 0", "PRAGMA cache_size = -65536")
	if e.writer, err = openConn(path, writing...); err != nil {
		e.close()
		return nil, err
	}
	if e.keeper, err = newCheckpointer(path, e, o.Log); err != nil {
		e.close()
		return nil, err
	}
	for range o.Readers {
		c, err := openConn(path, append(common, "PRAGMA query_only = ON", "PRAGMA cache_size = -8192")...)
		if err != nil {
			e.close()
			return nil, err
		}
		e.readers <- c
		e.size++
	}
	return e, nil
}

func (e *sqliteEngine) close() error {
	var errs []error
	for range e.size {
		errs = append(errs, (<-e.readers).close())
	}
	if e.keeper != nil {
		errs = append(errs, e.keeper.close())
	}
	if e.writer != nil {
		errs = append(errs, e.writer.close()) // the last one moves the log into the file
	}
	return errors.Join(append(errs, e.lock.Close())...)
}

func (e *sqliteEngine) get(ctx context.Context, t *table, account, id int64) (Row, error) {
	if err := ctx.Err(); err != nil {
		return Row{}, err
	}
	c, err := e.reader(ctx)
	if err != nil {
		return Row{}, err
	}
	defer func() { e.readers <- c }()
	s, err := c.prepare(t.getSQL)
	if err != nil {
		return Row{}, sqliteFailure(err)
	}
	defer s.reset()
	s.bindInt(1, account)
	s.bindInt(2, id)
	more, err := s.step()
	if err != nil {
		return Row{}, sqliteFailure(err)
	}
	if !more {
		return Row{}, ErrNotFound
	}
	return Row{Account: account, ID: id, Rev: s.int(1), Seq: s.int(2), Created: s.int(3), Updated: s.int(4), Doc: s.bytes(5)}, nil
}

func (e *sqliteEngine) reader(ctx context.Context) (*conn, error) {
	select {
	case c := <-e.readers:
		return c, nil
	default:
	}
	select {
	case c := <-e.readers:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *sqliteEngine) query(ctx context.Context, sql string, args []any, each func(cursor)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := e.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { e.readers <- c }()
	defer c.watch(ctx)()
	err = c.query(sql, args, each)
	if sqliteCode(err) == sqlite3.SQLITE_INTERRUPT && ctx.Err() != nil {
		return ctx.Err()
	}
	return sqliteFailure(err)
}

// sqliteFailure wraps the errors that say nothing about the statement with
// ErrUnavailable.
func sqliteFailure(err error) error {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PROTOCOL:
		return unavailable(err)
	}
	return err
}

func (e *sqliteEngine) alone(ctx context.Context, f func(session) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.gate.Lock()
	defer e.gate.Unlock()
	if err := e.writer.script("BEGIN IMMEDIATE"); err != nil {
		return sqliteFailure(err)
	}
	defer e.rollback()
	if err := f(e.writer); err != nil {
		return sqliteFailure(err)
	}
	err = e.writer.script("COMMIT")
	e.keeper.note(e.writer.written())
	return sqliteFailure(err)
}

// rollback ends a transaction that is still open.
func (e *sqliteEngine) rollback() {
	if !e.writer.idle() {
		e.writer.script("ROLLBACK")
	}
}
