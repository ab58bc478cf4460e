package dispatch_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// TestOutcome is the outcome table: what each answer means.
func TestOutcome(t *testing.T) {
	tests := []struct {
		why     string
		from    int
		to      int
		want    event.State
		disable bool
	}{
		{"2xx is delivered", 200, 206, event.Delivered, false},
		{"2xx is delivered, known or not", 299, 299, event.Delivered, false},
		{"a redirect is not followed, and final", 300, 308, event.Dead, false},
		{"the consumer does not want it", 400, 407, event.Dead, false},
		{"the consumer was too slow to read", 408, 408, event.Retrying, false},
		{"a conflict passes", 409, 409, event.Retrying, false},
		{"gone for good", 410, 410, event.Dead, true},
		{"the consumer does not want it", 411, 424, event.Dead, false},
		{"too early passes", 425, 425, event.Retrying, false},
		{"the consumer does not want it", 426, 428, event.Dead, false},
		{"too many requests pass", 429, 429, event.Retrying, false},
		{"the consumer does not want it", 430, 430, event.Dead, false},
		{"the consumer does not want it", 451, 451, event.Dead, false},
		{"the last 4xx", 499, 499, event.Dead, false},
		{"the consumer is broken", 500, 511, event.Retrying, false},
		{"the last 5xx", 599, 599, event.Retrying, false},
		{"no status of HTTP", 600, 600, event.Retrying, false},
		{"no status of HTTP", 999, 999, event.Retrying, false},
	}
	for _, test := range tests {
		for code := test.from; code <= test.to; code++ {
			c := &consumer{answers: []func(http.ResponseWriter){status(code, "Location", "http://elsewhere.example/")}}
			simulate(t, c, dispatch.Options{}, func(r *rig) {
				r.commit(1, 1)
				time.Sleep(time.Second)
				row, _ := r.table.Row(1, 1)
				if row.State != test.want || len(row.Attempts) != 1 || len(c.arrivals()) != 1 {
					t.Fatalf("%d: %s: got %v after %d attempts and %d arrivals, want %v after 1", code, test.why, row.State, len(row.Attempts), len(c.arrivals()), test.want)
				}
				if a := row.Attempts[0]; a.Status != code || a.Error != "" || a.Number != 1 {
					t.Errorf("%d: got attempt %+v", code, a)
				}
				if got := row.Disable != ""; got != test.disable {
					t.Errorf("%d: got disable %q", code, row.Disable)
				}
				if want := fmt.Sprint("answered ", code); test.want == event.Dead && row.Reason != want {
					t.Errorf("%d: got reason %q, want %q", code, row.Reason, want)
				}
			})
		}
	}
}

