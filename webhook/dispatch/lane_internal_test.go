package dispatch

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-api/parley/event"
)

// TestRoom shows that a class can always use its own part, whatever order the
// others come in, and that all of the connections can be used.
func TestRoom(t *testing.T) {
	for range 200 {
		d := New(nil, nil, &Options{Connections: 64})
		for range 1000 { // the others take what they can
			if c := class(rand.N(3)) + 1; d.places(c) > 0 {
				d.launch(&lane{class: c}, 0)
			}
		}
		took := 0
		for ; d.places(prompt) > 0; took++ {
			d.launch(&lane{class: prompt}, 0)
		}
		if took < 16 || len(d.flights) > 64 {
			t.Fatalf("got %d for the prompt ones and %d in all, want at least 16 and at most 64", took, len(d.flights))
		}
	}
	d := New(nil, nil, &Options{Connections: 64})
	for c := range classes {
		n := 0
		for ; d.places(c) > 0; n++ {
			d.launch(&lane{class: c}, 0)
		}
		if n < d.own(c) {
			t.Errorf("class %d: got %d, want its own %d", c, n, d.own(c))
		}
	}
	if len(d.flights) != 64 {
		t.Errorf("got %d in use, want 64", len(d.flights))
	}
	d = New(nil, nil, &Options{Connections: 1})
	for c := range classes {
		if d.places(c) <= 0 {
			t.Errorf("class %d: got no room of one connection", c)
		}
	}
}

// TestLearn shows how what endpoints do changes their lanes.
func TestLearn(t *testing.T) {
	ok := report{answered: true, delivered: true, took: 1000}
	late := report{answered: true, delivered: true, took: 2 * second}
	broken := report{answered: true, took: 1000}
	unwanted := report{answered: true, final: true, took: 1000}
	silent := report{took: 15 * second}
	tests := []struct {
		why     string
		reports []report
		class   class
		limit   int
	}{
		{"nothing is known", nil, fresh, 1},
		{"the first answer", []report{ok}, prompt, 2},
		{"many answers", []report{ok, ok, ok, ok, ok}, prompt, 8},
		{"never an answer", []report{silent}, failing, 1},
		{"one silence is forgiven", []report{ok, ok, ok, silent}, slow, 4},
		{"two are not", []report{ok, ok, ok, silent, silent}, failing, 1},
		{"recovered", []report{silent, silent, ok, ok}, prompt, 4},
		{"late, but it answers", []report{ok, ok, ok, late}, slow, 8},
		{"errors shrink it", []report{ok, ok, ok, broken, broken}, prompt, 2},
		{"a message that it does not want says nothing", []report{ok, ok, ok, unwanted}, prompt, 8},
		{"no attempt says nothing", []report{ok, ok, {none: true}}, prompt, 4},
		{"a smaller bound", []report{ok, ok, ok, {none: true, full: 2}}, prompt, 2},
		{"a larger bound", []report{{none: true, full: 32}, ok, ok, ok, ok, ok}, prompt, 32},
	}
	for _, test := range tests {
		d := New(nil, nil, nil)
		l := d.lane(1)
		for _, r := range test.reports {
			d.learn(l, &r)
		}
		if l.class != test.class || l.limit != test.limit {
			t.Errorf("%s: got class %d and bound %d, want %d and %d", test.why, l.class, l.limit, test.class, test.limit)
		}
	}
}

// TestOverdue shows that a hanging attempt leaves the prompt ones while it
// goes on.
func TestOverdue(t *testing.T) {
	d := New(nil, nil, nil)
	l := d.lane(1)
	d.classify(l, prompt)
	f := d.launch(l, 0)
	d.overdue(second - 1)
	if d.using[prompt] != 1 || l.class != prompt {
		t.Error("it left before the patience was over")
	}
	d.overdue(second)
	d.overdue(2 * second)
	if d.using[prompt] != 0 || d.using[slow] != 1 || l.class != slow || l.late != 1 {
		t.Errorf("got %v in use and class %d", d.using, l.class)
	}
	d.land(f)
	if d.using != [classes]int{} || l.late != 0 {
		t.Errorf("got %v in use afterwards", d.using)
	}
}

// TestReclassified shows that a ready lane does not wait in the list of a
// class that it has left.
func TestReclassified(t *testing.T) {
	d := New(nil, nil, &Options{Connections: 8})
	d.running = true
	for d.places(failing) > 0 {
		d.launch(&lane{class: failing}, 0)
	}
	l := d.lane(1)
	d.classify(l, failing)
	l.backlog = true
	l.queue.push(held{until: math.MaxInt64})
	d.hold(l, 1)
	d.enlist(l)
	if f, wants := d.pick(), d.gather(failing); f != nil || wants != nil {
		t.Fatal("got a flight or a claim without room")
	}
	d.classify(l, prompt)
	if wants := d.gather(prompt); len(wants) != 0 {
		t.Error("got a claim for a lane that has enough")
	}
	if f := d.pick(); f == nil || f.lane != l {
		t.Error("it waits in the old list")
	}
	if f := d.pick(); f != nil {
		t.Error("it stands in a list twice")
	}
}

