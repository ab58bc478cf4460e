package hand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
	"github.com/parley-api/parley/store"
)

// databases are the two on files and rows that the service has made.
func databases(t *testing.T) map[string]Database {
	path := filepath.Join(t.TempDir(), "tasks.db")
	dsn := postgresDatabase(t)
	seed(t, path)
	seed(t, dsn)
	s, err := OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := OpenPostgres(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), p.Close()); err != nil {
			t.Error(err)
		}
	})
	return map[string]Database{"sqlite": s, "postgres": p}
}

func postgresDatabase(t *testing.T) string {
	dsn := os.Getenv("PARLEY_TEST_POSTGRES")
	if dsn == "" {
		t.Fatal("PARLEY_TEST_POSTGRES is not set: run the tests with make test, or under scripts/with-postgres")
	}
	name := fmt.Sprintf("hand_%d_%d", os.Getpid(), time.Now().UnixNano())
	run := func(sql string) {
		ctx := context.Background()
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Error(err)
		}
	}
	run("CREATE DATABASE " + name)
	t.Cleanup(func() { run("DROP DATABASE " + name + " WITH (FORCE)") })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// seed makes the service's tables, a user and a task.
func seed(t *testing.T, dsn string) {
	ctx := context.Background()
	s, err := store.Open(ctx, dsn, nil, task.Resource.Table(), user.Resource.Table())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	owner := int64(1)
	for _, w := range []store.Write{
		user.Resource.Record(&user.User{Name: "Ada", Email: "ada@example.com"}),
		task.Resource.Record(&task.Task{Title: "first", AssigneeID: &owner, Status: task.Pending}),
	} {
		w.Events = []string{"some.event"}
		if _, err := s.Commit(ctx, &store.Tx{Account: account, Writes: []store.Write{w}}); err != nil {
			t.Fatal(err)
		}
	}
}

func ask(t *testing.T, h http.Handler, method, path, body string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer secret")
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

func TestDatabases(t *testing.T) {
	for name, db := range databases(t) {
		h := Handler(db)
		for _, c := range []struct {
			why, method, path, body string
			status                  int
			part                    string // of the answer
		}{
			{"a row that the service has written", "GET", "/tasks/1", "", 200, `{"id":1,"title":"first","assignee_id":1,"status":"pending","created_at":"20`},
			{"no such row", "GET", "/tasks/9", "", 404, ""},
			{"a new row", "POST", "/tasks", `{"title":"second","assignee_id":1}`, 201, `{"id":2,"title":"second","assignee_id":1,"status":"pending","created_at":"20`},
			{"nobody is assigned", "POST", "/tasks", `{"title":"third"}`, 201, `{"id":3,"title":"third","assignee_id":null,`},
			{"an assignee who does not exist", "POST", "/tasks", `{"title":"x","assignee_id":77}`, 422, ""},
			{"no title", "POST", "/tasks", `{"assignee_id":1}`, 422, ""},
			{"no JSON", "POST", "/tasks", `{`, 422, ""},
			{"a change", "PATCH", "/tasks/2", `{"title":"changed","status":"in_progress"}`, 200, `{"id":2,"title":"changed","assignee_id":1,"status":"in_progress","created_at":"20`},
			{"the change was kept", "GET", "/tasks/2", "", 200, `"title":"changed"`},
			{"a change of what does not exist", "PATCH", "/tasks/9", `{"title":"x"}`, 404, ""},
			{"a change to nobody", "PATCH", "/tasks/2", `{"assignee_id":77}`, 422, ""},
			{"a page", "GET", "/tasks?limit=2", "", 200, `{"data":[{"id":1,`},
			{"where the next one begins", "GET", "/tasks?limit=2", "", 200, `],"next":2}`},
			{"the page behind it, which is the last", "GET", "/tasks?limit=2&after=2", "", 200, `],"next":null}`},
			{"too large a page", "GET", "/tasks?limit=101", "", 422, ""},
			{"another method", "DELETE", "/tasks/2", "", 405, ""},
			{"another path", "GET", "/users/1", "", 404, ""},
		} {
			status, body, header := ask(t, h, c.method, c.path, c.body)
			if status != c.status || !strings.HasPrefix(body, c.part) && !strings.Contains(body, c.part) {
				t.Errorf("%s: %s: got %d %s, want %d %s", name, c.why, status, body, c.status, c.part)
			}
			if status == 201 && header.Get("Location") == "" {
				t.Errorf("%s: %s: no Location", name, c.why)
			}
		}
	}
}

// TestDatabasesTogether has many write at once, some of them the same row.
func TestDatabasesTogether(t *testing.T) {
	for name, db := range databases(t) {
		const n = 50
		var mu sync.Mutex
		ids := make(map[int64]bool)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				made, err := db.Create(Document{Title: fmt.Sprint("task ", i), Status: "pending"})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				title := fmt.Sprint("changed ", i)
				if _, err := db.Patch(1, Patch{Title: &title}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[made.ID] = true
			})
		}
		wg.Wait()
		if len(ids) != n {
			t.Errorf("%s: %d ids for %d tasks", name, len(ids), n)
		}
		if rev := revision(t, db); rev != n+1 {
			t.Errorf("%s: revision %d after %d changes", name, rev, n)
		}
	}
}

func revision(t *testing.T, db Database) (rev int) {
	t.Helper()
	const sql = "SELECT rev FROM r_tasks WHERE account = 1 AND id = 1"
	var err error
	switch db := db.(type) {
	case *sqlite:
		err = db.readers.QueryRow(sql).Scan(&rev)
	case *postgres:
		err = db.readers.QueryRow(context.Background(), sql).Scan(&rev)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func TestMemory(t *testing.T) {
	document := func(id int64) []byte {
		d, _ := json.Marshal(Document{Title: "x", AssigneeID: &id, Status: "done"})
		return d
	}
	var log strings.Builder
	h := Memory(NewRows(3, document, func(int64) int64 { return 1_700_000_000_123_456 }), "secret", slog.New(slog.NewJSONHandler(&log, nil)))
	status, body, header := ask(t, h, "GET", "/tasks/3", "")
	want := `{"id":3,"title":"x","assignee_id":3,"status":"done","created_at":"2023-11-14T22:13:20.123456Z","updated_at":"2023-11-14T22:13:20.123456Z",` +
		`"_links":{"self":{"href":"/tasks/3"},"collection":{"href":"/tasks"},"owner":{"href":"/users/3"}}}`
	if status != 200 || body != want {
		t.Errorf("got %d %s, want %s", status, body, want)
	}
	if got := header["Etag"][0]; got != `"1-2026-11-01"` {
		t.Errorf("ETag %s", got)
	}
	if !strings.Contains(log.String(), `"route":"/tasks/{id}","status":200`) {
		t.Errorf("logged %s", log.String())
	}
	if status, _, _ := ask(t, Memory(NewRows(3, document, func(int64) int64 { return 0 }), "another", slog.New(slog.NewJSONHandler(io.Discard, nil))), "GET", "/tasks/3", ""); status == 200 {
		t.Error("another key opens it")
	}
}
