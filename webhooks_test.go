package parley_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/webhook"
)

// TestDelivery changes a task: the webhook arrives at the endpoints that want
// it and at no other, signed, with the body and the id that the service shows
// (spec, Events).
func TestDelivery(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		endpoints := []struct {
			why, path, members string
			want               bool
		}{
			{"no types means all", "/all", ``, true},
			{"exactly this type", "/exact", `"event_types": ["user.created", "task.created"]`, true},
			{"every type of a resource", "/prefix", `"event_types": ["task.*"]`, true},
			{"a star is everything", "/star", `"event_types": ["*"]`, true},
			{"signed with a key pair", "/pair", `"scheme": "v1a"`, true},
			{"another type of the resource", "/other", `"event_types": ["task.deleted"]`, false},
			{"another resource", "/users", `"event_types": ["user.*"]`, false},
			{"disabled", "/off", `"enabled": false`, false},
		}
		ids, secrets := make(map[string]string), make(map[string]string)
		for _, e := range endpoints {
			ids[e.path], secrets[e.path] = o.endpoint(e.path, e.members)
		}
		o.make("/tasks", `{"title": "Tell everybody"}`)
		events := o.get("/events")["data"].([]any)
		if len(events) != 1 {
			t.Fatalf("got %d events, want one", len(events))
		}
		happened := events[0].(map[string]any)
		for _, e := range endpoints {
			if !e.want {
				continue
			}
			p := o.wait(e.path, 1)[0]
			got := p.verified(t, o.clock.now(), secrets[e.path])
			if got.Type != "task.created" || got.Timestamp.Format("2006-01-02T15:04:05.000000Z") != happened["timestamp"] {
				t.Errorf("%s: got %s of %s, want the event %v", e.why, got.Type, got.Timestamp, happened)
			}
			var data any
			json.Unmarshal(got.Data, &data)
			if text(data) != text(happened["data"]) {
				t.Errorf("%s: got the data %s, want %s as the event has it", e.why, got.Data, text(happened["data"]))
			}
			if d := o.status(ids[e.path], "delivered"); d["id"] != got.ID || d["event_id"] != happened["id"] {
				t.Errorf("%s: got the webhook-id %s, want that of the delivery %v", e.why, got.ID, d)
			}
			if page := o.call(http.MethodGet, "/webhook-endpoints/"+ids[e.path]+"/messages", ""); !bytes.Contains(page.body, p.body) {
				t.Errorf("%s: the messages are %s, want the very body %s", e.why, page.body, p.body)
			}
			for name, want := range map[string]string{"Content-Type": "application/json", "User-Agent": "Parley-Webhooks/1"} {
				if got := p.header.Get(name); got != want {
					t.Errorf("%s: got %s: %s, want %s", e.why, name, got, want)
				}
			}
		}
		settledBut(t, o, 1)
		for _, e := range endpoints {
			if got := len(o.at(e.path)); got != 0 && !e.want || got > 1 {
				t.Errorf("%s: got %d webhooks", e.why, got)
			}
		}
	})
}

// settledBut waits until no more than some deliveries are open.
func settledBut(t testing.TB, o *office, parked int64) {
	t.Helper()
	o.until("deliveries to be settled", func() bool {
		open, _, err := o.Store().Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return open <= parked
	})
}

