package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
)

// A Fanout makes a store write a delivery for each endpoint that wants an
// event, in the transaction of the event.
type Fanout struct {
	// Endpoints is the table whose rows are endpoints, one of those that are
	// opened, and Read says what such a row wants. Read must be pure.
	Endpoints *Table
	Read      func(Row) (Subscription, error)

	// Changed, where it is given, is told after a commit of this process that
	// an endpoint was made, changed or (nil) deleted. It must not wait.
	Changed func(endpoint int64, now *Subscription)

	// Taker sends what is written. It may be set until the first Commit; nil
	// means that another process does.
	Taker Taker
}

// A Subscription is what an endpoint wants to be told.
type Subscription struct {
	Types   []string // exact, or a prefix and .*; none means all
	Version string   // the API version of its deliveries
	Enabled bool     // otherwise its deliveries are parked
}

// A Taker is the dispatcher of this process. Its methods are called by the
// writer: they must be quick and never wait for the store.
type Taker interface {
	// Reserve finds a place for a delivery that is about to be written,
	// already claimed by this process. Without a place it is written unclaimed.
	Reserve(endpoint int64) bool
	// Release gives a place back: nothing was written.
	Release(endpoint int64)
	// Take hands over deliveries that had a place and are on disk.
	Take([]event.Delivery)
	// Wake says that an endpoint has unclaimed deliveries that are due.
	Wake(endpoint int64)
	// Fence names the claims of this process.
	Fence() int64
}

const (
	// maxFan is how many deliveries of an event its own transaction writes.
	maxFan = 128
	// Lease is how long a delivery that was written claimed stays so.
	Lease = 30 * time.Second
)

// subscriptions are the endpoints of all accounts.
type subscriptions struct {
	mu       sync.RWMutex
	loaded   bool
	as       int64 // of the clock's endpoints when they were read
	accounts map[int64][]*subscriber
	owners   map[int64]int64 // of endpoints
	matches  map[matchKey][]*subscriber
}

type subscriber struct {
	Subscription
	id, account int64
	created     int64
}

type matchKey struct {
	account int64
	typ     string
}

func (s *subscriber) wants(typ string) bool {
	if len(s.Types) == 0 {
		return true
	}
	for _, t := range s.Types {
		if prefix, ok := strings.CutSuffix(t, "*"); ok && strings.HasPrefix(typ, prefix) || t == typ {
			return true
		}
	}
	return false
}

// fresh reports whether the endpoints are known as they are at this change.
func (s *subscriptions) fresh(as int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.loaded && s.as == as
}

// settle says which change the endpoints are now known at; -1 means that they
// are to be read anew.
func (s *subscriptions) settle(as int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.as = as
}

// reset takes all endpoints anew. What was read before a change that is known
// already is ignored.
func (s *subscriptions) reset(list []*subscriber, as int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded && s.as >= as {
		return
	}
	s.accounts, s.matches, s.owners = make(map[int64][]*subscriber), make(map[matchKey][]*subscriber), make(map[int64]int64)
	for _, sub := range list {
		s.owners[sub.id] = sub.account
		s.accounts[sub.account] = append(s.accounts[sub.account], sub)
	}
	for _, list := range s.accounts {
		slices.SortFunc(list, func(a, b *subscriber) int { return cmp.Compare(a.id, b.id) })
	}
	s.loaded, s.as = true, as
}

// change takes in what a group did to endpoints.
func (s *subscriptions) change(id, account int64, sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.accounts[account]
	i, found := slices.BinarySearchFunc(list, id, func(s *subscriber, id int64) int { return cmp.Compare(s.id, id) })
	switch {
	case found && sub == nil:
		list = slices.Delete(list, i, i+1)
	case found:
		list[i] = sub
	case sub != nil:
		list = slices.Insert(list, i, sub)
	}
	s.accounts[account] = list
	s.owners[id] = account
	if sub == nil {
		delete(s.owners, id)
	}
	for k := range s.matches {
		if k.account == account {
			delete(s.matches, k)
		}
	}
}

