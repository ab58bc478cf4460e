//go:build unix

package dispatch

import (
	"crypto/tls"
	"net"
	"syscall"
)

// quiet reports whether nothing waits to be read from a connection, its end
// included. It does not wait.
func quiet(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return true // it will show when it is used
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	var nothing bool
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && nothing
}