// TestOutcomes has every row of the spec's delivery table, and of what
// decisions adds to it.
func TestOutcomes(t *testing.T) {
	rows := []struct {
		why, path, want, attempts string
		answers                   []int // the last again and again
	}{
		{"2xx is delivered", "/200", "delivered", "200", []int{200}},
		{"any 2xx", "/204", "delivered", "204", []int{204}},
		{"5xx is retried until the budget is spent: dead letter", "/500", "dead", "500 500 500 500 500", []int{500}},
		{"any 5xx", "/503", "dead", "503 503 503 503 503", []int{503}},
		{"a retry that succeeds ends it", "/mends", "delivered", "500 502 200", []int{500, 502, 200}},
		{"the fifth attempt counts too", "/late", "delivered", "500 500 500 500 200", []int{500, 500, 500, 500, 200}},
		{"429 triggers backoff", "/429", "delivered", "429 200", []int{429, 200}},
		{"408 is transient", "/408", "delivered", "408 200", []int{408, 200}},
		{"409 is transient", "/409", "delivered", "409 200", []int{409, 200}},
		{"425 is transient", "/425", "delivered", "425 200", []int{425, 200}},
		{"other 4xx are permanent", "/400", "dead", "400", []int{400, 200}},
		{"a wrong signature in the consumer's eyes", "/401", "dead", "401", []int{401, 200}},
		{"nothing there", "/404", "dead", "404", []int{404, 200}},
		{"a redirect is not followed", "/301", "dead", "301", []int{301, 200}},
		{"nor one that keeps the method", "/308", "dead", "308", []int{308, 200}},
		{"gone for good", "/410", "dead", "410", []int{410, 200}},
	}
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s,20ms,20ms,20ms,20ms", nil)
		o.Answer = func(w http.ResponseWriter, p *post, posts int) {
			for _, r := range rows {
				if r.path != p.path {
					continue
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(r.answers[min(posts, len(r.answers))-1])
			}
		}
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i], _ = o.endpoint(r.path, `"event_types": ["task.created"]`)
		}
		deaf := o.make("/webhook-endpoints", `{"url": "`+nowhere+`", "event_types": ["task.created"]}`)["id"].(string)
		o.make("/tasks", `{"title": "Whatever comes"}`)
		if got := attempts(o.status(deaf, "dead")); got != strings.TrimSpace(strings.Repeat("connection refused ", 5)) {
			t.Errorf("the connection fails: got the attempts %s, want five", got)
		}
		for i, r := range rows {
			d := o.status(ids[i], r.want)
			if got := attempts(d); got != r.attempts {
				t.Errorf("%s: got the attempts %s, want %s", r.why, got, r.attempts)
			}
			for _, p := range o.at(r.path) {
				if p.header.Get("webhook-id") != d["id"] || !bytes.Equal(p.body, o.at(r.path)[0].body) {
					t.Errorf("%s: an attempt differs in id or body", r.why)
				}
			}
			letters := o.get("/dead-letters?endpoint_id=" + ids[i])["data"].([]any)
			if dead := r.want == "dead"; dead != (len(letters) == 1) {
				t.Errorf("%s: got %d dead letters", r.why, len(letters))
			}
		}
		if got := len(o.at("/elsewhere")); got != 0 {
			t.Errorf("got %d requests where a redirect points to, want none", got)
		}
	})
}

// TestSilence lets a consumer take longer than the timeout (spec, webhook
// delivery: no response in time is retried).
func TestSilence(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s,10ms", func(c *parley.Config) { c.DeliveryTimeout = 200 * time.Millisecond })
		release := make(chan struct{})
		o.Answer = func(http.ResponseWriter, *post, int) { <-release }
		t.Cleanup(func() { close(release) })
		id, _ := o.endpoint("/silent", "")
		o.make("/tasks", `{"title": "Anybody there?"}`)
		if got := attempts(o.status(id, "dead")); got != "timeout timeout" {
			t.Errorf("got the attempts %s, want two timeouts", got)
		}
	})
}

