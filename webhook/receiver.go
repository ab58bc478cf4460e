package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/parley-api/parley/problem"
)

// A Delivery is a webhook whose signature was verified.
type Delivery struct {
	ID        string      // the webhook-id; the same when the sender tries again
	Timestamp time.Time   // when this attempt was signed, in UTC; when the event occurred is in its envelope
	Header    http.Header // of the request; not to be changed
	Body      []byte      // as it was sent; the caller's to keep
}

// Event reads the envelope in the body. An envelope without an id gets that of
// the delivery; one with another id is refused. The error wraps ErrEvent.
func (d *Delivery) Event() (*Event, error) {
	e, err := ParseEvent(d.Body)
	if err != nil {
		return nil, err
	}
	if e.ID == "" {
		e.ID = d.ID
	}
	if e.ID != d.ID {
		return nil, fault("its webhook-id is not that of the header")
	}
	return e, nil
}

// ErrDuplicate is in a [Report] of a delivery that is known. A queue that
// finds out itself that it has a delivery already returns it, and the sender
// hears 200.
var ErrDuplicate = errors.New("webhook: the delivery was accepted before")

// ErrBusy is in a [Report] of a delivery whose twin was being accepted for so
// long that the sender was asked to come again.
var ErrBusy = errors.New("webhook: the delivery is still being accepted")

// A Report says how a request ended.
type Report struct {
	Delivery *Delivery // nil where it was not verified
	Status   int       // of the answer
	// Err says why: nil for a delivery that was accepted, ErrDuplicate for a
	// known one. With a status of 200, any other means that a delivery was
	// accepted and the store failed to remember it.
	Err error
}

