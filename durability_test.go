package parley_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
	"github.com/parley-api/parley/store"
)

// TestRedelivery gives a dead letter a fresh budget: the same webhook-id and
// body, a new timestamp, as many attempts as the first time.
func TestRedelivery(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s,10ms", nil)
		id, secret := o.endpoint("/poor/500", "")
		o.make("/tasks", `{"title": "Twice two"}`)
		d := o.status(id, "dead")
		letter := o.get("/dead-letters")["data"].([]any)[0].(map[string]any)["id"].(string)
		o.clock.ahead.Add(int64(time.Hour)) // the first signatures are too old by now
		o.make("/dead-letters/"+letter+"/redeliveries", "")
		posts := o.wait("/poor/500", 4)
		if again := o.status(id, "dead"); again["id"] != d["id"] || attempts(again) != "500 500 500 500" {
			t.Errorf("got %v with the attempts %s, want two more of %v", again["id"], attempts(again), d["id"])
		}
		for _, p := range posts[2:] {
			if e := p.verified(t, o.clock.now(), secret); e.ID != d["id"] || string(p.body) != string(posts[0].body) {
				t.Errorf("got the body %s, want the first again", p.body)
			}
		}
	})
}

// TestBurial deletes an endpoint for which something waits: that becomes a
// dead letter, and nothing is sent any more.
func TestBurial(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s,1h", nil)
		id, _ := o.endpoint("/waits/500", "")
		parked, _ := o.endpoint("/parked", `"enabled": false`)
		o.make("/tasks", `{"title": "Too late"}`)
		o.status(id, "retrying")
		for _, endpoint := range []string{id, parked} {
			if got := o.call(http.MethodDelete, "/webhook-endpoints/"+endpoint, ""); got.status != http.StatusNoContent {
				t.Fatalf("DELETE: got %s", got)
			}
		}
		o.status(id, "dead")
		o.status(parked, "dead")
		for _, l := range o.get("/dead-letters")["data"].([]any) {
			if l := l.(map[string]any); l["reason"] != "the endpoint was deleted" {
				t.Errorf("got the reason %v, want that the endpoint was deleted", l["reason"])
			}
		}
		o.clock.ahead.Add(int64(2 * time.Hour))
		time.Sleep(1500 * time.Millisecond)
		if got := len(o.at("/waits/500")) + len(o.at("/parked")); got != 1 {
			t.Errorf("got %d webhooks, want the first alone", got)
		}
	})
}

// TestRestart closes the service in the middle of its deliveries and starts it
// again on the same database: nothing is lost, and ids stay.
func TestRestart(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		const events = 40
		var up atomic.Bool
		o := openOffice(t, engine, "0s,10ms,1h,1h,1h", nil)
		o.Answer = func(w http.ResponseWriter, p *post, posts int) {
			if !up.Load() && posts%2 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
		id, secret := o.endpoint("/steady", `"event_types": ["task.created"]`)
		off, _ := o.endpoint("/asleep", `"event_types": ["task.created"], "enabled": false`)
		for i := range events {
			o.make("/tasks", fmt.Sprintf(`{"title": "%d"}`, i))
		}
		if err := o.App.Close(); err != nil {
			t.Fatal(err)
		}
		up.Store(true)
		o.clock.ahead.Add(int64(2 * time.Hour)) // retries are due
		app, err := parley.New(t.Context(), o.cfg, task.Resource, user.Resource)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(app)
		t.Cleanup(func() { server.Close(); app.Close() })
		o.App, o.caller.url = app, server.URL
		o.change("/webhook-endpoints/"+off, `{"enabled": true}`)
		settledBut(t, o, 0)
		for _, path := range []string{"/steady", "/asleep"} {
			seen := make(map[string]string)
			for _, p := range o.at(path) {
				id := p.header.Get("webhook-id")
				if before := seen[id]; before != "" && before != string(p.body) {
					t.Errorf("%s: %s has two bodies", path, id)
				}
				seen[id] = string(p.body)
			}
			if len(seen) != events {
				t.Errorf("%s: got %d of %d deliveries", path, len(seen), events)
			}
		}
		o.at("/steady")[len(o.at("/steady"))-1].verified(t, o.clock.now(), secret)
		for _, d := range o.deliveries(id) {
			if d := d.(map[string]any); d["status"] != "delivered" {
				t.Errorf("got %v, want it delivered", d)
			}
		}
	})
}

