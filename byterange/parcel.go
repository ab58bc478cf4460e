package byterange

import (
	"io"
	"net/http"
	"syscall"
)

// maxText is how much may stand before the bytes of a file in a parcel: the
// heading of a part, and the little that the buffer had before it.
const maxText = 1 << 10

// A parcel is a little text and a part of a file behind it. On its way down to
// the connection it is a reader; there the kernel sends both, without the
// layers between.
type parcel struct {
	s    *sender
	text []byte // what is left of the text
	left Range  // what is left of the file
	room [maxText]byte
}

// send sends the part r of the file, behind what is in the buffer.
func (s *sender) send(r Range) error {
	if s.n > maxText {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if s.parcel == nil {
		s.parcel = &parcel{s: s} // they stay together
	}
	p := s.parcel
	p.text, p.left = append(p.room[:0], s.buf[:s.n]...), r
	s.drop()
	s.extend()
	if !s.flushed {
		s.begin()
		s.flushed = true
		_ = http.NewResponseController(s.w).Flush() // where it fails, so does what follows
	}
	for {
		n, err := s.w.(io.ReaderFrom).ReadFrom(p)
		s.sent += n
		if err == nil && p.over() {
			return nil
		}
		if err = s.again(n, err); err != nil {
			return err
		}
		s.extend()
	}
}

func (p *parcel) over() bool { return len(p.text) == 0 && p.left.Length == 0 }

// Read is for a writer that has to see the bytes.
func (p *parcel) Read(b []byte) (int, error) {
	if len(p.text) > 0 {
		n := copy(b, p.text)
		p.text = p.text[n:]
		return n, nil
	}
	if p.left.Length == 0 {
		return 0, io.EOF
	}
	n, err := p.s.c.File.ReadAt(b[:min(int64(len(b)), p.left.Length)], p.left.Start)
	p.take(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// take notes that so many bytes of the file are on their way.
func (p *parcel) take(n int) {
	p.left.Start += int64(n)
	p.left.Length -= int64(n)
}

// WriteTo is called by the connection, and by wrappers on the way to it.
func (p *parcel) WriteTo(w io.Writer) (int64, error) {
	switch to := w.(type) {
	case syscall.Conn:
		raw, err := to.SyscallConn()
		if err != nil {
			return 0, err
		}
		return p.push(raw)
	case io.ReaderFrom:
		return to.ReadFrom(p)
	}
	return io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{p})
}
