package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Options of Open. The zero value, or nil, means the defaults.
type Options struct {
	Now     func() time.Time // the wall clock; nil means time.Now
	Readers int              // connections that read, twice as many on PostgreSQL; 0 means four per CPU, at least eight. pool_max_conns in a dsn wins
	Group   int              // the most Txs that share a transaction; 0 means 512
	Log     *slog.Logger     // nil means that nothing is logged
	Fanout  *Fanout          // nil means that events have no deliveries
}

// A Store keeps the rows of its tables. Its methods may be called
// concurrently.
type Store struct {
	engine  engine
	dialect *dialect
	options Options
	list    []*table
	tables  map[*Table]*table
	queue   chan *job
	writer  sync.WaitGroup
	life    context.Context // of the background work
	end     context.CancelFunc
	tasks   sync.WaitGroup
	fanout  *fanout
	subs    subscriptions
	health  tallies
	fanning chan struct{} // there are events whose fan-out goes on

	mu     sync.RWMutex
	closed bool
	calls  sync.WaitGroup
}

// An engine is a database. Texts of SQL name their parameters $1, $2 … in the
// order in which they first appear; arguments and cursors know int64, string,
// bool, []byte and NULL.
type engine interface {
	// get reads the one row of an account that a statement finds by a key.
	get(ctx context.Context, sql string, account int64, key any) (Row, error)
	// query reads what others have committed.
	query(ctx context.Context, sql string, args []any, each func(cursor)) error
	// alone runs f in a transaction of its own, in which no other writer is.
	alone(ctx context.Context, f func(session) error) error
	// commit locks the clock, reads what the group needs, lets it decide and
	// writes. A failure of one Tx is in its job; an error is of them all.
	commit(g *group) error
	// close is called when nothing is in flight.
	close() error
}

// A session is an open transaction.
type session interface {
	run(sql string, args ...any) (int64, error)
	query(sql string, args []any, each func(cursor)) error
	script(sql string) error
}

// A cursor stands on one row of a result.
type cursor interface {
	int(column int) int64
	text(column int) string
	bytes(column int) []byte
	add(to []byte, column int) []byte // appends the bytes
	bool(column int) bool
	null(column int) bool
}

// Open opens a database, brings its own tables up to date and makes or extends
// those of the given Tables. A dsn that begins with postgres:// or
// postgresql:// is a PostgreSQL server, which several stores may share. Any
// other is the path of an SQLite file, in a folder that exists; one process has
// it at a time.
//
// Open refuses, and says what to do, where a database was written by a newer
// program, where a migration was altered after it was applied, and where a
// Table was changed in a way that adds nothing.
func Open(ctx context.Context, dsn string, opts *Options, tables ...*Table) (*Store, error) {
	list, byPointer, err := resolve(tables)
	if err != nil {
		return nil, err
	}
	s := &Store{options: opts.filled(), list: list, tables: byPointer, fanning: make(chan struct{}, 1)}
	if s.fanout, err = s.newFanout(s.options.Fanout); err != nil {
		return nil, err
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		s.dialect = postgresDialect()
		s.engine, err = openPostgres(ctx, dsn, &s.options, list)
	} else {
		s.dialect = sqliteDialect()
		for _, t := range list {
			t.hint()
		}
		s.engine, err = openSQLite(dsn, &s.options)
	}
	if err != nil {
		return nil, fmt.Errorf("store: opening the database: %w", err)
	}
	if err := s.engine.alone(ctx, func(db session) error { return prepare(db, s.dialect, list, s.now()) }); err != nil {
		s.engine.close()
		return nil, fmt.Errorf("store: preparing the database: %w", err)
	}
	s.queue = make(chan *job, 2*s.options.Group)
	// One writer on either engine: with two on PostgreSQL the second mostly
	// waits for the clock, and each commits half as much with every flush.
	s.writer.Go(s.write)
	s.life, s.end = context.WithCancel(context.Background())
	s.tasks.Go(s.prune)
	if s.fanout != nil {
		s.tasks.Go(s.fanOn)
		s.tasks.Go(s.keepHealth)
		s.tasks.Go(s.collect)
	}
	return s, nil
}

func (o *Options) filled() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Now == nil {
		full.Now = time.Now
	}
	if full.Readers <= 0 {
		full.Readers = max(8, 4*runtime.NumCPU())
	}
	if full.Group <= 0 {
		full.Group = 512
	}
	if full.Log == nil {
		full.Log = slog.New(slog.DiscardHandler)
	}
	return full
}

func (s *Store) now() int64 { return s.options.Now().UnixMicro() }

// Close lets the calls that have begun finish, then closes the database. Calls
// that begin after it fail with ErrClosed. A second Close does nothing.
func (s *Store) Close() error {
	s.flushHealth(context.Background(), 0)
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.end()
	s.calls.Wait()
	s.tasks.Wait()
	close(s.queue)
	s.writer.Wait()
	return s.engine.close()
}

// enter begins a call; leave ends it.
func (s *Store) enter() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) leave() { s.calls.Done() }

func (s *Store) table(t *Table) (*table, error) {
	if r := s.tables[t]; r != nil {
		return r, nil
	}
	if t == nil {
		return nil, errors.New("store: nil table")
	}
	return nil, fmt.Errorf("store: table %s was not opened", t.Name)
}

// Ping reads from the database. It fails with ErrUnavailable where that cannot
// be reached.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.number(ctx, "SELECT seq FROM clock")
	return err
}

// Secret returns the random bytes kept under a name. The first call makes size
// of them; every later one, on every node, returns the same. It fails where
// the kept ones have another size.
func (s *Store) Secret(ctx context.Context, name string, size int) ([]byte, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	const find = "SELECT value FROM setting WHERE name = $1"
	var value []byte
	read := func(c cursor) { value = c.bytes(0) }
	if err := s.engine.query(ctx, find, []any{name}, read); err != nil {
		return nil, err
	}
	if value == nil {
		fresh := make([]byte, size)
		rand.Read(fresh)
		err := s.engine.alone(ctx, func(db session) error {
			if _, err := db.run("INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, fresh); err != nil {
				return err
			}
			return db.query(find, []any{name}, read)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(value) != size {
		return nil, fmt.Errorf("store: the secret %s has %d bytes, not %d", name, len(value), size)
	}
	return value, nil
}
