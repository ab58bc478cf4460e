package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func get(dst []byte, _ *rand.Rand) []byte {
	return append(dst, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"...)
}

func TestRunCounts(t *testing.T) {
	var asked atomic.Int64
	body := strings.Repeat("x", 40_000) // longer than a reader's first buffer
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Length", "40000")
		w.Write([]byte(body))
	}))
	defer s.Close()
	began, ended := false, false
	got, err := Run(context.Background(), s.Listener.Addr().String(), Plan{
		Conns: 3, Warm: 20 * time.Millisecond, Measure: 100 * time.Millisecond, Request: get,
		Begin: func() { began = true }, End: func() { ended = true },
	})
	if err != nil {
		t.Fatal(err)
	}
	if !began || !ended {
		t.Errorf("Begin called: %v, End called: %v; want both", began, ended)
	}
	if int64(got.All) != asked.Load() {
		t.Errorf("All = %d, the server counted %d", got.All, asked.Load())
	}
	if got.Requests == 0 || got.Requests > got.All || got.Elapsed < 100*time.Millisecond {
		t.Errorf("got %+v", got)
	}
	if got.P50 <= 0 || got.P50 > got.P99 || got.P99 > got.Max {
		t.Errorf("percentiles are not in order: %+v", got)
	}
}

func TestRunReadsChunks(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 5 {
			w.Write([]byte(strings.Repeat("x", 9_000)))
			w.(http.Flusher).Flush()
		}
	}))
	defer s.Close()
	got, err := Run(context.Background(), s.Listener.Addr().String(), Plan{Conns: 3, Measure: 100 * time.Millisecond, Request: get})
	if err != nil || got.Requests == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRunRefusesAnotherStatus(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, err := Run(context.Background(), s.Listener.Addr().String(), Plan{Conns: 2, Measure: time.Minute, Request: get})
	var e *StatusError
	if !errors.As(err, &e) || e.Status != 404 || e.Want != 200 {
		t.Errorf("got %v, want a StatusError of 404", err)
	}
}

func TestRunFailsWithoutServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	addr := s.Listener.Addr().String()
	s.Close()
	if _, err := Run(context.Background(), addr, Plan{Conns: 2, Measure: time.Minute, Request: get}); err == nil {
		t.Error("got no error")
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		why    string
		sorted []time.Duration
		n      int
		want   time.Duration
	}{
		{"one value is every percentile", []time.Duration{7}, 99, 7},
		{"half of a hundred", hundred, 50, 50},
		{"all but one of a hundred", hundred, 99, 99},
		{"the lower of two is the median", []time.Duration{1, 2}, 50, 1},
		{"the 99th of few is the largest", []time.Duration{1, 2, 3}, 99, 3},
	} {
		if got := percentile(c.sorted, c.n); got != c.want {
			t.Errorf("%s: got %d, want %d", c.why, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n")
	f.Add("HTTP/1.1 204 No Content\r\n")
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: \r\n")
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n")
	f.Add("HTTP/1.0 200 OK\r\n")
	f.Fuzz(func(t *testing.T, head string) {
		status, body, ok := parse([]byte(head + "\r\n"))
		if ok && (status < 0 || status > 999 || body < -1) {
			t.Errorf("status %d, body %d", status, body)
		}
	})
}