// TestTwoNodes runs two services on one PostgreSQL: both send, nothing twice,
// and what a node has claimed that is gone the others take over when the lease
// ends.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	o := openOffice(t, "postgres", "0s", nil)
	other, err := parley.New(t.Context(), o.cfg, task.Resource, user.Resource)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(other)
	t.Cleanup(func() { server.Close(); other.Close() })
	id, secret := o.endpoint("/shared", `"event_types": ["task.created"]`)
	const each = 30
	for i := range each {
		o.make("/tasks", fmt.Sprintf(`{"title": "here %d"}`, i))
		if got := (caller{t, server.URL, adminKey}).call(http.MethodPost, "/tasks", fmt.Sprintf(`{"title": "there %d"}`, i)); got.status != http.StatusCreated {
			t.Fatalf("POST /tasks of the other node: got %s", got)
		}
	}
	settledBut(t, o, 0)
	seen := make(map[string]int)
	for _, p := range o.at("/shared") {
		seen[p.verified(t, o.clock.now(), secret).ID]++
	}
	if len(seen) != 2*each || len(o.at("/shared")) != 2*each {
		t.Errorf("got %d deliveries in %d webhooks, want %d, each once", len(seen), len(o.at("/shared")), 2*each)
	}
	for name, handler := range map[string]http.Handler{"one": o.Metrics(), "other": other.Metrics()} {
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if !strings.Contains(rec.Body.String(), `parley_delivery_attempts_total{status="delivered"}`) {
			t.Errorf("the %s node has sent nothing", name)
		}
	}

	// A change of an endpoint on one node holds on the other.
	o.change("/webhook-endpoints/"+id, `{"event_types": ["task.deleted"]}`)
	if got := (caller{t, server.URL, adminKey}).call(http.MethodPost, "/tasks", `{"title": "unwanted"}`); got.status != http.StatusCreated {
		t.Fatalf("POST /tasks of the other node: got %s", got)
	}
	settledBut(t, o, 0)
	if got := len(o.at("/shared")); got != 2*each {
		t.Errorf("got %d webhooks, want %d: the other node knows the types", got, 2*each)
	}

	o.takeover(t)
}

// takeover lets a node that is gone have claimed a delivery.
func (o *office) takeover(t *testing.T) {
	id, _ := o.endpoint("/inherited", `"enabled": false`)
	number, _ := event.ParseName("ep_", id)
	o.make("/tasks", `{"title": "Claimed"}`)
	conn, err := pgx.Connect(t.Context(), o.cfg.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	done, err := conn.Exec(t.Context(), "UPDATE delivery SET fence = 4711, due = $1 WHERE endpoint = $2 AND due = $3",
		o.clock.now().Add(store.Lease).UnixMicro(), number, event.Parked)
	if err != nil || done.RowsAffected() != 1 {
		t.Fatalf("claiming for a node that is gone: %v, %v", done, err)
	}
	o.change("/webhook-endpoints/"+id, `{"enabled": true}`)
	time.Sleep(1500 * time.Millisecond)
	if got := len(o.at("/inherited")); got != 0 {
		t.Errorf("got %d webhooks while another node has claimed it, want none", got)
	}
	o.clock.ahead.Add(int64(store.Lease))
	o.wait("/inherited", 1)
	o.status(id, "delivered")
}

// TestPublication publishes events of an application's own: over HTTP, many at
// once, and inside a transaction of the application.
func TestPublication(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		_, secret := o.endpoint("/own", `"event_types": ["invoice.*"]`)
		o.make("/event-types", `{"name": "invoice.paid", "schema": {"type": "object", "required": ["number"]}}`)
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf(`{"type": "invoice.paid", "data": {"number": %d}}`, i))
		}
		made := o.make("/events", "["+strings.Join(all, ",")+"]")["data"].([]any)
		if len(made) != 100 {
			t.Fatalf("got %d events, want 100", len(made))
		}
		var numbers []int
		for _, p := range o.wait("/own", 100) {
			var data struct{ Number int }
			json.Unmarshal(p.verified(t, o.clock.now(), secret).Data, &data)
			numbers = append(numbers, data.Number)
		}
		slices.Sort(numbers)
		if numbers = slices.Compact(numbers); len(numbers) != 100 {
			t.Errorf("got %d different events, want 100", len(numbers))
		}
		settledBut(t, o, 0)
		before := len(o.at("/own"))
		o.transact(t, `{"number": 1001}`, false)
		o.transact(t, `{"number": 1002}`, true)
		p := o.wait("/own", before+1)[before]
		var data struct{ Number int }
		json.Unmarshal(p.verified(t, o.clock.now(), secret).Data, &data)
		if data.Number != 1002 {
			t.Errorf("got the invoice %d, want 1002: the other transaction was rolled back", data.Number)
		}
		events := o.get("/events?sort=-id&limit=1")["data"].([]any)
		if got := text(events[0].(map[string]any)["data"]); got != `{"number":1002}` {
			t.Errorf("got the last event %s, want that of the transaction", got)
		}
	})
}