// TestSchedule walks a failing delivery through the true schedule, by the
// clock (spec, Payload and delivery).
func TestSchedule(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "", nil)
		id, secret := o.endpoint("/down/500", "")
		o.make("/tasks", `{"title": "Try again"}`)
		for n, delay := range []time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 24 * time.Hour} {
			posts := o.wait("/down/500", n+1)
			posts[n].verified(t, o.clock.now(), secret) // a fresh timestamp each time
			d := o.status(id, "retrying")
			o.until("attempt to be written down", func() bool {
				d = o.status(id, "retrying")
				return len(d["attempts"].([]any)) == n+1 && d["next_attempt_at"] != nil
			})
			next, err := time.Parse(time.RFC3339, d["next_attempt_at"].(string))
			if err != nil {
				t.Fatal(err)
			}
			began, _ := time.Parse(time.RFC3339, d["attempts"].([]any)[n].(map[string]any)["started_at"].(string))
			if wait := next.Sub(began); wait < delay || wait > delay+delay/10+time.Minute {
				t.Errorf("attempt %d comes %v after the one before, want %v, up to a tenth later", n+2, wait, delay)
			}
			if want := "retry at " + next.Truncate(time.Second).Format(time.RFC3339); d["waiting_for"] != want {
				t.Errorf("got waiting_for %v, want %s", d["waiting_for"], want)
			}
			if n == 0 {
				o.clock.ahead.Add(int64(next.Sub(o.clock.now()) - 30*time.Second))
				time.Sleep(1500 * time.Millisecond) // longer than between two looks
				if got := len(o.at("/down/500")); got != n+1 {
					t.Errorf("got attempt %d before its time", got)
				}
			}
			o.clock.ahead.Add(int64(next.Sub(o.clock.now())))
		}
		d := o.status(id, "dead")
		if got := attempts(d); got != "500 500 500 500 500" {
			t.Errorf("got the attempts %s, want five", got)
		}
		letter := o.get("/dead-letters")["data"].([]any)[0].(map[string]any)
		if letter["delivery_id"] != d["id"] || letter["reason"] != "failed 5 times, the last: answered 500" {
			t.Errorf("got the dead letter %v", letter)
		}
	})
}

// TestRetryAfter obeys a consumer that names a time.
func TestRetryAfter(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s,1m", nil)
		o.Answer = func(w http.ResponseWriter, _ *post, posts int) {
			if posts == 1 {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}
		id, _ := o.endpoint("/busy", "")
		o.make("/tasks", `{"title": "Later"}`)
		d := o.status(id, "retrying")
		if why, _ := d["waiting_for"].(string); !strings.HasPrefix(why, "rate limited until 2026-11-15T13:0") {
			t.Errorf("got waiting_for %q, want it rate limited for an hour", why)
		}
		o.clock.ahead.Add(int64(61 * time.Minute))
		o.status(id, "delivered")
	})
}

// TestLane keeps an endpoint busy: what comes behind says that the lane is full,
// and other endpoints are served.
func TestLane(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		release := make(chan struct{})
		o.Answer = func(_ http.ResponseWriter, p *post, _ int) {
			if p.path == "/slow" {
				<-release
			}
		}
		id, _ := o.endpoint("/slow", `"max_in_flight": 1`)
		o.endpoint("/quick", "")
		for i := range 3 {
			o.make("/tasks", fmt.Sprintf(`{"title": "%d"}`, i))
		}
		o.wait("/quick", 3)
		o.wait("/slow", 1)
		last := o.deliveries(id)[2].(map[string]any)
		if last["waiting_for"] != "lane full 1/1" || last["status"] != "pending" {
			t.Errorf("got %v, want it to wait for the lane", last)
		}
		if h := o.get("/webhook-endpoints/" + id)["health"].(map[string]any); h["in_flight"] != 1.0 || h["waiting"] != 3.0 {
			t.Errorf("got the health %v, want one in flight of three", h)
		}
		if got := len(o.at("/slow")); got != 1 {
			t.Errorf("got %d webhooks at once, want one", got)
		}
		close(release)
		settledBut(t, o, 0)
		if h := o.get("/webhook-endpoints/" + id)["health"].(map[string]any); h["delivered"] != 3.0 || h["success_rate"] != 1.0 || h["waiting"] != 0.0 {
			t.Errorf("got the health %v, want three delivered", h)
		}
	})
}

