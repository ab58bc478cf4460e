package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// commit takes two round trips: one locks the clock and reads, one writes and
// commits.
func (e *postgresEngine) commit(g *group) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*postgresPatience)
	defer cancel()
	c, err := e.writers.Acquire(ctx)
	if err != nil {
		return &outcome{err: unavailable(oneLine(err)), again: true}
	}
	defer c.Release()
	xid, err := e.decide(ctx, c, g)
	if err != nil {
		return early(ctx, c, err)
	}
	if g.idle() {
		rollback(ctx, c)
		return nil
	}
	b := e.apply(g)
	b.Queue("COMMIT")
	err = send(ctx, c, b)
	if err == nil {
		return nil
	}
	if e, told := errors.AsType[*pgconn.PgError](err); told && e.Severity != "FATAL" && !c.Conn().IsClosed() {
		return early(ctx, c, err)
	}
	return e.settle(xid, err)
}

// send makes one round trip.
func send(ctx context.Context, c *pgxpool.Conn, b *pgx.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, postgresPatience)
	defer cancel()
	return c.SendBatch(ctx, b).Close()
}

func rollback(ctx context.Context, c *pgxpool.Conn) {
	if !c.Conn().IsClosed() {
		c.Exec(ctx, "ROLLBACK") // a connection on which this fails is thrown away
	}
}

// early says what to do about an error before COMMIT: nothing was written.
func early(ctx context.Context, c *pgxpool.Conn, err error) error {
	rollback(ctx, c)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && !gone(err) {
		switch e.Code[:min(2, len(e.Code))] {
		case "21", "22", "23", "42", "54":
			return &outcome{err: err, spoilt: true}
		}
		return err
	}
	return &outcome{err: unavailable(oneLine(err)), again: true}
}

// settle finds out what became of a transaction whose connection was lost
// while it was committed. Where it cannot, the error says that nobody knows.
func (e *postgresEngine) settle(xid string, lost error) error {
	ctx, cancel := context.WithTimeout(context.Background(), postgresPatience/2)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		var status *string
		err := e.pool.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", xid).Scan(&status)
		if err == nil && status != nil {
			switch *status {
			case "committed":
				return nil
			case "aborted":
				return &outcome{err: unavailable(oneLine(lost)), again: true}
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("store: the connection was lost during COMMIT and it is not known whether it happened: %w", oneLine(lost))
		case <-time.After(min(wait, time.Second)):
		}
	}
}

// decide locks the clock, reads what is known to be needed and lets the group
// decide. It returns the transaction's number.
func (e *postgresEngine) decide(ctx context.Context, c *pgxpool.Conn, g *group) (xid string, err error) {
	b := new(pgx.Batch)
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	each(b, func(r cursor) { g.start(clock{r.int(0), r.int(1), r.int(2)}); xid = r.text(3) },
		"SELECT seq, at, endpoints, pg_current_xact_id()::text FROM clock FOR UPDATE")
	var n needs
	g.prefetch(&n)
	e.load(g, &n, b)
	if err := send(ctx, c, b); err != nil {
		return "", err
	}
	g.load = func(n *needs) error {
		b := new(pgx.Batch)
		e.load(g, n, b)
		return send(ctx, c, b)
	}
	g.each = func(sql string, args []any, f func(cursor)) error {
		b := new(pgx.Batch)
		each(b, f, sql, args...)
		return send(ctx, c, b)
	}
	return xid, g.decide()
}

// each queues a query.
func each(b *pgx.Batch, f func(cursor), sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error { return walk(rows, f) })
}

