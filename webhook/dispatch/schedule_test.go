package dispatch_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// An arrival is a request as the consumer saw it.
type arrival struct {
	at        time.Time
	id        string
	timestamp string
	signature string
}

// A consumer answers in turn, the last answer again and again.
type consumer struct {
	mu      sync.Mutex
	seen    []arrival
	answers []func(http.ResponseWriter)
}

func (c *consumer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.seen = append(c.seen, arrival{time.Now(), r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), r.Header.Get("webhook-signature")})
	answer := c.answers[min(len(c.seen), len(c.answers))-1]
	c.mu.Unlock()
	answer(w)
}

func (c *consumer) arrivals() []arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]arrival(nil), c.seen...)
}

func status(code int, fields ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(code)
	}
}

// simulate runs a body in a bubble with a consumer behind a public address. In
// it, hours pass in no time.
func simulate(t *testing.T, c http.Handler, o dispatch.Options, body func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPipenet(c)
		o.Insecure, o.Resolver, o.Dial = true, public, p.dial
		r := newRig(t, &o)
		r.book.set(dispatch.Endpoint{ID: 1, URL: "http://consumer.example/hook", Enabled: true})
		r.run()
		body(r)
		r.kill()
		p.Close()
		time.Sleep(time.Hour) // connections end
	})
}

// TestSchedule shows every row of the spec's table of retries: immediately,
// after 5 minutes, 30 minutes, 2 hours, 24 hours, then the dead letter. Each
// run has another death of the process between two attempts.
func TestSchedule(t *testing.T) {
	delays := []time.Duration{0, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 24 * time.Hour}
	for killed := range len(delays) {
		c := &consumer{answers: []func(http.ResponseWriter){status(500)}}
		simulate(t, c, dispatch.Options{}, func(r *rig) {
			start := time.Now()
			r.commit(7, 1)
			for n, delay := range delays {
				time.Sleep(delay + delay/10 + 100*time.Millisecond)
				seen := c.arrivals()
				if len(seen) != n+1 {
					t.Fatalf("attempt %d: got %d arrivals %v after the start", n+1, len(seen), time.Since(start))
				}
				since := seen[n].at.Sub(start)
				if n > 0 {
					since = seen[n].at.Sub(seen[n-1].at)
				}
				if since < delay || since > delay+delay/10+time.Millisecond {
					t.Errorf("attempt %d: got %v after the one before, want %v and up to a tenth more", n+1, since, delay)
				}
				if n == killed {
					r.kill()
					time.Sleep(time.Second)
					r.run()
				}
			}
			time.Sleep(time.Hour)
			row, _ := r.table.Row(7, 1)
			if row.State != event.Dead || len(row.Attempts) != 5 || len(c.arrivals()) != 5 {
				t.Errorf("got %v after %d attempts and %d arrivals, want dead after 5", row.State, len(row.Attempts), len(c.arrivals()))
			}
			if want := "failed 5 times, the last: answered 500"; row.Reason != want {
				t.Errorf("reason: got %q, want %q", row.Reason, want)
			}
			for _, a := range c.arrivals() {
				if a.id != event.DeliveryID(7, 1) {
					t.Errorf("webhook-id: got %q, want the delivery's", a.id)
				}
				if a.signature != "v1,"+a.timestamp || a.timestamp != c.stamp(a) {
					t.Errorf("timestamp %q and signature %q are not made anew", a.timestamp, a.signature)
				}
			}
		})
	}
}

func (c *consumer) stamp(a arrival) string { return string(sign(nil, "", a.at.Unix(), nil)[3:]) }