// transact publishes in a transaction on the service's own database.
func (o *office) transact(t *testing.T, doc string, commit bool) {
	t.Helper()
	ctx := t.Context()
	e := event.Event{Account: 1, Type: "invoice.paid", Doc: []byte(doc)}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if o.cfg.Database != "" {
		conn, err := pgx.Connect(ctx, o.cfg.Database)
		check(err)
		defer conn.Close(ctx)
		tx, err := conn.Begin(ctx)
		check(err)
		check(store.Publish(ctx, tx, e))
		if !commit {
			check(tx.Rollback(ctx))
			return
		}
		check(tx.Commit(ctx))
		return
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.cfg.Data, "parley.db")+"?_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	check(err)
	check(store.Publish(ctx, tx, e))
	if !commit {
		check(tx.Rollback())
		return
	}
	check(tx.Commit())
}

// TestTired lets an endpoint fail for five days, by the clock: it is disabled,
// with an event.
func TestTired(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		id, _ := o.endpoint("/down/500", `"event_types": ["task.created"]`)
		o.make("/tasks", `{"title": "Day one"}`)
		o.status(id, "dead")
		for _, step := range []struct {
			why     string
			wait    time.Duration
			enabled bool
		}{
			{"nearly five days are not five", 5*24*time.Hour - 10*time.Minute, true},
			{"five days are", 20 * time.Minute, false},
		} {
			o.clock.ahead.Add(int64(step.wait))
			o.make("/tasks", `{"title": "Another day"}`)
			settledBut(t, o, 0)
			if step.enabled {
				time.Sleep(300 * time.Millisecond)
			}
			o.until(step.why, func() bool { return o.get("/webhook-endpoints/" + id)["enabled"] == step.enabled })
		}
		if got := o.get("/webhook-endpoints/" + id)["status_reason"]; got != "no delivery has succeeded for 5 days" {
			t.Errorf("got the reason %v", got)
		}
		if list := o.get("/events?type=webhook-endpoint.disabled")["data"].([]any); len(list) != 1 {
			t.Errorf("got %d events, want one that it was disabled", len(list))
		}
	})
}

// TestKeptVersion changes an endpoint whose version has retired: it may keep
// the version, and nobody may choose it any more.
func TestKeptVersion(t *testing.T) {
	o := openOffice(t, "sqlite", "0s", nil)
	id, _ := o.endpoint("/kept", `"api_version": "2025-11-01"`)
	o.clock.ahead.Add(int64(2 * 365 * 24 * time.Hour))
	o.change("/webhook-endpoints/"+id, `{"description": "still here"}`)
	got := o.call(http.MethodPost, "/webhook-endpoints", `{"url": "`+o.consumer.URL+`", "api_version": "2025-11-01"}`)
	if !got.isProblem(http.StatusUnprocessableEntity, "validation-failed") {
		t.Errorf("a new endpoint of a retired version: got %s, want 422", got)
	}
}

// TestAtOnce makes the same request many times at once: one redelivery, one
// receipt.
func TestAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s,1h", nil)
		o.Answer = func(w http.ResponseWriter, _ *post, posts int) {
			if posts == 1 {
				w.WriteHeader(http.StatusNotFound)
			} else {
				w.WriteHeader(http.StatusInternalServerError) // it waits, and is not dead again
			}
		}
		id, _ := o.endpoint("/in", "")
		o.make("/webhook-topics", `{"name": "busy", "secret": "`+topicSecret+`"}`)
		o.make("/tasks", `{"title": "Once"}`)
		o.status(id, "dead")
		letter := o.get("/dead-letters")["data"].([]any)[0].(map[string]any)["id"].(string)
		var made, refused atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				switch got := o.call(http.MethodPost, "/dead-letters/"+letter+"/redeliveries", ""); got.status {
				case http.StatusCreated:
					made.Add(1)
				case http.StatusConflict:
					refused.Add(1)
				default:
					t.Errorf("got %s, want 201 or 409", got)
				}
			})
			wg.Go(func() { o.deliver("busy", "msg_same", o.clock.now()) })
		}
		wg.Wait()
		if made.Load() != 1 || refused.Load() != 15 {
			t.Errorf("got %d redeliveries and %d conflicts, want one and 15", made.Load(), refused.Load())
		}
		if list := o.get("/webhook-topics/busy/receipts")["data"].([]any); len(list) != 1 {
			t.Errorf("got %d receipts, want one", len(list))
		}
		o.wait("/in", 2)
		if got := attempts(o.status(id, "retrying")); got != "404 500" {
			t.Errorf("got the attempts %s, want one more", got)
		}
	})
}

