package ratelimit

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A clock that tests move by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time                { return c.at }
func (c *clock) pass(d time.Duration)          { c.at = c.at.Add(d) }
func steered() *clock                          { return &clock{time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)} }
func per(q int, w time.Duration, b int) Policy { return Policy{Quota: q, Window: w, Burst: b} }

// bucket is the slow model: tokens that drip into a bucket, one nanosecond at
// a time where need be, in units of a nanosecond's worth.
type bucket struct{ level, size, cost int64 }

func (b *bucket) drip(d time.Duration) { b.level = min(b.size, b.level+int64(d)) }

func (b *bucket) take() Decision {
	d := Decision{Allowed: b.level >= b.cost}
	if d.Allowed {
		b.level -= b.cost
	}
	for spare := b.level; spare >= b.cost; spare -= b.cost {
		d.Left++
	}
	d.Reset = time.Duration(b.size - b.level)
	d.RetryAfter = time.Duration(max(0, b.cost-b.level))
	return d
}

func TestAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p := per(1+rng.IntN(200), time.Duration(1+rng.IntN(90))*time.Second, 0)
		p.Burst = 1 + rng.IntN(p.Quota)
		c := steered()
		l := New(p, &Options{Now: c.now})
		models := make(map[string]*bucket)
		for i := range 500 {
			key := strconv.Itoa(rng.IntN(3))
			b := models[key]
			if b == nil {
				b = &bucket{l.full, l.full, l.step}
				models[key] = b
			}
			got, want := l.Take(key), b.take()
			if got != want {
				t.Fatalf("%v, request %d: got %+v, want %+v", p, i, got, want)
			}
			var d time.Duration
			switch rng.IntN(6) {
			case 0: // exactly when the client is told to come back
				d = got.RetryAfter
			case 1: // a nanosecond early
				d = max(0, got.RetryAfter-1)
			case 2:
				d = time.Duration(rng.Int64N(2 * l.step))
			case 3:
				d = time.Duration(rng.Int64N(l.full + 1))
			}
			c.pass(d)
			for _, b := range models {
				b.drip(d)
			}
		}
	}
}

// In no stretch of time may more pass than the burst and the quota's share,
// by exact arithmetic.
func TestNeverOverQuota(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		p := per(1+rng.IntN(50), time.Duration(1+rng.IntN(10))*time.Second, 0)
		p.Burst = 1 + rng.IntN(p.Quota)
		c := steered()
		l := New(p, &Options{Now: c.now})
		var passed []time.Time
		for range 400 {
			if l.Take("k").Allowed {
				passed = append(passed, c.at)
			}
			c.pass(time.Duration(rng.Int64N(l.step)))
		}
		for i := range passed {
			for j := i; j < len(passed); j++ {
				stretch := big.NewInt(int64(passed[j].Sub(passed[i])))
				share := stretch.Mul(stretch, big.NewInt(int64(p.Quota)))
				share.Div(share, big.NewInt(int64(p.Window)))
				if n, most := int64(j-i+1), int64(p.Burst)+share.Int64(); n > most {
					t.Fatalf("%v: %d requests passed in %v, want %d at most", p, n, passed[j].Sub(passed[i]), most)
				}
			}
		}
	}
}

func TestTake(t *testing.T) {
	c := steered()
	l := New(per(60, time.Minute, 3), &Options{Now: c.now})
	s := time.Second
	for _, step := range []struct {
		why  string
		wait time.Duration
		key  string
		want Decision
	}{
		{"the burst is there at once", 0, "a", Decision{true, 2, 1 * s, 0}},
		{"and shrinks", 0, "a", Decision{true, 1, 2 * s, 0}},
		{"the last one says when the next may come", 0, "a", Decision{true, 0, 3 * s, 1 * s}},
		{"over the limit", 0, "a", Decision{false, 0, 3 * s, 1 * s}},
		{"a refused request costs nothing", 0, "a", Decision{false, 0, 3 * s, 1 * s}},
		{"another credential has its own quota", 0, "b", Decision{true, 2, 1 * s, 0}},
		{"a nanosecond early is early", s - 1, "a", Decision{false, 0, 2*s + 1, 1}},
		{"on time", 1, "a", Decision{true, 0, 3 * s, 1 * s}},
		{"after a while two are left", 3 * s, "a", Decision{true, 2, 1 * s, 0}},
		{"the burst does not grow beyond itself", time.Hour, "a", Decision{true, 2, 1 * s, 0}},
		{"the empty key is a key like any other", 0, "", Decision{true, 2, 1 * s, 0}},
	} {
		c.pass(step.wait)
		if got := l.Take(step.key); got != step.want {
			t.Errorf("%s: got %+v, want %+v", step.why, got, step.want)
		}
	}
}

func TestTakeClockSetBack(t *testing.T) {
	c := steered()
	l := New(per(60, time.Minute, 2), &Options{Now: c.now})
	l.Take("a")
	l.Take("a")
	c.pass(-time.Hour)
	if d := l.Take("a"); d.Allowed || d.RetryAfter != time.Second || d.Reset != 2*time.Second {
		t.Errorf("got %+v, want a wait of one second, not of an hour", d)
	}
	if d := l.Take("new"); !d.Allowed || d.Left != 1 {
		t.Errorf("got %+v: a new credential does not know the other time", d)
	}
	c.pass(time.Second)
	if d := l.Take("a"); !d.Allowed {
		t.Errorf("got %+v after the wait it was told", d)
	}
}

func TestTakeDefaultClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Default(), nil)
		for i := range 1000 {
			if d := l.Take("k"); !d.Allowed || d.Left != 999-i {
				t.Fatalf("request %d of the burst: %+v", i, d)
			}
		}
		d := l.Take("k")
		if want := (Decision{false, 0, 10 * time.Second, 10 * time.Millisecond}); d != want {
			t.Fatalf("got %+v, want %+v", d, want)
		}
		time.Sleep(d.RetryAfter)
		if d := l.Take("k"); !d.Allowed {
			t.Errorf("got %+v after the wait it was told", d)
		}
		time.Sleep(time.Minute)
		n := 0
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(5 * time.Millisecond) {
			if l.Take("k").Allowed {
				n++
			}
		}
		if want := 1000 + 6000 - 1; n != want {
			t.Errorf("%d in the first minute, want the burst and the quota: %d", n, want)
		}
	})
}

func TestConcurrent(t *testing.T) {
	c := steered()
	l := New(Default(), &Options{Now: c.now}) // the clock stands still
	var allowed, other atomic.Int32
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 50 {
				if l.Take("shared").Allowed {
					allowed.Add(1)
				}
				if l.Take(fmt.Sprint(g, "/", i)).Allowed {
					other.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := allowed.Load(); got != 1000 {
		t.Errorf("64 goroutines got %d requests through at one instant, want exactly the burst, 1000", got)
	}
	if got := other.Load(); got != 64*50 {
		t.Errorf("%d of %d fresh credentials were allowed", got, 64*50)
	}
}

func TestMax(t *testing.T) {
	for _, most := range []int{1, 7, 100, 5000} {
		c := steered()
		l := New(per(10, time.Minute, 5), &Options{Now: c.now, Max: most})
		for i := range 3 * most { // all in use at one instant
			if d := l.Take(strconv.Itoa(i)); !d.Allowed {
				t.Fatalf("Max %d: credential %d is refused because of others: %+v", most, i, d)
			}
			if n := l.Len(); n > most {
				t.Fatalf("Max %d: %d entries", most, n)
			}
		}
	}
}

// A full limiter displaces the credentials that have used least: one over its
// limit does not get a new burst for the asking.
func TestMaxKeepsTheBusy(t *testing.T) {
	c := steered()
	l := New(per(10, time.Minute, 5), &Options{Now: c.now, Max: 50})
	for range 5 {
		l.Take("busy")
	}
	for i := range 1000 {
		l.Take(strconv.Itoa(i))
		if l.Take("busy").Allowed {
			t.Fatalf("displaced by credential %d", i)
		}
	}
}

func TestIdleAreForgotten(t *testing.T) {
	c := steered()
	l := New(Default(), &Options{Now: c.now})
	for i := range 200_000 {
		l.Take(strconv.Itoa(i))
		c.pass(time.Millisecond) // idle again after 10 ms: about 10 are in use at a time
	}
	if n, most := l.Len(), shards*(crowd+glance); n > most {
		t.Errorf("%d entries for about 10 credentials in use, want %d at most", n, most)
	}
}

func TestNil(t *testing.T) {
	l := New(Policy{}, nil)
	if l != nil {
		t.Fatal("the zero policy gives a limiter")
	}
	if d := l.Take("k"); d != (Decision{Allowed: true}) {
		t.Errorf("got %+v", d)
	}
	l.SetHeader(nil, Decision{}) // must not write
	if l.Len() != 0 {
		t.Error("a nil limiter holds entries")
	}
}

func TestTakeAllocates(t *testing.T) {
	l := New(Default(), nil)
	l.Take("pk_0123456789abcdef")
	if n := testing.AllocsPerRun(1000, func() { l.Take("pk_0123456789abcdef") }); n != 0 {
		t.Errorf("%v allocations on a known key, want 0", n)
	}
}

func BenchmarkTake(b *testing.B) {
	l := New(Default(), nil)
	b.ReportAllocs()
	for b.Loop() {
		l.Take("pk_0123456789abcdef")
	}
}

func BenchmarkTakeAllowed(b *testing.B) {
	c := steered()
	l := New(Default(), &Options{Now: c.now})
	b.ReportAllocs()
	for b.Loop() {
		c.pass(10 * time.Millisecond)
		if !l.Take("pk_0123456789abcdef").Allowed {
			b.Fatal("refused")
		}
	}
}

func BenchmarkTakeMany(b *testing.B) {
	keys := make([]string, 100_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("pk_%016d", i)
	}
	l := New(per(10, time.Minute, 0), nil)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		l.Take(keys[i])
		if i++; i == len(keys) {
			i = 0
		}
	}
}

func BenchmarkTakeNew(b *testing.B) {
	l := New(per(10, time.Hour, 0), nil) // full after a while: each new one displaces another
	var key [20]byte
	i := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		i++
		l.Take(string(strconv.AppendInt(key[:0], i, 10)))
	}
}

func BenchmarkTakeParallel(b *testing.B) {
	l := New(Default(), nil)
	var n atomic.Int32
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		key := fmt.Sprint("credential ", n.Add(1))
		for pb.Next() {
			l.Take(key)
		}
	})
}

// BenchmarkMemory says what an entry of a full limiter takes.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := New(per(10, time.Hour, 0), nil)
		for i := range 2 * defaultMax {
			l.Take(strconv.Itoa(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(l.Len()), "B/entry")
		b.ReportMetric(float64(l.Len()), "entries")
	}
}
