package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-api/parley/console"
	"github.com/parley-api/parley/problem"
)

// A service that has a page for each of its problems. The pages never change,
// so they are made once.
func Example() {
	pages := make(map[string]console.Page)
	for _, k := range problem.Kinds() {
		pages[k.Type()] = console.Problem(k)
	}
	handler := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		page, ok := pages[r.URL.Path]
		if !ok {
			return problem.NotFound.New("There is nothing at this path.")
		}
		w.Header().Set("Content-Type", console.ContentType)
		w.Header().Set("Content-Security-Policy", page.CSP)
		w.Write(page.HTML)
		return nil
	})

	for _, path := range []string{"/problems/not-found", "/problems/never-heard-of"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		policy, _, _ := strings.Cut(w.Header().Get("Content-Security-Policy"), ";")
		fmt.Println(w.Code, w.Header().Get("Content-Type"), policy)
	}
	// Output:
	// 200 text/html; charset=utf-8 default-src 'none'
	// 404 application/problem+json
}

// The reference answers at /docs and below.
func ExampleDocs() {
	mux := http.NewServeMux()
	docs := console.Docs("Notes", "/openapi")
	mux.Handle("/docs", docs)
	mux.Handle("/docs/", docs)

	for _, path := range []string{"/docs", "/docs/no-such-file"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"))
	}
	// Output:
	// 200 text/html; charset=utf-8 no-cache
	// 404 application/problem+json no-store
}
