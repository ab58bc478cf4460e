package dispatch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// What Attempt.Error says where no response came in time.
const (
	ErrorTimeout  = "timeout"            // no whole response within the timeout
	ErrorDNS      = "dns"                // the host has no address
	ErrorAddress  = "address refused"    // the host has no public address
	ErrorRefused  = "connection refused" // nobody listens there
	ErrorConnect  = "connect"            // another failure to connect
	ErrorTLS      = "tls"                // no TLS 1.2 or later, or a certificate that is not trusted
	ErrorReset    = "connection closed"  // the connection ended before the response
	ErrorProtocol = "protocol"           // what came is no HTTP response, or its header is too large
	ErrorURL      = "url refused"        // the URL is one that CheckURL refuses
)

const (
	readMost   = 16 << 10 // of a response's body
	keepMost   = 1 << 10
	headerMost = 32 << 10
)

// A client makes guarded POSTs over shared connections: HTTP/1.1 over its own,
// HTTP/2 by way of net/http.
type client struct {
	guard     *guard
	pool      *pool
	transport *http.Transport
	agent     string
	now       func() time.Time
	buffers   sync.Pool // of *[4096]byte, for responses
	requests  sync.Pool // of *[]byte
}

// An answer is what came of a POST.
type answer struct {
	status     int
	class      string // "" where a response came in time
	retryAfter time.Duration
	body       []byte // its first KiB
}

func newClient(o *Options) *client {
	g := &guard{
		insecure: o.Insecure, resolver: o.Resolver, connect: o.Dial, timeout: o.Timeout,
		tls: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: o.Roots, NextProtos: []string{"h2", "http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(256),
		},
	}
	if g.connect == nil {
		g.connect = (&net.Dialer{Control: g.control, KeepAlive: 30 * time.Second}).DialContext
	}
	c := &client{
		guard:    g,
		pool:     newPool(max(1, o.Connections/2), max(1, o.Connections/4)),
		agent:    o.Agent,
		now:      o.Now,
		buffers:  sync.Pool{New: func() any { return new([4096]byte) }},
		requests: sync.Pool{New: func() any { return new([]byte) }},
	}
	c.transport = &http.Transport{
		DialContext: g.dial,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if conn := c.pool.claim(address); conn != nil {
				return conn, nil
			}
			return g.dialTLS(ctx, network, address)
		},
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: o.Timeout, PingTimeout: 5 * time.Second},
		DisableCompression:     true,
		MaxIdleConns:           max(1, o.Connections/2),
		MaxIdleConnsPerHost:    max(1, o.Connections/4),
		IdleConnTimeout:        idleMost,
		MaxResponseHeaderBytes: headerMost,
	}
	return c
}

// close lets go of what is idle.
func (c *client) close() {
	c.pool.expire(c.now().Add(time.Hour))
	c.transport.CloseIdleConnections()
}

// A post is a delivery on its way.
type post struct {
	to   *target
	id   string
	at   int64 // seconds since 1970
	body []byte
	sign func(dst []byte, id string, at int64, body []byte) []byte
}

// post sends a body. The names of the header fields stand as the spec writes
// them. The deadline is for all of it, the response's body included; the
// context cuts it off.
func (c *client) post(ctx context.Context, deadline time.Time, p *post) answer {
	if !c.pool.speaksHTTP2(p.to.address) {
		a, ok := c.converse(ctx, deadline, p)
		if ok {
			return a
		}
	}
	return c.multiplex(ctx, deadline, p)
}

// append writes a request as HTTP/1.1 has it.
func (p *post) append(b []byte) []byte {
	b = append(append(b, p.to.head...), "webhook-id: "...)
	b = append(append(b, p.id...), "\r\nwebhook-timestamp: "...)
	b = append(strconv.AppendInt(b, p.at, 10), "\r\nwebhook-signature: "...)
	b = append(p.sign(b, p.id, p.at, p.body), "\r\nContent-Length: "...)
	b = append(strconv.AppendInt(b, int64(len(p.body)), 10), "\r\n\r\n"...)
	return append(b, p.body...)
}

