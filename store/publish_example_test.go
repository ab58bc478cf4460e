package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the application's driver

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

// An application that shares the database of the service publishes an event in
// the transaction of its own change: both happen, or neither does.
func ExamplePublish() {
	folder, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "parley.db")
	ctx := context.Background()

	// The service. Its endpoints want everything.
	endpoints := &store.Table{Name: "endpoints"}
	s, err := store.Open(ctx, path, &store.Options{Fanout: &store.Fanout{
		Endpoints: endpoints,
		Read:      func(store.Row) (store.Subscription, error) { return store.Subscription{Enabled: true}, nil },
	}}, endpoints)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	// The application, which may be another process.
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE parcel (id INTEGER PRIMARY KEY, state TEXT)"); err != nil {
		log.Fatal(err)
	}
	ship := func(id int, regret bool) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO parcel (id, state) VALUES (?, 'shipped')", id); err != nil {
			return err
		}
		err = store.Publish(ctx, tx, event.Event{Account: 1, Type: "parcel.shipped", Doc: fmt.Appendf(nil, `{"id":%d}`, id)})
		if err != nil || regret {
			return err
		}
		return tx.Commit()
	}
	for id, regret := range []bool{false, true, false} {
		if err := ship(id, regret); err != nil {
			log.Fatal(err)
		}
	}

	// The service takes them in, in order.
	var events []event.Event
	for len(events) < 2 {
		time.Sleep(10 * time.Millisecond)
		if events, err = s.Events(ctx, store.EventQuery{Account: 1}); err != nil {
			log.Fatal(err)
		}
	}
	for _, e := range events {
		fmt.Println(e.Type, string(e.Doc))
	}
	// Output:
	// parcel.shipped {"id":0}
	// parcel.shipped {"id":2}
}
