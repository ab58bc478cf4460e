package parley

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/byterange"
	"github.com/parley-api/parley/idempotency"
	"github.com/parley-api/parley/internal/head"
	"github.com/parley-api/parley/negotiate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/route"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// MaxBody is the size of the largest JSON body, in bytes.
const MaxBody = 1 << 20

// A visit is one request on its way through the hall.
type visit struct {
	app   *App
	call  resource.Call
	rec   recorder
	start time.Time
	id    [1]string // of the request, as a header value
	match route.Match[*passage]
	who   Identity
	asked *version.Version // which the request or the pin names, for the ledger
	cause error            // of a failure, for the log

	release func() // frees the idempotency key; nil: none
	aborted bool   // the answer broke off and the client must notice
	metered bool   // it was taken from a quota

	body   []byte
	out    []byte
	fields http.Header // of the response, where its connection takes them
}

var visits = sync.Pool{New: func() any { return &visit{fields: make(http.Header, 24)} }}

// Header values that every response shares. Nobody may change them.
var (
	nosniff = []string{"nosniff"}
	vary    = []string{"Accept, API-Version, Authorization"}
	never   = []string{"no-store"}
)

// ServeHTTP is the hall. Its order is written here and nowhere else: id,
// recover, log, version carriers, route, authenticate, pin, rate limit, scope,
// negotiate, body, idempotency, room.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := visits.Get().(*visit)
	v.enter(a, w, r)
	defer v.leave()
	if err := v.walk(); err != nil {
		v.fail(err)
	}
}

// enter gives the request an id and the response what every response has.
func (v *visit) enter(a *App, w http.ResponseWriter, r *http.Request) {
	v.app, v.start = a, a.now()
	v.rec = recorder{ResponseWriter: w, conn: head.Of(w, r), fields: v.fields}
	v.call = resource.Call{W: &v.rec, R: r, Buf: v.out[:0]}
	v.id[0] = a.requests.of(r)
	h := v.rec.Header()
	if h["X-Request-Id"] = v.id[:]; v.rec.conn == nil {
		h["X-Request-Id"] = []string{v.id[0]} // whoever has the header may keep it longer than the visit
	}
	h["X-Content-Type-Options"] = nosniff
	h["Vary"] = vary
	a.cors(h, r)
}

// leave recovers from a panic, writes the log line and lets the visit go.
func (v *visit) leave() {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		v.aborted = true
	default:
		v.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
	if v.rec.status == 0 && !v.aborted {
		v.rec.WriteHeader(http.StatusOK)
	}
	if v.release != nil {
		v.release()
	}
	v.app.record(v)
	aborted := v.aborted
	clear(v.fields)
	*v = visit{body: kept(v.body), out: kept(v.call.Buf), fields: v.fields}
	visits.Put(v)
	if aborted {
		panic(http.ErrAbortHandler)
	}
}

// kept empties a buffer for the next visit; a large one is let go.
func kept(b []byte) []byte {
	if cap(b) > 1<<16 {
		return nil
	}
	return b[:0]
}

// walk is the way of a request that nothing stops.
func (v *visit) walk() error {
	a, c, r := v.app, &v.call, v.call.R
	choice, err := a.calendar.Choose(r, v.start)
	c.Mount, c.Path, c.Version, v.asked = choice.Mount, choice.Path, choice.Version, choice.Named
	if err != nil {
		return err
	}
	if c.Version != nil {
		a.calendar.Announce(v.rec.Header(), c.Version, v.start, c.Mount, r.URL)
	}
	if v.match, err = a.find(r, c.Path); err != nil {
		return v.latest(err)
	}
	if v.match.Options {
		v.latest(nil)
		if err := v.meter(""); err != nil {
			return err
		}
		a.allow(v)
		return nil
	}
	c.Route, c.Args = v.match.Value.Route, v.match.Args
	if err := v.admit(); err != nil {
		return v.latest(err)
	}
	if err := v.negotiate(); err != nil {
		return err
	}
	if r.Method == http.MethodPost && !c.Route.Public { // nobody's keys are nobody's to find
		if done, err := v.once(); done || err != nil {
			return err
		}
	}
	return v.serve()
}

