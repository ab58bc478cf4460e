package queuetest

import (
	"slices"
	"time"

	"github.com/parley-api/parley/event"
)

func (b *bench) due() (endpoints []int64, next time.Time) {
	b.Helper()
	endpoints, next, err := b.a.Due(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	slices.Sort(endpoints)
	return endpoints, next
}

func due(b *bench) {
	b.put(1, 1, 2)
	b.put(2, 1)
	b.put(3, 1)
	b.Insert(event.Delivery{Seq: 5, Endpoint: 4, Account: 1, Version: "2026-11-01", Born: b.Now(), Due: b.Now() + second})
	b.Insert(event.Delivery{Seq: 6, Endpoint: 5, Account: 1, Version: "2026-11-01", Born: b.Now(), Due: event.Parked})
	b.Insert(event.Delivery{Seq: 7, Endpoint: 6, Account: 1, Version: "2026-11-01", Born: b.Now(), Due: b.Now() + lease.Microseconds(), Fence: other})
	b.claim(b.a, 2, 1)
	b.claim(b.b, 1, 1)
	got, _ := b.due()
	b.same("due", got, []int64{1, 3})
	b.Advance(time.Second)
	got, _ = b.due()
	b.same("due after a second", got, []int64{1, 3, 4})
	b.Advance(lease)
	got, _ = b.due()
	b.same("due after the claims", got, []int64{1, 2, 3, 4, 6})
}

const second = 1_000_000

func next(b *bench) {
	if got, at := b.due(); len(got) != 0 || !at.IsZero() {
		b.Errorf("got %v and %v of an empty table, want nothing", got, at)
	}
	b.put(1, 1)
	now := b.Now()
	b.Insert(event.Delivery{Seq: 2, Endpoint: 1, Account: 1, Version: "2026-11-01", Born: now, Due: now + 9*second})
	b.Insert(event.Delivery{Seq: 3, Endpoint: 2, Account: 1, Version: "2026-11-01", Born: now, Due: now + 8*second})
	b.Insert(event.Delivery{Seq: 4, Endpoint: 2, Account: 1, Version: "2026-11-01", Born: now, Due: event.Parked})
	got, at := b.due()
	b.same("due", got, []int64{1})
	if off := at.UnixMicro() - (now + 8*second); off < -second || off > second {
		b.Errorf("next: got %v, want %v", at, time.UnixMicro(now+8*second))
	}
}

func delivered(b *bench) {
	b.put(1, 1, 2)
	d := b.claim(b.a, 1, 1)[0]
	b.settle(b.a, outcome(d, event.Delivered, 0))
	r := b.row(1, 1)
	b.same("state", r.State, event.Delivered)
	b.same("tries", r.Tries, 1)
	b.same("attempts", r.Attempts, []event.Attempt{*outcome(d, 0, 0).Attempt})
	b.Advance(100 * time.Hour)
	b.same("due later", seqs(b.claim(b.a, 1, 9)), []int64{2})
}

func retry(b *bench) {
	b.put(1, 1)
	d := b.claim(b.a, 1, 1)[0]
	o := outcome(d, event.Retrying, b.Now()+300*second)
	o.Attempt.Status, o.Attempt.Error, o.Attempt.Response = 0, dispatchTimeout, nil
	b.settle(b.a, o)
	r := b.row(1, 1)
	b.same("state", r.State, event.Retrying)
	b.same("tries and spent", []int{r.Tries, r.Spent}, []int{1, 1})
	b.same("fence", r.Fence, int64(0))
	b.same("due", r.Due, o.Due)
	b.same("error", r.Attempts[0].Error, dispatchTimeout)
	b.Advance(299 * time.Second)
	b.same("early", len(b.claim(b.b, 1, 1)), 0)
	b.Advance(time.Second)
	b.same("in time", seqs(b.claim(b.b, 1, 1)), []int64{1})
}

const dispatchTimeout = "timeout"

func dead(b *bench) {
	b.put(1, 1)
	o := outcome(b.claim(b.a, 1, 1)[0], event.Dead, 0)
	o.Reason = "answered 404"
	b.settle(b.a, o)
	r := b.row(1, 1)
	b.same("state and reason", []any{r.State, r.Reason}, []any{event.Dead, "answered 404"})
	b.Advance(100 * time.Hour)
	b.same("claimed later", len(b.claim(b.a, 1, 1)), 0)
	got, at := b.due()
	b.same("due later", len(got), 0)
	b.same("next", at.IsZero(), true)
}

func giveBack(b *bench) {
	b.put(1, 1)
	d := b.claim(b.a, 1, 1)[0]
	b.settle(b.a, event.Outcome{Seq: 1, Endpoint: 1, Account: 1, Fence: d.Fence, State: d.State, Due: b.Now()})
	r := b.row(1, 1)
	b.same("tries, attempts and fence", []int64{int64(r.Tries), int64(len(r.Attempts)), r.Fence}, []int64{0, 0, 0})
	b.same("state", r.State, event.Pending)
	b.same("claimed by another", seqs(b.claim(b.b, 1, 1)), []int64{1})
}

func parked(b *bench) {
	b.put(1, 1)
	d := b.claim(b.a, 1, 1)[0]
	b.settle(b.a, event.Outcome{Seq: 1, Endpoint: 1, Account: 1, Fence: d.Fence, State: d.State, Due: event.Parked, Reason: "endpoint disabled"})
	r := b.row(1, 1)
	b.same("state and tries", []any{r.State, r.Tries}, []any{event.Pending, 0})
}

func staleOutcome(b *bench) {
	b.put(1, 1)
	old := b.claim(b.a, 1, 1)[0]
	b.Advance(lease)
	present := b.claim(b.b, 1, 1)[0]
	b.settle(b.a, outcome(old, event.Dead, 0))
	r := b.row(1, 1)
	b.same("state, tries and fence", []any{r.State, r.Tries, r.Fence}, []any{event.Pending, 0, present.Fence})
	b.settle(b.b, outcome(present, event.Delivered, 0))
	b.settle(b.a, outcome(old, event.Retrying, b.Now()))
	r = b.row(1, 1)
	b.same("state and tries afterwards", []any{r.State, r.Tries}, []any{event.Delivered, 1})
}

func outcomeTwice(b *bench) {
	b.put(1, 1, 2)
	list := b.claim(b.a, 1, 2)
	all := []event.Outcome{outcome(list[0], event.Delivered, 0), outcome(list[1], event.Retrying, b.Now()+second)}
	b.settle(b.a, all...)
	b.settle(b.a, all...)
	for seq := range int64(2) {
		r := b.row(seq+1, 1)
		b.same("tries and attempts", []int{r.Tries, len(r.Attempts)}, []int{1, 1})
	}
}

func (b *bench) extend(list []event.Delivery) {
	b.Helper()
	if err := b.a.Extend(b.Context(), list, lease); err != nil {
		b.Fatal(err)
	}
}

func extend(b *bench) {
	b.put(1, 1, 2)
	list := b.claim(b.a, 1, 2)
	for range 3 {
		b.Advance(lease * 2 / 3)
		b.extend(list[:1])
	}
	b.same("claimed by another", seqs(b.claim(b.b, 1, 2)), seqs(list[1:]))
	b.settle(b.a, outcome(list[0], event.Delivered, 0))
	b.same("state", b.row(list[0].Seq, 1).State, event.Delivered)
}

func staleExtend(b *bench) {
	b.put(1, 1, 2)
	list := b.claim(b.a, 1, 2)
	b.settle(b.a, outcome(list[1], event.Retrying, b.Now()+second))
	b.Advance(lease)
	present := b.claim(b.b, 1, 2)
	b.Advance(lease / 2)
	b.extend(list)
	for _, d := range present {
		b.same("fence", b.row(d.Seq, 1).Fence, d.Fence)
	}
	b.Advance(lease / 2)
	b.same("claimed after the second claim", seqs(b.claim(b.a, 1, 2)), []int64{1, 2})
}

func unknown(b *bench) {
	ghost := event.Delivery{Seq: 99, Endpoint: 1, Account: 1, Fence: mine}
	b.settle(b.a, outcome(ghost, event.Delivered, 0))
	b.extend([]event.Delivery{ghost})
	if _, ok := b.Row(99, 1); ok {
		b.Error("an outcome made a delivery")
	}
}

func nothing(b *bench) {
	b.same("claimed", len(b.claim(b.a, 1, 5)), 0)
	b.settle(b.a)
	b.extend(nil)
}
