package parley_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
	"github.com/parley-api/parley/version"
)

// TestClockWalk lives through five years, day by day: on every day every
// version answers as its dates say, in the first second of the day and in the
// last, and the list of versions says the same.
func TestClockWalk(t *testing.T) {
	clock := &clock{frozen: true, day: today}
	svc := start(t, "sqlite", func(cfg *parley.Config) { cfg.Now = clock.now })
	get := func(target string, lines ...string) *answer {
		r := httptest.NewRequest("GET", target, nil)
		for _, line := range append(lines, "Authorization: Bearer "+adminKey, "Accept: application/json") {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r)
		return &answer{status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	}
	days := 0
	for midnight := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); midnight.Year() < 2029; midnight = midnight.AddDate(0, 0, 1) {
		day := midnight.Format(time.DateOnly)
		days++
		for _, moment := range []time.Time{midnight, midnight.Add(24*time.Hour - time.Microsecond)} {
			clock.set(moment)
			for i := range lives {
				l := &lives[i]
				if err := l.check(get("/"+l.name+"/tasks"), day, "/tasks"); err != nil {
					t.Errorf("%s: %v", moment, err)
				}
			}
		}
		var list struct {
			Data []struct{ Name, Status string }
		}
		if err := json.Unmarshal(get("/2026-11-01/versions").body, &list); err != nil || len(list.Data) != len(lives) {
			t.Fatalf("%s: got %+v, error %v", day, list, err)
		}
		for i, v := range list.Data {
			if want := lives[i].state(day); v.Name != lives[i].name || v.Status != want {
				t.Errorf("%s: got %s %s, want %s %s", day, v.Name, v.Status, lives[i].name, want)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if days != 1827 {
		t.Errorf("walked %d days, want 1827", days)
	}
}

// node starts one more service on a database, with a clock.
func node(t *testing.T, dsn string, now func() time.Time, adjust func(*parley.Config)) *service {
	t.Helper()
	cfg := parley.Config{
		Data: t.TempDir(), Database: dsn, AdminKey: adminKey, BaseURL: "https://api.example.com", RateLimit: "off",
		Log: slog.New(slog.DiscardHandler), Now: now,
	}
	if adjust != nil {
		adjust(&cfg)
	}
	app, err := parley.New(t.Context(), cfg, task.Resource, user.Resource)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(app)
	t.Cleanup(func() {
		server.Close()
		app.Close()
	})
	return &service{app, server.URL}
}

// pinned makes an account that is pinned to a version, and returns its id and
// its caller.
func pinned(t *testing.T, svc *service, name, version string) (string, caller) {
	t.Helper()
	admin := caller{t, svc.URL, adminKey}
	id := fmt.Sprint(admin.call("POST", "/v1/accounts", `{"name":"`+name+`","api_version":"`+version+`"}`).json()["id"])
	key := admin.call("POST", "/v1/api-keys", `{"name":"k","account_id":`+id+`,"scopes":["tasks:read","tasks:write","events:read","webhook-endpoints:write"]}`).json()["key"]
	return id, caller{t, svc.URL, key.(string)}
}

// TestMidnight lets a version end while two nodes serve it: each stops within
// a second, by every carrier and by the pin, and neither does too early. Who
// used it is told once, by one of them.
func TestMidnight(t *testing.T) {
	midnight := time.Date(2027, 11, 1, 0, 0, 0, 0, time.UTC)
	begin := time.Now()
	var ahead atomic.Int64 // of the wall clock, once the nodes are up
	ahead.Store(int64(midnight.Add(-time.Minute).Sub(begin)))
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	dsn := database(t)
	nodes := []*service{node(t, dsn, now, nil), node(t, dsn, now, nil)}
	_, client := pinned(t, nodes[0], "old", "2025-11-01")
	ahead.Store(int64(time.Until(midnight.Add(-3 * time.Second))))
	var all sync.WaitGroup
	for _, n := range nodes {
		for _, path := range []string{"/v0/tasks", "/tasks?version=0", "/tasks"} { // the last by the pin
			all.Go(func() {
				c := caller{t, n.URL, client.key}
				served := 0
				for {
					before := now()
					got := c.call("GET", path, "")
					switch after := now(); {
					case got.status == http.StatusGone && after.Before(midnight):
						t.Errorf("%s: retired %v before midnight", path, midnight.Sub(after))
						return
					case got.status == http.StatusGone:
						if served == 0 {
							t.Errorf("%s: it was never served", path)
						}
						return
					case got.status != http.StatusOK:
						t.Errorf("%s: got %s", path, got)
						return
					case before.After(midnight.Add(time.Second)):
						t.Errorf("%s: still served %v after midnight", path, before.Sub(midnight))
						return
					}
					served++
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
	}
	all.Wait()
	types := awaitRetired(t, caller{t, nodes[1].URL, client.key})
	if types[0] == "api-version.deprecated" { // unless it came too late for a warning
		types = types[1:]
	}
	if want := []string{"api-version.retired"}; !slices.Equal(types, want) {
		t.Errorf("the account was told %q, want %q", types, want)
	}
}

// awaitRetired waits until an account was told that its version is retired, and
// returns the types of its events.
func awaitRetired(t *testing.T, c caller) []string {
	t.Helper()
	types := awaitEvents(t, c, 1)
	if !slices.Contains(types, "api-version.retired") {
		types = awaitEvents(t, c, 2)
	}
	return types
}

// awaitEvents waits until an account has n events, and a moment more for one
// too many, and returns their types.
func awaitEvents(t *testing.T, c caller, n int) []string {
	t.Helper()
	var types []string
	for range 300 {
		var list struct{ Data []struct{ Type string } }
		got := c.call("GET", "/v1/events", "")
		if err := json.Unmarshal(got.body, &list); err != nil || got.status != 200 {
			t.Fatalf("GET /events: got %s, error %v", got, err)
		}
		enough := len(types) >= n
		types = nil
		for _, e := range list.Data {
			types = append(types, e.Type)
		}
		if enough {
			return types
		}
		if len(types) >= n {
			time.Sleep(1500 * time.Millisecond)
			continue
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("got the events %q, want %d", types, n)
	return nil
}

// TestNotices tells accounts of the end of their version, once each, whether
// they are pinned to it or were only seen using it, over restarts.
func TestNotices(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			clock := &clock{begin: time.Now(), day: time.Date(2026, 10, 31, 12, 0, 0, 0, time.UTC)}
			dir := t.TempDir()
			cfg := parley.Config{
				Data: dir, AdminKey: adminKey, BaseURL: "https://api.example.com", RateLimit: "off",
				Log: slog.New(slog.DiscardHandler), Now: clock.now, InsecureWebhooks: true,
			}
			var pushed sync.Map // webhook-id → type
			consumer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var envelope struct{ Type string }
				json.NewDecoder(r.Body).Decode(&envelope)
				pushed.Store(r.Header.Get("webhook-id"), envelope.Type)
			}))
			defer consumer.Close()
			if engine == "postgres" {
				cfg.Database = database(t)
			}
			open := func() (*service, func()) {
				app, err := parley.New(t.Context(), cfg, task.Resource, user.Resource)
				if err != nil {
					t.Fatal(err)
				}
				server := httptest.NewServer(app)
				return &service{app, server.URL}, func() {
					server.Close()
					if err := app.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			svc, end := open()
			_, byPin := pinned(t, svc, "pinned", "2025-11-01")
			_, byUse := pinned(t, svc, "user", "2026-11-01")
			_, other := pinned(t, svc, "other", "2026-11-01")
			if got := byPin.call("POST", "/v1/webhook-endpoints", `{"url":"`+consumer.URL+`","event_types":["api-version.*"]}`); got.status != 201 {
				t.Fatalf("an endpoint: got %s", got)
			}
			byUse.call("GET", "/v0/tasks", "")
			other.call("GET", "/v1/tasks", "")
			end() // the ledger is written at the end, and the date passes while nothing runs
			clock.ahead.Store(int64(13 * time.Hour))
			svc, end = open()
			for _, c := range []*caller{&byPin, &byUse, &other} {
				c.url = svc.URL
			}
			for _, c := range []caller{byPin, byUse} {
				if got := awaitEvents(t, c, 1); !slices.Equal(got, []string{"api-version.deprecated"}) {
					t.Errorf("got the events %q, want one", got)
				}
			}
			checkNotice(t, byUse)
			end()
			svc, end = open()
			defer end()
			byPin.url, byUse.url, other.url = svc.URL, svc.URL, svc.URL
			clock.ahead.Add(int64(365 * 24 * time.Hour)) // the next date passes while it runs
			if got := awaitEvents(t, byPin, 2); !slices.Equal(got, []string{"api-version.deprecated", "api-version.retired"}) {
				t.Errorf("got the events %q, want both", got)
			}
			if got := awaitEvents(t, other, 0); len(got) != 0 {
				t.Errorf("who never used it was told %q", got)
			}
			got := awaitPushes(&pushed, 2)
			if want := []string{"api-version.deprecated", "api-version.retired"}; !slices.Equal(got, want) {
				t.Errorf("the webhook endpoint was told %q, want %q", got, want)
			}
		})
	}
}

// awaitPushes waits until a consumer was sent n webhooks, and returns their
// types.
func awaitPushes(pushed *sync.Map, n int) []string {
	var types []string
	for range 600 {
		types = nil
		pushed.Range(func(_, kind any) bool {
			types = append(types, kind.(string))
			return true
		})
		if len(types) >= n {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	slices.Sort(types)
	return types
}

// checkNotice reads the event and holds it against the schema's promise.
func checkNotice(t *testing.T, c caller) {
	t.Helper()
	events := c.call("GET", "/v1/events?type=api-version.deprecated", "").json()["data"].([]any)
	data := events[0].(map[string]any)["data"].(map[string]any)
	want := map[string]any{
		"name": "2025-11-01", "major": 0.0, "status": "deprecated", "released": "2025-11-01", "deprecated": "2026-11-01",
		"sunset": "2027-11-01", "successor": "2026-11-01", "guide": "https://api.example.com/versions/2025-11-01",
	}
	got, _ := json.Marshal(data)
	if wanted, _ := json.Marshal(want); !bytes.Equal(got, wanted) {
		t.Errorf("got %s, want %s", got, wanted)
	}
	schema := c.call("GET", "/v1/event-types/api-version.deprecated", "").json()["schema"].(map[string]any)
	for _, name := range schema["required"].([]any) {
		if _, ok := data[name.(string)]; !ok {
			t.Errorf("the schema requires %v, and %s has none", name, got)
		}
	}
}

// calendarOf writes a calendar file.
func calendarOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calendar.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFallForward serves the next version where a retired one falls forward,
// by carrier and by pin, and still knows who asks for the old one.
func TestFallForward(t *testing.T) {
	svc := start(t, "sqlite", func(cfg *parley.Config) {
		cfg.Now = func() time.Time { return time.Date(2027, 12, 1, 0, 0, 0, 0, time.UTC) }
		cfg.VersionCalendar = calendarOf(t, "versions:\n  - name: 2025-11-01\n    fall_forward: true\n")
	})
	id, client := pinned(t, svc, "old", "2025-11-01")
	client.call("POST", "/v1/tasks", `{"title":"One row"}`)
	for _, path := range []string{"/v0/tasks/1", "/api/v0/tasks/1", "/tasks/1?version=2025-11-01", "/tasks/1"} {
		got := client.call("GET", path, "")
		if got.status != 200 || got.header.Get("Api-Version") != "2026-11-01" || got.json()["title"] != "One row" || got.header.Get("Deprecation") != "" {
			t.Errorf("%s: got %s of %s, want the row in 2026-11-01", path, got, got.header.Get("Api-Version"))
		}
	}
	if got := client.call("GET", "/2024-11-01/tasks/1", ""); got.status != http.StatusGone {
		t.Errorf("a version that does not fall forward: got %s, want 410", got)
	}
	usage := caller{t, svc.URL, adminKey}.call("GET", "/v1/versions/2025-11-01/usage", "").json()["data"].([]any)
	if len(usage) != 1 || fmt.Sprint(usage[0].(map[string]any)["account_id"]) != id || usage[0].(map[string]any)["count"] != 4.0 {
		t.Errorf("got the usage %v, want the four requests of account %s", usage, id)
	}
}

// TestCalendars refuses a calendar that breaks its own promise and says which
// date is wrong; quarterly names work as well as dates.
func TestCalendars(t *testing.T) {
	for _, tt := range []struct{ why, text, want string }{
		{"public gives six months of notice", "versions: [{name: 2025-11-01, sunset: 2027-04-30}]", `"2025-11-01": sunset 2027-04-30 is too early (deprecated 2026-11-01): 6 months of notice from deprecated; the earliest right date is 2027-05-01`},
		{"quarterly overlaps for nine", "policy: quarterly\nversions: [{name: 2025-11-01, deprecated: 2027-01-01, sunset: 2027-07-31}]", `"2025-11-01": sunset 2027-07-31 is too early (deprecated 2027-01-01): 9 months of overlap with its successor; the earliest right date is 2027-08-01`},
		{"and announces three ahead", "policy: quarterly\nversions: [{name: 2025-11-01, deprecated: 2027-06-01, sunset: 2027-08-31}]", `"2025-11-01": sunset 2027-08-31 is too early (deprecated 2027-06-01): 3 months of notice from deprecated; the earliest right date is 2027-09-01`},
		{"guarantee lasts two years", "policy: guarantee\nversions: [{name: 2025-11-01, sunset: 2027-10-31}]", `"2025-11-01": sunset 2027-10-31 is too early (deprecated 2026-11-01): 2 years guaranteed from its release; the earliest right date is 2027-11-01`},
		{"the newest has nothing to move to", "versions: [{name: 2026-11-01, deprecated: 2027-11-01, sunset: 2028-11-01}]", `"2026-11-01": deprecated 2027-11-01 and has no successor`},
		{"a date that is none", "versions: [{name: 2025-11-01, sunset: 2027-02-30}]", `2025-11-01: "2027-02-30" is not a date`},
		{"a version that is none", "versions: [{name: 2023-11-01, sunset: 2027-11-01}]", `"2023-11-01": there is no such version`},
		{"a policy that is none", "policy: eternal", `unknown policy "eternal"`},
	} {
		_, err := parley.New(t.Context(), parley.Config{Data: t.TempDir(), VersionCalendar: calendarOf(t, tt.text)}, task.Resource, user.Resource)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.why, err, tt.want)
		}
	}
}

// TestQuarters runs a service whose versions are named by quarters.
func TestQuarters(t *testing.T) {
	day := func(s string) time.Time { return date(t, s) }
	calendar, err := version.NewCalendar(version.Quarterly,
		version.Version{Name: "2026-q1", Major: -1, Released: day("2026-01-01"), Deprecated: day("2026-10-01"), Sunset: day("2027-01-01")},
		version.Version{Name: "2026-q2", Major: -1, Released: day("2026-04-01"), Deprecated: day("2026-12-01"), Sunset: day("2027-04-01")},
		version.Version{Name: "2026-q3", Major: -1, Released: day("2026-07-01")})
	if err != nil {
		t.Fatal(err)
	}
	clock := &clock{frozen: true, day: day("2026-11-15")}
	svc := startWith(t, "sqlite", func(cfg *parley.Config) { cfg.Calendar, cfg.Now = calendar, clock.now }, user.Resource)
	c := caller{t, svc.URL, adminKey}
	for _, tt := range []struct {
		why, day, path, line string
		status               int
		served               string
		deprecated           bool
	}{
		{"a path segment names it", "2026-11-15", "/2026-q3/users", "", 200, "2026-q3", false},
		{"after /api, too", "2026-11-15", "/api/2026-q2/users", "", 200, "2026-q2", false},
		{"so does a header", "2026-11-15", "/users", "API-Version: 2026-q1", 200, "2026-q1", true},
		{"and the query", "2026-11-15", "/users?version=2026-q1", "", 200, "2026-q1", true},
		{"no carrier: the latest", "2026-11-15", "/users", "", 200, "2026-q3", false},
		{"a quarter that never was", "2026-11-15", "/2026-q4/users", "", 404, "2026-q3", false},
		{"in a header it is unknown", "2026-11-15", "/users", "API-Version: 2026-q4", 400, "2026-q3", false},
		{"two that disagree", "2026-11-15", "/2026-q3/users?version=2026-q2", "", 400, "2026-q3", false},
		{"its time is over", "2027-01-01", "/2026-q1/users", "", 410, "2026-q1", true},
		{"its successor's is not", "2027-01-01", "/2026-q2/users", "", 200, "2026-q2", true},
	} {
		clock.set(date(t, tt.day))
		lines := []string{"Accept: application/json"}
		if tt.line != "" {
			lines = append(lines, tt.line)
		}
		got := c.call("GET", tt.path, "", lines...)
		if got.status != tt.status || got.header.Get("Api-Version") != tt.served || (got.header.Get("Deprecation") != "") != tt.deprecated {
			t.Errorf("%s: %s: got %s of %s, Deprecation %q; want %d of %s", tt.why, tt.path, got, got.header.Get("Api-Version"), got.header.Get("Deprecation"), tt.status, tt.served)
		}
		if link := got.header.Get("Link"); tt.deprecated && !strings.Contains(link, "<https://api.example.com/2026-q") {
			t.Errorf("%s: got Link: %s, want one to the successor's path segment", tt.why, link)
		}
	}
}