// TestGone lets an endpoint answer 410: it is disabled, others are told, what
// happens meanwhile is parked, and drains once it is enabled again.
func TestGone(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		o.Answer = func(w http.ResponseWriter, p *post, posts int) {
			if p.path == "/moved" && posts == 1 {
				w.WriteHeader(http.StatusGone)
			}
		}
		id, secret := o.endpoint("/moved", `"event_types": ["task.*"]`)
		watcher, _ := o.endpoint("/watch", `"event_types": ["webhook-endpoint.*"]`)
		o.make("/tasks", `{"title": "The last"}`)
		o.wait("/watch", 1)
		d := o.status(watcher, "delivered")
		told := o.get("/events/" + d["event_id"].(string))
		if want := `{"id":"` + id + `","reason":"the endpoint answered 410"}`; told["type"] != "webhook-endpoint.disabled" || text(told["data"]) != want {
			t.Errorf("got the event %v, want webhook-endpoint.disabled of %s", told, want)
		}
		e := o.get("/webhook-endpoints/" + id)
		if e["enabled"] != false || e["status_reason"] != "the endpoint answered 410" {
			t.Errorf("got the endpoint %v, want it disabled with the reason", e)
		}
		for i := range 5 {
			o.make("/tasks", fmt.Sprintf(`{"title": "Parked %d"}`, i))
		}
		list := o.deliveries(id)
		if len(list) != 6 {
			t.Fatalf("got %d deliveries, want 6", len(list))
		}
		for _, d := range list[1:] {
			if d := d.(map[string]any); d["status"] != "pending" || d["waiting_for"] != "endpoint disabled" || d["next_attempt_at"] != nil {
				t.Errorf("got %v, want it parked", d)
			}
		}
		if got := len(o.at("/moved")); got != 1 {
			t.Errorf("got %d webhooks while disabled, want none", got-1)
		}
		o.change("/webhook-endpoints/"+id, `{"enabled": true}`)
		var titles []string
		for _, p := range o.wait("/moved", 6)[1:] {
			var data struct{ Title string }
			json.Unmarshal(p.verified(t, o.clock.now(), secret).Data, &data)
			titles = append(titles, data.Title)
		}
		if slices.Sort(titles); text(titles) != `["Parked 0","Parked 1","Parked 2","Parked 3","Parked 4"]` {
			t.Errorf("got %v, want all that was parked", titles)
		}
		settledBut(t, o, 0)
		if e := o.get("/webhook-endpoints/" + id); e["enabled"] != true || e["status_reason"] != nil {
			t.Errorf("got the endpoint %v, want it enabled without a reason", e)
		}
	})
}

// TestOverlap rotates a secret: both sign until the overlap ends, by the clock
// (spec, Signing).
func TestOverlap(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		id, old := o.endpoint("/rotated", "")
		send := func(n int) *post {
			o.make("/tasks", `{"title": "Signed"}`)
			return o.wait("/rotated", n)[n-1]
		}
		fits := func(p *post, secret string) bool {
			key, err := webhook.ParseSecret(secret)
			if err != nil {
				t.Fatal(err)
			}
			return webhook.NewVerifier([]webhook.Secret{key}, nil).Verify(p.header, p.body, o.clock.now()) == nil
		}
		send(1).verified(t, o.clock.now(), old)
		fresh := o.make("/webhook-endpoints/"+id+"/secret-rotations", `{"overlap_seconds": 3600}`)["secret"].(string)
		both := send(2)
		if !fits(both, old) || !fits(both, fresh) || strings.Count(both.header.Get("webhook-signature"), " ") != 1 {
			t.Error("during the overlap: want both secrets to fit")
		}
		o.clock.ahead.Add(int64(59 * time.Minute))
		if p := send(3); !fits(p, old) || !fits(p, fresh) {
			t.Error("shortly before its end: want both secrets to fit")
		}
		o.clock.ahead.Add(int64(2 * time.Minute))
		if p := send(4); fits(p, old) || !fits(p, fresh) {
			t.Error("after the overlap: want the new secret to fit alone")
		}
		last := o.make("/webhook-endpoints/"+id+"/secret-rotations", `{"overlap_seconds": 0}`)["secret"].(string)
		if p := send(5); fits(p, fresh) || !fits(p, last) {
			t.Error("without an overlap: want the last secret to fit alone")
		}
	})
}

