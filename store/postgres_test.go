package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestServerDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, err = Open(t.Context(), "postgres://someone:hush@"+address+"/nowhere", nil)
	if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v, want ErrUnavailable in one line without the password", err)
	}
	if _, err := Open(t.Context(), "postgres://%%", nil); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line", err)
	}
}

// TestLostConnections cuts the connections of a store again and again while it
// commits. What is acknowledged is there; what is called unavailable is not.
func TestLostConnections(t *testing.T) {
	dsn := newDatabase(t)
	notes := &Table{Name: "notes", Columns: []Column{{Name: "text", Kind: Text, Unique: true}}}
	s, err := Open(t.Context(), dsn, nil, notes)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	killer, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer killer.Close(context.Background())
	var all sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]error{}
	stop := make(chan struct{})
	for i := range 8 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				text := fmt.Sprintf("%d-%d", i, n)
				w := note(text)
				w.Table, w.Keys, w.Events = notes, []any{text}, []string{"note.created"}
				_, err := s.Commit(t.Context(), &Tx{Account: 1, Writes: []Write{w}})
				mu.Lock()
				outcomes[text] = err
				mu.Unlock()
			}
		})
	}
	for range 40 {
		time.Sleep(25 * time.Millisecond)
		if _, err := killer.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	all.Wait()
	rows, err := s.Page(t.Context(), notes, Query{Account: 1, Limit: 1 << 20})
	for err != nil && errors.Is(err, ErrUnavailable) {
		rows, err = s.Page(t.Context(), notes, Query{Account: 1, Limit: 1 << 20})
	}
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, r := range rows {
		there[strings.TrimSuffix(strings.TrimPrefix(string(r.Doc), `{"text":"`), `"}`)] = true
	}
	good, bad := 0, 0
	for text, err := range outcomes {
		switch {
		case err == nil:
			good++
			if !there[text] {
				t.Errorf("%s was acknowledged and is not there", text)
			}
		case errors.Is(err, ErrUnavailable):
			bad++
			if there[text] {
				t.Errorf("%s was called unavailable and is there: %v", text, err)
			}
		default:
			t.Errorf("%s: %v", text, err)
		}
	}
	if events, err := s.CountEvents(t.Context(), EventQuery{Account: 1}); err != nil || events != int64(len(rows)) {
		t.Errorf("%d events, %v, for %d rows", events, err, len(rows))
	}
	t.Logf("%d acknowledged, %d unavailable", good, bad)
	if good == 0 {
		t.Error("nothing was committed")
	}
}

// TestRefusedServer takes the database away from an open store.
func TestRefusedServer(t *testing.T) {
	dsn := newDatabase(t)
	notes := &Table{Name: "notes"}
	s, err := Open(t.Context(), dsn, nil, notes)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	name := dsn[strings.LastIndexByte(dsn, '/')+1:]
	name, _, _ = strings.Cut(name, "?")
	server := strings.Replace(dsn, "/"+name, "/postgres", 1)
	administer(t, server, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	administer(t, server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'")
	w := note("x")
	w.Table = notes
	tx := &Tx{Account: 1, Writes: []Write{w}}
	for range 2 {
		if _, err := s.Commit(t.Context(), tx); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Commit: %v, want ErrUnavailable", err)
		}
		if err := s.Ping(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Ping: %v, want ErrUnavailable", err)
		}
	}
	administer(t, server, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	if _, err := s.Commit(t.Context(), tx); err != nil {
		t.Errorf("Commit after the database is back: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := s.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ping: %v, want the deadline", err)
	}
}

// TestPlans proves that a writer looks rows up by their keys.
func TestPlans(t *testing.T) {
	people, things := groupTables()
	s, err := Open(t.Context(), newDatabase(t), nil, people, things)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e := s.engine.(*postgresEngine)
	for _, table := range s.list {
		x := e.texts[table.index]
		one := func(sql string) string { return strings.NewReplacer("$1", "'{1}'", "$2", "'{1}'").Replace(sql) }
		for _, sql := range append([]string{one(x.rows), one(x.exists), one(x.delete), one(x.holder[0])}, one(x.refers[1]), one(x.records[1])) {
			rows, err := e.writers.Query(t.Context(), "EXPLAIN "+sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(plan, "\n"); !strings.Contains(text, "Index") || strings.Contains(text, "Seq Scan on r_") {
				t.Errorf("%s\n%s", sql, text)
			}
		}
	}
}
