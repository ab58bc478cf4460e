package store

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// onBoth runs a test on both engines. open opens the same database every time.
func onBoth(t *testing.T, f func(t *testing.T, open func(tables ...*Table) (*Store, error))) {
	opts := &Options{Now: func() time.Time { return time.UnixMicro(1_750_000_000_000_000) }}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "test.db")
		f(t, func(tables ...*Table) (*Store, error) { return Open(t.Context(), path, opts, tables...) })
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := newDatabase(t)
		f(t, func(tables ...*Table) (*Store, error) { return Open(t.Context(), dsn, opts, tables...) })
	})
}

// newDatabase makes a database and drops it when the test ends.
func newDatabase(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv("PARLEY_TEST_POSTGRES")
	if dsn == "" {
		t.Fatal("PARLEY_TEST_POSTGRES is not set: give it the URL of a PostgreSQL server on which databases may be created, or run the tests under scripts/with-postgres")
	}
	name := "parley_" + strings.ToLower(rand.Text())
	administer(t, dsn, "CREATE DATABASE "+name)
	t.Cleanup(func() { administer(t, dsn, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("PARLEY_TEST_POSTGRES is not a URL")
	}
	u.Path = "/" + name
	return u.String()
}

func administer(t testing.TB, dsn, sql string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatalf("connecting to PARLEY_TEST_POSTGRES: %v", err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(context.Background(), sql); err != nil {
		t.Fatal(err)
	}
}

// opened opens a store that is closed when the test ends.
func opened(t *testing.T, open func(tables ...*Table) (*Store, error), tables ...*Table) *Store {
	t.Helper()
	s, err := open(tables...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// execute runs SQL that the store would not.
func execute(t testing.TB, s *Store, sql string) {
	t.Helper()
	if err := s.engine.alone(t.Context(), func(db session) error { return db.script(sql) }); err != nil {
		t.Fatal(err)
	}
}

// texts returns what a query selects, as text.
func texts(t *testing.T, s *Store, columns int, sql string, args ...any) []string {
	t.Helper()
	var list []string
	err := s.engine.query(t.Context(), sql, args, func(c cursor) {
		row := make([]string, columns)
		for i := range row {
			row[i] = c.text(i)
		}
		list = append(list, strings.Join(row, "|"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func note(text string) Write {
	return Write{Op: Insert, Doc: []byte(`{"text":"` + text + `"}`), Keys: []any{}}
}
