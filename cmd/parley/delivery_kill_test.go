package main_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The promise under test: kill -9 at any moment, and every event that is there
// reaches every endpoint that wants it, the same bytes under the same id, and
// twice only if it was on its way when the process died.
const (
	consumers = 20
	pace      = 10 * time.Millisecond // between two writes
)

var deliveryKills = flag.Int("delivery-kills", 50, "how often TestDeliveryKill kills the program on each database")

// An arrival is one POST that a consumer got.
type arrival struct {
	endpoint int
	id       string // webhook-id
	body     string
	run      int // between which kills
}

// A sink is all consumers.
type sink struct {
	*httptest.Server
	open     atomic.Int64 // connections
	mu       sync.Mutex
	run      int
	arrivals []arrival
}

func newSink() *sink {
	s := new(sink)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // cut off by a kill: it did not arrive
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		s.mu.Lock()
		s.arrivals = append(s.arrivals, arrival{n, r.Header.Get("webhook-id"), string(body), s.run})
		s.mu.Unlock()
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed:
			s.open.Add(-1)
		}
	}
	s.Start()
	return s
}

// turn begins the next run, once all that the killed process had sent is noted.
func (s *sink) turn(t *testing.T) {
	for end, calm := time.Now().Add(time.Minute), 0; calm < 3; time.Sleep(5 * time.Millisecond) {
		if calm++; s.open.Load() > 0 {
			calm = 0
		}
		if time.Now().After(end) {
			t.Fatal("connections outlive the process that made them by a minute")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run++
}

// A delivered is a delivery as the service shows it.
type delivered struct {
	ID       string `json:"id"`
	Event    string `json:"event_id"`
	Endpoint string `json:"endpoint_id"`
	Status   string `json:"status"`
	Attempts []struct {
		Status *int `json:"status_code"`
	} `json:"attempts"`
}

// A ledger is what the service says and what consumers say.
type ledger struct {
	acked     []string // titles of tasks whose creation was acknowledged
	tasks     []row
	events    []happening
	rows      []delivered
	endpoints []string // their ids, by consumer
	arrivals  []arrival
}

// audit returns what is wrong with a ledger, and how many arrivals were not
// the first of their id.
func (l *ledger) audit() (wrong []string, twice int) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	titles := make(map[string]bool)
	for _, e := range l.events {
		titles[e.Data.Title] = true
	}
	for _, title := range l.acked {
		if !titles[title] {
			say("%s was acknowledged and has no event", title)
		}
	}
	for _, r := range l.tasks {
		if !titles[r.Title] {
			say("task %d is there and has no event", r.ID)
		}
		delete(titles, r.Title)
	}
	for title := range titles {
		say("%s has an event and is not there", title)
	}
	type place struct{ event, endpoint string }
	rows := make(map[place]delivered)
	for _, d := range l.rows {
		rows[place{d.Event, d.Endpoint}] = d
		switch accepted := slices.ContainsFunc(d.Attempts, func(a struct {
			Status *int `json:"status_code"`
		}) bool {
			return a.Status != nil && *a.Status == 200
		}); {
		case d.Status != "delivered":
			say("%s is %s", d.ID, d.Status)
		case !accepted:
			say("%s is delivered without an attempt that was accepted", d.ID)
		}
	}
	got := make(map[string][]arrival)
	for _, a := range l.arrivals {
		got[a.id] = append(got[a.id], a)
	}
	known := make(map[string]bool)
	for _, e := range l.events {
		for n, endpoint := range l.endpoints {
			d, ok := rows[place{e.ID, endpoint}]
			if !ok {
				say("event %s has no delivery to %s", e.ID, endpoint)
				continue
			}
			known[d.ID] = true
			twice += max(0, len(got[d.ID])-1)
			wrong = append(wrong, inspectArrivals(d.ID, n, e, got[d.ID])...)
		}
	}
	for id := range got {
		if !known[id] {
			say("%s arrived and tells of no event", id)
		}
	}
	return wrong, twice
}

// inspectArrivals checks all arrivals of one delivery.
func inspectArrivals(id string, consumer int, e happening, list []arrival) (wrong []string) {
	if len(list) == 0 {
		return []string{fmt.Sprintf("%s never arrived", id)}
	}
	for i, a := range list {
		var body struct {
			ID   string `json:"webhook-id"`
			Type string `json:"type"`
			Data struct {
				ID    int64  `json:"id"`
				Title string `json:"title"`
			} `json:"data"`
		}
		switch err := json.Unmarshal([]byte(a.body), &body); {
		case err != nil || body.ID != id || body.Type != e.Type || body.Data.ID != e.Data.ID || body.Data.Title != e.Data.Title:
			wrong = append(wrong, fmt.Sprintf("%s arrived as %s, which does not tell of %v", id, a.body, e))
		case a.endpoint != consumer:
			wrong = append(wrong, fmt.Sprintf("%s arrived at consumer %d, want %d", id, a.endpoint, consumer))
		case a.body != list[0].body:
			wrong = append(wrong, fmt.Sprintf("%s arrived with two bodies: %s and %s", id, list[0].body, a.body))
		case i > 0 && a.run == list[i-1].run:
			wrong = append(wrong, fmt.Sprintf("%s arrived twice without a kill between", id))
		}
	}
	return wrong
}

// TestDeliveryKill kills the real program while it delivers, again and again on
// each database.
func TestDeliveryKill(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "parley")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		harass(t, binary)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, _ := emptyDatabase(t)
		harass(t, binary, "--database", dsn)
	})
}

