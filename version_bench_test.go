package parley_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
	"github.com/parley-api/parley/version"
)

// A bench is a service with rows in it, asked without a socket.
type bench struct {
	app   *parley.App
	write *sink
}

// lone is a calendar with the latest version only, and its task, which has no
// past.
func lone(b *testing.B) (*version.Calendar, *resource.Definition) {
	c, err := version.NewCalendar("", version.Version{Name: "2026-11-01", Major: 1, Released: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		b.Fatal(err)
	}
	return c, resource.Define("task", "tasks", resource.Rules[task.Task]{
		About: "Something to do.",
		States: resource.States{
			Field: "status", Initial: task.Pending, Moves: map[string][]string{
				task.Pending: {task.InProgress, task.Done}, task.InProgress: {task.Done, task.Pending}, task.Done: {task.InProgress},
			},
			Enter: map[string]string{task.Done: "completed"},
		},
		Actions: resource.Actions{"complete": {To: task.Done, About: "Complete a task"}},
		Filters: []string{"status", "assignee_id"},
		Links:   resource.Links{"owner": resource.Ref("assignee_id")},
	})
}

func openBench(b *testing.B, calendar *version.Calendar, tasks *resource.Definition) *bench {
	app, err := parley.New(b.Context(), parley.Config{
		Data: b.TempDir(), AdminKey: adminKey, BaseURL: "https://api.example.com", RateLimit: "off",
		Calendar: calendar, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return today },
	}, tasks, user.Resource)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { app.Close() })
	x := &bench{app, &sink{header: make(http.Header)}}
	x.ask(b, x.request("POST", "/users", `{"name":"Ada","email":"ada@example.com"}`), 201)
	for i := range 100 {
		x.ask(b, x.request("POST", "/tasks", fmt.Sprintf(`{"title":"Read chapter %d of the contract","assignee_id":1}`, i)), 201)
	}
	return x
}

func (x *bench) request(method, target, body string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+adminKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (x *bench) ask(b *testing.B, r *http.Request, want int) {
	clear(x.write.header)
	x.app.ServeHTTP(x.write, r)
	if x.write.status != want {
		b.Fatalf("%s %s: got %d, want %d", r.Method, r.URL, x.write.status, want)
	}
}

// BenchmarkVersions shows that the latest version pays nothing for the older
// ones, in time and in allocations, and what a client of an older one pays:
// alone is a service that never had another version. In ratio the three take
// turns, so that a busy machine is busy for all of them; its metrics compare
// the medians, and more is better.
func BenchmarkVersions(b *testing.B) {
	single, tasks := lone(b)
	alone, full := openBench(b, single, tasks), openBench(b, nil, task.Resource)
	for _, tt := range []struct{ name, path string }{
		{"get", "/tasks/7"}, {"list", "/tasks"}, {"list100", "/tasks?limit=100"},
	} {
		sides := []struct {
			name string
			*bench
			r *http.Request
		}{
			{"alone", alone, alone.request("GET", "/v1"+tt.path, "")},
			{"latest", full, full.request("GET", "/v1"+tt.path, "")},
			{"older", full, full.request("GET", "/v0"+tt.path, "")},
		}
		for _, s := range sides {
			b.Run(tt.name+"/"+s.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.ask(b, s.r, 200)
				}
			})
		}
		b.Run(tt.name+"/ratio", func(b *testing.B) {
			var took [3][]time.Duration
			for b.Loop() {
				for i, s := range sides {
					begin := time.Now()
					s.ask(b, s.r, 200)
					took[i] = append(took[i], time.Since(begin))
				}
			}
			var median [3]float64
			for i, list := range took {
				slices.Sort(list)
				median[i] = float64(list[len(list)/2])
			}
			b.ReportMetric(median[0]/median[1], "latest/alone")
			b.ReportMetric(median[1]/median[2], "older/latest")
		})
	}
}
