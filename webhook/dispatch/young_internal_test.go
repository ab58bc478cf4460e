package dispatch

import (
	"runtime/metrics"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-api/parley/event"
)

// TestYoung shows that no more attempts begin at once than keep the processors
// busy, and that one that waits for its answer keeps no other from beginning.
func TestYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(nil, nil, nil)
		d.running, d.most = true, 4
		until := d.now() + time.Hour.Microseconds()
		for id := range int64(20) {
			l := d.lane(id + 1)
			l.class, l.limit = prompt, 1
			d.hold(l, 1)
			d.accept(l, held{event.Delivery{Endpoint: l.id, Seq: 1}, until}, d.now())
		}
		var flights []*flight
		begin := func(why string, want int) {
			t.Helper()
			n := 0
			for f := d.pick(); f != nil; f = d.pick() {
				flights = append(flights, f)
				n++
			}
			if n != want {
				t.Errorf("%s: %d began, want %d", why, n, want)
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.probing = true // nobody else shall call fill
		begin("at first", 4)
		begin("while they are young", 0)
		d.land(flights[0])
		begin("when one has landed", 1)
		time.Sleep(youth - time.Microsecond)
		begin("just before they are older", 0)
		time.Sleep(ageEvery)
		begin("when they wait for their answers", 4)
		for _, f := range flights[1:] {
			d.land(f)
		}
		if d.young != 0 {
			t.Errorf("%d are young when all have landed", d.young)
		}
		begin("when all have landed", 4)
		l := d.lane(100)
		l.class, l.limit = slow, 1
		d.hold(l, 1)
		d.accept(l, held{event.Delivery{Endpoint: l.id, Seq: 1}, until}, d.now())
		begin("slow ones, which do not wait for prompt ones", 1)
		d.land(flights[len(flights)-1])
		if d.young != 4 {
			t.Errorf("got %d young, want 4", d.young)
		}
	})
}

// TestYoungWait shows that those who had to wait begin by themselves.
func TestYoungWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(nil, nil, nil)
		d.mu.Lock()
		d.most = 1
		d.launch(&lane{class: prompt}, 0)
		for range 2 { // the second time it is being looked at already
			if !d.crowded() || !d.probing {
				t.Error("it is not crowded with as many as there may be")
			}
		}
		d.mu.Unlock()
		time.Sleep(probeWait + time.Microsecond)
		synctest.Wait()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.probing {
			t.Error("nobody looked at the bound")
		}
	})
}

// TestYoungBound shows how the bound moves.
func TestYoungBound(t *testing.T) {
	d := New(nil, nil, &Options{Connections: 1000})
	least := youngLeast()
	if d.most != least {
		t.Errorf("got %d at first, want %d", d.most, least)
	}
	for range 100 {
		d.bound(noLine)
	}
	if d.most != 1000 {
		t.Errorf("got %d without a line, want 1000", d.most)
	}
	d.bound((noLine + longLine) / 2)
	if d.most != 1000 {
		t.Errorf("got %d with a short line, want it to stay", d.most)
	}
	d.bound(longLine)
	if d.most != 750 {
		t.Errorf("got %d with a long line, want 750", d.most)
	}
	d.probing = true
	d.calmDown()
	if d.most != 750 {
		t.Errorf("got %d while some wait, want it to stay", d.most)
	}
	d.probing = false
	d.calmDown()
	if d.most >= 750 {
		t.Errorf("got %d while nobody waits, want less", d.most)
	}
	for range 100 {
		d.calmDown()
		d.bound(time.Second)
	}
	if d.most != least {
		t.Errorf("got %d in the end, want %d", d.most, least)
	}
}

// TestLine shows that the runtime still counts what a line reads.
func TestLine(t *testing.T) {
	var l line
	l.read()
	if l.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		t.Fatal("the runtime does not say how long goroutines wait")
	}
	if got := l.read(); got < 0 || got > time.Minute {
		t.Errorf("got %v", got)
	}
	// A hundred waited a millisecond or so, ten of them longer.
	h := l.sample[0].Value.Float64Histogram()
	at := slices.IndexFunc(h.Buckets, func(b float64) bool { return b >= 0.001 })
	before := slices.Clone(h.Counts)
	h.Counts[at] += 91
	h.Counts[at+20] += 9
	if got, want := passed(h, before), time.Duration(h.Buckets[at]*float64(time.Second)); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := passed(h, h.Counts); got != 0 {
		t.Errorf("got %v where nobody has waited, want 0", got)
	}
}
