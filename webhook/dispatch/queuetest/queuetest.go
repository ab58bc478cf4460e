// Package queuetest holds the contract of dispatch.Queue as a suite of tests,
// and a table in memory that keeps it. Whoever brings a table of deliveries
// runs
//
//	queuetest.Run(t, func(t *testing.T) queuetest.Table { … })
//
// in a test of their own. Each case says why the rule exists.
package queuetest

import (
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// A Table is what the suite needs of a table of deliveries. A new one is
// empty.
type Table interface {
	// Queue returns the table as the process with this fence sees it.
	Queue(fence int64) dispatch.Queue

	// Insert writes deliveries as a commit does, and whatever must exist
	// beside them: events, and enabled endpoints with the numbers 1 to 9, of
	// the account 1.
	Insert(list ...event.Delivery)

	// Row returns what is written of a delivery.
	Row(seq, endpoint int64) (Row, bool)

	// Now returns the table's time in microseconds since 1970 UTC. It stands
	// still but for Advance.
	Now() int64

	// Advance moves the table's clock.
	Advance(by time.Duration)
}

const (
	lease = 30 * time.Second
	mine  = 11 // the fences of two processes
	other = 22
)

// A bench is what a case works with.
type bench struct {
	*testing.T
	Table
	a, b dispatch.Queue
}

// Run runs the suite, with a new table for each case.
func Run(t *testing.T, open func(t *testing.T) Table) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			table := open(t)
			b := &bench{t, table, table.Queue(mine), table.Queue(other)}
			defer func() {
				if t.Failed() {
					t.Log("the rule exists because", c.why)
				}
			}()
			c.run(b)
		})
	}
}

var cases = []struct {
	name, why string
	run       func(*bench)
}{
	{"claim", "a delivery is sent by one process at a time", claim},
	{"claim the oldest", "nothing starves in its lane", claimOldest},
	{"claim for several", "thousands of endpoints that fail must not cost a call each", claimSeveral},
	{"claim what is there", "the dispatcher needs all of a delivery to send it", claimWhole},
	{"claim at once", "two processes that ask at the same moment must not both send", claimAtOnce},
	{"a claim ends", "a process that dies leaves its deliveries to others", claimEnds},
	{"due", "a sweep finds all that waits, and nothing that does not", due},
	{"next", "a retry begins when it is due, not a sweep later", next},
	{"delivered", "a delivery that was accepted is never sent again", delivered},
	{"retry", "the schedule is kept by the table, across deaths", retry},
	{"dead", "a dead letter waits for people", dead},
	{"give back", "to give back counts no attempt", giveBack},
	{"parked", "what happens while an endpoint is disabled is kept, and not due", parked},
	{"stale outcome", "who has lost the claim must not overwrite who has it", staleOutcome},
	{"outcome twice", "a settle whose answer was lost is repeated", outcomeTwice},
	{"extend", "an attempt may outlast the lease", extend},
	{"stale extend", "who has lost the claim must not take it back", staleExtend},
	{"unknown rows", "an event may be pruned while its outcome is on the way", unknown},
	{"nothing", "empty lists are no error", nothing},
}

// put writes open deliveries, due now, and returns them.
func (b *bench) put(endpoint int64, seqs ...int64) []event.Delivery {
	b.Helper()
	now := b.Now()
	var list []event.Delivery
	for _, seq := range seqs {
		list = append(list, event.Delivery{Seq: seq, Endpoint: endpoint, Account: 1, Version: "2026-11-01", Born: now, Due: now})
	}
	b.Insert(list...)
	return list
}

