package queuetest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// A Row is a delivery in a table, and what was written down about it.
type Row struct {
	event.Delivery
	Attempts []event.Attempt
	Reason   string // of the last outcome
	Disable  string // of the last outcome that had one
}

// Memory is a table of deliveries in memory, for tests and examples. It is
// safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	now   func() time.Time
	ahead time.Duration
	rows  map[[2]int64]*Row
	open  map[int64][]*Row // by endpoint
}

// NewMemory returns an empty table. A nil clock means time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, rows: make(map[[2]int64]*Row), open: make(map[int64][]*Row)}
}

// Now returns the table's time in microseconds since 1970 UTC.
func (m *Memory) Now() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock()
}

func (m *Memory) clock() int64 { return m.now().Add(m.ahead).UnixMicro() }

// Advance moves the table's clock.
func (m *Memory) Advance(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += by
}

// Insert writes deliveries.
func (m *Memory) Insert(list ...event.Delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range list {
		r := &Row{Delivery: d}
		m.rows[[2]int64{d.Seq, d.Endpoint}] = r
		if isOpen(r) {
			m.open[d.Endpoint] = append(m.open[d.Endpoint], r)
		}
	}
}

// Row returns a copy of a row, and whether there is one.
func (m *Memory) Row(seq, endpoint int64) (Row, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[[2]int64{seq, endpoint}]
	if r == nil {
		return Row{}, false
	}
	c := *r
	c.Attempts = slices.Clone(r.Attempts)
	return c, true
}

// Queue returns the table as the process with this fence sees it.
func (m *Memory) Queue(fence int64) dispatch.Queue { return view{m, fence} }

type view struct {
	m     *Memory
	fence int64
}

func isOpen(r *Row) bool { return r.State == event.Pending || r.State == event.Retrying }

func (v view) Claim(ctx context.Context, wants []event.Want, lease time.Duration) ([]event.Delivery, error) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	now := v.m.clock()
	var list []event.Delivery
	for _, w := range wants {
		var due []*Row
		for _, r := range v.m.open[w.Endpoint] {
			if r.Due <= now {
				due = append(due, r)
			}
		}
		slices.SortFunc(due, func(a, b *Row) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Seq, b.Seq)) })
		due = due[:min(w.N, len(due))]
		slices.SortFunc(due, func(a, b *Row) int { return cmp.Compare(a.Seq, b.Seq) })
		for _, r := range due {
			r.Fence, r.Due = v.fence, now+lease.Microseconds()
			list = append(list, r.Delivery)
		}
	}
	return list, ctx.Err()
}

func (v view) Due(ctx context.Context) (endpoints []int64, next time.Time, err error) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	now := v.m.clock()
	soonest := event.Parked
	for id, rows := range v.m.open {
		due := false
		for _, r := range rows {
			if r.Due <= now {
				due = true
			} else {
				soonest = min(soonest, r.Due)
			}
		}
		if due {
			endpoints = append(endpoints, id)
		}
	}
	if soonest < event.Parked {
		next = time.UnixMicro(soonest).Add(-v.m.ahead)
	}
	return endpoints, next, ctx.Err()
}

func (v view) Settle(ctx context.Context, outcomes []event.Outcome) error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	for i := range outcomes {
		o := &outcomes[i]
		r := v.m.rows[[2]int64{o.Seq, o.Endpoint}]
		if r == nil || r.Fence == 0 || r.Fence != o.Fence {
			continue
		}
		r.Fence, r.State, r.Due, r.Reason = 0, o.State, o.Due, o.Reason
		if o.Attempt != nil {
			r.Attempts = append(r.Attempts, *o.Attempt)
			r.Tries++
			r.Spent++
		}
		if o.Disable != "" {
			r.Disable = o.Disable
		}
		if !isOpen(r) {
			open := v.m.open[o.Endpoint]
			at := slices.Index(open, r)
			open[at] = open[len(open)-1]
			v.m.open[o.Endpoint] = open[:len(open)-1]
		}
	}
	return nil
}

func (v view) Extend(ctx context.Context, held []event.Delivery, lease time.Duration) error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	until := v.m.clock() + lease.Microseconds()
	for i := range held {
		r := v.m.rows[[2]int64{held[i].Seq, held[i].Endpoint}]
		if r != nil && r.Fence != 0 && r.Fence == held[i].Fence {
			r.Due = until
		}
	}
	return nil
}
