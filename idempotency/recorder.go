package idempotency

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
)

// Conceal names the body that later replays of this response get in place of
// the one that is written to w, for a response that shows a secret. It must be
// called before the handler returns, may be called before or after writing,
// and does nothing where w is not recorded by [Handler] or the response is
// not kept in the end. The body must be of the response's media type and
// content coding; it is copied.
//
// w may be wrapped, if the wrappers have the method
// Unwrap() http.ResponseWriter. Of the header only Set-Cookie is left out of a
// replay: put no secret into another field.
func Conceal(w http.ResponseWriter, body []byte) {
	for w != nil {
		switch t := w.(type) {
		case *recorder:
			t.instead = append([]byte{}, body...)
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return
		}
	}
}

// A recorder holds a response back. It has no Unwrap, so that nobody writes
// past it.
type recorder struct {
	header  http.Header // at first as it was outside
	sent    http.Header // as it stood at WriteHeader
	status  int         // 0 until the header is written
	body    bytes.Buffer
	instead []byte // what a replay gets for the body; nil means the body
}

func newRecorder(outside http.Header) *recorder {
	h := outside.Clone()
	if h == nil {
		h = make(http.Header)
	}
	return &recorder{header: h}
}

func (c *recorder) Header() http.Header { return c.header }

func (c *recorder) WriteHeader(status int) {
	if c.status == 0 && status >= 200 {
		c.status = status
		c.sent = c.header.Clone()
	}
}

func (c *recorder) Write(b []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if c.status == http.StatusNoContent || c.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return c.body.Write(b)
}

// own reports whether a field is of one response only, or a secret.
func own(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Content-Length", "Date", "Keep-Alive", "Proxy-Connection", "Set-Cookie",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", Replayed:
		return true
	}
	return false
}

// answer returns what to keep of the response, nil for one that is not 2xx.
// Fields that stand in outside with the same values are not next's, and will
// be there at a replay too.
func (c *recorder) answer(outside http.Header) *Answer {
	c.WriteHeader(http.StatusOK) // a handler that wrote nothing
	if c.status >= 300 {
		return nil
	}
	a := &Answer{Status: c.status, Body: c.body.Bytes()}
	if c.instead != nil {
		a.Body = c.instead
	}
	for _, name := range slices.Sorted(maps.Keys(c.sent)) {
		if own(name) || slices.Equal(c.sent[name], outside[name]) {
			continue
		}
		if c.instead != nil && (name == "Content-Digest" || name == "Repr-Digest") {
			continue // of the body that is not sent again
		}
		for _, value := range c.sent[name] {
			a.Header = append(a.Header, Field{name, value})
		}
	}
	return a
}

// send gives the response to the client.
func (c *recorder) send(w http.ResponseWriter) {
	h := w.Header()
	clear(h)
	maps.Copy(h, c.sent)
	w.WriteHeader(c.status)
	if c.body.Len() > 0 {
		w.Write(c.body.Bytes()) // a client that is gone can ask again
	}
}