// converse sends a body over HTTP/1.1. It reports false where the target turned
// out to speak HTTP/2: then nothing was sent.
func (c *client) converse(ctx context.Context, deadline time.Time, p *post) (answer, bool) {
	room := c.requests.Get().(*[]byte)
	defer c.requests.Put(room)
	request := p.append((*room)[:0])
	*room = request
	for {
		l, err := c.connect(ctx, deadline, p.to)
		if err != nil {
			return answer{class: classOf(ctx, err)}, true
		}
		if l == nil {
			return answer{}, false
		}
		used := l.used
		stop := l.cutBy(ctx)
		response, err := l.exchange(request)
		if err != nil {
			stop()
			l.close()
			if used && !l.heard && ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				continue // it was closed while it was idle
			}
			return answer{class: classOf(ctx, err)}, true
		}
		a, whole := c.answer(response)
		if stop() && whole && !response.Close && l.reader.Buffered() == 0 {
			l.used = true
			l.idle()
			c.pool.put(l, c.now())
		} else {
			l.close()
		}
		return a, true
	}
}

// connect returns a connection to a target that is ready for an exchange; nil
// means that the target speaks HTTP/2.
func (c *client) connect(ctx context.Context, deadline time.Time, to *target) (*link, error) {
	for l := c.pool.take(to.key); l != nil; l = c.pool.take(to.key) {
		if l.ready(deadline) {
			return l, nil
		}
		l.close()
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	dial := c.guard.dial
	if to.url.Scheme == "https" {
		dial = c.guard.dialTLS
	}
	conn, err := dial(ctx, "tcp", to.address)
	if err != nil {
		return nil, err
	}
	if t, ok := conn.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		c.pool.stray(&link{conn: conn, to: to.address}, c.now())
		return nil, nil
	}
	l := &link{conn: conn, to: to.key}
	if !l.ready(deadline) {
		conn.Close()
		return nil, net.ErrClosed
	}
	return l, nil
}

var (
	contentType = []string{"application/json"}
	replayable  = []string{} // net/http sends no such field, and may repeat the request on a connection that was closed while idle
)

// multiplex sends a body by way of net/http.
func (c *client) multiplex(ctx context.Context, deadline time.Time, p *post) answer {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var room [192]byte
	values := []string{p.id, strconv.FormatInt(p.at, 10), string(p.sign(room[:0], p.id, p.at, p.body)), c.agent}
	request := &http.Request{
		Method: http.MethodPost, URL: p.to.url, Host: p.to.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"webhook-id":        values[0:1:1],
			"webhook-timestamp": values[1:2:2],
			"webhook-signature": values[2:3:3],
			"Content-Type":      contentType,
			"User-Agent":        values[3:4:4],
			"X-Idempotency-Key": replayable,
		},
		Body:          io.NopCloser(bytes.NewReader(p.body)),
		ContentLength: int64(len(p.body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.body)), nil },
	}
	response, err := c.transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return answer{class: classOf(ctx, err)}
	}
	defer response.Body.Close()
	a, _ := c.answer(response)
	return a
}

// answer reads what there is to know of a response, and reports whether that
// was all of it.
func (c *client) answer(response *http.Response) (a answer, whole bool) {
	a.status = response.StatusCode
	if field := response.Header.Get("Retry-After"); field != "" {
		a.retryAfter = parseRetryAfter(field, c.now())
	}
	var err error
	if a.body, whole, err = c.read(response.Body); late(err) {
		a.class = ErrorTimeout
	}
	return a, whole
}

// late reports whether an error says that time is up or that the exchange was
// cut off.
func late(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// read reads a body up to the bound and returns its beginning, and whether it
// has seen the end. Beyond the bound the connection is dropped.
func (c *client) read(body io.Reader) (begin []byte, whole bool, err error) {
	if body == http.NoBody {
		return nil, true, nil
	}
	buffer := c.buffers.Get().(*[4096]byte)
	defer c.buffers.Put(buffer)
	for total := 0; total < readMost; {
		n, err := body.Read(buffer[:min(len(buffer), readMost-total)])
		total += n
		begin = append(begin, buffer[:min(n, keepMost-len(begin))]...)
		if err == io.EOF {
			return begin, true, nil
		}
		if err != nil {
			return begin, false, err
		}
	}
	return begin, false, nil
}

// classOf names a failure in words that hold nothing of what was sent or
// received.
func classOf(ctx context.Context, err error) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok && !name.IsTimeout && ctx.Err() == nil {
		return ErrorDNS
	}
	network, _ := errors.AsType[net.Error](err)
	_, handshake := errors.AsType[*tlsError](err)
	connection, _ := errors.AsType[*net.OpError](err)
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), network != nil && network.Timeout():
		return ErrorTimeout
	case errors.Is(err, errAddress):
		return ErrorAddress
	case handshake, connection != nil && connection.Op == "remote error": // an alert of TLS 1.3 may come late
		return ErrorTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return ErrorRefused
	case connection != nil && connection.Op == "dial":
		return ErrorConnect
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ErrorReset
	}
	return ErrorProtocol
}
