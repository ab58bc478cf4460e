package dispatch

import (
	"net"
	"slices"
	"sync"
	"time"
)

// idleMost is how long a connection is kept for the next delivery.
const idleMost = time.Minute

// A pool keeps idle connections.
type pool struct {
	most, each int // in all, and to one target

	mu     sync.Mutex
	idle   map[string][]*link // by target, the one used last at the end
	n      int
	strays map[string][]*link // of HTTP/2, made and not yet in the transport
	http2  map[string]bool    // targets that speak it
}

func newPool(most, each int) *pool {
	return &pool{most: most, each: each, idle: make(map[string][]*link), strays: make(map[string][]*link), http2: make(map[string]bool)}
}

// take returns an idle connection that was used last, or nil.
func (p *pool) take(to string) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[to]
	if len(list) == 0 {
		return nil
	}
	l := list[len(list)-1]
	list[len(list)-1] = nil
	p.n--
	if len(list) == 1 {
		delete(p.idle, to)
	} else {
		p.idle[to] = list[:len(list)-1]
	}
	return l
}

// put keeps a connection, or closes it where there are enough.
func (p *pool) put(l *link, now time.Time) {
	l.rest = now
	p.mu.Lock()
	full := p.n >= p.most || len(p.idle[l.to]) >= p.each
	if !full {
		p.idle[l.to] = append(p.idle[l.to], l)
		p.n++
	}
	p.mu.Unlock()
	if full {
		l.close()
	}
}

// mostHTTP2 bounds how many targets are remembered to speak HTTP/2; one that is
// forgotten is found out again.
const mostHTTP2 = 10_000

// stray notes that a target speaks HTTP/2, and keeps the connection that showed
// it for the transport.
func (p *pool) stray(l *link, now time.Time) {
	l.rest = now
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.http2) >= mostHTTP2 {
		clear(p.http2)
	}
	p.http2[l.to] = true
	p.strays[l.to] = append(p.strays[l.to], l)
}

// speaksHTTP2 reports whether a target is known to speak HTTP/2.
func (p *pool) speaksHTTP2(to string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.http2[to]
}

// claim gives the transport a connection that stray has kept, or nil.
func (p *pool) claim(to string) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.strays[to]
	if len(list) == 0 {
		return nil
	}
	l := list[len(list)-1]
	if len(list) == 1 {
		delete(p.strays, to)
	} else {
		p.strays[to] = list[:len(list)-1]
	}
	return l.conn
}

// expire closes what has been idle since before a time.
func (p *pool) expire(before time.Time) {
	var old []*link
	p.mu.Lock()
	for _, kept := range []map[string][]*link{p.idle, p.strays} {
		for to, list := range kept {
			rest := slices.DeleteFunc(list, func(l *link) bool {
				if l.rest.After(before) {
					return false
				}
				old = append(old, l)
				return true
			})
			if len(rest) == 0 {
				delete(kept, to)
			} else {
				kept[to] = rest
			}
		}
	}
	p.n = 0
	for _, list := range p.idle {
		p.n += len(list)
	}
	p.mu.Unlock()
	for _, l := range old {
		l.close()
	}
}
