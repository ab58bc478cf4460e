// Package head writes the fields of a response's header under net/http, which
// keeps them in a map that grows with every response, copies the map and sorts
// it: with fifteen fields, a tenth of what a small response costs.
//
// A connection takes the fields as text and puts them behind the status line
// when net/http sends it. The few fields that net/http itself looks at must be
// left to it; [Conn.Put] keeps them apart.
package head

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
)

// Listen returns a listener whose connections can be given fields, where those
// of l are plain TCP.
func Listen(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		return &Conn{TCPConn: tcp}, nil
	}
	return c, err
}

// A Conn is a connection of a server.
type Conn struct {
	*net.TCPConn
	fields   *[]byte      // for the next response; nil means none
	response reflect.Type // of net/http's writers; nil until one was seen
}

var rooms = sync.Pool{New: func() any { b := make([]byte, 0, 6<<10); return &b }}

type key struct{}

// Context is for the ConnContext of an http.Server.
func Context(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*Conn); ok {
		return context.WithValue(ctx, key{}, c)
	}
	return ctx
}

// Of returns the connection that a response is written to; nil means that it
// takes no fields. Where something stands between w and the connection, which
// may want to see the fields or answer with others, it takes none.
func Of(w http.ResponseWriter, r *http.Request) *Conn {
	c, _ := r.Context().Value(key{}).(*Conn)
	if c == nil || r.ProtoMajor != 1 {
		return nil
	}
	if t := reflect.TypeOf(w); t != c.response {
		if t.String() != "*http.response" || t.Elem().PkgPath() != "net/http" {
			return nil
		}
		c.response = t
	}
	return c
}

// known reports whether net/http looks at a field, changes it or writes it.
func known(name string) bool {
	switch name {
	case "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Trailer", "Transfer-Encoding":
		return true
	}
	return false
}

// Put gives the fields of a header to the response that is about to be sent:
// to own what net/http has to know, and the rest to the connection. It must be
// called right before WriteHeader, in the goroutine of the handler.
func (c *Conn) Put(h, own http.Header) {
	if c.fields == nil {
		c.fields = rooms.Get().(*[]byte)
	}
	*c.fields = appendFields((*c.fields)[:0], h, own)
}

// before compares names. Most differ in their first letters.
func before(a, b string) bool {
	if a[0] != b[0] {
		return a[0] < b[0]
	}
	return a < b
}

// appendFields writes fields as net/http does, in the order of their names. Those
// that it knows it puts into own instead.
func appendFields(b []byte, h, own http.Header) []byte {
	var room [32]string
	names := room[:0]
	for name, values := range h {
		switch {
		case known(name):
			own[name] = values
		case valid(name):
			at := len(names)
			names = append(names, name)
			for ; at > 0 && before(name, names[at-1]); at-- {
				names[at] = names[at-1]
			}
			names[at] = name
		}
	}
	for _, name := range names {
		for _, value := range h[name] {
			b = append(append(b, name...), ": "...)
			b = append(appendValue(b, value), "\r\n"...)
		}
	}
	return b
}

// valid reports whether a field may have this name.
func valid(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == ':' {
			return false
		}
	}
	return name != ""
}

// lines makes one line of several.
var lines = strings.NewReplacer("\r", " ", "\n", " ")

// appendValue writes a value in one line.
func appendValue(b []byte, value string) []byte {
	if n := len(value); n > 0 && (value[0] <= ' ' || value[n-1] <= ' ') {
		value = strings.Trim(value, " \t\r\n")
	}
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		value = lines.Replace(value)
	}
	return append(b, value...)
}

// Write writes what net/http sends, with the fields behind the status line.
func (c *Conn) Write(p []byte) (int, error) {
	if c.fields == nil || !bytes.HasPrefix(p, []byte("HTTP/1.")) {
		return c.TCPConn.Write(p)
	}
	fields := c.fields
	c.fields = nil
	defer rooms.Put(fields)
	line := bytes.IndexByte(p, '\n') + 1 // net/http sends it in one piece
	length := len(*fields)
	whole := append(append(*fields, p[:line]...), (*fields)[:length]...)
	whole = append(whole, p[line:]...)
	*fields = whole
	n, err := c.TCPConn.Write(whole[length:])
	return max(min(n, line), n-length), err
}
