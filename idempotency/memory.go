package idempotency

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Options of a [Memory].
type Options struct {
	// Max is the number of records kept; above it the oldest is forgotten
	// before its time. Zero or less means 65,536.
	Max int
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Memory is a [Keeper] for one process, for tests and for services whose
// state is in memory anyway: a restart forgets every key. It holds at most
// Options.Max records, each as large as its answer, and drops those older
// than [Retention].
//
// The zero value is ready, with the default options. It is safe for
// concurrent use and must not be copied.
type Memory struct {
	opts  Options
	mu    sync.Mutex
	known map[flight]*list.Element
	order list.List // of *Record, oldest in front
}

var _ Keeper = (*Memory)(nil)

// NewMemory returns an empty memory. A nil opts means the defaults.
func NewMemory(opts *Options) *Memory {
	m := new(Memory)
	if opts != nil {
		m.opts = *opts
	}
	return m
}

func (m *Memory) max() int {
	if m.opts.Max <= 0 {
		return 1 << 16
	}
	return m.opts.Max
}

func (m *Memory) now() time.Time {
	if m.opts.Now == nil {
		return time.Now()
	}
	return m.opts.Now()
}

// Lookup implements [Keeper]. It does not fail.
func (m *Memory) Lookup(_ context.Context, scope, key string) (*Record, error) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.known[flight{scope, key}]
	if e == nil || !live(e, now) {
		return nil, nil
	}
	rec := *record(e)
	return &rec, nil
}

// Keep implements [Keeper]. It does not fail.
func (m *Memory) Keep(_ context.Context, rec Record) error {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for e := m.order.Front(); e != nil && !live(e, now); e = m.order.Front() {
		m.drop(e)
	}
	name := flight{rec.Scope, rec.Key}
	if m.known[name] != nil {
		return nil
	}
	if m.known == nil {
		m.known = make(map[flight]*list.Element)
	}
	m.known[name] = m.insert(&rec)
	if m.order.Len() > m.max() {
		m.drop(m.order.Front())
	}
	return nil
}

// Len returns how many records are held, those included that have expired and
// not been dropped yet.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.order.Len()
}

// insert puts the record behind all that are not younger. Records come almost
// in order, so that it looks at one or two.
func (m *Memory) insert(rec *Record) *list.Element {
	e := m.order.Back()
	for e != nil && record(e).Created.After(rec.Created) {
		e = e.Prev()
	}
	if e == nil {
		return m.order.PushFront(rec)
	}
	return m.order.InsertAfter(rec, e)
}

func (m *Memory) drop(e *list.Element) {
	rec := record(e)
	delete(m.known, flight{rec.Scope, rec.Key})
	m.order.Remove(e)
}

func record(e *list.Element) *Record { return e.Value.(*Record) }

func live(e *list.Element, now time.Time) bool {
	return now.Sub(record(e).Created) < Retention
}
