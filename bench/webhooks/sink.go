package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A sink is every consumer: /ok/… and /fine/… accept, and those at hang never
// answer. The arrivals at /ok/… are noted with the number in their data.
type sink struct {
	addr   string
	hang   string
	silent net.Listener
	server *http.Server
	total  atomic.Int64

	mu       sync.Mutex
	sent     map[int]time.Time // when an event was published
	took     []time.Duration   // from publish to arrival
	answered []time.Duration   // from publish to the service's answer
	last     time.Time
}

func newSink() (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{addr: l.Addr().String(), hang: silent.Addr().String(), silent: silent, sent: make(map[int]time.Time)}
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve)}
	go s.server.Serve(l)
	go s.listen()
	return s, nil
}

func (s *sink) close() {
	s.server.Close()
	s.silent.Close()
}

// listen takes connections and says nothing, which costs next to nothing: those
// who hang are not to disturb those who are measured. A connection is closed
// when the other side has long given up.
func (s *sink) listen() {
	type guest struct {
		conn net.Conn
		at   time.Time
	}
	var guests []guest
	for {
		c, err := s.silent.Accept()
		if err != nil {
			break
		}
		now := time.Now()
		guests = append(guests, guest{c, now})
		for len(guests) > 0 && now.Sub(guests[0].at) > 16*time.Second {
			guests[0].conn.Close()
			guests = guests[1:]
		}
	}
	for _, g := range guests {
		g.conn.Close()
	}
}

func (s *sink) serve(w http.ResponseWriter, r *http.Request) {
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	if _, err := io.Copy(body, r.Body); err != nil {
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/fine") {
		s.note(number(body.Bytes()))
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// number finds "n": in a body.
func number(body []byte) int {
	i := bytes.Index(body, []byte(`"n":`))
	if i < 0 {
		return -1
	}
	n := 0
	for _, c := range body[i+4:] {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func (s *sink) note(n int) {
	now := time.Now()
	s.total.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
	if at, ok := s.sent[n]; ok {
		s.took = append(s.took, now.Sub(at))
	}
}

// publishing notes when an event is sent.
func (s *sink) publishing(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[n] = time.Now()
}

// answer notes how long the service took to answer a publish.
func (s *sink) answer(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = append(s.answered, took)
}

// reset forgets what was noted.
func (s *sink) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sent)
	s.took = nil
	s.answered = nil
	s.total.Store(0)
}

// await waits until so many have arrived, and returns when the last did.
func (s *sink) await(n int64, patience time.Duration) (time.Time, bool) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if s.total.Load() >= n {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.last, true
		}
	}
	return time.Time{}, false
}