// find looks the path up. An escaped slash is not a separator.
func (a *App) find(r *http.Request, path string) (route.Match[*passage], error) {
	if r.URL.RawPath != "" && strings.Contains(strings.ToLower(r.URL.RawPath), "%2f") {
		return route.Match[*passage]{}, problem.NotFound.New("There is nothing at this path.")
	}
	return a.routes.Match(r.Method, path)
}

// latest gives an answer that was decided before the account was known the
// latest version, and returns err.
func (v *visit) latest(err error) error {
	if v.call.Version == nil {
		v.serveAs(v.app.calendar.Latest(v.start))
	}
	return err
}

func (v *visit) serveAs(version *version.Version) {
	v.call.Version = version
	v.app.calendar.Announce(v.rec.Header(), version, v.start, v.call.Mount, v.call.R.URL)
}

// admit authenticates, pins, takes from the quota and checks the scope.
func (v *visit) admit() error {
	a, c := v.app, &v.call
	credential := ""
	var denied error
	if !c.Route.Public {
		if v.who, denied = a.identify(v); denied == nil {
			credential = v.who.Credential
			c.Account = v.who.Account
		}
	}
	if err := v.meter(credential); err != nil {
		return err
	}
	if denied != nil {
		return denied
	}
	if c.Version == nil {
		if err := v.pin(); err != nil {
			return err
		}
	}
	if scope := c.Route.Scope; scope != "" && !slices.Contains(v.who.Scopes, scope) && !slices.Contains(v.who.Scopes, "admin") {
		return problem.Forbidden.Newf("This request needs a key with the scope %s.", scope)
	}
	return nil
}

// meter takes one request from the quota of a credential, or of the address
// where there is none.
func (v *visit) meter(credential string) error {
	v.metered = true
	limiter := v.app.limiter
	if limiter == nil {
		return nil
	}
	if credential == "" {
		credential = v.app.address(v.call.R)
	}
	d := limiter.Take(credential)
	limiter.SetHeader(v.rec.Header(), d)
	if !d.Allowed {
		return d.Problem()
	}
	return nil
}

// pin gives a request that names no version the one of its account.
func (v *visit) pin() error {
	cal := v.app.calendar
	pinned := cal.Find(v.who.Version) // nil where it has no pin
	if pinned == nil {
		pinned = cal.Latest(v.start)
	}
	v.asked = pinned
	serving := cal.Serving(pinned, v.start)
	v.serveAs(serving)
	if serving.Status(v.start) == version.Retired {
		return cal.Retired(serving, v.start, v.call.Mount, v.call.R.URL)
	}
	return nil
}

// negotiate chooses the representation and reads the body.
func (v *visit) negotiate() error {
	c := &v.call
	offers := c.Route.Offers
	if offers == nil {
		offers = v.app.offers[c.Version.Index()]
	}
	var err error
	if c.Route.Single {
		return nil
	}
	if c.Type, err = offers.Choose(c.R.Header["Accept"]); err != nil {
		return err
	}
	if c.Route.Stream {
		c.Stream = v.stream()
		return nil
	}
	if c.Route.Accepts == nil {
		return nil
	}
	if c.ContentType, err = negotiate.Content(c.R, c.Route.Accepts...); err != nil {
		return err
	}
	c.Body, err = v.read()
	return err
}

// read takes in the whole body, up to MaxBody.
func (v *visit) read() ([]byte, error) {
	r := v.call.R
	tooLarge := problem.ContentTooLarge.Newf("A body may have at most %d bytes.", MaxBody)
	tooLarge.Maximum = MaxBody
	if r.ContentLength > MaxBody {
		return nil, tooLarge
	}
	b := slices.Grow(v.body[:0], int(max(r.ContentLength, 0))+512)
	for {
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		v.body = b
		switch {
		case len(b) > MaxBody:
			return nil, tooLarge
		case err == io.EOF:
			return b, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, problem.RequestTimeout.New("The body did not arrive in time.").Because(err)
		case err != nil:
			return nil, problem.BadRequest.New("The body could not be read.").Because(err)
		}
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
	}
}

