package byterange

import (
	"context"
	"net"
	"net/http"
	"syscall"
)

// ConnContext is for the field of that name of an [http.Server]. With it, the
// parts of a multipart response and what stands between them share packets: the
// kernel sends full ones only, until the response ends, and what is left then
// at once. The parts of a File are then handed to the connection with as few
// calls as there can be. Without it the response is the same, in more packets.
// It makes a difference for plain TCP on Linux.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return ctx
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, wireKey{}, wire{raw})
}

type wireKey struct{}

// A wire is the connection of a request.
type wire struct{ syscall.RawConn }

// gather has the kernel send full packets only.
func (s *sender) gather() {
	if w, ok := s.r.Context().Value(wireKey{}).(wire); ok && w.Control(hold) == nil {
		s.wire = w
	}
}

// release has it send what is left, and what net/http still has of a response
// that is complete.
func (s *sender) release() {
	if s.sent == s.length {
		_ = http.NewResponseController(s.w).Flush() // where it fails, net/http notices again
	}
	_ = s.wire.Control(let)
}
