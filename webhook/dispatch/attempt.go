package dispatch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/parley-api/parley/event"
)

// A target is an endpoint's URL, checked, and what follows from it.
type target struct {
	text    string
	err     error
	url     *url.URL
	address string // host and port
	key     string // of connections that can be used for it
	head    []byte // how a request over HTTP/1.1 begins
}

// newTarget checks a URL.
func newTarget(text, agent string, insecure bool) *target {
	t := &target{text: text}
	if t.err = CheckURL(text, insecure); t.err != nil {
		return t
	}
	if t.url, t.err = url.Parse(text); t.err != nil {
		return t
	}
	port := t.url.Port()
	if port == "" {
		if port = "443"; t.url.Scheme == "http" {
			port = "80"
		}
	}
	t.address = net.JoinHostPort(t.url.Hostname(), port)
	t.key = t.url.Scheme + "://" + t.address
	t.head = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nContent-Type: application/json\r\n", t.url.RequestURI(), t.url.Host, agent)
	return t
}

// aim returns the target of an endpoint's lane. It is safe without d.mu.
func (d *Dispatcher) aim(l *lane, e *Endpoint) *target {
	if t := l.target.Load(); t != nil && t.text == e.URL {
		return t
	}
	t := newTarget(e.URL, d.o.Agent, d.o.Insecure)
	l.target.Store(t)
	return t
}

// attempt sends a delivery once, if it can be sent at all. A lane of which
// nothing is known, but whose endpoint failed before this process began, is to
// wait among the failing ones: then there is no outcome.
func (d *Dispatcher) attempt(l *lane, h *held, unknown bool) (*event.Outcome, report) {
	o := &event.Outcome{Seq: h.Seq, Endpoint: h.Endpoint, Account: h.Account, Fence: h.Fence, State: h.State}
	r := report{none: true}
	now := d.now()
	if first := h.Born + d.o.Schedule[0].Microseconds(); h.Spent == 0 && h.Tries == 0 && now < first {
		o.Due = first
		return o, r
	}
	e, err := d.source.Endpoint(d.flying, h.Endpoint)
	switch {
	case errors.Is(err, ErrGone):
		o.State, o.Reason = event.Dead, "the endpoint was deleted"
		return o, r
	case err != nil:
		return o, d.falter(o, now, "reading an endpoint", err)
	case !e.Enabled:
		o.Due, o.Reason = event.Parked, "endpoint disabled"
		return o, r
	}
	if unknown && e.FailingSince != 0 {
		r.requeue = true
		return nil, r
	}
	r.full = e.InFlight
	if r.full <= 0 {
		r.full = defaultInFlight
	}
	t := d.aim(l, e)
	if t.err != nil {
		r.none, r.answered, r.final = false, true, true
		d.bury(o, &event.Attempt{Number: h.Tries + 1, Started: now, Error: ErrorURL}, e)
		o.Reason = "the endpoint's URL is refused: " + t.err.Error()
		return o, r
	}
	body, err := d.source.Body(d.flying, &h.Delivery)
	switch {
	case errors.Is(err, ErrGone):
		o.State, o.Reason = event.Dead, "the event is gone"
		return o, r
	case err != nil:
		return o, d.falter(o, now, "reading an event", err)
	}
	return o, d.post(o, h, e, t, body, r)
}

// falter gives a delivery back because our own side has failed. The lane
// waits for a second, too.
func (d *Dispatcher) falter(o *event.Outcome, now int64, act string, err error) report {
	o.Due = now
	if d.flying.Err() != nil {
		return report{none: true}
	}
	o.Due = now + second
	d.o.Log.Warn(act+" for a delivery", "endpoint", o.Endpoint, "event", event.ID(o.Seq), "error", err)
	return report{none: true, paused: o.Due}
}

// post makes the POST and judges it.
func (d *Dispatcher) post(o *event.Outcome, h *held, e *Endpoint, t *target, body []byte, r report) report {
	started := d.o.Now()
	answer := d.client.post(d.flying, time.Now().Add(d.o.Timeout), &post{to: t, id: h.ID(), at: started.Unix(), body: body, sign: e.Sign})
	ended := d.o.Now()
	if answer.class != "" && d.flying.Err() != nil { // cut off by Close
		o.Due = ended.UnixMicro()
		return r
	}
	a := &event.Attempt{
		Number: h.Tries + 1, Started: started.UnixMicro(), Duration: ended.Sub(started).Microseconds(),
		Status: answer.status, Error: answer.class, Response: answer.body,
	}
	r.none, r.answered, r.took = false, answer.class == "", a.Duration
	switch judge(answer.status, answer.class) {
	case accepted:
		o.Attempt, o.State = a, event.Delivered
		r.delivered = true
	case final:
		r.final = true
		d.bury(o, a, e)
	case again:
		d.retry(o, h, a, e, answer.retryAfter)
		if pause := a.Started + a.Duration + min(answer.retryAfter, longestPause).Microseconds(); a.Status == http.StatusTooManyRequests && answer.retryAfter > 0 {
			r.paused = pause
			r.why = "rate limited until " + time.UnixMicro(pause).UTC().Format(time.RFC3339)
		}
	}
	return r
}

// longestPause bounds how long one 429 keeps a whole lane silent: after it,
// one delivery goes to see.
const longestPause = 5 * time.Minute

// bury makes the outcome of an attempt that nothing follows.
func (d *Dispatcher) bury(o *event.Outcome, a *event.Attempt, e *Endpoint) {
	o.Attempt, o.State, o.Reason = a, event.Dead, reason(a)
	if a.Status == http.StatusGone {
		o.Disable = "the endpoint answered 410"
		return
	}
	d.tire(o, a, e)
}

// reason says in a few words how an attempt failed.
func reason(a *event.Attempt) string {
	if a.Error != "" {
		return a.Error
	}
	return "answered " + strconv.Itoa(a.Status)
}

// DisableAfter is how long an endpoint may fail before it is disabled.
const DisableAfter = 5 * 24 * time.Hour

// tire disables an endpoint that has failed for too long.
func (d *Dispatcher) tire(o *event.Outcome, a *event.Attempt, e *Endpoint) {
	if e.FailingSince != 0 && a.Started+a.Duration-e.FailingSince >= DisableAfter.Microseconds() {
		o.Disable = "no delivery has succeeded for 5 days"
	}
}

// retry makes the outcome of an attempt that another follows, unless it was
// the last of its budget.
func (d *Dispatcher) retry(o *event.Outcome, h *held, a *event.Attempt, e *Endpoint, after time.Duration) {
	spent := h.Spent + 1
	if spent >= len(d.o.Schedule) {
		d.bury(o, a, e)
		o.Reason = "failed " + strconv.Itoa(spent) + " times, the last: " + o.Reason
		return
	}
	o.Attempt, o.State, o.Reason = a, event.Retrying, reason(a)
	delay := d.o.Schedule[spent]
	o.Due = nextAttempt(a.Started+a.Duration, h.Born, delay, d.o.Jitter(delay), after)
	d.tire(o, a, e)
}