func (b *bench) claim(q dispatch.Queue, endpoint int64, n int) []event.Delivery {
	b.Helper()
	list, err := q.Claim(b.Context(), []event.Want{{Endpoint: endpoint, N: n}}, lease)
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func (b *bench) settle(q dispatch.Queue, list ...event.Outcome) {
	b.Helper()
	if err := q.Settle(b.Context(), list); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) row(seq, endpoint int64) Row {
	b.Helper()
	r, ok := b.Row(seq, endpoint)
	if !ok {
		b.Fatalf("delivery %d of endpoint %d is gone", seq, endpoint)
	}
	return r
}

func (b *bench) same(what string, got, want any) {
	b.Helper()
	if !reflect.DeepEqual(got, want) {
		b.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func seqs(list []event.Delivery) []int64 {
	var all []int64
	for i := range list {
		all = append(all, list[i].Seq)
	}
	slices.Sort(all)
	return all
}

// outcome is of a claimed delivery after an attempt.
func outcome(d event.Delivery, s event.State, due int64) event.Outcome {
	return event.Outcome{
		Seq: d.Seq, Endpoint: d.Endpoint, Account: d.Account, Fence: d.Fence, State: s, Due: due,
		Attempt: &event.Attempt{Number: d.Tries + 1, Started: d.Born + 5, Duration: 7, Status: 200, Response: []byte("ok")},
	}
}

func claim(b *bench) {
	b.put(1, 1, 2, 3)
	b.put(2, 1)
	got := b.claim(b.a, 1, 2)
	b.same("claimed", len(got), 2)
	for _, d := range got {
		b.same("endpoint", d.Endpoint, int64(1))
		b.same("fence", d.Fence != 0, true)
		b.same("end of the claim", d.Due, b.Now()+lease.Microseconds())
	}
	rest := b.claim(b.b, 1, 10)
	b.same("all", seqs(append(got, rest...)), []int64{1, 2, 3})
	b.same("left", len(b.claim(b.a, 1, 10)), 0)
	b.same("of the other endpoint", seqs(b.claim(b.a, 2, 10)), []int64{1})
	if got[0].Fence == rest[0].Fence {
		b.Error("two processes have the same fence")
	}
}

func claimSeveral(b *bench) {
	b.put(1, 1, 2, 3)
	b.put(2, 1)
	b.put(3, 2, 3)
	b.put(4, 4)
	list, err := b.a.Claim(b.Context(), []event.Want{{Endpoint: 3, N: 1}, {Endpoint: 1, N: 2}, {Endpoint: 2, N: 2}, {Endpoint: 9, N: 1}}, lease)
	if err != nil {
		b.Fatal(err)
	}
	got := make(map[int64][]int64)
	for _, d := range list {
		got[d.Endpoint] = append(got[d.Endpoint], d.Seq)
	}
	b.same("of the first endpoint", got[1], []int64{1, 2})
	b.same("of one that has fewer", got[2], []int64{1})
	b.same("of one of which one is wanted", got[3], []int64{2})
	b.same("of one that was not asked for", got[4], []int64(nil))
	b.same("of one that has none", got[9], []int64(nil))
}

func claimOldest(b *bench) {
	now := b.Now()
	for _, seq := range []int64{4, 2, 3, 1} {
		b.Insert(event.Delivery{Seq: seq, Endpoint: 1, Account: 1, Version: "2026-11-01", Born: now, Due: now - 10 + seq})
	}
	for _, want := range []int64{1, 2, 3, 4} {
		b.same("oldest", seqs(b.claim(b.a, 1, 1)), []int64{want})
	}
}

func claimWhole(b *bench) {
	now := b.Now()
	want := event.Delivery{Seq: 1, Endpoint: 1, Account: 1, Version: "2026-11-01", State: event.Retrying, Tries: 7, Spent: 2, Born: now - 9, Due: now}
	b.Insert(want)
	got := b.claim(b.a, 1, 1)[0]
	want.Due, want.Fence, got.Event = got.Due, got.Fence, nil
	b.same("delivery", got, want)
}

func claimAtOnce(b *bench) {
	var want []int64
	for seq := range int64(64) {
		want = append(want, seq+1)
	}
	b.put(1, want...)
	var mu sync.Mutex
	var got []int64
	var wg sync.WaitGroup
	for _, q := range []dispatch.Queue{b.a, b.b, b.a, b.b} {
		wg.Go(func() {
			for range 16 {
				list, err := q.Claim(b.Context(), []event.Want{{Endpoint: 1, N: 4}}, lease)
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				got = append(got, seqs(list)...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got = append(got, seqs(b.claim(b.a, 1, 64))...) // who asks at once may be given less
	slices.Sort(got)
	b.same("claimed, each once", got, want)
}

func claimEnds(b *bench) {
	b.put(1, 1)
	first := b.claim(b.a, 1, 1)[0]
	b.Advance(lease - time.Second)
	b.same("before the end", len(b.claim(b.b, 1, 1)), 0)
	b.Advance(time.Second)
	again := b.claim(b.b, 1, 1)
	b.same("at the end", seqs(again), []int64{1})
	if again[0].Fence == first.Fence {
		b.Error("the fence did not change")
	}
	b.same("tries", again[0].Tries, 0)
}
