package webhook

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// MemoryOptions are the options of a [MemoryStore].
type MemoryOptions struct {
	// Max is how many accepted deliveries are remembered, at about 300 bytes
	// each; above it the oldest is forgotten before its time. Zero means
	// 100,000.
	Max int
}

// A MemoryStore is a [Store] for one process: a restart forgets what it knew.
// It is for tests, tools and consumers to whom a rare duplicate does no harm.
type MemoryStore struct {
	max     int
	mu      sync.Mutex
	running map[name]Claim
	known   map[name]*list.Element
	order   list.List // of Claim, in the order of settling
}

type name struct{ scope, id string }

var _ Store = (*MemoryStore)(nil)

// NewMemoryStore returns an empty store. A nil opts means the defaults. It
// panics where Max is negative.
func NewMemoryStore(opts *MemoryOptions) *MemoryStore {
	m := &MemoryStore{max: 100_000, running: make(map[name]Claim), known: make(map[name]*list.Element)}
	if opts != nil && opts.Max != 0 {
		m.max = opts.Max
	}
	if m.max < 0 {
		panic("webhook: the size of a memory store is negative")
	}
	return m
}

// Claim implements [Store]. It does not fail.
func (m *MemoryStore) Claim(_ context.Context, c Claim) (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prune(c.At)
	n := name{c.Scope, c.ID}
	if e := m.known[n]; e != nil {
		if e.Value.(Claim).Until.After(c.At) {
			return Known, nil
		}
		m.forget(e)
	}
	if other, ok := m.running[n]; ok && other.Until.After(c.At) {
		return Running, nil
	}
	m.running[n] = c
	return Claimed, nil
}

// Settle implements [Store]. It does not fail.
func (m *MemoryStore) Settle(_ context.Context, c Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := name{c.Scope, c.ID}
	if other, ok := m.running[n]; ok && other.Token != c.Token || m.known[n] != nil {
		return nil
	}
	delete(m.running, n)
	m.known[n] = m.order.PushBack(c)
	if m.order.Len() > m.max {
		m.forget(m.order.Front())
	}
	return nil
}

// Release implements [Store]. It does not fail.
func (m *MemoryStore) Release(_ context.Context, c Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := (name{c.Scope, c.ID}); m.running[n].Token == c.Token {
		delete(m.running, n)
	}
	return nil
}

// Len returns how many deliveries are remembered, those included whose time is
// over and which have not been dropped yet.
func (m *MemoryStore) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.order.Len()
}

// prune forgets a few of those whose time is over: more than are added.
func (m *MemoryStore) prune(now time.Time) {
	for range 4 {
		e := m.order.Front()
		if e == nil || e.Value.(Claim).Until.After(now) {
			return
		}
		m.forget(e)
	}
}

func (m *MemoryStore) forget(e *list.Element) {
	c := m.order.Remove(e).(Claim)
	delete(m.known, name{c.Scope, c.ID})
}