func harass(t *testing.T, binary string, flags ...string) {
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	to := newSink()
	defer to.Close()
	s := &siege{t: t, stderr: stderr, command: slices.Concat([]string{binary, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(),
		"--admin-key", killKey, "--rate-limit", "off", "--log-level", "error", "--insecure-webhooks"}, flags)}
	cmd, c := s.begin()
	var l ledger
	for n := range consumers {
		resp, b, err := c.send(http.MethodPost, "/webhook-endpoints", "", fmt.Sprintf(`{"url":"%s/%d","event_types":["task.*"]}`, to.URL, n))
		var made struct{ ID string }
		if err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(b, &made) != nil {
			t.Fatalf("making an endpoint: %v, %s", err, b)
		}
		l.endpoints = append(l.endpoints, made.ID)
	}
	n := *deliveryKills
	written := 0
	for range n {
		written += l.disturb(cmd, c, written)
		to.turn(t)
		cmd, c = s.begin()
	}
	began := time.Now()
	l.drain(t, c)
	rest := time.Since(began)
	cmd.Process.Kill()
	cmd.Wait()
	to.mu.Lock()
	defer to.mu.Unlock()
	l.arrivals = to.arrivals
	wrong, twice := l.audit()
	for _, text := range wrong[:min(len(wrong), 20)] {
		t.Error(text)
	}
	t.Logf("%d kills, %d tasks acknowledged, %d events, %d deliveries, %d arrivals, of which %d again; %d faults; the rest was delivered %v after the last start",
		n, len(l.acked), len(l.events), len(l.rows), len(l.arrivals), twice, len(wrong), rest.Round(time.Millisecond))
	if len(l.events) < n || len(l.arrivals) < n*consumers {
		t.Errorf("got %d events and %d arrivals in %d kills; the test shows nothing", len(l.events), len(l.arrivals), n)
	}
}

// disturb writes at a pace and kills the service in the midst of it.
func (l *ledger) disturb(cmd *exec.Cmd, c *client, from int) (written int) {
	var killed atomic.Bool
	var mu sync.Mutex
	var work sync.WaitGroup
	end := time.Now().Add(50*time.Millisecond + rand.N(200*time.Millisecond))
	for time.Now().Before(end) {
		title := fmt.Sprintf("t%d", from+written)
		written++
		work.Go(func() {
			resp, _, err := c.send(http.MethodPost, "/tasks", "", `{"title":"`+title+`"}`)
			if err == nil && resp.StatusCode == http.StatusCreated {
				mu.Lock()
				l.acked = append(l.acked, title)
				mu.Unlock()
			}
		})
		time.Sleep(pace)
	}
	killed.Store(true)
	cmd.Process.Kill()
	cmd.Wait()
	work.Wait()
	c.CloseIdleConnections()
	return written
}

