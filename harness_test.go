package parley_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/rooms/file"
	"github.com/parley-api/parley/rooms/image"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
)

// adminKey is the admin key of every service that tests start.
const adminKey = "pk_test_admin_key_of_the_harness"

// engines are the databases every test of the interface runs on.
var engines = []string{"sqlite", "postgres"}

// A service is an App behind a real socket.
type service struct {
	*parley.App
	URL string
}

// start serves the built-in rooms on a fresh database, as parley serve does.
// Adjust may change the configuration; nil leaves it.
func start(t testing.TB, engine string, adjust func(*parley.Config)) *service {
	t.Helper()
	return startWith(t, engine, adjust, task.Resource, user.Resource, file.Resource, image.Resource)
}

// startWith is start with other rooms.
func startWith(t testing.TB, engine string, adjust func(*parley.Config), rooms ...*resource.Definition) *service {
	t.Helper()
	cfg := parley.Config{
		Data: t.TempDir(), AdminKey: adminKey, BaseURL: "https://api.example.com", RateLimit: "off", LargeFile: true,
		Log: slog.New(slog.DiscardHandler),
	}
	if engine == "postgres" {
		cfg.Database = database(t)
	}
	if adjust != nil {
		adjust(&cfg)
	}
	app, err := parley.New(t.Context(), cfg, rooms...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: app}
	go parley.Serve(server, l)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		server.Close()
		app.Close()
	})
	return &service{App: app, URL: "http://" + l.Addr().String()}
}

// database makes an empty PostgreSQL database that goes with the test.
func database(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv("PARLEY_TEST_POSTGRES")
	if dsn == "" {
		t.Fatal("PARLEY_TEST_POSTGRES is not set: run the tests with make test, or under scripts/with-postgres")
	}
	var b [8]byte
	rand.Read(b[:])
	name := "parley_" + hex.EncodeToString(b[:])
	run := func(ctx context.Context, sql string) {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	run(t.Context(), "CREATE DATABASE "+name)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		run(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
	})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
