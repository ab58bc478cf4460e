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
	lock *os.File

	mu      sync.Mutex
	readers []*conn               // those that nobody uses
	free    chan struct{}         // as many as may still read
	open    func() (*conn, error) // one more that reads

	gate    sync.Mutex // held while the writer's connection is used, or must not be
	writer  *conn
	loose   bool             // the writer's commits wait for no flush
	updates map[change]*stmt // of the writer
	keeper  *checkpointer
	recent  *recent
}

// A change names the statement that updates some columns of a table.
type change struct {
	table   int
	columns uint64
}

// Of 4, 8 and 16 KiB: single reads were equally fast with the first two, and
// a commit writes whole pages, so that changes here and there in a table were
// up to twice as fast with 4.
const pageSize = 4096

// Whenever a commit has split a page, SQLite looks at every page that the
// writer remembers. With 64 MB of them, inserts one by one were slower than
// with 16 by an eighth, and changes here and there no faster.
const writerCache = 16384 // KiB

// patch is what the library wants done once before its first use.
var patch = sync.OnceFunc(sqlite3.PatchIssue199)

func openSQLite(path string, o *Options) (engine, error) {
	patch()
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	// Secrets lie in the file: it is made for its owner alone, and SQLite gives
	// its log the same mode.
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		f.Close()
	}
	e := &sqliteEngine{lock: lock, updates: make(map[change]*stmt), free: make(chan struct{}, o.Readers), recent: newRecent()}
	common := []string{"PRAGMA busy_timeout = 10000", "PRAGMA temp_store = MEMORY", "PRAGMA foreign_keys = OFF"}
	writing := append(common, fmt.Sprintf("PRAGMA page_size = %d", pageSize), "PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = FULL", "PRAGMA wal_autocheckpoint = 0", fmt.Sprintf("PRAGMA cache_size = -%d", writerCache))
	if e.writer, err = openConn(path, writing...); err != nil {
		e.close()
		return nil, err
	}
	if e.keeper, err = newCheckpointer(path, e, o.Log); err != nil {
		e.close()
		return nil, err
	}
	reading := append(common, "PRAGMA query_only = ON", "PRAGMA cache_size = -8192")
	e.open = func() (*conn, error) { return openConn(path, reading...) }
	c, err := e.open() // the first now: it finds out what is wrong
	if err != nil {
		e.close()
		return nil, err
	}
	e.readers = append(e.readers, c)
	for range o.Readers {
		e.free <- struct{}{}
	}
	return e, nil
}

func (e *sqliteEngine) close() error {
	var errs []error
	for _, c := range e.readers {
		errs = append(errs, c.close())
	}
	if e.keeper != nil {
		errs = append(errs, e.keeper.close())
	}
	if e.writer != nil {
		errs = append(errs, e.writer.close()) // the last one moves the log into the file
	}
	return errors.Join(append(errs, e.lock.Close())...)
}

func (e *sqliteEngine) get(ctx context.Context, sql string, account int64, key any) (Row, error) {
	if err := ctx.Err(); err != nil {
		return Row{}, err
	}
	id, ok := key.(int64)
	if !ok {
		return e.look(ctx, sql, account, key)
	}
	row, at, found := e.recent.find(sql, account, id)
	if found {
		return row, nil
	}
	row, err := e.look(ctx, sql, account, key)
	if err == nil {
		e.recent.keep(sql, at, row)
	}
	return row, err
}

// look reads a row.
func (e *sqliteEngine) look(ctx context.Context, sql string, account int64, key any) (Row, error) {
	c, err := e.reader(ctx)
	if err != nil {
		return Row{}, err
	}
	defer e.release(c)
	s, err := c.prepare(sql)
	if err != nil {
		return Row{}, sqliteFailure(err)
	}
	defer s.reset()
	s.bindInt(1, account)
	s.bind(2, key)
	more, err := s.step()
	if err != nil {
		return Row{}, sqliteFailure(err)
	}
	if !more {
		return Row{}, ErrNotFound
	}
	return Row{Account: account, ID: s.int(0), Rev: s.int(1), Seq: s.int(2), Created: s.int(3), Updated: s.int(4), Doc: s.bytes(5)}, nil
}

// reader takes the connection that was used last, whose memory is warmest, or
// opens one more where all are in use: each has a copy of the schema, and few
// services need all they may have.
func (e *sqliteEngine) reader(ctx context.Context) (*conn, error) {
	select {
	case <-e.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := e.rested(); c != nil {
		return c, nil
	}
	c, err := e.open()
	if err != nil {
		e.free <- struct{}{}
		return nil, sqliteFailure(err)
	}
	return c, nil
}

// rested takes a connection that nobody uses; nil: there is none.
func (e *sqliteEngine) rested() *conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.readers) == 0 {
		return nil
	}
	last := len(e.readers) - 1
	c := e.readers[last]
	e.readers = e.readers[:last]
	return c
}

func (e *sqliteEngine) release(c *conn) {
	e.mu.Lock()
	e.readers = append(e.readers, c)
	e.mu.Unlock()
	e.free <- struct{}{}
}

func (e *sqliteEngine) query(ctx context.Context, sql string, args []any, each func(cursor)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := e.reader(ctx)
	if err != nil {
		return err
	}
	defer e.release(c)
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
	if err := e.loosen(false); err != nil {
		return sqliteFailure(err)
	}
	if err := e.writer.script("BEGIN IMMEDIATE"); err != nil {
		return sqliteFailure(err)
	}
	defer e.rollback()
	if err := f(e.writer); err != nil {
		return sqliteFailure(err)
	}
	err = e.recent.commit(func() error { return e.writer.script("COMMIT") })
	e.keeper.note(e.writer.written())
	return sqliteFailure(err)
}

// loosen says whether the next commit must be on disk when it is done. One that
// need not be is in the log, and the flush of the next that must be takes it
// along: no crash leaves a later commit without an earlier one.
func (e *sqliteEngine) loosen(loose bool) error {
	if e.loose == loose {
		return nil
	}
	level := "FULL"
	if loose {
		level = "NORMAL"
	}
	err := e.writer.script("PRAGMA synchronous = " + level)
	if err == nil {
		e.loose = loose
	}
	return err
}

// rollback ends a transaction that is still open.
func (e *sqliteEngine) rollback() {
	if !e.writer.idle() {
		e.writer.script("ROLLBACK")
	}
}