// TestPayload delivers in an endpoint's own version, and by reference what is
// too large (spec, Payload and delivery; Versioning).
func TestPayload(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		_, old := o.endpoint("/old", `"api_version": "2025-11-01"`)
		_, now := o.endpoint("/now", "")
		o.make("/tasks", `{"title": "In two shapes"}`)
		members := func(p *post, secret string) map[string]any {
			var data map[string]any
			json.Unmarshal(p.verified(t, o.clock.now(), secret).Data, &data)
			return data
		}
		if got := members(o.wait("/old", 1)[0], old); got["name"] != "In two shapes" || got["done"] != false || got["title"] != nil {
			t.Errorf("got %v, want the shape of 2025-11-01", got)
		}
		if got := members(o.wait("/now", 1)[0], now); got["title"] != "In two shapes" || got["status"] != "pending" || got["name"] != nil {
			t.Errorf("got %v, want the shape of 2026-11-01", got)
		}
		o.make("/event-types", `{"name": "blob.grew", "schema": {"type": "object"}}`)
		publish := func(n int) {
			o.make("/events", `{"type": "blob.grew", "data": {"text": "`+strings.Repeat("a", n)+`"}}`)
		}
		publish(0)
		most := parley.MaxPayload - 1 - len(o.wait("/now", 2)[1].body)
		publish(most)
		if p := o.wait("/now", 3)[2]; len(p.body) != parley.MaxPayload-1 || members(p, now)["text"] == nil {
			t.Errorf("got a body of %d bytes, want one of %d with its data", len(p.body), parley.MaxPayload-1)
		}
		publish(most + 1)
		p := o.wait("/old", 4)[3]
		href, ok := p.verified(t, o.clock.now(), old).Href()
		path, found := strings.CutPrefix(href, "https://api.example.com")
		if !ok || !found || !strings.HasSuffix(href, "?version=2025-11-01") || len(p.body) > 400 {
			t.Fatalf("got %.400s, want a reference in the endpoint's version", p.body)
		}
		if data, _ := o.get(path)["data"].(map[string]any); len(fmt.Sprint(data["text"])) != most+1 {
			t.Errorf("GET %s: got a text of %d, want %d", path, len(fmt.Sprint(data["text"])), most+1)
		}
	})
}

// TestLoop lets the service deliver to itself: what one side signs, the other
// verifies, in both schemes.
func TestLoop(t *testing.T) {
	everywhere(t, func(t *testing.T, engine string) {
		o := openOffice(t, engine, "0s", nil)
		for _, scheme := range []string{"v1", "v1a"} {
			made := o.make("/webhook-endpoints", `{"url": "`+o.service.URL+`/webhooks/`+scheme+`", "event_types": ["task.created"], "scheme": "`+scheme+`"}`)
			id, secret := made["id"].(string), made["secret"]
			if scheme == "v1a" {
				secret = made["public_key"]
			}
			o.make("/webhook-topics", `{"name": "`+scheme+`", "secret": "`+secret.(string)+`"}`)
			o.make("/tasks", `{"title": "Round trip"}`)
			d := o.status(id, "delivered")
			receipts := o.get("/webhook-topics/" + scheme + "/receipts")["data"].([]any)
			if len(receipts) != 1 {
				t.Fatalf("%s: got %d receipts, want one", scheme, len(receipts))
			}
			if r := receipts[0].(map[string]any); r["webhook-id"] != d["id"] || r["type"] != "task.created" {
				t.Errorf("%s: got the receipt %v, want that of %v", scheme, r, d["id"])
			}
		}
	})
}
