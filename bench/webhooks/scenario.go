package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-api/parley/bench/internal/load"
)

const typ = "load.made"

// begin starts a service on an empty database, with a type of event.
func (b *bench) begin(engine string, flags ...string) (*service, *sink, error) {
	s, err := newService(engine, b.binary, b.folder, b.admin)
	if err != nil {
		return nil, nil, err
	}
	s.flags, s.pinned = flags, b.pinned
	to, err := newSink()
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.start(); err != nil {
		return nil, nil, err
	}
	return s, to, s.register(typ)
}

// throughput publishes as fast as it is answered, to 1 and to 100 endpoints,
// and counts deliveries from the first publish to the last arrival.
func (b *bench) throughput(engine string) error {
	for _, endpoints := range []int{1, 100} {
		var rates, limits, ratios []float64
		for range b.rounds {
			most, err := b.limit()
			if err != nil {
				return err
			}
			rate, err := b.rush(engine, endpoints)
			if err != nil {
				return err
			}
			rates, limits, ratios = append(rates, rate), append(limits, most), append(ratios, rate/most)
		}
		bar, want := "≥ 0.25 × limit", 0.25
		if engine == "postgres" {
			bar, want = "≥ 0.2 × limit", 0.2
		}
		ratio := median(ratios) // of the rounds: the machine's pace changes from one to the next
		b.say(engine, "limit: signed POSTs in a loop", median(limits), "/s", "", true)
		b.say(engine, fmt.Sprintf("deliveries to %d endpoints", endpoints), median(rates), "/s", "", true)
		b.say(engine, fmt.Sprintf("deliveries to %d endpoints, of the limit", endpoints), ratio, "×", bar, ratio >= want)
	}
	return nil
}

