package parley

import (
	"context"
	"net"
	"net/http"

	"github.com/parley-api/parley/byterange"
	"github.com/parley-api/parley/internal/head"
)

// Serve is s.Serve(l) for a server that has an App as its handler: on plain TCP,
// a response of the App then costs less. What it answers is the same. A handler
// that stands before the App and gives it a writer of its own makes no
// difference but that. Serve sets the ConnContext of s, in front of one that s
// has.
func Serve(s *http.Server, l net.Listener) error {
	next := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		ctx = head.Context(ctx, c)
		if c, ok := c.(*head.Conn); ok {
			ctx = byterange.ConnContext(ctx, c.TCPConn)
		}
		if next != nil {
			ctx = next(ctx, c)
		}
		return ctx
	}
	return s.Serve(head.Listen(l))
}
