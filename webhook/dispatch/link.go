package dispatch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// A link is a connection that speaks HTTP/1.1, one exchange at a time. Who has
// it writes and reads in one goroutine: a transport of net/http has two more
// for each connection, and on a busy machine a delivery would wait for each of
// them in turn.
type link struct {
	conn   net.Conn
	reader *bufio.Reader // reads from the link itself, which bounds it; nil while it is idle
	to     string        // the key of its target
	left   int           // bytes that may still come
	heard  bool          // some of the present response have
	err    error         // of the connection, during the present exchange
	used   bool          // it has had an exchange
	rest   time.Time     // when the last one ended
}

var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// close ends the connection.
func (l *link) close() {
	l.conn.Close()
	l.idle()
}

// idle lets the link's memory go.
func (l *link) idle() {
	if l.reader != nil {
		l.reader.Reset(nil)
		readers.Put(l.reader)
		l.reader = nil
	}
}

var (
	errTooMuch  = errors.New("dispatch: the header of the response is too large")
	errNoAnswer = errors.New("dispatch: interim responses and no other")
	pastTime    = time.Unix(1, 0)
)

// Read implements io.Reader for the link's own reader.
func (l *link) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooMuch
	}
	n, err := l.conn.Read(b[:min(len(b), l.left)])
	l.left -= n
	l.heard = l.heard || n > 0
	if err != nil && err != io.EOF {
		l.err = err
	}
	return n, err
}

// mostInterim is how many 1xx responses may come before the response.
const mostInterim = 5

// posted is what responses answer, as far as they must know it.
var posted = &http.Request{Method: http.MethodPost}

// exchange writes a request and reads the head of its response. A consumer may
// answer before it has read everything, so a write that fails is not the end.
func (l *link) exchange(request []byte) (*http.Response, error) {
	l.left, l.heard, l.err = headerMost, false, nil
	_, failed := l.conn.Write(request)
	for range mostInterim {
		response, err := http.ReadResponse(l.reader, posted)
		switch {
		case err != nil && failed != nil:
			return nil, failed
		case err != nil:
			return nil, cmp.Or(l.err, err) // net/http makes another error of some
		case response.StatusCode == http.StatusSwitchingProtocols:
			return nil, errNoAnswer
		case response.StatusCode >= 200:
			l.left = readMost + headerMost // the trailer counts as a header
			return response, nil
		}
	}
	return nil, errNoAnswer
}

// ready prepares an idle link for an exchange that ends at the deadline. It
// reports false where the other side has closed the connection, or has sent
// what nobody asked for.
func (l *link) ready(deadline time.Time) bool {
	if l.conn.SetDeadline(deadline) != nil || l.used && !quiet(l.conn) {
		return false
	}
	l.reader = readers.Get().(*bufio.Reader)
	l.reader.Reset(l)
	return true
}

// cutBy makes the link fail when the context ends, until stop is called, which
// reports whether it has not.
func (l *link) cutBy(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { l.conn.SetDeadline(pastTime) })
}
