package idempotency_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-api/parley/idempotency"
)

// A handler that charges someone, made safe to repeat.
func ExampleHandler() {
	charges := 0
	charge := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		charges++
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "charge %d", charges)
	})
	account := func(r *http.Request) string { user, _, _ := r.BasicAuth(); return user }
	h := idempotency.Handler(idempotency.NewMemory(nil), account, charge)

	for _, body := range []string{"10 EUR", "10 EUR", "99 EUR"} {
		r := httptest.NewRequest("POST", "/charges", strings.NewReader(body))
		r.Header.Set(idempotency.Header, "order-17")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Printf("%d replayed=%q\n", w.Code, w.Header().Get(idempotency.Replayed))
	}
	fmt.Println("charged", charges, "time")
	// Output:
	// 201 replayed=""
	// 201 replayed="true"
	// 422 replayed=""
	// charged 1 time
}

// A service that stores the record with its write uses the parts.
func ExampleCheck() {
	var flights idempotency.Flights
	var stored *idempotency.Record // a row, written in the transaction of the work

	create := func(w http.ResponseWriter, r *http.Request) error {
		key, err := idempotency.Key(r)
		if err != nil {
			return err
		}
		body, _ := io.ReadAll(r.Body)
		print := idempotency.Fingerprint(r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)
		leave, ok := flights.Enter("account", key)
		defer leave()
		answer, err := idempotency.Check(stored, print)
		switch {
		case err != nil:
			return err
		case answer != nil:
			answer.Write(w)
			return nil
		case !ok:
			return idempotency.InUse()
		}
		first := &idempotency.Answer{Status: 201, Header: []idempotency.Field{{Name: "Location", Value: "/tasks/1"}}}
		stored = &idempotency.Record{Scope: "account", Key: key, Print: print, Answer: first}
		w.Header().Set("Location", "/tasks/1")
		w.WriteHeader(201)
		return nil
	}

	for range 2 {
		r := httptest.NewRequest("POST", "/tasks", strings.NewReader("{}"))
		r.Header.Set(idempotency.Header, `"a1b2"`)
		w := httptest.NewRecorder()
		err := create(w, r)
		fmt.Println(w.Code, w.Header().Get("Location"), w.Header().Get(idempotency.Replayed), err)
	}
	// Output:
	// 201 /tasks/1  <nil>
	// 201 /tasks/1 true <nil>
}

// A key that is shown once and never stored.
func ExampleConceal() {
	h := idempotency.Handler(new(idempotency.Memory), func(*http.Request) string { return "" },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			idempotency.Conceal(w, []byte(`{"id":1}`))
			io.WriteString(w, `{"id":1,"key":"pk_5f2a"}`)
		}))
	for range 2 {
		r := httptest.NewRequest("POST", "/api-keys", nil)
		r.Header.Set(idempotency.Header, "k")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Body)
	}
	// Output:
	// {"id":1,"key":"pk_5f2a"}
	// {"id":1}
}