// ReceiverOptions are the options of a [Receiver].
type ReceiverOptions struct {
	// Store remembers what was accepted. Nil means a MemoryStore of the
	// receiver's own, which forgets when the process ends.
	Store Store
	// Scope keeps the ids of this sender apart from those of others in the
	// same store. Empty is a scope, too.
	Scope string
	// Retention is how long an accepted delivery is remembered. Zero means
	// 72 h, the constant Retention.
	Retention time.Duration
	// Tolerance is how far a timestamp may be from the present. Zero means
	// 300 s, the constant Tolerance.
	Tolerance time.Duration
	// MaxBody is the size of the largest body, in bytes. Zero means 1 MiB.
	MaxBody int64
	// Timeout is how long the queue may take; then its context ends. Zero
	// means 30 s. Senders wait 10 to 15 s as a rule.
	Timeout time.Duration
	// Observe is called when a request ends, for logs and metrics. It may be
	// called concurrently. Nil means nobody looks.
	Observe func(*http.Request, Report)
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// A Receiver is an [http.Handler] that takes signed deliveries:
//
//  1. It verifies the signature. A delivery that fails is answered with 401
//     and a problem that names the step.
//  2. It asks the store. A known delivery is answered with 200 and not
//     processed again. One that is being accepted at this very moment waits
//     for the outcome.
//  3. It hands the delivery to the queue.
//  4. It answers 200 at once.
//
// A body that is too large is answered with 413, a method that is not POST
// with 405. Where the store or the queue fails, the delivery stays new and the
// answer is 503, so that the sender tries again. A queue that returns the error
// of [Delivery.Event] gets 422 sent, one that returns a [problem.Problem]
// that. Errors are problem details.
//
// A Receiver is safe for concurrent use.
type Receiver struct {
	verifier *Verifier
	enqueue  func(context.Context, *Delivery) error
	opts     ReceiverOptions
	flights  flights
}

// NewReceiver returns a receiver of what is signed with one of the secrets.
//
// The function enqueue is called once for each delivery, concurrently. It
// must put the work where it survives, and return: the sender counts the
// delivery as done when it returns nil. The context ends when the sender hangs
// up. A nil opts means the defaults. NewReceiver panics as [NewVerifier] does,
// without a queue, and with a negative option.
func NewReceiver(secrets []Secret, enqueue func(ctx context.Context, d *Delivery) error, opts *ReceiverOptions) *Receiver {
	r := &Receiver{enqueue: enqueue}
	if opts != nil {
		r.opts = *opts
	}
	o := &r.opts
	if enqueue == nil || o.Retention < 0 || o.MaxBody < 0 || o.Timeout < 0 {
		panic("webhook: a receiver needs a queue, and no option may be negative")
	}
	r.verifier = NewVerifier(secrets, &VerifierOptions{Tolerance: o.Tolerance})
	if o.Store == nil {
		o.Store = NewMemoryStore(nil)
	}
	if o.Retention == 0 {
		o.Retention = Retention
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return r
}

// methods is the value of Allow.
const methods = "OPTIONS, POST"

// ServeHTTP answers one request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodOptions {
		w.Header().Set("Allow", methods)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	d, err := r.verify(w, req)
	accepted := false
	if err == nil {
		accepted, err = r.accept(req.Context(), d)
	}
	status := http.StatusOK
	var answer *problem.Problem
	if !accepted {
		answer = Problem(err)
		status = answer.Kind.Status
	}
	if r.opts.Observe != nil {
		r.opts.Observe(req, Report{d, status, err})
	}
	if answer != nil {
		problem.Write(w, req, answer)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
}

// verify reads a delivery. What the header says is checked before the body is
// read.
func (r *Receiver) verify(w http.ResponseWriter, req *http.Request) (*Delivery, error) {
	if req.Method != http.MethodPost {
		return nil, problem.MethodNotAllowed.New("A webhook is delivered with POST.").Set("Allow", methods)
	}
	s, err := r.verifier.seal(req.Header, r.opts.Now())
	if err != nil {
		return nil, err
	}
	body, err := r.read(w, req)
	if err != nil {
		return nil, err
	}
	if err := r.verifier.match(&s, body); err != nil {
		return nil, err
	}
	return &Delivery{ID: s.id, Timestamp: time.Unix(s.seconds, 0).UTC(), Header: req.Header, Body: body}, nil
}

func (r *Receiver) read(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	tooLarge := problem.ContentTooLarge.Newf("The body of a webhook has at most %d bytes here.", r.opts.MaxBody)
	if tooLarge.Maximum = r.opts.MaxBody; req.ContentLength > r.opts.MaxBody {
		return nil, tooLarge
	}
	limited := http.MaxBytesReader(w, req.Body, r.opts.MaxBody)
	var body []byte
	var err error
	if req.ContentLength >= 0 {
		body = make([]byte, req.ContentLength)
		_, err = io.ReadFull(limited, body)
	} else {
		body, err = io.ReadAll(limited)
	}
	_, over := errors.AsType[*http.MaxBytesError](err)
	switch {
	case over:
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem.RequestTimeout.New("The body did not arrive in time.").Because(err)
	case err != nil:
		return nil, problem.BadRequest.New("The body did not arrive completely.").Because(err)
	}
	return body, nil
}

// The times of accepting. A delivery waits for its twin for patience; a claim
// outlasts the queue's timeout by margin; settling and releasing go on for
// farewell when the sender is gone.
const (
	patience = 5 * time.Second
	margin   = 30 * time.Second
	farewell = 5 * time.Second
)

// accept takes a delivery, once of all its twins here. It reports whether the
// delivery is safe.
func (r *Receiver) accept(ctx context.Context, d *Delivery) (safe bool, err error) {
	var end <-chan time.Time
	for {
		one, leads := r.flights.enter(d.ID)
		if leads {
			defer func() { r.flights.leave(d.ID, one, safe) }()
			return r.lead(ctx, d)
		}
		if end == nil {
			end = time.After(patience)
		}
		select {
		case <-one.done:
			if one.safe {
				return true, ErrDuplicate
			}
		case <-end:
			return false, ErrBusy
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// lead claims a delivery, queues it and settles. Where the queue fails, the
// claim is released.
func (r *Receiver) lead(ctx context.Context, d *Delivery) (bool, error) {
	c := Claim{Scope: r.opts.Scope, ID: d.ID, Token: rand.Text()}
	state, err := r.claim(ctx, &c)
	switch {
	case err != nil:
		return false, err
	case state == Known:
		return true, ErrDuplicate
	case state == Running:
		return false, ErrBusy
	}
	queued := false
	defer func() {
		if !queued { // the queue failed, or panicked
			r.leave(ctx, func(ctx context.Context) error { return r.opts.Store.Release(ctx, c) }) // where this fails, the claim ends by itself
		}
	}()
	limited, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	err = r.enqueue(limited, d)
	if queued = err == nil || errors.Is(err, ErrDuplicate); !queued {
		return false, err
	}
	c.At = r.opts.Now()
	c.Until = c.At.Add(r.opts.Retention)
	if lost := r.leave(ctx, func(ctx context.Context) error { return r.opts.Store.Settle(ctx, c) }); lost != nil {
		return true, lost
	}
	return true, err
}

// leave calls the store although the sender may be gone.
func (r *Receiver) leave(ctx context.Context, act func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	return act(ctx)
}

// claim asks the store, again and again while another process has the delivery.
func (r *Receiver) claim(ctx context.Context, c *Claim) (State, error) {
	end := time.NewTimer(patience)
	defer end.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		c.At = r.opts.Now()
		c.Until = c.At.Add(r.opts.Timeout + margin)
		state, err := r.opts.Store.Claim(ctx, *c)
		if err != nil || state != Running {
			return state, err
		}
		select {
		case <-time.After(pause):
		case <-end.C:
			return Running, nil
		case <-ctx.Done():
			return Running, ctx.Err()
		}
	}
}

// details are the sentences for the sender, by the step that failed.
var details = []struct {
	step error
	text string
}{
	{ErrMissingHeader, "The request lacks webhook-id, webhook-timestamp or webhook-signature."},
	{ErrRepeatedHeader, "The request has webhook-id, webhook-timestamp or webhook-signature more than once."},
	{ErrID, "The webhook-id is not 1 to 256 visible ASCII characters."},
	{ErrTimestamp, "The webhook-timestamp is not a number of Unix seconds."},
	{ErrTooOld, "The webhook-timestamp is too old."},
	{ErrTooNew, "The webhook-timestamp is too far in the future."},
	{ErrSignature, "The webhook-signature is not a list of 1 to 16 entries <scheme>,<base64>."},
	{ErrNoScheme, "The webhook-signature has no entry of the scheme that is expected here."},
	{ErrNoMatch, "No entry of the webhook-signature matches the body."},
}

// Problem is what a receiver answers to an error of Verify, of
// [Delivery.Event], or of its queue.
func Problem(err error) *problem.Problem {
	for _, d := range details {
		if errors.Is(err, d.step) {
			return problem.InvalidSignature.New(d.text).Set("WWW-Authenticate", "Webhook-Signature").Because(err)
		}
	}
	if p, ok := errors.AsType[*problem.Problem](err); ok && p != nil {
		return p
	}
	if errors.Is(err, ErrEvent) {
		return problem.ValidationFailed.New("The body is not an event.").Because(err)
	}
	p := problem.Unavailable.New("The delivery could not be accepted. Send it again later.").Because(err)
	p.RetryAfter = 5
	return p
}
