package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parley-api/parley"
)

// An answer is what a server said to GET of the first task.
type answer struct {
	status int
	fields []string // their names
	body   string
}

func (c *contender) ask(ctx context.Context) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.ready.Addr+c.ready.Collection+"/"+fmt.Sprintf(c.ready.ID, 1), nil)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Accept", "application/json")
	if c.ready.Token != "" {
		r.Header.Set("Authorization", c.ready.Token)
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, slices.Sorted(maps.Keys(response.Header)), string(body)}, err
}

// compare sees to it that the in-memory handler does all that it is said to
// do: it must answer as the service does, field for field and byte for byte.
func (b *bench) compare(ctx context.Context) error {
	answers := make(map[string]answer)
	for _, c := range b.contenders {
		a, err := c.ask(ctx)
		if err != nil {
			return fmt.Errorf("asking %s: %w", c.name, err)
		}
		if a.status != http.StatusOK {
			return fmt.Errorf("%s answered %d: %s", c.name, a.status, a.body)
		}
		answers[c.name] = a
	}
	service, ok := answers["parley-memory"]
	byHand, also := answers["hand-memory"]
	if !ok || !also {
		return nil
	}
	if !slices.Equal(service.fields, byHand.fields) || service.body != byHand.body {
		return fmt.Errorf("hand-memory does not answer as the service does\nit:  %v\n     %s\nnot: %v\n     %s", byHand.fields, byHand.body, service.fields, service.body)
	}
	return nil
}

// A sink is a response that goes nowhere. It allocates nothing.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// allocations counts those of one GET inside the service: net/http's and those
// of a database's driver are not among them, as there is neither.
func allocations(ctx context.Context, dir string) (float64, error) {
	app, err := openApp(ctx, parley.Config{
		Data: dir, Database: filepath.Join(dir, "allocations.db"), Rows: rows(1000), Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		return 0, err
	}
	defer app.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/tasks/500", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "parley-bench")
	r.Header.Set("Authorization", "Bearer "+key)
	r.RequestURI, r.Host, r.RemoteAddr = "/tasks/500", "localhost", "127.0.0.1:1"
	w := &sink{header: make(http.Header)}
	n := testing.AllocsPerRun(20_000, func() {
		clear(w.header)
		app.ServeHTTP(w, r)
	})
	if w.status != http.StatusOK {
		return 0, fmt.Errorf("the service answered %d", w.status)
	}
	return n, nil
}