func (b *bench) limit() (float64, error) {
	to, err := newSink()
	if err != nil {
		return 0, err
	}
	defer to.close()
	out, err := command(b.pinned, b.self, "-role", "limit", "-sink", to.addr, "-length", b.length.String()).Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

func (b *bench) rush(engine string, endpoints int) (float64, error) {
	s, to, err := b.begin(engine)
	if err != nil {
		return 0, err
	}
	defer s.kill()
	defer to.close()
	if endpoints == 1 {
		s.inFlight = 64 // as many as the limit has connections
	}
	for i := range endpoints {
		if _, err := s.endpoint(fmt.Sprintf("http://%s/ok/%d", to.addr, i)); err != nil {
			return 0, err
		}
	}
	var n atomic.Int64
	began, cpu := time.Now(), s.cpu()
	result, err := load.Run(context.Background(), s.addr, load.Plan{Conns: 64, Measure: b.length, Status: 201,
		Request: func(dst []byte, _ *rand.Rand) []byte { return s.publish(dst, typ, int(n.Add(1))) }})
	if err != nil {
		return 0, err
	}
	want := int64(result.All) * int64(endpoints)
	published := time.Since(began)
	last, ok := to.await(want, 3*time.Minute)
	if !ok {
		return 0, fmt.Errorf("%d of %d arrived", to.total.Load(), want)
	}
	fmt.Fprintf(os.Stderr, "%d published in %.1f s, %d delivered in %.1f s, %.0f µs of CPU each\n", result.All, published.Seconds(),
		want, last.Sub(began).Seconds(), float64((s.cpu()-cpu).Microseconds())/float64(want))
	return float64(want) / last.Sub(began).Seconds(), nil
}

// steady publishes at a rate, to types in turn, and returns how long arrivals
// took.
func steady(s *service, to *sink, rate int, length time.Duration, types ...string) ([]time.Duration, error) {
	to.reset()
	var wg sync.WaitGroup
	var failed atomic.Value
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	conns := make(chan net.Conn, 64)
	end := time.Now().Add(length)
	for n := 1; time.Now().Before(end); n++ {
		<-tick.C
		wg.Go(func() {
			if err := one(s, to, conns, types[n%len(types)], n); err != nil {
				failed.Store(err)
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Second) // the last ones
	if err, ok := failed.Load().(error); ok {
		return nil, err
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	return to.took, nil
}

// one publishes an event over a connection that is kept.
func one(s *service, to *sink, conns chan net.Conn, typ string, n int) error {
	var c net.Conn
	select {
	case c = <-conns:
	default:
		var err error
		if c, err = net.Dial("tcp", s.addr); err != nil {
			return err
		}
	}
	request := s.publish(nil, typ, n)
	to.publishing(n)
	if _, err := c.Write(request); err != nil {
		return err
	}
	buf := make([]byte, 8192)
	began := time.Now()
	got, err := c.Read(buf)
	to.answer(time.Since(began))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(buf[:got]), "HTTP/1.1 201") {
		return fmt.Errorf("publishing: %s", buf[:got])
	}
	select {
	case conns <- c:
	default:
		c.Close()
	}
	return nil
}

// usual is the p99 of a window, the median of as many windows as there are
// rounds, and how many arrived in all of them. It also says on standard error
// how publishing and arriving went.
func (b *bench) usual(s *service, to *sink, rate int, length time.Duration, types ...string) (p99 time.Duration, arrived int, err error) {
	var all []time.Duration
	for range b.rounds {
		took, err := steady(s, to, rate, length, types...)
		if err != nil {
			return 0, 0, err
		}
		all, arrived = append(all, percentile(took, 99)), arrived+len(took)
		for _, p := range []int{50, 90, 99} {
			fmt.Fprintf(os.Stderr, "p%d: published in %.1f ms, arrived in %.1f ms; ", p, ms(percentile(to.answered, p)), ms(percentile(took, p)))
		}
		fmt.Fprintln(os.Stderr)
	}
	return median(all), arrived, nil
}

// latency is how long an event takes at 200 a second.
func (b *bench) latency(engine string) error {
	s, to, err := b.begin(engine)
	if err != nil {
		return err
	}
	defer s.kill()
	defer to.close()
	if _, err := s.endpoint("http://" + to.addr + "/ok/0"); err != nil {
		return err
	}
	if _, err := steady(s, to, 200, time.Second, typ); err != nil { // warm
		return err
	}
	took, err := steady(s, to, 200, 10*time.Second, typ)
	if err != nil {
		return err
	}
	p50, p99 := ms(percentile(took, 50)), ms(percentile(took, 99))
	b.say(engine, "publish to arrival at 200/s, p50", p50, "ms", "≤ 3 ms", p50 <= 3)
	b.say(engine, "publish to arrival at 200/s, p99", p99, "ms", "≤ 10 ms", p99 <= 10)
	return nil
}

// hang has 20 of 100 endpoints hang.
func (b *bench) hang(engine string) error {
	measure := func(bad int) (time.Duration, error) {
		s, to, err := b.begin(engine)
		if err != nil {
			return 0, err
		}
		defer s.kill()
		defer to.close()
		for i := range 100 {
			addr := to.addr
			if i < bad {
				addr = to.hang
			}
			if _, err := s.endpoint(fmt.Sprintf("http://%s/ok/%d", addr, i)); err != nil {
				return 0, err
			}
		}
		if _, err := steady(s, to, 10, 3*time.Second, typ); err != nil { // warm: who hangs is found out
			return 0, err
		}
		p99, _, err := b.usual(s, to, 10, 20*time.Second, typ)
		return p99, err
	}
	alone, err := measure(0)
	if err != nil {
		return err
	}
	with, err := measure(20)
	if err != nil {
		return err
	}
	ratio := float64(with) / float64(alone)
	b.say(engine, "100 endpoints, p99", ms(alone), "ms", "", true)
	b.say(engine, "80 of them while 20 hang, p99", ms(with), "ms", "", true)
	b.say(engine, "80 of 100 while 20 hang, of p99 without", ratio, "×", "≤ 2 ×", ratio <= 2)
	return nil
}
