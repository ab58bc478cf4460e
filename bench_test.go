package parley_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/store"
)

// A sink is a response that goes nowhere.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// served starts a service with ten thousand tasks, as parley serve runs: with a
// quota that does not bite and a log that nobody keeps.
func served(b *testing.B, engine string) *service {
	b.Helper()
	svc := start(b, engine, func(cfg *parley.Config) {
		cfg.RateLimit = "60000000/1m"
		cfg.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	})
	for range 10 {
		tx := &store.Tx{Account: 1}
		for i := range 1000 {
			tx.Writes = append(tx.Writes, task.Resource.Record(&task.Task{Title: fmt.Sprint("Call the supplier about order ", i*7919), Status: task.Pending}))
		}
		if _, err := svc.Store().Commit(b.Context(), tx); err != nil {
			b.Fatal(err)
		}
	}
	return svc
}

// benchServe measures a request inside the service, net/http left out. Several
// ask at once, as clients do.
func benchServe(b *testing.B, method string, target func(*rand.Rand) string, body string, status int) {
	for _, engine := range engines {
		b.Run(engine, func(b *testing.B) {
			svc := served(b, engine)
			b.ReportAllocs()
			b.SetParallelism(16)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				random := rand.New(rand.NewPCG(1, rand.Uint64()))
				w, text := &sink{header: make(http.Header)}, strings.NewReader(body)
				r, err := http.NewRequest(method, "/tasks", io.NopCloser(text))
				if err != nil {
					b.Error(err)
					return
				}
				r.Header = http.Header{"Accept": {"application/json"}, "User-Agent": {"bench"}, "Authorization": {"Bearer " + adminKey}}
				if body != "" {
					r.Header["Content-Type"] = []string{"application/json"}
				}
				r.ContentLength, r.RemoteAddr, r.Host = int64(len(body)), "127.0.0.1:1", "localhost"
				for pb.Next() {
					r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target(random), "?")
					r.RequestURI = r.URL.Path
					text.Reset(body)
					clear(w.header)
					if svc.ServeHTTP(w, r); w.status != status {
						b.Errorf("got %d, want %d", w.status, status)
						return
					}
				}
			})
		})
	}
}

func BenchmarkGet(b *testing.B) {
	benchServe(b, "GET", func(random *rand.Rand) string { return fmt.Sprint("/tasks/", 1+random.IntN(10_000)) }, "", 200)
}

func BenchmarkList(b *testing.B) {
	benchServe(b, "GET", func(*rand.Rand) string { return "/tasks?limit=20" }, "", 200)
}

func BenchmarkPost(b *testing.B) {
	benchServe(b, "POST", func(*rand.Rand) string { return "/tasks" }, `{"title":"Call the supplier about order 7919"}`, 201)
}

// A pipe is a sink that the kernel could copy to.
type pipe struct{ sink }

func (p *pipe) ReadFrom(r io.Reader) (int64, error) { return r.(*io.LimitedReader).N, nil }

// BenchmarkRange is one range of 64 KiB of a file inside the service, without
// the bytes.
func BenchmarkRange(b *testing.B) {
	for _, engine := range engines {
		b.Run(engine, func(b *testing.B) {
			svc := served(b, engine)
			server := &http.Server{WriteTimeout: time.Minute}
			request := func(method, path string, body io.Reader) *http.Request {
				ctx := context.WithValue(b.Context(), http.ServerContextKey, server)
				r, err := http.NewRequestWithContext(ctx, method, path, body)
				if err != nil {
					b.Fatal(err)
				}
				r.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Range": {"bytes=100000-165535"}}
				return r
			}
			w := &pipe{sink{header: make(http.Header)}}
			if svc.ServeHTTP(w, request("POST", "/files", strings.NewReader(strings.Repeat("x", 1<<20)))); w.status != 201 {
				b.Fatalf("got %d, want 201", w.status)
			}
			r := request("GET", w.header.Get("Location"), nil)
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				if svc.ServeHTTP(w, r); w.status != 206 {
					b.Fatalf("got %d, want 206", w.status)
				}
			}
		})
	}
}
