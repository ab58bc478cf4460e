package dispatch_test

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// A crowd is healthy endpoints among others that hang or refuse. Those with
// low numbers are healthy.
type crowd struct {
	healthy, hanging, refusing int
	options                    dispatch.Options
	rate                       int           // deliveries a second to healthy endpoints; to the others as many each
	alone, beside              time.Duration // how long healthy ones are measured alone, then beside the others
	published                  sync.Map      // the endpoints that something was published to
}

// A finding is what healthy endpoints saw, and what it cost.
type finding struct {
	alone, beside []time.Duration // from commit to arrival, sorted
	memory        uint64          // the most in use beside the others, in bytes
	goroutines    int
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// watch is the consumer of the healthy endpoints.
type watch struct {
	mu   sync.Mutex
	born map[int64]time.Time
	took []time.Duration
}

func (w *watch) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	now := time.Now()
	io.Copy(io.Discard, r.Body)
	seq, _, _ := event.ParseDeliveryID(r.Header.Get("webhook-id"))
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.born[seq]; ok {
		w.took = append(w.took, now.Sub(at))
		delete(w.born, seq)
	}
}

func (w *watch) harvest() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.took
	w.took = nil
	slices.Sort(list)
	return list
}

// hang accepts connections and never answers.
func hang(tb testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var mu sync.Mutex
	var kept []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			kept = append(kept, c)
			mu.Unlock()
		}
	}()
	tb.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range kept {
			c.Close()
		}
	})
	return "http://" + l.Addr().String()
}

func refuse(tb testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// study publishes at the crowd's rate and measures the healthy endpoints.
func (c *crowd) study(tb testing.TB, r *rig) finding {
	w := &watch{born: make(map[int64]time.Time)}
	server := httptest.NewServer(w)
	tb.Cleanup(server.Close)
	hanging, refusing := hang(tb), refuse(tb)
	all := c.healthy + c.hanging + c.refusing
	for id := 1; id <= all; id++ {
		e := dispatch.Endpoint{ID: int64(id), URL: fmt.Sprintf("%s/%d", server.URL, id), Enabled: true}
		if id > c.healthy {
			e.URL = fmt.Sprintf("%s/%d", hanging, id)
		}
		if id > c.healthy+c.hanging {
			e.URL = fmt.Sprintf("%s/%d", refusing, id)
		}
		r.book.set(e)
	}
	var seq int64
	var f finding
	publish := func(n, rate int, d time.Duration) { // to the first n, at random
		const every = 5 * time.Millisecond
		begun, sent := time.Now(), 0
		for time.Since(begun) < d {
			for ; sent < int(time.Since(begun).Seconds()*float64(rate)); sent++ {
				seq++
				id := rand.Int64N(int64(n)) + 1
				if id <= int64(c.healthy) {
					w.mu.Lock()
					w.born[seq] = time.Now()
					w.mu.Unlock()
				}
				c.published.Store(id, true)
				r.commit(seq, id)
			}
			time.Sleep(every)
		}
	}
	for id := range int64(c.healthy) { // each healthy one is known
		seq++
		r.commit(seq, id+1)
		r.wait(seq, id+1, event.Delivered)
	}
	publish(c.healthy, c.rate, c.alone)
	time.Sleep(200 * time.Millisecond)
	f.alone = w.harvest()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { f.memory, f.goroutines = peak(stop) })
	publish(all, c.rate*all/c.healthy, c.beside)
	time.Sleep(200 * time.Millisecond)
	close(stop)
	wg.Wait()
	f.beside = w.harvest()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.born) > 0 {
		tb.Errorf("%d deliveries to healthy endpoints have not arrived", len(w.born))
	}
	return f
}

// peak watches memory until it is told to stop.
func peak(stop chan struct{}) (memory uint64, goroutines int) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		metrics.Read(sample)
		memory = max(memory, sample[0].Value.Uint64()-sample[1].Value.Uint64())
		goroutines = max(goroutines, runtime.NumGoroutine())
		select {
		case <-stop:
			return memory, goroutines
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// TestIsolation is a small crowd: 1,000 endpoints of which 900 hang or refuse,
// and far fewer connections than they want. Healthy ones must not notice, and
// none of the others may starve. The bounds are far from what is measured on a
// quiet machine, and far from the timeout that a healthy one would wait if it
// waited for others.
func TestIsolation(t *testing.T) {
	c := &crowd{
		healthy: 100, hanging: 450, refusing: 450, rate: 100, alone: time.Second, beside: 4 * time.Second,
		options: dispatch.Options{Insecure: true, Timeout: 2 * time.Second, Patience: 250 * time.Millisecond, Connections: 512},
	}
	var tried sync.Map
	c.options.Observe = func(d *event.Delivery, o *event.Outcome) {
		if o.Attempt != nil {
			tried.Store(d.Endpoint, true)
		}
	}
	r := newRig(t, &c.options).run()
	f := c.study(t, r)
	t.Logf("alone p50 %v p99 %v of %d, beside p50 %v p99 %v of %d; %d MB, %d goroutines", quantile(f.alone, 0.5), quantile(f.alone, 0.99), len(f.alone),
		quantile(f.beside, 0.5), quantile(f.beside, 0.99), len(f.beside), f.memory>>20, f.goroutines)
	if p50, p99 := quantile(f.beside, 0.5), quantile(f.beside, 0.99); p50 > 100*time.Millisecond || p99 > time.Second {
		t.Errorf("healthy endpoints beside others: got p50 %v and p99 %v", p50, p99)
	}
	if f.memory > 256<<20 {
		t.Errorf("got %d MB in use", f.memory>>20)
	}
	s := r.d.Stats()
	if s.InFlight > 512 || s.Lanes > 1000 {
		t.Errorf("got %+v", s)
	}
	r.nobodyStarves(&tried, &c.published)
	r.close()
}

// nobodyStarves waits until each lane that has deliveries has had an attempt.
func (r *rig) nobodyStarves(tried, wanted *sync.Map) {
	r.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		starving := 0
		wanted.Range(func(id, _ any) bool {
			if _, ok := tried.Load(id); !ok {
				starving++
			}
			return true
		})
		if starving == 0 {
			return
		}
		if time.Now().After(deadline) {
			r.Errorf("%d lanes have had no attempt", starving)
			return
		}
	}
}

// BenchmarkIsolation is the crowd at full size: 10,000 endpoints of which
// 9,000 hang or refuse, with the defaults. Run it with -benchtime 1x on a
// quiet machine that allows 8,192 open files or more.
func BenchmarkIsolation(b *testing.B) {
	for b.Loop() {
		c := &crowd{
			healthy: 1000, hanging: 4500, refusing: 4500, rate: 200, alone: 10 * time.Second, beside: 60 * time.Second,
			options: dispatch.Options{Insecure: true, Log: slog.New(slog.DiscardHandler)},
		}
		r := newRig(b, &c.options).run()
		f := c.study(b, r)
		b.ReportMetric(ms(quantile(f.alone, 0.5)), "alone-p50-ms")
		b.ReportMetric(ms(quantile(f.alone, 0.99)), "alone-p99-ms")
		b.ReportMetric(ms(quantile(f.beside, 0.5)), "beside-p50-ms")
		b.ReportMetric(ms(quantile(f.beside, 0.99)), "beside-p99-ms")
		b.ReportMetric(float64(quantile(f.beside, 0.99))/float64(max(1, quantile(f.alone, 0.99))), "p99-ratio")
		b.ReportMetric(float64(f.memory>>20), "peak-MB")
		r.kill()
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
