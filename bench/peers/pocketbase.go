package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // its own tables

	"github.com/parley-api/parley/bench/internal/server"
)

// PocketBase as `pocketbase serve` runs it, with its default settings.
func openPocketBase(dir string) (*core.BaseApp, error) {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir})
	if err := app.Bootstrap(); err != nil {
		return nil, err
	}
	return app, app.RunAllMigrations()
}

const holder = "bench@example.com"

// seedPocketBase makes the collection, somebody who may use it, and the tasks.
func seedPocketBase(o server.Options) error {
	app, err := openPocketBase(o.Source)
	if err != nil {
		return err
	}
	people, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	somebody := core.NewRecord(people)
	somebody.SetEmail(holder)
	somebody.SetPassword("a long enough password")
	if err := app.Save(somebody); err != nil {
		return err
	}
	if err := app.Save(tasks()); err != nil {
		return err
	}
	if err := fillPocketBase(app, o.Tasks); err != nil {
		return err
	}
	return app.ResetBootstrapState() // closes the files
}

// tasks is the collection: the members of a task, the same indexes, and a rule
// that lets in whoever has signed in.
func tasks() *core.Collection {
	c := core.NewBaseCollection("tasks")
	c.Fields.Add(
		&core.TextField{Name: "title", Required: true, Max: 500},
		&core.NumberField{Name: "assignee_id", OnlyInt: true},
		&core.SelectField{Name: "status", Values: []string{"pending", "in_progress", "done"}, MaxSelect: 1},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	c.AddIndex("tasks_updated", false, "updated, id", "")
	c.AddIndex("tasks_assignee_id", false, "assignee_id, id", "")
	c.AddIndex("tasks_status", false, "status, id", "")
	rule := `@request.auth.id != ""`
	c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule = &rule, &rule, &rule, &rule
	return c
}

// slice is how many tasks are inserted with one statement.
const slice = 50_000

func fillPocketBase(app core.App, n int) error {
	said := time.Now()
	for first := 1; first <= n; first += slice {
		last := min(n, first+slice-1)
		_, err := app.NonconcurrentDB().NewQuery(`WITH RECURSIVE numbers (i) AS (SELECT {:first} UNION ALL SELECT i + 1 FROM numbers WHERE i < {:last})
			INSERT INTO tasks (id, title, assignee_id, status, created, updated)
			SELECT printf('%015d', i), 'Call the supplier about order ' || (i * 7919 % 1000000007), 1 + i % 100,
				CASE i % 3 WHEN 0 THEN 'pending' WHEN 1 THEN 'in_progress' ELSE 'done' END, {:now}, {:now} FROM numbers`).
			Bind(dbx.Params{"first": first, "last": last, "now": time.Now().UTC().Format("2006-01-02 15:04:05.000Z")}).Execute()
		if err != nil {
			return err
		}
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "  %d of %d\n", last, n)
		}
	}
	return nil
}

func servePocketBase(o server.Options) error {
	app, err := openPocketBase(o.Source)
	if err != nil {
		return err
	}
	somebody, err := app.FindAuthRecordByEmail("users", holder)
	if err != nil {
		return err
	}
	token, err := somebody.NewStaticAuthToken(24 * time.Hour)
	if err != nil {
		return err
	}
	app.OnRecordCreateRequest("tasks").BindFunc(func(e *core.RecordRequestEvent) error {
		e.Record.Set("status", "pending") // as a new task has; a field has no default
		return e.Next()
	})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		e.Listener, e.InstallerFunc = l, nil
		return errors.Join(e.Next(), server.Ready{
			Addr: l.Addr().String(), Collection: "/api/collections/tasks/records", ID: "%015d", Created: 200, Token: "Bearer " + token,
			Durability: "its default, WAL and synchronous=NORMAL: an answered write can be lost when the power fails",
			Conditions: "token, its own request log in its database; no quota, no event, and the assignee is not looked up",
			Version:    versions("github.com/pocketbase/pocketbase", "modernc.org/sqlite"),
			Lists: map[string][]string{
				server.List: {"?perPage=20&skipTotal=1"}, server.Total: {"?perPage=20"},
				server.Deep: {fmt.Sprintf("?perPage=20&skipTotal=1&page=%d", o.Tasks/10*9/20+1)},
			},
		}.Write())
	})
	return apis.Serve(app, apis.ServeConfig{HttpAddr: "127.0.0.1:0"})
}
