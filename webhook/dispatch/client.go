package dispatch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
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

// A client makes guarded POSTs over shared connections.
type client struct {
	transport *http.Transport
	agent     []string
	now       func() time.Time
	buffers   sync.Pool // of *[4096]byte
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
	return &client{
		agent: []string{o.Agent},
		now:   o.Now,
		transport: &http.Transport{
			DialContext:            g.dial,
			DialTLSContext:         g.dialTLS,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: o.Timeout, PingTimeout: 5 * time.Second},
			DisableCompression:     true,
			MaxIdleConns:           max(1, o.Connections/2),
			MaxIdleConnsPerHost:    max(1, o.Connections/4),
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: headerMost,
		},
		buffers: sync.Pool{New: func() any { return new([4096]byte) }},
	}
}

var (
	contentType = []string{"application/json"}
	replayable  = []string{} // net/http sends no such field, and may repeat the request on a connection that was closed while idle
)

// post sends a body. The names of the header fields stand as the spec writes
// them. The context bounds all of it, the response's body included.
func (c *client) post(ctx context.Context, to *url.URL, id string, at int64, body []byte, sign func([]byte, string, int64, []byte) []byte) answer {
	var room [192]byte
	values := []string{id, strconv.FormatInt(at, 10), string(sign(room[:0], id, at, body))}
	request := &http.Request{
		Method: http.MethodPost, URL: to, Host: to.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"webhook-id":        values[0:1:1],
			"webhook-timestamp": values[1:2:2],
			"webhook-signature": values[2:3:3],
			"Content-Type":      contentType,
			"User-Agent":        c.agent,
			"X-Idempotency-Key": replayable,
		},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	response, err := c.transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return answer{class: classOf(ctx, err)}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	if field := response.Header.Get("Retry-After"); field != "" {
		a.retryAfter = parseRetryAfter(field, c.now())
	}
	if a.body, err = c.read(response.Body); err != nil && ctx.Err() != nil {
		a.class = ErrorTimeout
	}
	return a
}

// read reads a body up to the bound and returns its beginning. Beyond the
// bound the connection is dropped, when the body is closed.
func (c *client) read(body io.Reader) (begin []byte, err error) {
	if body == http.NoBody {
		return nil, nil
	}
	buffer := c.buffers.Get().(*[4096]byte)
	defer c.buffers.Put(buffer)
	for total := 0; total < readMost; {
		n, err := body.Read(buffer[:min(len(buffer), readMost-total)])
		total += n
		begin = append(begin, buffer[:min(n, keepMost-len(begin))]...)
		if err == io.EOF {
			return begin, nil
		}
		if err != nil {
			return begin, err
		}
	}
	return begin, nil
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
