package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresEngine is a PostgreSQL database, which other nodes may use as well.
type postgresEngine struct {
	pool    *pgxpool.Pool // reads, and what is done alone
	writers *pgxpool.Pool // of groups
	workers *pgxpool.Pool // of transactions beside the groups
	texts   []*postgresText

	lookups chan *lookup
	looking sync.WaitGroup
}

const (
	// No round trip of a writer takes longer. It waits for the groups of other
	// nodes, so this is generous.
	postgresPatience = 30 * time.Second
	// A number that nobody else is likely to lock.
	advisory = 0x7061726c6579
)

// The writers look rows up by their keys, never otherwise. Telling the planner
// so keeps it from reading whole tables while it has no statistics, and from
// planning each group anew.
const writerSettings = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
	SET plan_cache_mode = force_generic_plan; SET jit = off; SET idle_in_transaction_session_timeout = '60s'`

// Readers have the same reason and one more: every page of a list is one
// stretch of an index, in its order, which the planner does not find where it
// does not know how short a page is. One plan then does for all pages.
const readerSettings = `SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
	SET plan_cache_mode = force_generic_plan; SET jit = off`

// Workers are for transactions beside the groups: they look rows up by their
// keys as a writer does, and take the first few of many as a reader does.
const workerSettings = writerSettings + "; SET enable_bitmapscan = off; SET enable_sort = off"

// postgresWorkers is how many such transactions run at a time. Each is a round
// trip or two.
const postgresWorkers = 8

func openPostgres(ctx context.Context, dsn string, o *Options, list []*table) (engine, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, oneLine(err)
	}
	if !strings.Contains(dsn, "pool_max_conns=") {
		config.MaxConns = int32(2 * o.Readers)
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	with := func(conns int32, settings string) *pgxpool.Config {
		c := config.Copy()
		c.MaxConns, c.MinConns, c.MinIdleConns, c.AfterConnect = conns, 0, 0, setting(settings)
		return c
	}
	writing := with(2, writerSettings) // one, and one that is being replaced
	working := with(min(postgresWorkers, config.MaxConns), workerSettings)
	config.AfterConnect = setting(readerSettings)
	e := new(postgresEngine)
	for _, t := range list {
		e.texts = append(e.texts, newPostgresText(t))
	}
	if e.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, oneLine(err)
	}
	if err := e.pool.Ping(ctx); err != nil {
		e.pool.Close()
		return nil, unavailable(oneLine(err))
	}
	if e.writers, err = pgxpool.NewWithConfig(ctx, writing); err != nil {
		e.pool.Close()
		return nil, oneLine(err)
	}
	if e.workers, err = pgxpool.NewWithConfig(ctx, working); err != nil {
		e.writers.Close()
		e.pool.Close()
		return nil, oneLine(err)
	}
	e.lookups = make(chan *lookup, 4*lookups)
	for range max(2, runtime.NumCPU()/2) {
		e.looking.Go(e.look)
	}
	return e, nil
}

// setting runs statements on each new connection.
func setting(sql string) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.PgConn().Exec(ctx, sql).ReadAll()
		return err
	}
}

// oneLine makes an error of several attempts fit into a line of a log.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

func (e *postgresEngine) close() error {
	close(e.lookups)
	e.looking.Wait()
	e.workers.Close()
	e.writers.Close()
	e.pool.Close()
	return nil
}

// query tries again where a connection that had been idle turns out to be
// dead, as all are after the server was restarted.
func (e *postgresEngine) query(ctx context.Context, sql string, args []any, each func(cursor)) error {
	begun := false
	try := func() error {
		rows, err := e.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		return walk(rows, func(c cursor) {
			begun = true
			each(c)
		})
	}
	err := try()
	if err != nil && !begun && gone(err) && ctx.Err() == nil {
		err = try()
	}
	return postgresFailure(ctx, err)
}

// walk calls each for every row.
func walk(rows pgx.Rows, each func(cursor)) error {
	defer rows.Close()
	c := postgresCursor{rows: rows}
	for rows.Next() {
		c.values = rows.RawValues()
		each(&c)
	}
	return rows.Err()
}

func (e *postgresEngine) alone(ctx context.Context, f func(session) error) error {
	err := pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(advisory)); err != nil {
			return err
		}
		return f(&postgresSession{ctx, tx})
	})
	return postgresFailure(ctx, err)
}

// transact runs f in a transaction. It is tried again where the connection
// turns out to be dead.
func (e *postgresEngine) transact(ctx context.Context, f func(session) error, loose bool) error {
	o := pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	if loose {
		o = pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off"}
	}
	try := func() error {
		return pgx.BeginTxFunc(ctx, e.workers, o, func(tx pgx.Tx) error {
			return f(&postgresSession{ctx, tx})
		})
	}
	err := try()
	if err != nil && gone(err) && ctx.Err() == nil {
		err = try()
	}
	return postgresFailure(ctx, err)
}

// A postgresSession is a transaction.
type postgresSession struct {
	ctx context.Context
	tx  pgx.Tx
}

func (s *postgresSession) run(sql string, args ...any) (int64, error) {
	tag, err := s.tx.Exec(s.ctx, sql, args...)
	return tag.RowsAffected(), err
}

func (s *postgresSession) query(sql string, args []any, each func(cursor)) error {
	rows, err := s.tx.Query(s.ctx, sql, args...)
	if err != nil {
		return err
	}
	return walk(rows, each)
}

func (s *postgresSession) script(sql string) error {
	_, err := s.tx.Conn().PgConn().Exec(s.ctx, sql).ReadAll()
	return err
}

// A postgresCursor reads the values as they came, without a conversion
// between.
type postgresCursor struct {
	rows   pgx.Rows
	values [][]byte
}

func (c *postgresCursor) binary(i int) bool { return c.rows.FieldDescriptions()[i].Format == 1 }

func (c *postgresCursor) int(i int) int64 {
	v := c.values[i]
	if !c.binary(i) {
		n, _ := strconv.ParseInt(string(v), 10, 64)
		return n
	}
	switch len(v) {
	case 8:
		return int64(binary.BigEndian.Uint64(v))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v)))
	}
	return 0
}

func (c *postgresCursor) bool(i int) bool {
	v := c.values[i]
	return len(v) == 1 && (v[0] == 1 || v[0] == 't')
}

func (c *postgresCursor) text(i int) string { return string(c.values[i]) }
func (c *postgresCursor) null(i int) bool   { return c.values[i] == nil }

// bytes reads text as well as binary strings; those never come as text,
// because every statement is prepared.
func (c *postgresCursor) add(to []byte, i int) []byte { return append(to, c.values[i]...) }
func (c *postgresCursor) bytes(i int) []byte          { return append([]byte(nil), c.values[i]...) }

// postgresFailure wraps the errors that say nothing about the statement with
// ErrUnavailable, unless it is the caller who has given up.
func postgresFailure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case gone(err):
		return unavailable(oneLine(err))
	}
	return err
}

// gone reports whether an error is about the database, not the statement.
func gone(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "57"),
			strings.HasPrefix(e.Code, "58"), strings.HasPrefix(e.Code, "40"), e.Code == "25006", e.Code == "25P03", e.Code == "55P03":
			return true
		}
		return false
	}
	return broken(err)
}

// broken reports whether a connection was lost.
func broken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err)
}

// A postgresText holds the statements of a table that work on many rows.
type postgresText struct {
	rows, exists            string
	holder, refers, records []string // by column
	insert, update          string
	clear, delete           string
}

func newPostgresText(t *table) *postgresText {
	names := "account, id, rev, seq, created, updated, doc"
	changing := []string{"rev", "seq", "updated", "doc"}
	all := []string{"bigint", "bigint", "bigint", "bigint", "bigint", "bigint", "text"}
	some := []string{"bigint", "bigint", "bigint", "bigint", "bigint", "text"}
	kinds := postgresDialect().types
	var nulls []string
	x := new(postgresText)
	for _, c := range t.Columns {
		names += ", k_" + c.Name
		changing = append(changing, "k_"+c.Name)
		all, some = append(all, kinds[c.Kind]), append(some, kinds[c.Kind])
		if c.Unique {
			nulls = append(nulls, "k_"+c.Name+" = NULL")
		}
	}
	full := "r." + strings.ReplaceAll(names, ", ", ", r.")
	keyed := " FROM unnest($1::bigint[], $2::bigint[]) AS u (a, i) JOIN " + t.sql + " AS r ON r.account = u.a AND r.id = u.i"
	x.rows, x.exists = "SELECT "+full+keyed, "SELECT r.account, r.id"+keyed
	for _, c := range t.Columns {
		on := fmt.Sprintf(" FROM unnest($1::bigint[], $2::%s[]) AS u (a, v) JOIN %s AS r ON r.account = u.a AND r.k_%s = u.v", kinds[c.Kind], t.sql, c.Name)
		x.holder = append(x.holder, "SELECT r.account, r.id, r.k_"+c.Name+on)
		x.records = append(x.records, "SELECT "+full+on+" ORDER BY r.id")
		x.refers = append(x.refers, fmt.Sprintf("SELECT u.a, u.v, r.id FROM unnest($1::bigint[], $2::bigint[]) AS u (a, v) CROSS JOIN LATERAL (SELECT id FROM %s WHERE account = u.a AND k_%s = u.v LIMIT 2) AS r", t.sql, c.Name))
	}
	x.insert = "INSERT INTO " + t.sql + " (" + names + ") SELECT * FROM unnest(" + arrays(all) + ")"
	sets := make([]string, len(changing))
	for i, c := range changing {
		sets[i] = c + " = u." + c
	}
	x.update = "UPDATE " + t.sql + " AS r SET " + strings.Join(sets, ", ") + " FROM unnest(" + arrays(some) + ") AS u (account, id, " +
		strings.Join(changing, ", ") + ") WHERE r.account = u.account AND r.id = u.id"
	matching := " unnest($1::bigint[], $2::bigint[]) AS u (a, i) WHERE r.account = u.a AND r.id = u.i"
	x.delete = "DELETE FROM " + t.sql + " AS r USING" + matching
	if nulls != nil {
		x.clear = "UPDATE " + t.sql + " AS r SET " + strings.Join(nulls, ", ") + " FROM" + matching
	}
	return x
}

// arrays are parameters that are arrays of the types.
func arrays(types []string) string {
	var b strings.Builder
	for i, typ := range types {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d::%s[]", i+1, typ)
	}
	return b.String()
}