// once looks for an earlier request with the same idempotency key.
func (v *visit) once() (done bool, err error) {
	c := &v.call
	key, err := idempotency.Key(c.R)
	if key == "" || err != nil {
		return false, err
	}
	account := c.Account
	if c.Route.Room != nil && c.Route.Room.Service() {
		key, account = strconv.FormatInt(account, 10)+":"+key, 0
	}
	leave, ok := v.app.flights.Enter(strconv.FormatInt(account, 10), key)
	if !ok {
		p := problem.KeyInUse.New("A request with this Idempotency-Key is still running.")
		p.RetryAfter = 1
		return false, p
	}
	v.release = leave
	if c.Route.Stream { // whether it is the same request is known at its end; the store tells
		c.Replay = &resource.Replay{Key: key}
		return false, nil
	}
	c.Replay = &resource.Replay{Key: key, Print: idempotency.Fingerprint(c.R.Method, c.Version.Name+c.R.URL.EscapedPath(), c.ContentType, c.Body)}
	kept, err := v.app.store.Replay(c.Context(), account, key)
	if kept == nil || err != nil {
		return false, err
	}
	return true, v.replay(kept)
}

// replay answers as the first request was answered, if this one is the same.
func (v *visit) replay(kept *store.Kept) error {
	answer, err := idempotency.ParseAnswer(kept.Answer)
	if err != nil {
		return err
	}
	rec := &idempotency.Record{Print: kept.Print, Answer: answer}
	if answer, err = idempotency.Check(rec, v.call.Replay.Print); err != nil {
		return err
	}
	answer.Write(&v.rec)
	return nil
}

// serve hands the call to its room.
func (v *visit) serve() error {
	c := &v.call
	err := c.Route.Serve(c)
	if e, ok := errors.AsType[*store.ReplayedError](err); ok {
		return v.replay(&e.Kept)
	}
	if c.Route.Method != http.MethodGet && isSystem(c.Route.Pattern) {
		v.app.keyring.forget()
	}
	return err
}

// fail answers with an error. Errors that are no problems become one here: the
// one table of what they mean to a client.
func (v *visit) fail(err error) {
	c := &v.call
	if v.rec.status != 0 {
		v.aborted = true
		if i, ok := errors.AsType[*byterange.Interruption](err); !ok || i.Source {
			v.cause = err // a client that goes away is no failure
		}
		return
	}
	if !v.metered {
		if over := v.meter(""); over != nil {
			err = over
		}
	}
	var p problem.Problem
	switch {
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrClosed), errors.Is(err, context.DeadlineExceeded):
		p = *problem.Unavailable.New("The service cannot reach its database right now.").Because(err)
		p.RetryAfter = 1
	case errors.Is(err, blob.ErrUnavailable):
		p = *problem.Unavailable.New("The service cannot reach its stored bytes right now.").Because(err)
		p.RetryAfter = 5
	case errors.Is(err, blob.ErrFull):
		p = *problem.StorageFull.New("There is no room left for more bytes.").Because(err)
	case errors.Is(err, context.Canceled):
		p = *problem.Unavailable.New("The request was given up.").Because(err)
	default:
		p = *problem.From(err)
	}
	p.RequestID = v.id[0]
	v.cause = p.Cause
	v.latest(nil)
	var shape problem.Shape
	if v.app.plainErrors(c.Version) {
		shape = plainError
	}
	problem.WriteShape(&v.rec, c.R, &p, shape)
}

// plainErrors reports whether errors in a version are texts, as they were
// before problem details.
func (a *App) plainErrors(v *version.Version) bool {
	problems := a.calendar.Find("2025-11-01")
	return problems != nil && v.Index() < problems.Index() && v.Status(a.now()) != version.Retired
}

// plainError is the error body of version 2024-11-01.
func plainError(p *problem.Problem) (string, []byte) {
	text := p.Detail
	if text == "" {
		text = p.Kind.Title
	}
	b, _ := json.Marshal(map[string]string{"error": text})
	return resource.TypeJSON, b
}