// TestSilence shows that no answer in time is a failure, and that the timeout
// covers the body.
func TestSilence(t *testing.T) {
	tests := []struct {
		why    string
		answer func(http.ResponseWriter)
		want   event.State
		status int
	}{
		{"answers just in time", func(w http.ResponseWriter) { time.Sleep(14 * time.Second) }, event.Delivered, 200},
		{"answers too late", func(w http.ResponseWriter) { time.Sleep(16 * time.Second) }, event.Retrying, 0},
		{"the body ends too late", func(w http.ResponseWriter) {
			w.WriteHeader(200)
			for range 20 {
				w.Write([]byte("."))
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, event.Retrying, 200},
		{"the body ends in time", func(w http.ResponseWriter) {
			w.WriteHeader(200)
			for range 10 {
				w.Write([]byte("."))
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, event.Delivered, 200},
		{"the connection breaks", func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, event.Retrying, 0},
	}
	for _, test := range tests {
		c := &consumer{answers: []func(http.ResponseWriter){test.answer}}
		simulate(t, c, dispatch.Options{}, func(r *rig) {
			r.commit(1, 1)
			time.Sleep(30 * time.Second)
			row, _ := r.table.Row(1, 1)
			if row.State != test.want || len(row.Attempts) != 1 || row.Attempts[0].Status != test.status {
				t.Fatalf("%s: got %v %+v, want %v", test.why, row.State, row.Attempts, test.want)
			}
			if a := row.Attempts[0]; (a.Error != "") != (test.want == event.Retrying) || a.Duration > 15_000_100 {
				t.Errorf("%s: got attempt %+v", test.why, a)
			}
		})
	}
}

// TestRetryAfter shows how a consumer puts the next attempt off.
func TestRetryAfter(t *testing.T) {
	date := func(ahead time.Duration) string { // the bubble's time is known
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(ahead).Format(http.TimeFormat)
	}
	tests := []struct {
		why, field string
		code       int
		age        time.Duration // of the delivery
		from, to   time.Duration
	}{
		{"none: the schedule", "", 503, 0, 5 * time.Minute, 330 * time.Second},
		{"sooner than the schedule changes nothing", "10", 503, 0, 5 * time.Minute, 330 * time.Second},
		{"later in seconds", "1000", 503, 0, 1000 * time.Second, 1001 * time.Second},
		{"of a 429", "1000", 429, 0, 1000 * time.Second, 1001 * time.Second},
		{"of a 409", "1000", 409, 0, 1000 * time.Second, 1001 * time.Second},
		{"later as a date", date(time.Hour), 503, 0, time.Hour - 2*time.Second, time.Hour + time.Second},
		{"a date that is past", date(-time.Hour), 503, 0, 5 * time.Minute, 330 * time.Second},
		{"more than a day is a day", "1000000", 503, 0, 24 * time.Hour, 24*time.Hour + time.Second},
		{"more than an integer is a day", "99999999999999999999999", 503, 0, 24 * time.Hour, 24*time.Hour + time.Second},
		{"a far date is a day", date(9999 * time.Hour), 503, 0, 24 * time.Hour, 24*time.Hour + time.Second},
		{"not past 72 hours after the event", "86400", 503, 71 * time.Hour, time.Hour - time.Second, time.Hour + time.Second},
		{"72 hours are over: the schedule", "86400", 503, 80 * time.Hour, 5 * time.Minute, 330 * time.Second},
		{"negative", "-5", 503, 0, 5 * time.Minute, 330 * time.Second},
		{"a fraction", "1e9", 503, 0, 5 * time.Minute, 330 * time.Second},
		{"no number", "soon", 503, 0, 5 * time.Minute, 330 * time.Second},
	}
	for _, test := range tests {
		c := &consumer{answers: []func(http.ResponseWriter){status(test.code, "Retry-After", test.field), status(200)}}
		simulate(t, c, dispatch.Options{}, func(r *rig) {
			now := time.Now().UnixMicro()
			r.table.Insert(event.Delivery{Seq: 1, Endpoint: 1, Account: 1, Born: now - test.age.Microseconds(), Due: now})
			r.d.Wake(1)
			time.Sleep(test.to + 2*time.Second)
			seen := c.arrivals()
			if len(seen) != 2 {
				t.Fatalf("%s: got %d arrivals, want 2", test.why, len(seen))
			}
			if got := seen[1].at.Sub(seen[0].at); got < test.from || got > test.to {
				t.Errorf("%s: got %v between them, want %v to %v", test.why, got, test.from, test.to)
			}
		})
	}
}

// TestRateLimited shows that a 429 with Retry-After silences the whole lane
// and burns no attempts of the deliveries that wait.
func TestRateLimited(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(429, "Retry-After", "60"), status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		for seq := range int64(20) {
			r.commit(seq+1, 1)
		}
		time.Sleep(30 * time.Second)
		r.commit(21, 1)
		time.Sleep(29 * time.Second)
		if got := len(c.arrivals()); got != 1 {
			t.Errorf("got %d arrivals in the silence, want the one that began it", got)
		}
		reasons := 0
		for seq := range int64(20) {
			if row, _ := r.table.Row(seq+1, 1); strings.HasPrefix(row.Reason, "rate limited until 2") {
				reasons++
			}
		}
		if reasons == 0 {
			t.Error("no delivery says why it waits")
		}
		time.Sleep(10 * time.Second)
		for seq := range int64(20) {
			if row, _ := r.table.Row(seq+2, 1); row.State != event.Delivered || row.Tries != 1 {
				t.Errorf("delivery %d: got %v after %d tries, want delivered after 1", seq+2, row.State, row.Tries)
			}
		}
	})
}

// TestEndpoint shows what endpoints that cannot be sent to mean.
func TestEndpoint(t *testing.T) {
	day := 24 * time.Hour
	tests := []struct {
		why     string
		change  func(e *dispatch.Endpoint)
		code    int
		want    event.State
		parked  bool
		tries   int
		reason  string
		disable bool
	}{
		{"it was deleted", func(e *dispatch.Endpoint) { e.ID = 99 }, 200, event.Dead, false, 0, "the endpoint was deleted", false},
		{"it is disabled", func(e *dispatch.Endpoint) { e.Enabled = false }, 200, event.Pending, true, 0, "endpoint disabled", false},
		{"its URL is refused by now", func(e *dispatch.Endpoint) { e.URL = "ftp://consumer.example" }, 200, event.Dead, false, 1, "the endpoint's URL is refused: it must begin with https://", false},
		{"it has failed for five days", func(e *dispatch.Endpoint) { e.FailingSince = time.Now().Add(-5 * day).UnixMicro() }, 500, event.Retrying, false, 1, "", true},
		{"it has failed for nearly five days", func(e *dispatch.Endpoint) { e.FailingSince = time.Now().Add(-5*day + time.Minute).UnixMicro() }, 500, event.Retrying, false, 1, "", false},
		{"it failed for five days and has recovered", func(e *dispatch.Endpoint) { e.FailingSince = time.Now().Add(-6 * day).UnixMicro() }, 200, event.Delivered, false, 1, "", false},
		{"it refuses for five days", func(e *dispatch.Endpoint) { e.FailingSince = time.Now().Add(-6 * day).UnixMicro() }, 404, event.Dead, false, 1, "answered 404", true},
	}
	for _, test := range tests {
		c := &consumer{answers: []func(http.ResponseWriter){status(test.code)}}
		simulate(t, c, dispatch.Options{}, func(r *rig) {
			e := dispatch.Endpoint{ID: 1, URL: "http://consumer.example/hook", Enabled: true}
			test.change(&e)
			delete(r.book.endpoints, 1)
			r.book.set(e)
			r.commit(1, 1)
			time.Sleep(3 * time.Second)
			row, _ := r.table.Row(1, 1)
			if row.State != test.want || row.Tries != test.tries || row.Reason != test.reason || (row.Due == event.Parked) != test.parked || (row.Disable != "") != test.disable {
				t.Errorf("%s: got %+v", test.why, row)
			}
		})
	}
}

// TestSource shows that a failure of our own burns no attempt.
func TestSource(t *testing.T) {
	tests := []struct {
		why string
		set func(b *book, err error)
	}{
		{"the endpoint cannot be read", func(b *book, err error) { b.fail = err }},
		{"the event cannot be read", func(b *book, err error) { b.bodies = err }},
	}
	for _, test := range tests {
		c := &consumer{answers: []func(http.ResponseWriter){status(200)}}
		simulate(t, c, dispatch.Options{}, func(r *rig) {
			set := func(err error) {
				r.book.mu.Lock()
				defer r.book.mu.Unlock()
				test.set(r.book, err)
			}
			set(errors.New("the database is away"))
			r.commit(1, 1)
			time.Sleep(time.Minute)
			if row, _ := r.table.Row(1, 1); row.State != event.Pending || row.Tries != 0 {
				t.Errorf("%s: got %v after %d tries, want pending after none", test.why, row.State, row.Tries)
			}
			set(nil)
			time.Sleep(3 * time.Second)
			if row, _ := r.table.Row(1, 1); row.State != event.Delivered || row.Tries != 1 {
				t.Errorf("%s: got %v after %d tries, want delivered after 1", test.why, row.State, row.Tries)
			}
			set(dispatch.ErrGone)
			r.commit(2, 1)
			time.Sleep(3 * time.Second)
			if row, _ := r.table.Row(2, 1); row.State != event.Dead || row.Tries != 0 || row.Reason == "" {
				t.Errorf("%s: got %v for %q, want dead", test.why, row.State, row.Reason)
			}
		})
	}
}

// TestEnabledAgain shows that what was parked is sent once the table makes it
// due and the dispatcher is woken.
func TestEnabledAgain(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		e := dispatch.Endpoint{ID: 1, URL: "http://consumer.example/hook"}
		r.book.set(e)
		for seq := range int64(50) {
			r.commit(seq+1, 1)
		}
		time.Sleep(time.Hour)
		if got := len(c.arrivals()); got != 0 {
			t.Errorf("got %d arrivals while it was disabled", got)
		}
		e.Enabled = true
		r.book.set(e)
		for seq := range int64(50) {
			row, _ := r.table.Row(seq+1, 1)
			if row.Due != event.Parked || row.Tries != 0 {
				t.Errorf("delivery %d: got due %d after %d tries, want parked", seq+1, row.Due, row.Tries)
			}
			row.Due = time.Now().UnixMicro()
			r.table.Insert(row.Delivery)
		}
		r.d.Wake(1)
		time.Sleep(time.Second)
		if got := len(c.arrivals()); got != 50 {
			t.Errorf("got %d arrivals, want 50", got)
		}
	})
}

// TestFirstDelay shows that a schedule that does not begin at once is kept.
func TestFirstDelay(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(500), status(200)}}
	o := dispatch.Options{Schedule: []time.Duration{10 * time.Second, time.Second}}
	simulate(t, c, o, func(r *rig) {
		start := time.Now()
		r.commit(1, 1)
		time.Sleep(15 * time.Second)
		seen := c.arrivals()
		if len(seen) != 2 {
			t.Fatalf("got %d arrivals, want 2", len(seen))
		}
		if first, second := seen[0].at.Sub(start), seen[1].at.Sub(seen[0].at); first < 10*time.Second || first > 11*time.Second || second < time.Second || second > 1100*time.Millisecond {
			t.Errorf("got attempts after %v and %v, want after 10s and 1s, up to a tenth later", first, second)
		}
	})
}
