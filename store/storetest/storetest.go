// Package storetest is the contract of package store as a test suite. Every
// case says why it is there. The store's own tests run it on SQLite and on
// PostgreSQL; run it on a third engine to find out whether it keeps the
// contract too.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

// An Open opens the database of a test: the first call with a t makes it, the
// next ones open the same again. It is removed when the test ends.
type Open func(t *testing.T, opts *store.Options, tables ...*store.Table) (*store.Store, error)

// A rule is one case of the contract.
type rule struct {
	name string
	why  string // what a user of the store would suffer if it did not hold
	run  func(*bench)
}

// Run runs every case on databases that open makes.
func Run(t *testing.T, open Open) {
	run(t, open, rowCases(), keyCases(), redoCases(), eventCases(), replayCases(), pageCases(), shapeCases(), lifeCases(), usageCases(),
		fanoutCases(), queueCases(), deliveryCases(), pruneCases())
}

// RunShared runs the cases of several stores on one database. It is for
// engines that more than one process may open.
func RunShared(t *testing.T, open Open) { run(t, open, sharedCases(), nodeCases()) }

func run(t *testing.T, open Open, lists ...[]rule) {
	for _, list := range lists {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) {
				if c.why == "" {
					t.Fatal("the case has no reason")
				}
				b := newBench(t, open)
				c.run(b)
				if t.Failed() {
					t.Logf("why this matters: %s", c.why)
				}
			})
		}
	}
}

// A bench is what a case works with: a store with three tables and a clock
// that the case steers.
type bench struct {
	*testing.T
	S                      *store.Store
	Users, Projects, Tasks *store.Table
	open                   Open
	clock                  atomic.Int64  // microseconds
	fanout                 *store.Fanout // nil: events have no deliveries
	ctx                    context.Context
}

const start = 1_750_000_000_000_000 // a moment in 2025

func newBench(t *testing.T, open Open) *bench {
	b := &bench{T: t, open: open, ctx: context.Background()}
	b.clock.Store(start)
	b.Users, b.Projects, b.Tasks = fixtures()
	b.S = b.Open(b.Users, b.Projects, b.Tasks)
	return b
}

// fixtures returns the tables of the suite: tasks refer to users, with SetNull,
// and to projects, with Restrict.
func fixtures() (users, projects, tasks *store.Table) {
	users = &store.Table{
		Name:    "users",
		Columns: []store.Column{{Name: "email", Kind: store.Text, Unique: true}, {Name: "badge", Kind: store.Int, Unique: true}},
		Fields:  []store.Field{{Name: "email", Type: "string"}, {Name: "badge", Type: "integer"}},
	}
	projects = &store.Table{Name: "big-projects", Fields: []store.Field{{Name: "name", Type: "string"}}}
	tasks = &store.Table{
		Name: "tasks",
		Columns: []store.Column{
			{Name: "status", Kind: store.Text, Index: true},
			{Name: "urgent", Kind: store.Bool, Index: true},
			{Name: "assignee_id", Kind: store.Int, Ref: "users", OnDelete: store.SetNull},
			{Name: "project_id", Kind: store.Int, Ref: "big-projects"},
		},
		Fields: []store.Field{{Name: "status", Type: "string"}, {Name: "urgent", Type: "boolean"},
			{Name: "assignee_id", Type: "integer"}, {Name: "project_id", Type: "integer"}, {Name: "notes", Type: "array"}},
		Clear: func(doc []byte, column string) ([]byte, []string, error) {
			if column != "assignee_id" {
				return nil, nil, fmt.Errorf("clear %s", column)
			}
			return append([]byte(nil), `{"assignee_id":null}`...), []string{"task.updated"}, nil
		},
	}
	return users, projects, tasks
}

// Options returns options with the bench's clock.
func (b *bench) Options() *store.Options {
	return &store.Options{Now: func() time.Time { return time.UnixMicro(b.clock.Load()) }, Fanout: b.fanout}
}

