package resource

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-api/parley/idempotency"
	"github.com/parley-api/parley/negotiate"
	"github.com/parley-api/parley/precond"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// A Call is one request as the hall hands it to a room: who asks, in which
// version, on which mount, for which representation. It lives as long as the
// request.
type Call struct {
	W http.ResponseWriter
	R *http.Request

	Route   *Route
	Args    [3]string        // the values of the pattern's parameters
	Mount   string           // "", "/v1", "/api/v1": what links begin with
	Path    string           // the path below the mount, as the client wrote it
	Version *version.Version // in whose shape the client speaks
	Account int64            // whose rows it may see
	Type    string           // the media type of the answer

	ContentType string // of the body, one of the route's Accepts
	Body        []byte // complete; valid until the answer is sent

	Stream io.Reader // the body of a route with Stream; its errors are problems

	Replay *Replay // nil: no Idempotency-Key
	Buf    []byte  // to build the answer in; empty
}

// A Replay is the key of an idempotent request that runs for the first time.
type Replay struct {
	Key   string
	Print idempotency.Print
}

// Context returns the request's context.
func (c *Call) Context() context.Context { return c.R.Context() }

// A Route is one method of one pattern.
type Route struct {
	Method, Pattern string
	Scope           string            // what a key must carry; "" means any key
	Public          bool              // no key is asked for
	Accepts         []string          // media types of the body; none: no body is read
	Offers          *negotiate.Offers // nil: the JSON of the version
	Single          bool              // the hall does not negotiate: there is one representation, or Serve chooses
	Stream          bool              // the body is not read before Serve, which takes it from Call.Stream and sets the Print of a Replay
	Serve           func(*Call) error

	// For the documentation.
	Operation string // operationId, createTask
	Summary   string
	Kind      Kind
	Room      *Room // nil for what is no resource
}

// A Kind is what a route does with a resource.
type Kind uint8

const (
	Other Kind = iota
	List
	Create
	Read
	Replace
	Patch
	Remove
	Act
)

// A Store keeps rows, as [store.Store] does.
type Store interface {
	Get(ctx context.Context, t *store.Table, account, id int64) (store.Row, error)
	Page(ctx context.Context, t *store.Table, q store.Query) ([]store.Row, error)
	Begin(ctx context.Context, t *store.Table, q store.Query) ([]store.Row, int64, error)
	Count(ctx context.Context, t *store.Table, q store.Query) (int64, error)
	Commit(ctx context.Context, tx *store.Tx) ([]store.Row, error)
}

// A finder is a Store that finds rows by a unique column: what a resource with
// a Key needs besides.
type finder interface {
	Find(ctx context.Context, t *store.Table, account int64, column string, value any) (store.Row, error)
}

// The media types of request bodies.
const (
	TypeJSON  = "application/json"
	TypeMerge = "application/merge-patch+json"
	TypePatch = "application/json-patch+json"
)

// Header values that many answers share. Nobody may change them.
var (
	cacheNo    = []string{"private, no-cache"}
	cacheNever = []string{"no-store"}
	rangesNone = []string{"none"}
	typeJSON   = []string{TypeJSON}
)

// Send answers with a JSON body. An empty etag means that the answer has none
// and is not to be stored.
func (c *Call) Send(status int, etag string, body []byte) {
	h := c.W.Header()
	if c.Type == TypeJSON || c.Type == "" {
		h["Content-Type"] = typeJSON
	} else {
		h["Content-Type"] = []string{c.Type}
	}
	if etag != "" {
		h["Etag"] = []string{etag}
		h["Cache-Control"] = cacheNo
	} else {
		h["Cache-Control"] = cacheNever
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.W.WriteHeader(status)
	if c.R.Method != http.MethodHead {
		c.W.Write(body)
	}
}

// Show answers a GET with a representation, or with 304 where the client has
// it already. It returns a problem where a precondition fails.
func (c *Call) Show(etag string, body []byte) error {
	c.Buf = body[:0]
	result, err := precond.Check(c.R, etag, time.Time{})
	if err != nil {
		return err
	}
	if result == precond.NotModified {
		c.notModified(etag)
		return nil
	}
	c.W.Header()["Accept-Ranges"] = rangesNone
	c.Send(http.StatusOK, etag, body)
	return nil
}

func (c *Call) notModified(etag string) {
	h := c.W.Header()
	h["Etag"], h["Cache-Control"] = []string{etag}, cacheNo
	precond.WriteNotModified(c.W)
}

// Created answers 201 with a body that is not to be stored, and the path where
// it can be read.
func (c *Call) Created(path string, body []byte) {
	c.W.Header()["Location"] = []string{c.Mount + path}
	c.Send(http.StatusCreated, "", body)
}

// Once is the record of an idempotent call that Created answers: nil where it
// is not one. The answer is made inside the transaction: quick and pure.
func (c *Call) Once(answer func() (path string, body []byte)) *store.Replay {
	if c.Replay == nil {
		return nil
	}
	mount, media := c.Mount, c.Type
	return &store.Replay{Key: c.Replay.Key, Print: c.Replay.Print, Answer: func([]store.Row) []byte {
		path, body := answer()
		a := idempotency.Answer{Status: http.StatusCreated, Body: body, Header: []idempotency.Field{
			{Name: "Content-Type", Value: media}, {Name: "Cache-Control", Value: cacheNever[0]}, {Name: "Location", Value: mount + path},
		}}
		return a.AppendAnswer(nil)
	}}
}

// NoContent answers 204.
func (c *Call) NoContent() {
	c.W.Header()["Cache-Control"] = cacheNever
	c.W.WriteHeader(http.StatusNoContent)
}