// load queues the queries that answer questions.
func (e *postgresEngine) load(g *group, n *needs, b *pgx.Batch) {
	n.absent(g)
	if len(n.counters) > 0 {
		names := make([]string, len(n.counters))
		for i, ts := range n.counters {
			names[i] = ts.Name
		}
		each(b, func(c cursor) {
			for _, ts := range n.counters {
				if ts.Name == c.text(0) {
					ts.counter = c.int(1)
				}
			}
		}, "SELECT name, value FROM counter WHERE name = ANY($1::text[])", names)
	}
	for _, ts := range g.tables {
		if accounts, ids := keysOf(n.rows, ts); ids != nil {
			each(b, func(c cursor) { ts.found(scanRecord(ts.table, c)) }, e.texts[ts.index].rows, accounts, ids)
		}
		if accounts, ids := keysOf(n.exists, ts); ids != nil {
			each(b, func(c cursor) { ts.exists[rowKey{c.int(0), c.int(1)}] = true }, e.texts[ts.index].exists, accounts, ids)
		}
		for i := range ts.Columns {
			e.loadHolders(ts, i, n, b)
			e.loadReferrers(ts, i, n, b)
		}
	}
	if len(n.replays) > 0 {
		accounts, keys := make([]int64, len(n.replays)), make([][]byte, len(n.replays))
		for i, k := range n.replays {
			accounts[i], keys[i] = k.account, []byte(k.key)
		}
		each(b, func(c cursor) {
			k := Kept{Answer: c.bytes(3), Created: c.int(4)}
			copy(k.Print[:], c.bytes(2))
			g.found(replayKey{c.int(0), c.text(1)}, k)
		}, `SELECT r.account, r.key, r.print, r.answer, r.created
			FROM unnest($1::bigint[], $2::bytea[]) AS u (a, k) JOIN replay AS r ON r.account = u.a AND r.key = u.k`, accounts, keys)
	}
}

func keysOf(list []rowNeed, ts *tableState) (accounts, ids []int64) {
	for _, r := range list {
		if r.t == ts {
			accounts, ids = append(accounts, r.account), append(ids, r.id)
		}
	}
	return accounts, ids
}

func (e *postgresEngine) loadHolders(ts *tableState, column int, n *needs, b *pgx.Batch) {
	var accounts []int64
	values := newArray(ts.Columns[column].Kind)
	for _, h := range n.holders {
		if h.t == ts && h.column == column {
			accounts = append(accounts, h.account)
			values.add(h.value)
		}
	}
	if accounts == nil {
		return
	}
	kind := ts.Columns[column].Kind
	each(b, func(c cursor) {
		ts.holders[column][valueKey{c.int(0), scanKey(kind, c, 2)}] = c.int(1)
	}, e.texts[ts.index].holder[column], accounts, values.value())
}

func (e *postgresEngine) loadReferrers(ts *tableState, column int, n *needs, b *pgx.Batch) {
	for _, all := range []bool{false, true} {
		var accounts, ids []int64
		for _, r := range n.referrers {
			if r.t == ts && r.column == column && r.all == all {
				accounts, ids = append(accounts, r.account), append(ids, r.id)
			}
		}
		switch {
		case ids == nil:
		case all:
			each(b, func(c cursor) {
				rec := scanRecord(ts.table, c)
				to := ts.referrers[column][rowKey{rec.Account, rec.keys[column].(int64)}]
				to.ids = append(to.ids, ts.found(rec).ID)
			}, e.texts[ts.index].records[column], accounts, ids)
		default:
			each(b, func(c cursor) {
				to := ts.referrers[column][rowKey{c.int(0), c.int(1)}]
				to.ids = append(to.ids, c.int(2))
				to.complete = len(to.ids) < 2
			}, e.texts[ts.index].refers[column], accounts, ids)
		}
	}
}

// An array collects values of one kind for unnest.
type array struct {
	kind  Kind
	ints  []pgtype.Int8
	texts []pgtype.Text
	bools []pgtype.Bool
}

func newArray(k Kind) *array { return &array{kind: k} }

func (a *array) add(v any) {
	switch a.kind {
	case Int:
		n, ok := v.(int64)
		a.ints = append(a.ints, pgtype.Int8{Int64: n, Valid: ok})
	case Bool:
		t, ok := v.(bool)
		a.bools = append(a.bools, pgtype.Bool{Bool: t, Valid: ok})
	default:
		s, ok := v.(string)
		a.texts = append(a.texts, pgtype.Text{String: s, Valid: ok})
	}
}

