package parley_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley"
)

// TestRotateCursors changes the key of cursors under a running service: a
// cursor from before stays good, a new one is sealed with the new key, and a
// second node that has not looked yet opens it too.
func TestRotateCursors(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			var late atomic.Int64 // seconds that the clock is ahead
			var cfg parley.Config
			s := start(t, engine, func(c *parley.Config) {
				c.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load()) * time.Second) }
				cfg = *c
			})
			for i := range 5 {
				request(t, http.MethodPost, s.URL+"/tasks", fmt.Sprintf(`{"title":"%d"}`, i), http.StatusCreated)
			}
			old := nextCursor(t, s.URL+"/tasks?limit=1")
			number, err := parley.RotateCursors(t.Context(), cfg)
			if err != nil || number != 2 {
				t.Fatalf("got key %d, %v; want key 2", number, err)
			}
			nextCursor(t, s.URL+"/tasks?limit=1&cursor="+old)
			late.Add(61) // when it next looks
			fresh := nextCursor(t, s.URL+"/tasks?limit=1")
			if fresh[:2] == old[:2] {
				t.Errorf("the new cursor begins with %s as the old one: sealed with the same key", fresh[:2])
			}
			nextCursor(t, s.URL+"/tasks?limit=1&cursor="+old)
			nextCursor(t, s.URL+"/tasks?limit=1&cursor="+fresh)
			if engine == "postgres" {
				other := start(t, engine, func(c *parley.Config) { *c = cfg })
				third, err := parley.RotateCursors(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				late.Add(61)
				fresh = nextCursor(t, s.URL+"/tasks?limit=1")
				late.Add(2) // a node asks the database about unknown keys once a second at most
				if got := nextCursor(t, other.URL+"/tasks?limit=1&cursor="+fresh); got == "" {
					t.Errorf("the other node does not open a cursor of key %d", third)
				}
			}
		})
	}
	_, err := parley.RotateCursors(t.Context(), parley.Config{Data: filepath.Join(t.TempDir(), "nothing")})
	if err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("got %v for a folder without a database", err)
	}
}

// nextCursor reads a page and returns its next_cursor.
func nextCursor(t *testing.T, url string) string {
	t.Helper()
	var page struct {
		Pagination struct {
			Next string `json:"next_cursor"`
		}
	}
	if err := json.Unmarshal(request(t, http.MethodGet, url, "", http.StatusOK), &page); err != nil {
		t.Fatal(err)
	}
	return page.Pagination.Next
}

// request sends one request as the administrator and returns the body of the
// answer, whose status must be want.
func request(t *testing.T, method, url, body string, want int) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: got %d %s, %v; want %d", method, url, resp.StatusCode, got, err, want)
	}
	return got
}
