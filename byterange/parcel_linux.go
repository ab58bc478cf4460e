package byterange

import (
	"io"
	"os"
	"syscall"
)

// parcels says whether the kernel is given parcels.
const parcels = true

// push has the kernel send the parcel. It returns early with an error, of the
// deadline for one; what is left is in the parcel.
func (p *parcel) push(raw syscall.RawConn) (sent int64, err error) {
	file := int(p.s.c.File.Fd())
	var failed error
	step := func(fd uintptr) bool {
		for !p.over() {
			n, act, err := p.step(int(fd), file)
			sent += int64(n)
			switch {
			case err == syscall.EINTR:
			case err == syscall.EAGAIN:
				return false
			case err != nil:
				failed = os.NewSyscallError(act, err)
				return true
			case n == 0:
				failed = io.ErrUnexpectedEOF
				return true
			}
		}
		return true
	}
	if err := raw.Write(step); err != nil {
		return sent, err
	}
	return sent, failed
}

// step makes one call.
func (p *parcel) step(fd, file int) (n int, act string, err error) {
	if len(p.text) > 0 {
		if n, err = syscall.Write(fd, p.text); n > 0 {
			p.text = p.text[n:]
		}
		return max(n, 0), "write", err
	}
	off := p.left.Start
	if n, err = syscall.Sendfile(fd, file, &off, int(min(p.left.Length, 1<<30))); n > 0 {
		p.take(n)
	}
	return max(n, 0), "sendfile", err
}