// drain waits until nothing is open, and reads everything.
func (l *ledger) drain(t *testing.T, c *client) {
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		open := 0
		for _, status := range []string{"pending", "retrying"} {
			rows, err := walk[delivered](c, "/deliveries?limit=100&status="+status)
			if err != nil {
				t.Fatal(err)
			}
			open += len(rows)
		}
		if open == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%d deliveries are open after 3 minutes", open)
			break
		}
	}
	var err error
	if l.events, err = walk[happening](c, "/events?limit=100&type=task.created"); err != nil {
		t.Fatal(err)
	}
	if l.tasks, err = walk[row](c, "/tasks?limit=100"); err != nil {
		t.Fatal(err)
	}
	if l.rows, err = walk[delivered](c, "/deliveries?limit=100"); err != nil {
		t.Fatal(err)
	}
}

// TestAudit shows that the audit finds what it is for.
func TestAudit(t *testing.T) {
	ok := 200
	good := func() *ledger {
		l := &ledger{acked: []string{"a"}, endpoints: []string{"ep_0", "ep_1"}}
		e := happening{ID: "evt_1", Type: "task.created"}
		e.Data.ID, e.Data.Title = 1, "a"
		l.events, l.tasks = []happening{e}, []row{e.Data}
		for n, endpoint := range l.endpoints {
			d := delivered{ID: fmt.Sprintf("msg_%d", n), Event: "evt_1", Endpoint: endpoint, Status: "delivered"}
			d.Attempts = append(d.Attempts, struct {
				Status *int `json:"status_code"`
			}{&ok})
			l.rows = append(l.rows, d)
			l.arrivals = append(l.arrivals, arrival{n, d.ID, fmt.Sprintf(`{"webhook-id":%q,"type":"task.created","data":{"id":1,"title":"a"}}`, d.ID), 0})
		}
		return l
	}
	if wrong, _ := good().audit(); len(wrong) > 0 {
		t.Fatalf("a ledger in order: %q", wrong)
	}
	again := good()
	again.arrivals = append(again.arrivals, arrival{0, "msg_0", again.arrivals[0].body, 1})
	if wrong, twice := again.audit(); len(wrong) > 0 || twice != 1 {
		t.Fatalf("a delivery again after a kill: %q, %d", wrong, twice)
	}
	for _, test := range []struct {
		why   string
		spoil func(*ledger)
	}{
		{"an event written in a second transaction is lost between the two", func(l *ledger) { l.events, l.rows, l.arrivals = nil, nil, nil }},
		{"the same, before it was acknowledged", func(l *ledger) { l.acked, l.events, l.rows, l.arrivals = nil, nil, nil, nil }},
		{"an event of what was rolled back", func(l *ledger) { l.acked, l.tasks = nil, nil }},
		{"a delivery marked as delivered before it was sent never arrives", func(l *ledger) { l.arrivals = l.arrivals[1:] }},
		{"a delivery that nobody wrote", func(l *ledger) { l.rows = l.rows[1:] }},
		{"an open delivery", func(l *ledger) { l.rows[0].Status = "retrying" }},
		{"a dead one", func(l *ledger) { l.rows[0].Status = "dead" }},
		{"delivered without an attempt", func(l *ledger) { l.rows[0].Attempts = nil }},
		{"a phantom: what was rolled back was sent", func(l *ledger) { l.arrivals = append(l.arrivals, arrival{0, "msg_9", l.arrivals[0].body, 0}) }},
		{"twice without a kill", func(l *ledger) { l.arrivals = append(l.arrivals, l.arrivals[0]) }},
		{"another body the second time", func(l *ledger) {
			l.arrivals = append(l.arrivals, arrival{0, "msg_0", strings.Replace(l.arrivals[0].body, `"type"`, ` "type"`, 1), 1})
		}},
		{"an id in the body that is not the header's", func(l *ledger) { l.arrivals[0].body = strings.Replace(l.arrivals[0].body, "msg_0", "msg_1", 1) }},
		{"the wrong event", func(l *ledger) { l.arrivals[0].body = strings.Replace(l.arrivals[0].body, `"a"`, `"b"`, 1) }},
		{"the wrong consumer", func(l *ledger) { l.arrivals[0].endpoint = 1 }},
	} {
		l := good()
		test.spoil(l)
		if wrong, _ := l.audit(); len(wrong) == 0 {
			t.Errorf("%s: the audit found nothing", test.why)
		}
	}
}
