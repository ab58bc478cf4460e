package byterange

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Buffer is the memory, in bytes, that a response takes from the pool, at
// most, whatever it sends. While the kernel copies it has none; net/http then
// holds one of the same size.
const Buffer = 32 << 10

// kernel is the length from which the kernel copies a part of a file: below,
// a read into the buffer and a write cost less.
const kernel = 32 << 10

// An Interruption is the error of a response that was begun and could not be
// finished: the source failed, or the client went away or stalled.
type Interruption struct {
	Sent   int64 // bytes of the body that were written
	Source bool  // the source failed; false means the client
	Err    error
}

func (e *Interruption) Error() string {
	side := "writing to the client"
	if e.Source {
		side = "reading the source"
	}
	return fmt.Sprintf("response interrupted after %d bytes: %s: %v", e.Sent, side, e.Err)
}

// Unwrap returns the error of the source or of the connection.
func (e *Interruption) Unwrap() error { return e.Err }

type buffer [Buffer]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// A sender writes one response. The header goes out with the first bytes, so
// that a source that cannot be read at all still gives an error response.
type sender struct {
	w     http.ResponseWriter
	r     *http.Request
	c     Content
	stall time.Duration

	status    int
	length    int64  // of the body
	only      Range  // what Content-Range says; no length means that there is none
	multipart string // its Content-Type; "" means that there are no parts

	wire    wire // that sends full packets only; zero means that it does not
	begun   bool
	flushed bool             // net/http has sent the header, and holds nothing else
	until   time.Time        // the deadline that was set; zero means none
	sent    int64            // bytes of the body that were written
	buf     *buffer          // nil until it is needed
	n       int              // bytes in buf that are not written yet
	file    io.LimitedReader // what the kernel copies
	parcel  *parcel          // the same, where net/http need not be in between
	open    io.ReadCloser
}

// close gives back what the response holds.
func (s *sender) close() {
	if s.wire.RawConn != nil {
		s.release()
	}
	s.drop()
	if s.open != nil {
		s.open.Close()
	}
	if !s.until.IsZero() && s.timeout() == 0 { // else it is set anew with each request
		s.restore()
	}
	*s = sender{parcel: s.parcel}
	senders.Put(s)
}

var senders = sync.Pool{New: func() any { return new(sender) }}

// drop gives the buffer back, and with it what was not written.
func (s *sender) drop() {
	if s.buf != nil {
		buffers.Put(s.buf)
		s.buf, s.n = nil, 0
	}
}

// one sends a body of one part.
func (s *sender) one(r Range) error {
	if s.r.Method == http.MethodHead || r.Length == 0 {
		s.begin()
		return nil
	}
	if err := s.part(r); err != nil {
		return err
	}
	return s.flush()
}

// part sends the bytes of a range, or leaves the last of them in the buffer.
func (s *sender) part(r Range) error {
	if s.c.File != nil && r.Length >= kernel && s.direct() {
		if parcels && s.wire.RawConn != nil {
			return s.send(r)
		}
		return s.copy(r)
	}
	if s.c.Section != nil {
		var err error
		if s.open, err = s.c.Section(s.r.Context(), r.Start, r.Length); err != nil {
			s.open = nil
			return s.failed(err)
		}
	}
	for at := r.Start; at < r.Start+r.Length; {
		if s.n == Buffer {
			if err := s.flush(); err != nil {
				return err
			}
		}
		into := s.room()
		into = into[:min(int64(len(into)), r.Start+r.Length-at)]
		if err := s.read(into, at); err != nil {
			return s.failed(err)
		}
		s.n += len(into)
		at += int64(len(into))
	}
	if s.open != nil {
		s.open.Close() // all was read
		s.open = nil
	}
	return nil
}

// read fills b with the bytes from off on.
func (s *sender) read(b []byte, off int64) error {
	var n int
	var err error
	switch {
	case s.open != nil:
		n, err = io.ReadFull(s.open, b)
	case s.c.File != nil:
		n, err = s.c.File.ReadAt(b, off)
	default:
		n, err = s.c.ReaderAt.ReadAt(b, off)
	}
	switch {
	case n == len(b):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// room returns what is free of the buffer.
func (s *sender) room() []byte {
	if s.buf == nil {
		s.buf = buffers.Get().(*buffer)
	}
	return s.buf[s.n:]
}

// text sends a few bytes of the response's own.
func (s *sender) text(b []byte) error {
	for len(b) > 0 {
		n := copy(s.room(), b)
		s.n += n
		if b = b[n:]; len(b) > 0 {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the buffer.
func (s *sender) flush() error {
	if s.n == 0 {
		return nil
	}
	s.extend()
	s.begin()
	n, err := s.w.Write(s.buf[:s.n])
	s.sent += int64(n)
	if err != nil {
		return &Interruption{Sent: s.sent, Err: err}
	}
	s.n = 0
	return nil
}

// direct reports whether the kernel can copy to the client.
func (s *sender) direct() bool {
	_, ok := s.w.(io.ReaderFrom)
	return ok && s.r.TLS == nil && s.r.ProtoMajor == 1
}

// copy has the kernel copy a part of the file, behind what is in the buffer.
func (s *sender) copy(r Range) error {
	if err := s.flush(); err != nil {
		return err
	}
	s.drop()
	for left := r; left.Length > 0; {
		if _, err := s.c.File.Seek(left.Start, io.SeekStart); err != nil {
			return s.failed(err)
		}
		s.extend()
		s.begin()
		s.file.R, s.file.N = s.c.File, left.Length
		n, err := s.w.(io.ReaderFrom).ReadFrom(&s.file)
		s.sent += n
		left.Start, left.Length = left.Start+n, left.Length-n
		if left.Length > 0 {
			if err := s.again(n, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// again looks at why only n bytes more went out. Nil means to go on: the time
// was up and the client has moved, so it gets more time.
func (s *sender) again(n int64, err error) error {
	switch {
	case err == nil || errors.Is(err, io.ErrUnexpectedEOF):
		return s.failed(io.ErrUnexpectedEOF)
	case s.stall > 0 && n > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return &Interruption{Sent: s.sent, Err: err}
}

// small is the length of a response, in bytes, up to which a WriteTimeout of
// the server will do that is no shorter than Stall.
const small = 64 << 10

// extend gives the client time for the next bytes, at least Stall. To set a
// deadline costs more than to look at the clock, so it is set an eighth later.
func (s *sender) extend() {
	if s.stall == 0 {
		return
	}
	if !s.begun && s.length <= small && s.timeout() >= s.stall {
		s.stall = 0
		return
	}
	now := time.Now()
	if s.until.Sub(now) >= s.stall {
		return
	}
	s.until = now.Add(s.stall + s.stall/8)
	// A writer without deadlines has none to extend.
	_ = http.NewResponseController(s.w).SetWriteDeadline(s.until)
}

// timeout returns what the server gives a response; 0 means for ever.
func (s *sender) timeout() time.Duration {
	if server, ok := s.r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return max(server.WriteTimeout, 0)
	}
	return 0
}

// restore takes the deadline off the connection, for the next response. What
// net/http still holds goes out before.
func (s *sender) restore() {
	c := http.NewResponseController(s.w)
	if c.Flush() == nil {
		_ = c.SetWriteDeadline(time.Time{})
	}
}

// failed makes an interruption of an error of the source, if the response was
// begun.
func (s *sender) failed(err error) error {
	if !s.begun {
		return fmt.Errorf("byterange: reading the content: %w", err)
	}
	return &Interruption{Sent: s.sent, Source: true, Err: err}
}
