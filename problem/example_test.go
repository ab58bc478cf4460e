package problem_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/parley-api/parley/problem"
)

// A handler returns what went wrong, and one place answers with it.
func Example() {
	tasks := map[string]string{"1": "buy milk"}
	handler := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		task, ok := tasks[r.URL.Path[len("/tasks/"):]]
		if !ok {
			return problem.NotFound.New("There is no such task.")
		}
		_, err := fmt.Fprintln(w, task)
		return err
	})

	for _, path := range []string{"/tasks/1", "/tasks/2"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
		fmt.Println(w.Body)
	}
	// Output:
	// 200 text/plain; charset=utf-8
	// buy milk
	//
	// 404 application/problem+json
	// {"type":"/problems/not-found","title":"Not found","status":404,"detail":"There is no such task.","instance":"/tasks/2"}
}

// A problem is an error: it can be wrapped, and be recognised by its kind.
func ExampleProblem_Is() {
	err := fmt.Errorf("completing the task: %w", problem.Conflict.New("It is done already."))
	fmt.Println(errors.Is(err, problem.Conflict.New("")), errors.Is(err, problem.NotFound.New("")))
	// Output: true false
}

// A version of an API that had another error body keeps it.
func ExampleWriteShape() {
	w := httptest.NewRecorder()
	err := problem.RateLimited.New("The quota is used up.")
	err.RetryAfter = 30
	problem.WriteShape(w, httptest.NewRequest("GET", "/tasks", nil), err, func(p *problem.Problem) (string, []byte) {
		return "application/json", fmt.Appendf(nil, `{"error":%q}`, p.Detail)
	})
	fmt.Println(w.Code, w.Header().Get("Retry-After"), w.Body)
	// Output: 429 30 {"error":"The quota is used up."}
}
