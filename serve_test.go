package parley_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parley-api/parley"
)

// TestServe has handlers stand before an App: what it says reaches the client
// where they let it, and no other way.
func TestServe(t *testing.T) {
	app := start(t, "sqlite", nil).App
	for _, tt := range []struct {
		why     string
		handler http.Handler
		status  int
		fields  bool
	}{
		{"the App alone", app, 200, true},
		{"one that keeps what is written", http.TimeoutHandler(app, 10*time.Second, ""), 200, true},
		{"one that wraps the writer", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			app.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
		}), 200, true},
		{"one that asks and answers something else", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			app.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusTeapot)
		}), 418, false},
		{"one that answers by itself", http.NotFoundHandler(), 404, false},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: tt.handler}
		go parley.Serve(s, l)
		for range 2 {
			resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get("X-Request-Id") != "" && resp.Header.Get("Vary") != ""; got != tt.fields || resp.StatusCode != tt.status {
				t.Errorf("%s: got status %d, %v", tt.why, resp.StatusCode, resp.Header)
			}
		}
		s.Close()
	}
}