// TestGather shows what is claimed in one go.
func TestGather(t *testing.T) {
	tests := []struct {
		why                string
		class              class
		lanes, connections int
		want               []int // deliveries of each lane
	}{
		{"a prompt lane may have many", prompt, 1, 64, []int{256}},
		{"but not all at once", prompt, 5, 64, []int{256, 256}},
		{"one that fails has one", failing, 3, 64, []int{1, 1, 1}},
		{"few lanes of those that fail", failing, 100, 2048, slices.Repeat([]int{1}, fewLanes)},
		{"no more lanes than could send", failing, 100, 8, []int{1, 1, 1, 1}},
		{"one of which nothing is known", fresh, 1, 64, []int{3}},
	}
	for _, test := range tests {
		d := New(nil, nil, &Options{Connections: test.connections})
		d.running = true
		for id := range int64(test.lanes) {
			l := d.lane(id + 1)
			d.classify(l, test.class)
			l.backlog = true
			d.enlist(l)
			d.enlist(l)
		}
		wants := d.gather(test.class)
		var got []int
		for i, w := range wants {
			got = append(got, w.N)
			if w.Endpoint != int64(i+1) {
				t.Errorf("%s: got endpoint %d at place %d, want the turns kept", test.why, w.Endpoint, i)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.why, got, test.want)
		}
		if d.wanting[test.class].n != test.lanes-len(got) {
			t.Errorf("%s: got %d lanes left, want %d", test.why, d.wanting[test.class].n, test.lanes-len(got))
		}
	}
}

// TestPace shows that failing lanes begin one after the other, and prompt ones
// when they like.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(nil, nil, nil)
		began := func(c class) (n int) {
			d.mu.Lock()
			defer d.mu.Unlock()
			for n < 1000 && d.paced(c) {
				n++
			}
			return n
		}
		for _, test := range []struct {
			why  string
			wait time.Duration
			c    class
			want int
		}{
			{"prompt ones do not wait", 0, prompt, 1000},
			{"so many at once", 0, failing, paceBurst},
			{"and no more", 0, failing, 0},
			{"fresh ones are counted with them", 0, fresh, 0},
			{"as many as time has passed", 3 * paceEvery, failing, 3},
			{"after a long time as many as at first", time.Hour, fresh, paceBurst},
		} {
			time.Sleep(test.wait)
			if got := began(test.c); got != test.want {
				t.Errorf("%s: got %d, want %d", test.why, got, test.want)
			}
		}
	})
}

// TestForget shows that idle lanes are dropped from memory, and others not.
func TestForget(t *testing.T) {
	d := New(nil, nil, nil)
	for id := range int64(100) {
		d.lane(id + 1)
	}
	d.hold(d.lane(1), 1)
	d.lane(2).backlog = true
	later := d.now() + forgetAfter.Microseconds() + second
	for range 10 {
		d.forget(later)
	}
	if d.lanes[1] == nil || d.lanes[2] == nil || len(d.lanes) != 2 {
		t.Errorf("got %d lanes, want the two that are in use", len(d.lanes))
	}
}

// known is a source whose endpoint has failed before this process began.
type known struct{ asked int }

func (k *known) Endpoint(context.Context, int64) (*Endpoint, error) {
	k.asked++
	return &Endpoint{ID: 1, URL: "http://127.0.0.1:1", Enabled: true, FailingSince: 1, Sign: func(b []byte, _ string, _ int64, _ []byte) []byte { return b }}, nil
}
func (k *known) Body(context.Context, *event.Delivery) ([]byte, error) { return []byte("{}"), nil }

// TestKnown shows that an endpoint known to fail does not use the connections
// of those of which nothing is known.
func TestKnown(t *testing.T) {
	d := New(nil, &known{}, &Options{Insecure: true, Log: slog.New(slog.DiscardHandler)})
	d.Take([]event.Delivery{{Seq: 1, Endpoint: 1, Fence: 1, Born: time.Now().UnixMicro()}})
	d.running = true
	f := d.pick()
	if f == nil || f.pool != fresh {
		t.Fatalf("got %+v, want a flight of a fresh lane", f)
	}
	f = d.send(f)
	if f == nil || f.pool != failing || f.held.Seq != 1 || len(d.outcomes) != 0 {
		t.Fatalf("got %+v, want the same delivery among the failing ones", f)
	}
	if f = d.send(f); f != nil || len(d.outcomes) != 1 || d.outcomes[0].Attempt == nil || d.held != [2]int{} {
		t.Errorf("got %+v and %+v, want one outcome", f, d.outcomes)
	}
}

// TestRing holds a ring against a slice.
func TestRing(t *testing.T) {
	var r ring[int]
	var want []int
	for i := range 10_000 {
		if rand.N(5) < 3-i/5000*2 {
			r.push(i)
			want = append(want, i)
		} else if len(want) > 0 {
			if got := r.pop(); got != want[0] {
				t.Fatalf("got %d, want %d", got, want[0])
			}
			want = want[1:]
		}
		if r.n != len(want) || r.n > 0 && *r.at(r.n - 1) != want[len(want)-1] {
			t.Fatalf("got %d in it, want %d", r.n, len(want))
		}
	}
}
