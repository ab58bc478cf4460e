package parley_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley"
)

// An office is a service that delivers to a consumer, with a clock that the
// test moves.
type office struct {
	*service
	caller
	*consumer
	clock *clock
	log   *journal
	cfg   parley.Config
}

// openOffice starts a service with a retry schedule. Adjust may be nil.
func openOffice(t testing.TB, engine, schedule string, adjust func(*parley.Config)) *office {
	t.Helper()
	o := &office{consumer: newConsumer(t), clock: &clock{day: today, begin: time.Now()}, log: new(journal)}
	o.service = start(t, engine, func(c *parley.Config) {
		c.InsecureWebhooks, c.RetrySchedule, c.Now = true, schedule, o.clock.now
		c.Log = slog.New(slog.NewJSONHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		if adjust != nil {
			adjust(c)
		}
		o.cfg = *c
	})
	o.caller = caller{t, o.service.URL, adminKey}
	return o
}

// make creates something and reads the answer.
func (o *office) make(path, body string, lines ...string) map[string]any {
	o.t.Helper()
	got := o.call(http.MethodPost, path, body, lines...)
	if got.status != http.StatusCreated {
		o.t.Fatalf("POST %s: got %s, want 201", path, got)
	}
	return got.json()
}

// get reads something.
func (o *office) get(path string) map[string]any {
	o.t.Helper()
	got := o.call(http.MethodGet, path, "")
	if got.status != http.StatusOK {
		o.t.Fatalf("GET %s: got %s, want 200", path, got)
	}
	return got.json()
}

// change patches something.
func (o *office) change(path, body string) {
	o.t.Helper()
	if got := o.call(http.MethodPatch, path, body); got.status != http.StatusOK {
		o.t.Fatalf("PATCH %s: got %s, want 200", path, got)
	}
}

// endpoint registers a path of the consumer, with further members.
func (o *office) endpoint(path, members string) (id, secret string) {
	o.t.Helper()
	if members != "" {
		members = ", " + members
	}
	made := o.make("/webhook-endpoints", `{"url": "`+o.consumer.URL+path+`"`+members+`}`)
	if secret, _ = made["secret"].(string); secret == "" {
		secret, _ = made["public_key"].(string)
	}
	return made["id"].(string), secret
}

// deliveries are those of an endpoint, oldest first.
func (o *office) deliveries(endpoint string) []any {
	o.t.Helper()
	list, _ := o.get("/deliveries?limit=100&endpoint_id=" + endpoint)["data"].([]any)
	return list
}

// until waits until a question is answered by true.
func (o *office) until(what string, done func() bool) {
	o.t.Helper()
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
	}
	o.t.Fatalf("still waiting after 30 seconds: %s", what)
}

// status waits until the only delivery of an endpoint has a status.
func (o *office) status(endpoint, want string) map[string]any {
	o.t.Helper()
	var d map[string]any
	o.until("delivery "+want, func() bool {
		list := o.deliveries(endpoint)
		if len(list) > 1 {
			o.t.Fatalf("got %d deliveries, want one", len(list))
		}
		if len(list) == 1 {
			d = list[0].(map[string]any)
		}
		return d["status"] == want
	})
	return d
}

// attempts are those of a delivery, as number, status and error.
func attempts(d map[string]any) string {
	var all []string
	list, _ := d["attempts"].([]any)
	for _, a := range list {
		a := a.(map[string]any)
		text := fmt.Sprint(a["status_code"])
		if a["error"] != nil {
			text = fmt.Sprint(a["error"])
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// text is a value as JSON.
func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// everywhere runs a test on every engine.
func everywhere(t *testing.T, f func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f(t, engine)
		})
	}
}
