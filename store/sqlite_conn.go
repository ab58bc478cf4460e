package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A conn is one connection to an SQLite file with its prepared statements. It
// speaks SQLite's C interface without a driver between: a read allocates what
// it returns and nothing else. One goroutine uses it at a time.
type conn struct {
	tls   *libc.TLS
	db    uintptr
	out   uintptr // room for two values that SQLite writes back
	stmts map[string]*stmt
}

// A stmt is a prepared statement. Bind every parameter, step until it says
// false, then reset.
type stmt struct {
	c     *conn
	p     uintptr
	room  uintptr // where bound text lies until reset
	size  int
	used  int
	spill []uintptr // further room of one execution
}

// A sqliteError is what SQLite answered.
type sqliteError struct {
	code int32
	text string
}

func (e *sqliteError) Error() string { return fmt.Sprintf("sqlite: %s (%d)", e.text, e.code) }

const word = bits.UintSize / 8

// openConn opens the file, which it makes if there is none, and runs the
// pragmas.
func openConn(path string, pragmas ...string) (*conn, error) {
	c := &conn{tls: libc.NewTLS(), stmts: make(map[string]*stmt)}
	name, err := libc.CString(path)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	c.out = sqlite3.Xsqlite3_malloc(c.tls, 2*8)
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, c.out,
		sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_CREATE|sqlite3.SQLITE_OPEN_NOMUTEX, 0)
	c.db = c.pointer()
	if rc != sqlite3.SQLITE_OK {
		err := c.fail(rc)
		c.close()
		return nil, err
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	for _, pragma := range pragmas {
		if err := c.script(pragma); err != nil {
			c.close()
			return nil, fmt.Errorf("%s: %w", pragma, err)
		}
	}
	return c, nil
}

func (c *conn) pointer() uintptr {
	b := libc.GoBytes(c.out, word)
	if word == 4 {
		return uintptr(binary.NativeEndian.Uint32(b))
	}
	return uintptr(binary.NativeEndian.Uint64(b))
}

func (c *conn) fail(rc int32) error {
	text := "out of memory"
	if c.db != 0 {
		text = libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))
	}
	return &sqliteError{code: rc, text: text}
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		s.close()
	}
	clear(c.stmts)
	var err error
	if c.db != 0 {
		if rc := sqlite3.Xsqlite3_close_v2(c.tls, c.db); rc != sqlite3.SQLITE_OK {
			err = c.fail(rc)
		}
		c.db = 0
	}
	sqlite3.Xsqlite3_free(c.tls, c.out)
	c.tls.Close()
	return err
}

// script runs statements without parameters whose rows nobody wants.
func (c *conn) script(sql string) error {
	p, err := libc.CString(sql)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, p)
	if rc := sqlite3.Xsqlite3_exec(c.tls, c.db, p, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.fail(rc)
	}
	return nil
}

// prepare returns the statement for sql, prepared once per connection.
func (c *conn) prepare(sql string) (*stmt, error) {
	if s := c.stmts[sql]; s != nil {
		return s, nil
	}
	p, err := libc.CString(sql)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, p)
	rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, p, -1, sqlite3.SQLITE_PREPARE_PERSISTENT, c.out, 0)
	if rc != sqlite3.SQLITE_OK {
		return nil, fmt.Errorf("preparing %s: %w", sql, c.fail(rc))
	}
	s := &stmt{c: c, p: c.pointer()}
	c.stmts[sql] = s
	return s, nil
}

// run executes a statement that gives no rows and reports how many it changed.
func (c *conn) run(sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	defer s.reset()
	for i, a := range args {
		s.bind(i+1, a)
	}
	for {
		more, err := s.step()
		if err != nil {
			return 0, err
		}
		if !more {
			return sqlite3.Xsqlite3_changes64(c.tls, c.db), nil
		}
	}
}

// query executes a statement and calls each for every row.
func (c *conn) query(sql string, args []any, each func(cursor)) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer s.reset()
	for i, a := range args {
		s.bind(i+1, a)
	}
	for {
		more, err := s.step()
		if err != nil || !more {
			return err
		}
		each(s)
	}
}

// idle reports whether no transaction is open.
func (c *conn) idle() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) != 0 }

// watch interrupts what runs on the connection when ctx ends. The returned
// function ends the watch and must be called before the connection is handed on.
func (c *conn) watch(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		sqlite3.Xsqlite3_interrupt(c.tls, c.db)
		close(over)
	})
	return func() {
		if !stop() {
			<-over
		}
	}
}

// written returns the pages written since it was last asked.
func (c *conn) written() int64 {
	sqlite3.Xsqlite3_db_status(c.tls, c.db, sqlite3.SQLITE_DBSTATUS_CACHE_WRITE, c.out, c.out+8, 1)
	return int64(binary.NativeEndian.Uint32(libc.GoBytes(c.out, 4)))
}

