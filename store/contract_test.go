package store_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/store/storetest"
)

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T, opts *store.Options, tables ...*store.Table) (*store.Store, error) {
		return store.Open(t.Context(), filepath.Join(folder(t), "parley.db"), opts, tables...)
	})
}

func TestPostgres(t *testing.T) {
	server := postgres(t)
	open := func(t *testing.T, opts *store.Options, tables ...*store.Table) (*store.Store, error) {
		return store.Open(t.Context(), server.database(t), opts, tables...)
	}
	storetest.Run(t, open)
	storetest.RunShared(t, open)
}

// places remembers what was made for each test.
type places struct {
	mu sync.Mutex
	of map[*testing.T]string
}

func (p *places) get(t *testing.T, make func() string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place, ok := p.of[t]; ok {
		return place
	}
	p.of[t] = make()
	return p.of[t]
}

var folders = places{of: map[*testing.T]string{}}

func folder(t *testing.T) string { return folders.get(t, t.TempDir) }

// A server makes a database for each test.
type server struct {
	dsn       string
	databases places
}

// postgres returns the server that the environment names.
func postgres(t testing.TB) *server {
	t.Helper()
	dsn := os.Getenv("PARLEY_TEST_POSTGRES")
	if dsn == "" {
		t.Fatal("PARLEY_TEST_POSTGRES is not set: give it the URL of a PostgreSQL server on which databases may be created, or run the tests under scripts/with-postgres")
	}
	return &server{dsn: dsn, databases: places{of: map[*testing.T]string{}}}
}

func (s *server) database(t *testing.T) string {
	return s.databases.get(t, func() string { return s.create(t) })
}

// create makes a database and drops it when the test ends.
func (s *server) create(t testing.TB) string {
	t.Helper()
	name := "parley_" + strings.ToLower(rand.Text())
	s.run(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { s.run(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(s.dsn)
	if err != nil {
		t.Fatal("PARLEY_TEST_POSTGRES is not a URL")
	}
	u.Path = "/" + name
	return u.String()
}

func (s *server) run(t testing.TB, sql string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), s.dsn)
	if err != nil {
		t.Fatalf("connecting to PARLEY_TEST_POSTGRES: %v", err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(context.Background(), sql); err != nil {
		t.Fatal(err)
	}
}
