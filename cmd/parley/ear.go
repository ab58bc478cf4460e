package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/webhook"
)

// An ear takes deliveries, prints them and answers as it was told to.
type ear struct {
	secrets  []webhook.Secret
	receiver *webhook.Receiver // nil: nothing is verified
	target   *url.URL          // nil: nothing is handed on
	client   *http.Client
	rate     float64 // of deliveries that are answered with status
	status   int
	delay    time.Duration
	paper    *paper
}

// A reply is what a delivery is answered with.
type reply struct {
	status int
	header http.Header
	body   []byte
	reason string // for the paper: why it is none of the usual
}

// slot is where the queue leaves its reply, in the request's context.
type slot struct{}

// ServeHTTP answers one request.
func (e *ear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var own *reply
	if e.receiver == nil {
		own = e.unverified(w, r)
		if own == nil {
			return
		}
	} else {
		held := &holder{header: make(http.Header)}
		e.receiver.ServeHTTP(held, r.WithContext(context.WithValue(r.Context(), slot{}, &own)))
		if own == nil { // refused or known: the receiver's own answer
			own = &held.reply
			own.header = held.header
		}
	}
	for name, values := range own.header {
		w.Header()[name] = values
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(own.status)
	w.Write(own.body)
}

// holder keeps what the receiver writes.
type holder struct {
	reply
	header http.Header
}

func (h *holder) Header() http.Header         { return h.header }
func (h *holder) WriteHeader(status int)      { h.status = status }
func (h *holder) Write(p []byte) (int, error) { h.body = append(h.body, p...); return len(p), nil }

var errReply = errors.New("answered as told")

// enqueue is the receiver's queue. A delivery that is not answered with 2xx
// stays new, so that its retry comes here again.
func (e *ear) enqueue(ctx context.Context, d *webhook.Delivery) error {
	own := e.take(ctx, d.Header, d.Body)
	*ctx.Value(slot{}).(**reply) = own
	if own.status/100 != 2 {
		return errReply
	}
	return nil
}

// observe prints what the receiver did.
func (e *ear) observe(r *http.Request, report webhook.Report) {
	own := *r.Context().Value(slot{}).(**reply)
	d := report.Delivery
	switch {
	case own != nil:
		e.paper.print(entry{Result: "verified", Status: own.status, Reason: own.reason, delivery: d})
	case errors.Is(report.Err, webhook.ErrDuplicate):
		e.paper.print(entry{Result: "duplicate", Status: report.Status, delivery: d})
	default:
		e.paper.print(entry{Result: "refused", Status: report.Status, Reason: reasonOf(report.Err), delivery: d})
	}
}

// reasonOf is why a request was refused, for the person at the screen.
func reasonOf(err error) string {
	if p, ok := errors.AsType[*problem.Problem](err); ok {
		return p.Detail
	}
	return plain(err).Error()
}

// unverified takes a request as it is. It returns nil where it has answered.
func (e *ear) unverified(w http.ResponseWriter, r *http.Request) *reply {
	const limit = 1 << 20
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if r.Method != http.MethodPost {
		err = problem.MethodNotAllowed.New("A webhook is delivered with POST.").Set("Allow", "POST")
	} else if err != nil {
		p := problem.ContentTooLarge.New("The body is larger than 1 MiB, or did not arrive completely.")
		p.Maximum, err = limit, p
	}
	if err != nil {
		e.paper.print(entry{Result: "refused", Status: problem.From(err).Kind.Status, Reason: reasonOf(err)})
		problem.Write(w, r, err)
		return nil
	}
	own := e.take(r.Context(), r.Header, body)
	d := &webhook.Delivery{ID: r.Header.Get(webhook.HeaderID), Header: r.Header, Body: body}
	e.paper.print(entry{Result: "unverified", Status: own.status, Reason: own.reason, delivery: d})
	return own
}

// take waits, misbehaves and hands on, as it was told to.
func (e *ear) take(ctx context.Context, header http.Header, body []byte) *reply {
	select {
	case <-time.After(e.delay):
	case <-ctx.Done():
		return &reply{status: http.StatusServiceUnavailable, reason: "the sender hung up"}
	}
	switch {
	case e.rate > 0 && rand.Float64() < e.rate:
		return &reply{status: e.status, reason: "told to answer so"}
	case e.target != nil:
		return e.forward(ctx, header, body)
	}
	return &reply{status: http.StatusOK}
}

// newForwarder is a client that passes on what comes, redirects included.
func newForwarder() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       50 * time.Second,
	}
}

// hops are the fields that belong to one connection (RFC 9110, section 7.6.1).
var hops = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect"}

// forward hands a delivery on and returns the target's answer.
func (e *ear) forward(ctx context.Context, header http.Header, body []byte) *reply {
	r, err := http.NewRequestWithContext(ctx, "POST", e.target.String(), bytes.NewReader(body))
	if err != nil {
		return &reply{status: http.StatusServiceUnavailable, reason: err.Error()}
	}
	r.Header = header.Clone()
	for _, name := range hops {
		r.Header.Del(name)
	}
	if _, ok := header["User-Agent"]; !ok {
		r.Header["User-Agent"] = nil // none came, so none is sent
	}
	resp, err := e.client.Do(r)
	if err != nil {
		return &reply{status: http.StatusServiceUnavailable, reason: fmt.Sprintf("not forwarded: %v", err)}
	}
	defer resp.Body.Close()
	own := &reply{status: resp.StatusCode, header: make(http.Header), reason: "the answer of " + e.target.Host}
	for _, name := range []string{"Content-Type", "Retry-After", "Location"} {
		if value := resp.Header.Get(name); value != "" {
			own.header.Set(name, value)
		}
	}
	own.body, _ = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return own
}
