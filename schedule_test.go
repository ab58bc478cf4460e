package parley_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
)

// A failing consumer answers 500 and keeps what it got.
type failing struct {
	mu  sync.Mutex
	got []string // webhook-id and body
}

func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.got = append(f.got, r.Header.Get("webhook-id")+" "+string(body))
	f.mu.Unlock()
	w.WriteHeader(http.StatusInternalServerError)
}

func (f *failing) attempts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.got...)
}

// TestScheduleOverKills makes the five attempts of the spec at their true times,
// by a clock that the test steers, and kills the service between any two.
func TestScheduleOverKills(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			scheduleOverKills(t, engine)
		})
	}
}

func scheduleOverKills(t *testing.T, engine string) {
	consumer := new(failing)
	to := httptest.NewServer(consumer)
	defer to.Close()
	var now atomic.Int64
	now.Store(time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC).UnixMicro())
	cfg := parley.Config{
		Data: t.TempDir(), AdminKey: adminKey, RateLimit: "off", Log: slog.New(slog.DiscardHandler), InsecureWebhooks: true,
		Now: func() time.Time { return time.UnixMicro(now.Load()) },
	}
	if engine == "postgres" {
		cfg.Database = database(t)
	}
	var app *parley.App
	begin := func() {
		var err error
		if app, err = parley.New(t.Context(), cfg, task.Resource, user.Resource); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	defer func() { app.Crash() }()
	ask := func(method, path, body string) string {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+adminKey)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		app.ServeHTTP(w, r)
		return w.Body.String()
	}
	ask("POST", "/webhook-endpoints", fmt.Sprintf(`{"url":%q}`, to.URL))
	ask("POST", "/tasks", `{"title":"to be told five times"}`)
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not within 20 s; deliveries: %s", what, ask("GET", "/deliveries", ""))
			}
		}
	}
	settled := func(n int) bool {
		var list struct {
			Data []struct{ Attempts []any }
		}
		return json.Unmarshal([]byte(ask("GET", "/deliveries", "")), &list) == nil && len(list.Data) == 1 && len(list.Data[0].Attempts) == n
	}
	until("attempt 1", func() bool { return settled(1) })
	for i, delay := range []time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 24 * time.Hour} {
		n := i + 2
		app.Crash()
		now.Add((delay - time.Second).Microseconds())
		begin()
		time.Sleep(1500 * time.Millisecond) // a sweep and a half
		if got := len(consumer.attempts()); got != n-1 {
			t.Fatalf("%v after a failure, less a second, there were %d attempts, want %d: never earlier", delay, got, n-1)
		}
		now.Add((time.Second + delay/10).Microseconds())
		until(fmt.Sprintf("attempt %d, within a tenth of %v", n, delay), func() bool { return settled(n) })
	}
	got := consumer.attempts()
	for i, a := range got {
		if a != got[0] {
			t.Errorf("attempt %d was %s, want the same as the first: %s", i+1, a, got[0])
		}
	}
	if letters := ask("GET", "/dead-letters", ""); !strings.Contains(letters, `"reason":"failed 5 times, the last: answered 500"`) {
		t.Errorf("after the fifth attempt: dead letters are %s", letters)
	}
	app.Crash()
	now.Add((72 * time.Hour).Microseconds())
	begin()
	time.Sleep(1500 * time.Millisecond)
	if got := len(consumer.attempts()); got != 5 {
		t.Errorf("there were %d attempts, want 5 and none after the dead letter", got)
	}
}
