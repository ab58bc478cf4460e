package route_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/route"
)

// A server whose every answer, 404, 405 and OPTIONS included, is its own.
func Example() {
	type handler func(w http.ResponseWriter, args route.Args) error
	var table route.Table[handler]
	table.Add("GET", "/tasks/{id}", func(w http.ResponseWriter, args route.Args) error {
		_, err := io.WriteString(w, "task "+args[0])
		return err
	})
	table.Add("POST", "/tasks/{id}/complete", func(w http.ResponseWriter, args route.Args) error {
		_, err := io.WriteString(w, "completed "+args[0])
		return err
	})

	server := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		match, err := table.Match(r.Method, r.URL.Path)
		if err != nil {
			return err
		}
		if match.Options {
			w.Header().Set("Allow", match.Allow)
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return match.Value(w, match.Args)
	})

	for _, request := range [][2]string{
		{"GET", "/tasks/7"}, {"POST", "/tasks/7/complete"}, {"OPTIONS", "/tasks/7"}, {"PUT", "/tasks/7"}, {"GET", "/tasks/7/"},
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(request[0], request[1], nil))
		fmt.Printf("%s %s: %d, Allow %q\n", request[0], request[1], w.Code, w.Header().Get("Allow"))
	}
	// Output:
	// GET /tasks/7: 200, Allow ""
	// POST /tasks/7/complete: 200, Allow ""
	// OPTIONS /tasks/7: 204, Allow "GET, HEAD, OPTIONS"
	// PUT /tasks/7: 405, Allow "GET, HEAD, OPTIONS"
	// GET /tasks/7/: 404, Allow ""
}
