package webhook

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// SQLOptions are the options of an [SQLStore].
type SQLOptions struct {
	// Table is the name of the table. Empty means webhook_claims.
	Table string
}

// An SQLStore is a [Store] in a table of a database, PostgreSQL or SQLite, for
// a consumer that must not forget when it restarts, or that runs as several
// processes. It is safe for concurrent use.
//
// SQLite lets one connection write at a time: set a busy timeout, so that the
// others wait for it, or give the store a *sql.DB of one connection.
//
// Rows whose time is over are deleted in passing, some with each claim.
type SQLStore struct {
	db                                   *sql.DB
	create, index                        string
	claim, look, settle, release, remove string
	pruned                               atomic.Int64 // Unix seconds of the last look for old rows
}

var _ Store = (*SQLStore)(nil)

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// NewSQLStore returns a store over db. Call [SQLStore.Create] before the first
// use. A nil opts means the defaults. It panics where the table's name is not
// made of ASCII letters, digits and underscores.
func NewSQLStore(db *sql.DB, opts *SQLOptions) *SQLStore {
	table := "webhook_claims"
	if opts != nil && opts.Table != "" {
		table = opts.Table
	}
	if !tableName.MatchString(table) {
		panic("webhook: the name of the table is not plain")
	}
	fill := func(query string) string { return strings.ReplaceAll(query, "claims", table) }
	return &SQLStore{
		db: db,
		// A token of '' marks a row that is settled.
		create: fill(`CREATE TABLE IF NOT EXISTS claims (
			scope TEXT NOT NULL, id TEXT NOT NULL, token TEXT NOT NULL, until BIGINT NOT NULL,
			PRIMARY KEY (scope, id))`),
		index: fill(`CREATE INDEX IF NOT EXISTS claims_until ON claims (until)`),
		claim: fill(`INSERT INTO claims AS c (scope, id, token, until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (scope, id) DO UPDATE SET token = excluded.token, until = excluded.until WHERE c.until <= $5
			RETURNING 1`),
		look: fill(`SELECT token FROM claims WHERE scope = $1 AND id = $2`),
		settle: fill(`INSERT INTO claims AS c (scope, id, token, until) VALUES ($1, $2, '', $3)
			ON CONFLICT (scope, id) DO UPDATE SET token = '', until = excluded.until WHERE c.token = $4`),
		release: fill(`DELETE FROM claims WHERE scope = $1 AND id = $2 AND token = $3 AND token <> ''`),
		// The time is asked for twice: PostgreSQL looks again at the outer
		// condition where a row was claimed while the statement waited for it.
		remove: fill(`DELETE FROM claims WHERE until <= $1 AND (scope, id) IN
			(SELECT scope, id FROM claims WHERE until <= $1 ORDER BY until LIMIT 100)`),
	}
}

// Create makes the table and its index where they are missing.
func (s *SQLStore) Create(ctx context.Context) error {
	for _, query := range []string{s.create, s.index} {
		if _, err := s.db.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("creating the table of webhook claims: %w", err)
		}
	}
	return nil
}

// Claim implements [Store]: one statement decides.
func (s *SQLStore) Claim(ctx context.Context, c Claim) (State, error) {
	s.prune(ctx, c.At)
	var one int
	err := s.db.QueryRowContext(ctx, s.claim, c.Scope, c.ID, c.Token, c.Until.UnixMicro(), c.At.UnixMicro()).Scan(&one)
	if err == nil {
		return Claimed, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("claiming a webhook: %w", err)
	}
	var token string
	switch err := s.db.QueryRowContext(ctx, s.look, c.Scope, c.ID).Scan(&token); {
	case errors.Is(err, sql.ErrNoRows): // released a moment ago: to be claimed anew
		return Running, nil
	case err != nil:
		return 0, fmt.Errorf("looking up a webhook: %w", err)
	case token != "":
		return Running, nil
	}
	return Known, nil
}

// Settle implements [Store].
func (s *SQLStore) Settle(ctx context.Context, c Claim) error {
	_, err := s.db.ExecContext(ctx, s.settle, c.Scope, c.ID, c.Until.UnixMicro(), c.Token)
	if err != nil {
		return fmt.Errorf("settling a webhook: %w", err)
	}
	return nil
}

// Release implements [Store].
func (s *SQLStore) Release(ctx context.Context, c Claim) error {
	if _, err := s.db.ExecContext(ctx, s.release, c.Scope, c.ID, c.Token); err != nil {
		return fmt.Errorf("releasing a webhook: %w", err)
	}
	return nil
}

// prune deletes some rows whose time is over, once a second at most, so that a
// claim never waits for many. What goes wrong goes wrong at the next, too.
func (s *SQLStore) prune(ctx context.Context, now time.Time) {
	last, second := s.pruned.Load(), now.Unix()
	if last == second || !s.pruned.CompareAndSwap(last, second) {
		return
	}
	result, err := s.db.ExecContext(ctx, s.remove, now.UnixMicro())
	if err != nil {
		return
	}
	if n, err := result.RowsAffected(); err == nil && n > 0 {
		s.pruned.CompareAndSwap(second, last) // there may be more: go on with the next claim
	}
}