// TestSecrecy looks for secrets and signatures wherever they do not belong: the
// log, the metrics, answers, events, and the views for people who use SQL.
func TestSecrecy(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s,10ms", nil)
		id, first := o.endpoint("/in/500", "")
		pair, _ := o.endpoint("/pair/400", `"scheme": "v1a"`)
		second := o.make("/webhook-endpoints/"+id+"/secret-rotations", `{}`, "Idempotency-Key: again")["secret"].(string)
		o.make("/webhook-endpoints/"+pair+"/secret-rotations", `{}`)
		topic := o.make("/webhook-topics", `{"name": "secrecy"}`)["secret"].(string)
		o.make("/webhook-topics", `{"name": "theirs", "secret": "`+topicSecret+`"}`)
		o.deliver("theirs", "msg_once", o.clock.now())
		o.make("/tasks", `{"title": "Hush"}`)
		o.make("/webhook-endpoints/"+id+"/pings", "")
		settledBut(t, o, 0)
		secrets := []string{first, second, topic, topicSecret, "whsk_"}
		for _, p := range append(o.at("/in/500"), o.at("/pair/400")...) {
			for entry := range strings.FieldsSeq(p.header.Get("webhook-signature")) {
				secrets = append(secrets, entry)
			}
		}
		shown := map[string]string{"the log": o.log.String()}
		for _, path := range []string{
			"/metrics", "/webhook-endpoints", "/webhook-endpoints/" + id, "/webhook-endpoints/" + pair, "/webhook-endpoints/" + id + "/secret-rotations",
			"/webhook-endpoints/" + id + "/messages", "/deliveries", "/dead-letters", "/events", "/webhook-topics", "/webhook-topics/secrecy", "/webhook-topics/theirs/receipts",
		} {
			shown["GET "+path] = string(o.call(http.MethodGet, path, "").body)
		}
		for _, request := range [][3]string{
			{http.MethodPatch, "/webhook-endpoints/" + id, `{"keys": 1, "secret": "` + first + `"}`},
			{http.MethodPatch, "/webhook-endpoints/" + id, `{"description": "seen"}`},
			{http.MethodPatch, "/webhook-topics/secrecy", `{"secret": "` + first + `!"}`},
			{http.MethodPut, "/webhook-topics/secrecy", `{"name": "secrecy"}`},
			{http.MethodPost, "/webhook-topics", `{"name": "theirs", "secret": "` + first + `"}`},
			{http.MethodPost, "/webhooks/theirs", `{}`},
		} {
			got := o.call(request[0], request[1], request[2], "webhook-id: x", "webhook-timestamp: 1", "webhook-signature: v1,"+strings.Repeat("A", 43)+"=")
			shown[request[0]+" "+request[1]+" "+request[2]] = fmt.Sprint(string(got.body), got.header)
		}
		shown["the views"] = o.views(t, "webhook_endpoints", "webhook_topics", "secret_rotations", "receipts")
		shown["the log"] = o.log.String()
		for where, text := range shown {
			for _, secret := range secrets {
				bare := strings.TrimPrefix(strings.TrimPrefix(secret, "whsec_"), "v1,")
				if strings.Contains(text, secret) || len(bare) > 20 && strings.Contains(text, bare) {
					t.Errorf("%s: shows a secret or a signature: %.300s", where, text)
				}
			}
		}
		if !strings.Contains(shown["the views"], "/in/500") {
			t.Errorf("the views show %.300s, want the URL of the endpoint", shown["the views"])
		}
	})
}

// views reads everything that views show.
func (o *office) views(t *testing.T, names ...string) string {
	t.Helper()
	var out strings.Builder
	for _, name := range names {
		query := "SELECT * FROM " + name
		if o.cfg.Database != "" {
			conn, err := pgx.Connect(t.Context(), o.cfg.Database)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := conn.Query(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range rows.FieldDescriptions() {
				fmt.Fprint(&out, f.Name, " ")
			}
			for rows.Next() {
				values, err := rows.Values()
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(&out, values...)
			}
			rows.Close()
			conn.Close(context.Background())
			continue
		}
		db, err := sql.Open("sqlite", filepath.Join(o.cfg.Data, "parley.db"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		fmt.Fprintln(&out, columns)
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				fmt.Fprintf(&out, "%v ", *v.(*any))
			}
		}
		rows.Close()
		db.Close()
	}
	return out.String()
}
