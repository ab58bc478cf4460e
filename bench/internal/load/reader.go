package load

import (
	"bytes"
	"net"
)

// A reader takes answers off a connection on which one is under way at a time.
type reader struct {
	conn net.Conn
	buf  []byte
	size int // of the answer that was read last, in buf
}

var (
	blank  = []byte("\r\n\r\n")
	length = []byte("\r\nContent-Length: ")
	chunks = []byte("\r\nTransfer-Encoding: chunked\r\n")
	end    = []byte("\r\n0\r\n\r\n") // of a body in chunks
)

// next reads one answer and returns its status. Informational answers are not
// understood. A body in chunks, which must not hold the bytes of its own end,
// is read to that end.
func (r *reader) next() (int, error) {
	n, head := 0, -1
	for head < 0 {
		if n == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		k, err := r.conn.Read(r.buf[n:])
		if err != nil {
			return 0, err
		}
		n += k
		head = bytes.Index(r.buf[:n], blank)
	}
	status, body, ok := parse(r.buf[:head+2])
	if !ok {
		return 0, errAnswer
	}
	if body < 0 {
		return status, r.chunked(n, head+2)
	}
	r.size = head + len(blank) + body
	if r.size > len(r.buf) {
		r.buf = append(r.buf, make([]byte, r.size-len(r.buf))...)
	}
	for n < r.size {
		k, err := r.conn.Read(r.buf[n:])
		if err != nil {
			return 0, err
		}
		n += k
	}
	if n > r.size {
		return 0, errAnswer // more than was asked for
	}
	return status, nil
}

// chunked reads the rest of a body in chunks; n bytes are there already, those
// from the one at on belong to it or to the blank line before.
func (r *reader) chunked(n, at int) error {
	for !bytes.HasSuffix(r.buf[at:n], end) {
		if n == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		k, err := r.conn.Read(r.buf[n:])
		if err != nil {
			return err
		}
		n += k
	}
	r.size = n
	return nil
}

// last returns the answer that next read, until it is called again.
func (r *reader) last() []byte { return r.buf[:r.size] }

// parse reads the status and the length out of a head that ends with the line
// end of its last field. A body in chunks has the length -1.
func parse(head []byte) (status, body int, ok bool) {
	if len(head) < 13 || string(head[:9]) != "HTTP/1.1 " {
		return 0, 0, false
	}
	for _, c := range head[9:12] {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		status = status*10 + int(c-'0')
	}
	if status == 204 || status == 304 {
		return status, 0, true
	}
	i := bytes.Index(head, length)
	if i < 0 {
		return status, -1, bytes.Contains(head, chunks)
	}
	digits := head[i+len(length):]
	digits = digits[:bytes.IndexByte(digits, '\r')]
	if len(digits) == 0 || len(digits) > 9 {
		return 0, 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		body = body*10 + int(c-'0')
	}
	return status, body, true
}
