package byterange

import "syscall"

func hold(fd uintptr) { cork(fd, 1) }
func let(fd uintptr)  { cork(fd, 0) }

// cork fails for a socket that is closed, which needs neither.
func cork(fd uintptr, on int) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CORK, on)
}
