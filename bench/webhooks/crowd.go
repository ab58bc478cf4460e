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
	peers        // 9,000 that accept as well, and want the very same events
	among        // 9,000 that hang or refuse, and want the very same events
)

// many compares how the 1,000 do with and without those that hang or refuse:
// beside them, and where an event goes to them as well. Such an event has ten
// times the deliveries to write, which takes its time whoever gets them, so it
// is compared with one that goes to as many that accept.
func (b *bench) many(engine string) error {
	var alone time.Duration
	for _, pair := range []struct {
		without, with crowd
		name          [2]string
	}{
		{nobody, apart, [2]string{"1,000 endpoints alone", "1,000 beside 9,000 that hang or refuse"}},
		{peers, among, [2]string{"1,000 of 10,000 that get the same events", "1,000 of 10,000, of which 9,000 hang or refuse"}},
	} {
		before, few, _, err := b.crowded(engine, pair.without)
		if err != nil {
			return err
		}
		b.say(engine, pair.name[0]+", p99", ms(before), "ms", "", true)
		with, n, rss, err := b.crowded(engine, pair.with)
		if err != nil {
			return err
		}
		ratio, share := float64(with)/float64(before), float64(n)/float64(few)
		b.say(engine, pair.name[1]+", p99", ms(with), "ms", "", true)
		b.say(engine, pair.name[1]+", of p99 without", ratio, "×", "≤ 2 ×", ratio <= 2)
		if alone == 0 {
			alone = before
		} else {
			b.say(engine, pair.name[1]+", of p99 alone", float64(with)/float64(alone), "×", "", true)
		}
		b.say(engine, "arrivals, of those without", share, "×", "≥ 0.99 ×", share >= 0.99)
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
	defer to.close()
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
			bad := [2]string{fmt.Sprintf("http://%s/%d-%d", to.hang, g, i), fmt.Sprintf("http://%s/%d-%d", refuses, g, i)}
			if c == peers {
				bad = [2]string{fmt.Sprintf("http://%s/fine/%d-%d", to.addr, g, i), fmt.Sprintf("http://%s/fine/%d-%d", to.addr, g, i+45)}
			}
			for _, url := range bad {
				jobs <- [2]string{url, name}
			}
		}
	}
	close(jobs)
	wg.Wait()
	err, _ = failed.Load().(error)
	return types, err
}
