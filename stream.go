package parley

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// A stream is the body of an upload. The server's own limits on time are for
// requests that are small; here a client may take as long as it needs while it
// does not stall.
type stream struct {
	body    io.Reader
	control *http.ResponseController
	extend  time.Time // when to move the deadlines again
}

func (v *visit) stream() *stream {
	return &stream{body: v.call.R.Body, control: http.NewResponseController(&v.rec)}
}

// Read reads the body. Its errors, but for io.EOF, are problems.
func (s *stream) Read(b []byte) (int, error) {
	if now := time.Now(); now.After(s.extend) {
		s.extend = now.Add(time.Second)
		// A writer without deadlines, as tests have them, has none to move.
		_ = s.control.SetReadDeadline(now.Add(resource.Stall))
		_ = s.control.SetWriteDeadline(now.Add(2 * resource.Stall))
	}
	n, err := s.body.Read(b)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, problem.RequestTimeout.New("The body stalled.").Because(err)
	}
	return n, problem.BadRequest.New("The body could not be read to its end.").Because(err)
}
