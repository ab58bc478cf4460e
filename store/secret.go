package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Secrets returns the secrets whose names are prefix and a number, by number.
// Where there is none it makes the first, of size bytes.
func (s *Store) Secrets(ctx context.Context, prefix string, size int) (map[int][]byte, error) {
	if _, err := s.Secret(ctx, prefix+"1", size); err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	all := make(map[int][]byte)
	err := s.engine.query(ctx, "SELECT name, value FROM setting", nil, func(c cursor) {
		if n, ok := numbered(c.text(0), prefix); ok {
			all[n] = c.bytes(1)
		}
	})
	return all, err
}

// numbered returns the number behind a prefix.
func numbered(name, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil && n > 0
}

// AddSecret makes one more secret beside those of a prefix and returns its
// number. It needs no open Store and may be called while a service runs on the
// same database, also on the same SQLite file: the service finds the secret
// when it next calls Secrets.
func AddSecret(ctx context.Context, dsn, prefix string, size int) (int, error) {
	fresh := make([]byte, size)
	rand.Read(fresh)
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return addPostgres(ctx, dsn, prefix, fresh)
	}
	if _, err := os.Stat(dsn); err != nil {
		return 0, fmt.Errorf("store: there is no database at %s", dsn)
	}
	c, err := openConn(dsn, "PRAGMA busy_timeout = 10000", "PRAGMA synchronous = FULL")
	if err != nil {
		return 0, err
	}
	n, err := addSQLite(c, prefix, fresh)
	return n, errors.Join(err, c.close())
}

func addSQLite(c *conn, prefix string, fresh []byte) (int, error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return 0, err
	}
	last := 0
	err := c.query("SELECT name FROM setting", nil, func(c cursor) {
		if n, ok := numbered(c.text(0), prefix); ok {
			last = max(last, n)
		}
	})
	if err == nil {
		_, err = c.run("INSERT INTO setting (name, value) VALUES ($1, $2)", prefix+strconv.Itoa(last+1), fresh)
	}
	if err != nil {
		return 0, errors.Join(err, c.script("ROLLBACK"))
	}
	return last + 1, c.script("COMMIT")
}

func addPostgres(ctx context.Context, dsn, prefix string, fresh []byte) (int, error) {
	db, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, unavailable(err)
	}
	defer db.Close(ctx)
	last := 0
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "LOCK TABLE setting IN EXCLUSIVE MODE"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "SELECT name FROM setting")
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, name := range names {
			if n, ok := numbered(name, prefix); ok {
				last = max(last, n)
			}
		}
		_, err = tx.Exec(ctx, "INSERT INTO setting (name, value) VALUES ($1, $2)", prefix+strconv.Itoa(last+1), fresh)
		return err
	})
	return last + 1, err
}
