package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/bench/internal/hand"
	"github.com/parley-api/parley/bench/internal/server"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
)

// key is the admin key of every service of the benchmark.
const key = "pk_bench_5Q1mXc0yT3b8vKz2RrWn7JdLhEgPfAuS"

// limit is a quota that does not bite: the most that can be set.
const limit = "60000000/1m"

// Durability in words.
const (
	durableSQLite   = "WAL, synchronous=FULL: every answered write has been flushed to disk"
	durablePostgres = "fsync=on, synchronous_commit=on: every answered write has been flushed to disk"
	durableNot      = "in memory"
)

// Conditions in words.
const (
	bare        = "no key, no log, no negotiation; the event is written in the same transaction"
	conventions = "key, quota, log, versions, negotiation, preconditions; the event is written in the same transaction"
)

// serve is a server process.
func serve(ctx context.Context, o server.Options) error {
	h, ready, closing, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer closing()
	return server.Serve(h, ready)
}

// open makes the handler of a contender.
func open(ctx context.Context, o server.Options) (h http.Handler, ready server.Ready, closing func() error, err error) {
	closing = func() error { return nil }
	family, engine, _ := strings.Cut(o.Kind, "-")
	switch {
	case family == "parley":
		return openParley(ctx, o, engine)
	case o.Kind == "constant":
		body := hand.AppendTask(nil, &hand.Task{ID: 500_000, Created: createdAt(500_000), Doc: document(500_000)})
		return hand.Constant(string(body)), server.Ready{Durability: durableNot, Conditions: "nothing"}, closing, nil
	case o.Kind == "hand-memory":
		log, err := server.OpenLog(o.Log)
		ready = server.Ready{Token: "Bearer " + key, Durability: durableNot, Conditions: "the fields, the key and the log line of the service, nothing else", Logs: true}
		return hand.Memory(rows(o.Tasks), key, log), ready, closing, err
	case o.Kind == "hand-sqlite":
		ready = server.Ready{Durability: durableSQLite, Conditions: bare, Lists: handLists(o.Tasks)}
		db, err := hand.OpenSQLite(o.Source)
		if err != nil {
			return nil, ready, closing, err
		}
		return hand.Handler(db), ready, db.Close, nil
	case o.Kind == "hand-postgres":
		ready = server.Ready{Durability: durablePostgres, Conditions: bare, Lists: handLists(o.Tasks)}
		db, err := hand.OpenPostgres(ctx, o.Source)
		if err != nil {
			return nil, ready, closing, err
		}
		return hand.Handler(db), ready, db.Close, nil
	}
	return nil, ready, closing, fmt.Errorf("there is no server %q", o.Kind)
}

func openParley(ctx context.Context, o server.Options, engine string) (http.Handler, server.Ready, func() error, error) {
	ready := server.Ready{Token: "Bearer " + key, Conditions: conventions, Logs: true, Lists: map[string][]string{
		server.List: {"?limit=20"}, server.Token: {"?page_size=20"}, server.Total: {"?limit=20&include_total=true"},
		server.OffsetDeep: {fmt.Sprintf("?page=%d&size=20", deep(o.Tasks)/20+1)},
	}} // the cursors of deep pages are those that a walk finds
	closing := func() error { return nil }
	log, err := server.OpenLog(o.Log)
	if err != nil {
		return nil, ready, closing, err
	}
	cfg := parley.Config{Database: o.Source, Data: filepath.Dir(o.Log), Log: log}
	switch engine {
	case "sqlite":
		ready.Durability = durableSQLite
	case "postgres":
		ready.Durability = durablePostgres
	case "memory":
		ready.Durability = durableNot
		cfg.Rows = rows(o.Tasks)
		cfg.Database = filepath.Join(filepath.Dir(o.Log), "keys.db")
	default:
		return nil, ready, closing, fmt.Errorf("there is no server %q", o.Kind)
	}
	app, err := openApp(ctx, cfg)
	if err != nil {
		return nil, ready, closing, err
	}
	return app, ready, app.Close, nil
}

// deep is how many rows lie before a page that is deep.
func deep(tasks int) int { return tasks / 10 * 9 }

// handLists are the lists of the handlers written by hand.
func handLists(tasks int) map[string][]string {
	var far []string
	for i := range pagesDeep {
		far = append(far, fmt.Sprintf("?limit=20&after=%d", deep(tasks)+20*i))
	}
	return map[string][]string{server.List: {"?limit=20"}, server.Deep: far}
}

// openApp composes the service as the parley command does.
func openApp(ctx context.Context, cfg parley.Config) (*parley.App, error) {
	cfg.AdminKey, cfg.RateLimit = key, limit
	return parley.New(ctx, cfg, task.Resource, user.Resource)
}

// The tasks that every database begins with.

var (
	states = []string{task.Pending, task.InProgress, task.Done}
	epoch  = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

func seeded(id int64) task.Task {
	owner := 1 + id%users
	return task.Task{Title: fmt.Sprintf("Call the supplier about order %d", id*7919%1_000_000_007), AssigneeID: &owner, Status: states[id%3]}
}

// document is a task as the service stores it.
func document(id int64) []byte {
	doc, err := json.Marshal(seeded(id))
	if err != nil {
		panic(err) // texts and numbers only
	}
	return doc
}

func createdAt(id int64) int64 { return epoch + 1000*id }

func rows(n int) *hand.Rows { return hand.NewRows(n, document, createdAt) }

// isFile reports whether there is a file at a path.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
