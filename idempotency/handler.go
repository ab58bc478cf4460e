package idempotency

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/parley-api/parley/problem"
)

// patience is how long a keeper may take to store a record.
const patience = 10 * time.Second

// spares is how many records a handler holds that its keeper refused.
const spares = 1024

// Handler gives next the whole convention. It acts on a POST that carries a
// key and hands every other request on untouched. None of keeper, scope and
// next may be nil: Handler panics. scope returns what separates the keys of
// one account from those of another, so it must run after authentication.
//
// The request's body is read into memory first, [MaxBody] at most: a longer
// one is a problem.ContentTooLarge. next gets a copy of the request with the
// same body. Its response is held back until it returns, so next cannot
// stream, flush or hijack; interim (1xx) responses and trailers are dropped.
// If next panics, nothing has been sent and the key is free.
//
// A 2xx response is kept before it is sent, whether or not the client is still
// there: body, status and the header fields that next set, without those of
// the connection, Date and Set-Cookie. Fields that belong to each response,
// such as a request id, should be set outside of Handler.
//
// If the keeper's Lookup fails, nothing is done and the client gets the
// problem in the error's chain, else a problem.Unavailable (503). If its Keep
// fails, the client gets the response all the same: the work is done, and a
// 503 would make the client repeat it, which is the very thing the key is
// there to prevent. This process then remembers the last 1,024 such records
// itself, so that only the loss of the response together with a restart or
// another process can lead to a second run. The keeper should log its errors.
func Handler(keeper Keeper, scope func(*http.Request) string, next http.Handler) http.Handler {
	if keeper == nil || scope == nil || next == nil {
		panic("idempotency: Handler needs a keeper, a scope and a next handler")
	}
	return &handler{keeper: keeper, scope: scope, next: next, spare: NewMemory(&Options{Max: spares})}
}

type handler struct {
	keeper  Keeper
	scope   func(*http.Request) string
	next    http.Handler
	flights Flights
	spare   *Memory // what keeper.Keep failed to take
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		h.next.ServeHTTP(w, r)
		return
	}
	key, err := Key(r)
	if err == nil && key == "" {
		h.next.ServeHTTP(w, r)
		return
	}
	var body []byte
	if err == nil {
		body, err = read(w, r)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	rec := Record{
		Scope: h.scope(r),
		Key:   key,
		Print: Fingerprint(r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body),
	}
	leave, ok := h.flights.Enter(rec.Scope, rec.Key)
	defer leave()
	// The look-up comes after Enter: a request that finished before it has
	// its record stored, and one that has not finished is in the flights.
	answer, err := h.find(r.Context(), &rec)
	switch {
	case err != nil:
		problem.Write(w, r, err)
	case answer != nil:
		answer.Write(w)
	case !ok:
		problem.Write(w, r, InUse())
	default:
		h.run(w, r, body, rec)
	}
}

// find returns the answer to repeat, nil where the key is new.
func (h *handler) find(ctx context.Context, want *Record) (*Answer, error) {
	rec, _ := h.spare.Lookup(ctx, want.Scope, want.Key)
	if rec == nil {
		var err error
		if rec, err = h.keeper.Lookup(ctx, want.Scope, want.Key); err != nil {
			if p, ok := errors.AsType[*problem.Problem](err); ok {
				return nil, p
			}
			p := problem.Unavailable.New("The record of idempotency keys is out of reach. Nothing was done.").Because(err)
			p.RetryAfter = 1
			return nil, p
		}
	}
	return Check(rec, want.Print)
}

// run does the work, keeps the answer and sends it.
func (h *handler) run(w http.ResponseWriter, r *http.Request, body []byte, rec Record) {
	again := *r
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	c := newRecorder(w.Header())
	h.next.ServeHTTP(c, &again)
	if rec.Answer = c.answer(w.Header()); rec.Answer != nil {
		rec.Created = time.Now()
		// A client that hung up is the one that will ask again.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
		defer cancel()
		if err := h.keeper.Keep(ctx, rec); err != nil {
			h.spare.Keep(ctx, rec)
		}
	}
	c.send(w)
}

// read returns the whole body of the request.
func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > MaxBody {
		return nil, tooLarge(MaxBody)
	}
	if r.Body == nil {
		return nil, nil
	}
	var b bytes.Buffer
	b.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBody))
	if err == nil {
		return b.Bytes(), nil
	}
	if over, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(over.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, problem.RequestTimeout.New("The body did not arrive completely in time.").Because(err)
	}
	return nil, problem.BadRequest.New("The body did not arrive completely.").Because(err)
}

func tooLarge(limit int64) *problem.Problem {
	p := problem.ContentTooLarge.Newf("A request with an Idempotency-Key may have a body of at most %d bytes.", limit)
	p.Maximum = limit
	return p
}
