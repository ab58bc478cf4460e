package precond_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/parley-api/parley/precond"
	"github.com/parley-api/parley/problem"
)

func ExampleCheck() {
	etag := precond.ETag("7-2026-11-01-json") // revision, version, format
	task := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		result, err := precond.Check(r, etag, time.Time{})
		if err != nil {
			return err
		}
		w.Header().Set("ETag", etag)
		w.Header().Set("Cache-Control", "private, no-cache")
		if result == precond.NotModified {
			precond.WriteNotModified(w)
			return nil
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":1}`)
		return nil
	})

	for _, c := range []struct{ method, name, value string }{
		{"GET", "If-None-Match", `"6-2026-11-01-json"`},
		{"GET", "If-None-Match", etag},
		{"PATCH", "If-Match", `"6-2026-11-01-json"`},
		{"PATCH", "If-Match", "6"},
	} {
		r := httptest.NewRequest(c.method, "/tasks/1", nil)
		r.Header.Set(c.name, c.value)
		w := httptest.NewRecorder()
		task.ServeHTTP(w, r)
		fmt.Println(c.method, c.name, c.value, "→", w.Code)
	}
	// Output:
	// GET If-None-Match "6-2026-11-01-json" → 200
	// GET If-None-Match "7-2026-11-01-json" → 304
	// PATCH If-Match "6-2026-11-01-json" → 412
	// PATCH If-Match 6 → 400
}

func ExampleRange() {
	modified := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	r := httptest.NewRequest("GET", "/largefile", nil)
	r.Header.Set("Range", "bytes=0-99")

	r.Header.Set("If-Range", `"old"`)
	fmt.Println(precond.Range(r, precond.ETag("new"), modified))
	r.Header.Set("If-Range", "Sun, 01 Nov 2026 12:00:00 GMT")
	fmt.Println(precond.Range(r, precond.ETag("new"), modified))
	// Output:
	// false
	// true
}