// match returns the endpoints of an account that want a type, in order of
// their ids. Nobody may change the list.
func (s *subscriptions) match(account int64, typ string) []*subscriber {
	s.mu.RLock()
	list, known := s.matches[matchKey{account, typ}]
	none := len(s.accounts[account]) == 0
	s.mu.RUnlock()
	if known || none {
		return list
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.accounts[account] {
		if sub.wants(typ) {
			list = append(list, sub)
		}
	}
	if len(s.matches) > 10_000 {
		clear(s.matches)
	}
	s.matches[matchKey{account, typ}] = list
	return list
}

// only returns one endpoint of an account, whatever it wants.
func (s *subscriptions) only(account, id int64) []*subscriber {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := s.accounts[account]
	i, found := slices.BinarySearchFunc(list, id, func(s *subscriber, id int64) int { return cmp.Compare(s.id, id) })
	if !found {
		return nil
	}
	return list[i : i+1 : i+1]
}

// A cursorRow is an event whose fan-out goes on after its transaction.
type cursorRow struct{ seq, account, after, at int64 }

// fan decides the deliveries of the group's events.
func (g *group) fan() error {
	f := g.fanout
	if f == nil {
		return nil
	}
	if !g.subs.fresh(g.clock.endpoints) {
		if err := g.subscribers(); err != nil {
			return err
		}
	}
	if ts := g.tables[f.table.index]; slices.ContainsFunc(ts.dirty, func(r *record) bool { return r.Seq > g.began.seq || !r.live }) {
		g.clock.endpoints = g.seq()
	}
	for i := range g.events {
		g.fanEvent(&g.events[i])
	}
	return nil
}

func (g *group) fanEvent(e *event.Event) {
	list := g.subs.match(e.Account, e.Type)
	if e.To != 0 {
		list = g.subs.only(e.Account, e.To)
	}
	var shared *event.Event
	for n, sub := range list {
		if n == maxFan {
			g.cursors = append(g.cursors, cursorRow{seq: e.Seq, account: e.Account, after: g.deliveries[len(g.deliveries)-1].Endpoint, at: g.clock.at})
			break
		}
		if shared == nil {
			shared = new(event.Event)
			*shared = *e
		}
		g.deliveries = append(g.deliveries, g.deliver(sub, shared))
	}
}

// deliver makes the delivery of an event to an endpoint, claimed where the
// dispatcher has a place for it.
func (g *group) deliver(sub *subscriber, e *event.Event) event.Delivery {
	d := event.Delivery{Seq: e.Seq, Endpoint: sub.id, Account: e.Account, Version: sub.Version, Born: g.now, Due: g.now, Event: e}
	switch taker := g.fanout.Taker; {
	case !sub.Enabled:
		d.Due = event.Parked
	case taker != nil && taker.Reserve(sub.id):
		d.Fence, d.Due = taker.Fence(), g.now+Lease.Microseconds()
	}
	return d
}

// handOff tells what is on disk now, or that nothing is.
func (g *group) handOff(written bool) {
	f := g.fanout
	if f == nil {
		return
	}
	if written {
		g.learn()
	}
	if written && len(g.cursors) > 0 {
		select {
		case g.fanning <- struct{}{}:
		default:
		}
	}
	if f.Taker == nil {
		return
	}
	for i := range g.revived {
		f.Taker.Wake(g.revived[i].Endpoint)
	}
	var claimed []event.Delivery
	for i := range g.deliveries {
		d := &g.deliveries[i]
		switch {
		case d.Fence != 0 && !written:
			f.Taker.Release(d.Endpoint)
		case d.Fence != 0:
			claimed = append(claimed, *d)
		case written && d.Due != event.Parked:
			f.Taker.Wake(d.Endpoint)
		}
	}
	if claimed != nil {
		f.Taker.Take(claimed)
	}
}

// learn keeps the endpoints as the group has left them.
func (g *group) learn() {
	if g.clock.endpoints == g.began.endpoints {
		return
	}
	for _, rec := range g.tables[g.fanout.table.index].dirty {
		if !rec.live {
			g.subs.change(rec.ID, rec.Account, nil)
			g.fanout.changed(rec.ID, nil)
			continue
		}
		sub, err := g.fanout.read(rec.Row)
		if err != nil { // it will be read again, and fail where it is logged
			g.subs.settle(-1)
			return
		}
		g.subs.change(rec.ID, rec.Account, sub)
		g.fanout.changed(rec.ID, &sub.Subscription)
	}
	g.subs.settle(g.clock.endpoints)
}

// A fanout is a Fanout with its table resolved.
type fanout struct {
	*Fanout
	table *table
	all   string // selects every endpoint
}

func (s *Store) newFanout(f *Fanout) (*fanout, error) {
	if f == nil {
		return nil, nil
	}
	t, err := s.table(f.Endpoints)
	if err != nil {
		return nil, err
	}
	return &fanout{Fanout: f, table: t, all: t.recordSQL}, nil
}

func (f *fanout) changed(id int64, now *Subscription) {
	if f.Changed != nil {
		f.Changed(id, now)
	}
}

func (f *fanout) read(row Row) (*subscriber, error) {
	sub, err := f.Read(row)
	if err != nil {
		return nil, fmt.Errorf("store: reading endpoint %d: %w", row.ID, err)
	}
	return &subscriber{Subscription: sub, id: row.ID, account: row.Account, created: row.Created}, nil
}

// subscribers reads all endpoints: at the start, and when another node changed
// one.
func (g *group) subscribers() error {
	list, err := g.fanout.load(g.each)
	if err == nil {
		g.subs.reset(list, g.clock.endpoints)
	}
	return err
}

// load reads all endpoints.
func (f *fanout) load(query func(string, []any, func(cursor)) error) (list []*subscriber, err error) {
	var failed error
	err = query(f.all, nil, func(c cursor) {
		sub, err := f.read(scanRecord(f.table, c).Row)
		if err != nil {
			failed = err
			return
		}
		list = append(list, sub)
	})
	if err == nil {
		err = failed
	}
	return list, err
}
