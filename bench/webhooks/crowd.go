package main

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A crowd is who else is there beside 1,000 endpoints that accept, in 100
// groups of ten, each with a type of event that is published every five
// seconds.
type crowd int

const (
	nobody crowd = iota
	apart        // 9,000 that hang or refuse, in groups with types of their own, published as often
	among        // 9,000 that hang or refuse, which want the very same events
)

// many compares how the 1,000 do alone and in a crowd.
func (b *bench) many(engine string) error {
	alone, few, _, err := b.crowded(engine, nobody)
	if err != nil {
		return err
	}
	b.say(engine, "1,000 endpoints alone, p99", ms(alone), "ms", "", true)
	for i, name := range []string{"beside 9,000 that hang or refuse", "whose events also go to 9,000 that hang or refuse"} {
		c := apart + crowd(i)
		with, n, rss, err := b.crowded(engine, c)
		if err != nil {
			return err
		}
		ratio, share := float64(with)/float64(alone), float64(n)/float64(few)
		b.say(engine, "1,000 "+name+", p99", ms(with), "ms", "", true)
		b.say(engine, "1,000 "+name+", of p99 alone", ratio, "×", "≤ 2 ×", ratio <= 2)
		b.say(engine, "arrivals at 1,000 "+name+", of those alone", share, "×", "≥ 0.99 ×", share >= 0.99)
		b.say(engine, "memory with 10,000 endpoints", rss, "MB", "≤ 500 MB", rss <= 500)
	}
	return nil
}

// crowded publishes to a crowd and returns how the thousand did.
func (b *bench) crowded(engine string, c crowd) (p99 time.Duration, arrived int, rss float64, err error) {
	s, to, err := b.begin(engine, "--delivery-timeout", "5s")
	if err != nil {
		return 0, 0, 0, err
	}
	defer s.kill()
	defer to.server.Close()
	types, err := populate(s, to, c)
	if err != nil {
		return 0, 0, 0, err
	}
	rate := len(types) / 5
	if _, err := steady(s, to, rate, 30*time.Second, types...); err != nil { // warm: who hangs is found out, one after the other
		return 0, 0, 0, err
	}
	p99, arrived, err = b.usual(s, to, rate, 20*time.Second, types...)
	return p99, arrived, s.rss(), err
}

// populate makes the endpoints and the types of events, which it returns.
func populate(s *service, to *sink, c crowd) (types []string, err error) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	refuses := closed.Addr().String()
	closed.Close()
	jobs := make(chan [2]string)
	var wg sync.WaitGroup
	var failed atomic.Value
	for range 16 {
		wg.Go(func() {
			for j := range jobs {
				if _, err := s.endpoint(j[0], j[1]); err != nil {
					failed.Store(err)
				}
			}
		})
	}
	register := func(name string) string {
		if err := s.register(name); err != nil {
			failed.Store(err)
		}
		types = append(types, name)
		return name
	}
	for g := range 100 {
		name := register(fmt.Sprintf("load.good%d", g))
		for i := range 10 {
			jobs <- [2]string{fmt.Sprintf("http://%s/ok/%d-%d", to.addr, g, i), name}
		}
		if c == nobody {
			continue
		}
		if c == apart {
			name = register(fmt.Sprintf("load.bad%d", g))
		}
		for i := range 45 {
			jobs <- [2]string{fmt.Sprintf("http://%s/hang/%d-%d", to.addr, g, i), name}
			jobs <- [2]string{fmt.Sprintf("http://%s/%d-%d", refuses, g, i), name}
		}
	}
	close(jobs)
	wg.Wait()
	err, _ = failed.Load().(error)
	return types, err
}
