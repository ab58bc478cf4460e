package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

// An application is a program that shares the database of the service. within
// runs f in a transaction of its own, which is committed where f says so.
type application struct {
	name   string
	within func(t *testing.T, f func(tx any) (commit bool))
}

// applications open the database in every way that Publish knows.
func applications(t *testing.T, dsn string) []application {
	open := func(driver, dsn string) application {
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return application{"*sql.Tx of " + driver, func(t *testing.T, f func(any) bool) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			end := tx.Rollback
			if f(tx) {
				end = tx.Commit
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
		}}
	}
	if filepath.IsAbs(dsn) {
		return []application{open("sqlite", "file:"+dsn+"?_pragma=busy_timeout(10000)&_txlock=immediate")}
	}
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return []application{open("pgx", dsn), {"pgx.Tx", func(t *testing.T, f func(any) bool) {
		tx, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end := tx.Rollback
		if f(tx) {
			end = tx.Commit
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
	}}}
}

// databases runs a test on both engines.
func databases(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "parley.db")) })
	t.Run("postgres", func(t *testing.T) { f(t, postgres(t).create(t)) })
}

// service opens a database with an endpoint for account 1, which it makes
// where there is none.
func service(t *testing.T, dsn string) *store.Store {
	t.Helper()
	endpoints := &store.Table{Name: "endpoints"}
	read := func(store.Row) (store.Subscription, error) { return store.Subscription{Enabled: true}, nil }
	s, err := store.Open(t.Context(), dsn, &store.Options{Fanout: &store.Fanout{Endpoints: endpoints, Read: read}}, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	n, err := s.Count(t.Context(), endpoints, store.Query{Account: 1})
	if err == nil && n == 0 {
		_, err = s.Commit(t.Context(), &store.Tx{Account: 1, Writes: []store.Write{{Table: endpoints, Op: store.Insert, Doc: []byte("{}")}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// published waits until so many events are there and returns the documents of
// all, having checked that each has its one delivery.
func published(t *testing.T, s *store.Store, n int) []string {
	t.Helper()
	var events []event.Event
	for end := time.Now().Add(time.Minute); len(events) < n; time.Sleep(10 * time.Millisecond) {
		var err error
		if events, err = s.Events(t.Context(), store.EventQuery{Account: 1, Limit: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%d events after a minute, want %d", len(events), n)
		}
	}
	deliveries, err := s.Deliveries(t.Context(), store.DeliveryQuery{Account: 1, Limit: 1 << 20})
	if err != nil || len(deliveries) != len(events) {
		t.Fatalf("%d deliveries, %v, of %d events", len(deliveries), err, len(events))
	}
	var docs []string
	for i, e := range events {
		if deliveries[i].Seq != e.Seq {
			t.Errorf("event %d has no delivery", e.Seq)
		}
		docs = append(docs, string(e.Doc))
	}
	return docs
}

func TestPublish(t *testing.T) {
	databases(t, func(t *testing.T, dsn string) {
		s := service(t, dsn)
		var want []string
		for _, a := range applications(t, dsn) {
			for i := range 6 {
				a.within(t, func(tx any) bool {
					doc := fmt.Sprintf(`{"by":%q,"n":%d}`, a.name, i)
					e := event.Event{Account: 1, Type: "order.shipped", At: int64(i % 2 * 1000), Doc: []byte(doc)}
					if err := store.Publish(t.Context(), tx, e); err != nil {
						t.Fatalf("%s: %v", a.name, err)
					}
					if i%3 == 2 {
						return false
					}
					want = append(want, doc)
					return true
				})
			}
		}
		if got := published(t, s, len(want)); !slices.Equal(got, want) {
			t.Errorf("events\n%q\nwant\n%q", got, want)
		}
		events, err := s.Events(t.Context(), store.EventQuery{Account: 1})
		if err != nil || events[1].At != 1000 || events[0].At < 1000 || events[0].Type != "order.shipped" {
			t.Errorf("events %+v, %v, want the time of the commit where none was given", events[:2], err)
		}
		time.Sleep(600 * time.Millisecond) // in which what was rolled back, or is taken twice, would show up
		if got := published(t, s, len(want)); !slices.Equal(got, want) {
			t.Errorf("later there are %d events, want %d", len(got), len(want))
		}
	})
}

// An event that is published while no service runs is taken in by the next.
func TestPublishBefore(t *testing.T) {
	databases(t, func(t *testing.T, dsn string) {
		service(t, dsn).Close()
		app := applications(t, dsn)[0]
		app.within(t, func(tx any) bool {
			for i := range 450 {
				if err := store.Publish(t.Context(), tx, event.Event{Account: 1, Type: "a.b", Doc: fmt.Appendf(nil, `{"n":%d}`, i)}); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
		for i, doc := range published(t, service(t, dsn), 450) {
			if want := fmt.Sprintf(`{"n":%d}`, i); doc != want {
				t.Fatalf("event %d is %s, want %s", i, doc, want)
			}
		}
	})
}

// TestPublishShared lets two nodes empty one outbox.
func TestPublishShared(t *testing.T) {
	dsn := postgres(t).create(t)
	nodes := []*store.Store{service(t, dsn), service(t, dsn)}
	app := applications(t, dsn)[1]
	const n = 900
	for i := range n / 30 {
		app.within(t, func(tx any) bool {
			for k := range 30 {
				if err := store.Publish(t.Context(), tx, event.Event{Account: 1, Type: "a.b", Doc: fmt.Appendf(nil, `{"n":%d}`, i*30+k)}); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
		if _, err := nodes[i%2].Commit(t.Context(), &store.Tx{Account: 2, Events: []event.Event{{Type: "c.d"}}}); err != nil {
			t.Fatal(err)
		}
	}
	published(t, nodes[0], n)
	time.Sleep(600 * time.Millisecond)
	seen := map[string]int{}
	for _, doc := range published(t, nodes[1], n) {
		seen[doc]++
	}
	for doc, times := range seen {
		if times != 1 {
			t.Errorf("%s happened %d times", doc, times)
		}
	}
	if len(seen) != n {
		t.Errorf("%d events, want %d", len(seen), n)
	}
}

func TestPublishRefuses(t *testing.T) {
	databases(t, func(t *testing.T, dsn string) {
		s := service(t, dsn)
		good := event.Event{Account: 1, Type: "a.b", Doc: []byte(" {}\n")}
		for _, c := range []struct {
			why    string
			change func(*event.Event)
		}{
			{"nobody would see an event of no account", func(e *event.Event) { e.Account = 0 }},
			{"nobody could subscribe to it", func(e *event.Event) { e.Type = "" }},
			{"PostgreSQL has no NUL", func(e *event.Event) { e.Type = "a\x00b" }},
			{"a type is text", func(e *event.Event) { e.Type = "a.\xff" }},
			{"a body without data", func(e *event.Event) { e.Doc = nil }},
			{"data is an object", func(e *event.Event) { e.Doc = []byte("[1]") }},
			{"null is none", func(e *event.Event) { e.Doc = []byte("null") }},
			{"space is none", func(e *event.Event) { e.Doc = []byte(" ") }},
			{"half of one", func(e *event.Event) { e.Doc = []byte(`{"a":1`) }},
			{"two of them", func(e *event.Event) { e.Doc = []byte(`{} {}`) }},
			{"JSON is UTF-8", func(e *event.Event) { e.Doc = []byte("{\"a\":\"\xff\"}") }},
		} {
			e := good
			c.change(&e)
			for _, a := range applications(t, dsn) {
				a.within(t, func(tx any) bool {
					if err := store.Publish(t.Context(), tx, e); err == nil {
						t.Errorf("%s was published, but %s", a.name, c.why)
					}
					return true // it stays usable
				})
			}
		}
		for _, tx := range []any{nil, "tx", s, &sql.DB{}} {
			if err := store.Publish(t.Context(), tx, good); err == nil {
				t.Errorf("it was published in a %T", tx)
			}
		}
		for _, a := range applications(t, dsn) {
			a.within(t, func(tx any) bool {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := store.Publish(ctx, tx, good); err == nil {
					t.Errorf("%s: it was published for a caller who is gone", a.name)
				}
				return false
			})
		}
	})
}