// checkpoint moves pages from the log to the file and returns how many pages
// the log holds and how many of them have been moved.
func (c *conn) checkpoint(mode int32) (log, moved int64, err error) {
	rc := sqlite3.Xsqlite3_wal_checkpoint_v2(c.tls, c.db, 0, mode, c.out, c.out+8)
	log = int64(int32(binary.NativeEndian.Uint32(libc.GoBytes(c.out, 4))))
	moved = int64(int32(binary.NativeEndian.Uint32(libc.GoBytes(c.out+8, 4))))
	if rc != sqlite3.SQLITE_OK {
		return log, moved, c.fail(rc)
	}
	return log, moved, nil
}

func (s *stmt) close() {
	sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
	s.reclaim()
	if s.room != 0 {
		sqlite3.Xsqlite3_free(s.c.tls, s.room)
	}
}

// place finds room for n bytes that SQLite can read until reset.
func (s *stmt) place(n int) (uintptr, []byte) {
	if s.used+n > s.size {
		if s.used == 0 {
			if s.room != 0 {
				sqlite3.Xsqlite3_free(s.c.tls, s.room)
			}
			s.size = max(256, n+n/2)
			s.room = sqlite3.Xsqlite3_malloc(s.c.tls, int32(s.size))
		} else {
			p := sqlite3.Xsqlite3_malloc(s.c.tls, int32(n))
			s.spill = append(s.spill, p)
			return p, libc.GoBytes(p, n)
		}
	}
	p := s.room + uintptr(s.used)
	s.used += n
	return p, libc.GoBytes(p, n)
}

func (s *stmt) reclaim() {
	for _, p := range s.spill {
		sqlite3.Xsqlite3_free(s.c.tls, p)
	}
	s.spill = s.spill[:0]
	s.used = 0
	if s.size > 1<<20 {
		sqlite3.Xsqlite3_free(s.c.tls, s.room)
		s.room, s.size = 0, 0
	}
}

// reset ends an execution. Its error was told by step.
func (s *stmt) reset() {
	sqlite3.Xsqlite3_reset(s.c.tls, s.p)
	s.reclaim()
}

// bind sets a parameter to an int64, a string, a bool, bytes or NULL.
func (s *stmt) bind(i int, v any) {
	switch v := v.(type) {
	case int64:
		s.bindInt(i, v)
	case string:
		s.bindText(i, v)
	case []byte:
		s.bindBlob(i, v)
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		s.bindInt(i, n)
	case nil:
		sqlite3.Xsqlite3_bind_null(s.c.tls, s.p, int32(i))
	default:
		panic(fmt.Sprintf("store: cannot bind a %T", v))
	}
}

func (s *stmt) bindInt(i int, v int64) { sqlite3.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i), v) }

func (s *stmt) bindText(i int, v string) {
	p, b := s.place(max(len(v), 1))
	copy(b, v)
	sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, int32(i), p, int32(len(v)), sqlite3.SQLITE_STATIC)
}

// bindDoc binds bytes as text.
func (s *stmt) bindDoc(i int, v []byte) {
	p, b := s.place(max(len(v), 1))
	copy(b, v)
	sqlite3.Xsqlite3_bind_text(s.c.tls, s.p, int32(i), p, int32(len(v)), sqlite3.SQLITE_STATIC)
}

func (s *stmt) bindBlob(i int, v []byte) {
	p, b := s.place(max(len(v), 1))
	copy(b, v)
	sqlite3.Xsqlite3_bind_blob(s.c.tls, s.p, int32(i), p, int32(len(v)), sqlite3.SQLITE_STATIC)
}

// step reports whether there is a row.
func (s *stmt) step() (bool, error) {
	switch rc := sqlite3.Xsqlite3_step(s.c.tls, s.p); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.fail(rc)
	}
}

// A stmt that stands on a row is a cursor.

func (s *stmt) int(i int) int64 { return sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

func (s *stmt) null(i int) bool {
	return sqlite3.Xsqlite3_column_type(s.c.tls, s.p, int32(i)) == sqlite3.SQLITE_NULL
}

func (s *stmt) view(i int) []byte {
	p := sqlite3.Xsqlite3_column_blob(s.c.tls, s.p, int32(i))
	n := int(sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i)))
	if p == 0 || n == 0 {
		return nil
	}
	return libc.GoBytes(p, n)
}

func (s *stmt) bytes(i int) []byte          { return append([]byte(nil), s.view(i)...) }
func (s *stmt) add(to []byte, i int) []byte { return append(to, s.view(i)...) }
func (s *stmt) text(i int) string           { return string(s.view(i)) }
func (s *stmt) bool(i int) bool             { return s.int(i) != 0 }

// sqliteCode returns the primary result code in err, 0 if there is none.
func sqliteCode(err error) int32 {
	if e, ok := errors.AsType[*sqliteError](err); ok {
		return e.code & 0xff
	}
	return 0
}