// Open opens the case's database with tables. It is closed when the case ends.
func (b *bench) Open(tables ...*store.Table) *store.Store {
	b.Helper()
	s, err := b.open(b.T, b.Options(), tables...)
	if err != nil {
		b.Fatalf("Open: %v", err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// Reopen closes the store and opens the database again.
func (b *bench) Reopen(tables ...*store.Table) {
	b.Helper()
	if err := b.S.Close(); err != nil {
		b.Fatalf("Close: %v", err)
	}
	if tables == nil {
		tables = []*store.Table{b.Users, b.Projects, b.Tasks}
	}
	b.S = b.Open(tables...)
}

// Commit commits a Tx of account 1 that must succeed.
func (b *bench) Commit(writes ...store.Write) []store.Row {
	b.Helper()
	return b.CommitFor(1, writes...)
}

// CommitFor is Commit for an account.
func (b *bench) CommitFor(account int64, writes ...store.Write) []store.Row {
	b.Helper()
	rows, err := b.S.Commit(b.ctx, &store.Tx{Account: account, Writes: writes})
	if err != nil {
		b.Fatalf("Commit: %v", err)
	}
	if len(rows) != len(writes) {
		b.Fatalf("Commit returned %d rows for %d writes", len(rows), len(writes))
	}
	return rows
}

// Fail commits a Tx of account 1 that must fail.
func (b *bench) Fail(writes ...store.Write) error {
	b.Helper()
	rows, err := b.S.Commit(b.ctx, &store.Tx{Account: 1, Writes: writes})
	if err == nil || rows != nil {
		b.Fatalf("Commit succeeded with %v", rows)
	}
	return err
}

// NewUser is an insert of a user.
func (b *bench) NewUser(email any) store.Write {
	doc := `{"email":null}`
	if email != nil {
		doc = fmt.Sprintf(`{"email":%q}`, email)
	}
	return store.Write{Table: b.Users, Op: store.Insert, Doc: []byte(doc), Keys: []any{email, nil}, Events: []string{"user.created"}, Version: "v1"}
}

// SetEmail is an update of a user.
func (b *bench) SetEmail(id int64, email any) store.Write {
	w := b.NewUser(email)
	w.Op, w.ID, w.Events = store.Update, id, []string{"user.updated"}
	return w
}

// NewProject is an insert of a project.
func (b *bench) NewProject() store.Write {
	return store.Write{Table: b.Projects, Op: store.Insert, Doc: []byte(`{"name":"p"}`), Events: []string{"project.created"}}
}

// NewTask is an insert of a task. The assignee and the project are an int64 or
// nil.
func (b *bench) NewTask(status string, assignee, project any) store.Write {
	return store.Write{Table: b.Tasks, Op: store.Insert, Doc: fmt.Appendf(nil, `{"status":%q}`, status),
		Keys: []any{status, nil, assignee, project}, Events: []string{"task.created"}, Version: "v1"}
}

// SetTask is an update of a task.
func (b *bench) SetTask(id int64, status string, assignee, project any) store.Write {
	w := b.NewTask(status, assignee, project)
	w.Op, w.ID, w.Events = store.Update, id, []string{"task.updated"}
	return w
}

// Drop is a deletion.
func (b *bench) Drop(t *store.Table, id int64, events ...string) store.Write {
	return store.Write{Table: t, Op: store.Delete, ID: id, Events: events, Version: "v1"}
}

// Row reads a row of account 1 that must exist.
func (b *bench) Row(t *store.Table, id int64) store.Row {
	b.Helper()
	row, err := b.S.Get(b.ctx, t, 1, id)
	if err != nil {
		b.Fatalf("Get %s %d: %v", t.Name, id, err)
	}
	return row
}

// Gone checks that account 1 has no such row.
func (b *bench) Gone(t *store.Table, id int64) {
	b.Helper()
	if row, err := b.S.Get(b.ctx, t, 1, id); !errors.Is(err, store.ErrNotFound) {
		b.Errorf("Get %s %d: %v, %v, want ErrNotFound", t.Name, id, row, err)
	}
}

// Rows reads all rows of account 1.
func (b *bench) Rows(t *store.Table) []store.Row {
	b.Helper()
	rows, err := b.S.Page(b.ctx, t, store.Query{Account: 1, Limit: 1 << 20})
	if err != nil {
		b.Fatalf("Page: %v", err)
	}
	return rows
}

// Events reads all events of account 1.
func (b *bench) Events() []event.Event {
	b.Helper()
	events, err := b.S.Events(b.ctx, store.EventQuery{Account: 1, Limit: 1 << 20})
	if err != nil {
		b.Fatalf("Events: %v", err)
	}
	return events
}

// Types returns the types of all events of account 1.
func (b *bench) Types() []string {
	b.Helper()
	types := []string{}
	for _, e := range b.Events() {
		types = append(types, e.Type)
	}
	return types
}

// Same checks a value.
func (b *bench) Same(what string, got, want any) {
	b.Helper()
	if !reflect.DeepEqual(got, want) {
		b.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// Is checks an error.
func (b *bench) Is(got, want error) {
	b.Helper()
	if !errors.Is(got, want) {
		b.Errorf("error %v, want %v", got, want)
	}
}