func (a *array) value() any {
	switch a.kind {
	case Int:
		return a.ints
	case Bool:
		return a.bools
	}
	return a.texts
}

// apply queues what the group has decided. Values that become free are freed
// before others take them.
func (e *postgresEngine) apply(g *group) *pgx.Batch {
	b := new(pgx.Batch)
	for _, ts := range g.tables {
		if len(ts.dirty) > 0 {
			e.applyTable(ts, b)
		}
	}
	var names []string
	var values []int64
	for _, ts := range g.tables {
		if ts.bumped {
			names, values = append(names, ts.Name), append(values, ts.counter)
		}
	}
	if names != nil {
		b.Queue(`INSERT INTO counter (name, value) SELECT * FROM unnest($1::text[], $2::bigint[])
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, names, values)
	}
	applyEvents(g, b)
	applyDeliveries(g, b)
	for i := range g.revived {
		b.Queue(reviveSQL, g.now, g.revived[i].Account, g.revived[i].Seq, g.revived[i].Endpoint)
	}
	for _, id := range g.taken {
		b.Queue(deleteTakenSQL, id)
	}
	if g.minute() {
		b.Queue("INSERT INTO tick (at, seq) VALUES ($1, $2)", g.began.at, g.began.seq)
	}
	applyReplays(g, b)
	b.Queue("UPDATE clock SET seq = $1, at = $2, endpoints = $3 WHERE id = 1", g.clock.seq, g.clock.at, g.clock.endpoints)
	return b
}

func (e *postgresEngine) applyTable(ts *tableState, b *pgx.Batch) {
	x := e.texts[ts.index]
	var gone, moved, changed, made []*record
	for _, rec := range ts.dirty {
		switch {
		case rec.stored && !rec.live:
			gone = append(gone, rec)
		case rec.stored:
			changed = append(changed, rec)
			if rec.moved {
				moved = append(moved, rec)
			}
		case rec.live:
			made = append(made, rec)
		}
	}
	if gone != nil {
		accounts, ids := identities(gone)
		b.Queue(x.delete, accounts, ids)
	}
	if len(moved) > 1 {
		accounts, ids := identities(moved)
		b.Queue(x.clear, accounts, ids)
	}
	if changed != nil {
		accounts, ids := identities(changed)
		args := []any{accounts, ids, pick(changed, func(r *record) int64 { return r.Rev }), pick(changed, func(r *record) int64 { return r.Seq }),
			pick(changed, func(r *record) int64 { return r.Updated }), pick(changed, func(r *record) []byte { return present(r.Doc) })}
		b.Queue(x.update, append(args, keyArrays(ts, changed)...)...)
	}
	if made != nil {
		accounts, ids := identities(made)
		args := []any{accounts, ids, pick(made, func(r *record) int64 { return r.Rev }), pick(made, func(r *record) int64 { return r.Seq }),
			pick(made, func(r *record) int64 { return r.Created }), pick(made, func(r *record) int64 { return r.Updated }),
			pick(made, func(r *record) []byte { return present(r.Doc) })}
		b.Queue(x.insert, append(args, keyArrays(ts, made)...)...)
	}
}

// pick makes a column of rows.
func pick[R, V any](list []R, f func(R) V) []V {
	out := make([]V, len(list))
	for i, r := range list {
		out[i] = f(r)
	}
	return out
}

func identities(list []*record) (accounts, ids []int64) {
	return pick(list, func(r *record) int64 { return r.Account }), pick(list, func(r *record) int64 { return r.ID })
}

func keyArrays(ts *tableState, list []*record) []any {
	args := make([]any, len(ts.Columns))
	for i, c := range ts.Columns {
		a := newArray(c.Kind)
		for _, rec := range list {
			a.add(rec.keys[i])
		}
		args[i] = a.value()
	}
	return args
}
