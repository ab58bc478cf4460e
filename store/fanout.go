package store

import (
	"log/slog"
	"time"

	"github.com/parley-api/parley/event"
)

// A Fanout makes a store write a delivery for each endpoint that wants an
// event, in the transaction of the event.
type Fanout struct {
	// Endpoints is the table whose rows are endpoints, one of those that are
	// opened, and Read says what such a row wants. Read must be pure and may
	// be called concurrently. A Tx that leaves a row which Read refuses fails
	// with its error. A row that was stored and is refused later counts as
	// disabled and wanting all, so that nothing is lost, and is logged.
	Endpoints *Table
	Read      func(Row) (Subscription, error)

	// Changed, where it is given, is told after a commit of this process that
	// an endpoint was made, changed or (nil) deleted. It must not wait.
	Changed func(endpoint int64, now *Subscription)

	// Taker sends what is written. Nil means that another process does, and
	// that deliveries are written unclaimed. It is not changed after Open.
	Taker Taker
}

// A Taker is the dispatcher of this process. The store calls its methods
// concurrently, from its writer among others: they must be quick and never
// wait for the store.
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
	// Fence names the claims of this process. It is not 0.
	Fence() int64
}

const (
	// maxFan is how many deliveries of an event its own transaction writes.
	maxFan = 128
	// Lease is how long a delivery that was written claimed stays so.
	Lease = 30 * time.Second
)

// A fanout is a Fanout with its table resolved.
type fanout struct {
	*Fanout
	table *table
	log   *slog.Logger
}

func (s *Store) newFanout(f *Fanout) (*fanout, error) {
	if f == nil {
		return nil, nil
	}
	t, err := s.table(f.Endpoints)
	if err != nil {
		return nil, err
	}
	return &fanout{Fanout: f, table: t, log: s.options.Log}, nil
}

func (f *fanout) read(row Row) (*subscriber, error) {
	sub := &subscriber{id: row.ID, account: row.Account, created: row.Created}
	err := call("Fanout.Read", func() (err error) {
		sub.Subscription, err = f.Read(row)
		return err
	})
	return sub, err
}

// load reads all endpoints.
func (f *fanout) load(query func(string, []any, func(cursor)) error) (list []*subscriber, err error) {
	err = query(f.table.recordSQL, nil, func(c cursor) {
		row := scanRecord(f.table, c).Row
		row.Reshape = row.Seq <= f.table.reshape
		sub, err := f.read(row)
		if err != nil {
			f.log.Error("an endpoint cannot be read; what happens is parked for it", "endpoint", row.ID, "error", err)
			sub.Subscription = Subscription{}
		}
		list = append(list, sub)
	})
	return list, err
}

// reread finds out what the endpoints that the current Tx has changed want
// now. An error is the Tx's.
func (g *group) reread() error {
	for _, rec := range g.touched {
		var sub *subscriber
		if rec.live {
			var err error
			if sub, err = g.fanout.read(rec.Row); err != nil {
				return err
			}
		}
		g.changed = append(g.changed, changedEndpoint{rec.Account, rec.ID, sub})
	}
	return nil
}

// A changedEndpoint is an endpoint as the current Tx has left it; nil: gone.
type changedEndpoint struct {
	account, id int64
	sub         *subscriber
}

// fan decides the deliveries of the current Tx's events, which begin at from,
// for the endpoints as the Tx has left them. An error is of the whole group.
func (g *group) fan(from int) error {
	if g.fanout == nil || from == len(g.events) && len(g.changed) == 0 {
		return nil
	}
	if !g.known {
		if err := g.know(); err != nil {
			return err
		}
	}
	g.moved = append(g.moved, g.changed...)
	for _, c := range g.changed {
		if list, differs := edit(g.endpoints(c.account), c.id, c.sub); differs {
			g.edited[c.account] = list
		}
	}
	for i := from; i < len(g.events); i++ {
		g.fanEvent(&g.events[i])
	}
	return nil
}

// know makes sure that the endpoints are known as they are on disk: they are
// read at the start, and when another node has changed one.
func (g *group) know() error {
	if !g.subs.fresh(g.began.endpoints) {
		list, err := g.fanout.load(g.each)
		if err != nil {
			return err
		}
		g.subs.reset(list, g.began.endpoints)
	}
	g.known = true
	return nil
}

// endpoints returns the endpoints of an account as the group sees them by now.
func (g *group) endpoints(account int64) []*subscriber {
	if list, is := g.edited[account]; is {
		return list
	}
	return g.subs.list(account)
}

// audience returns the endpoints that are told of an event.
func (g *group) audience(e *event.Event) []*subscriber {
	if e.To != 0 {
		list := g.endpoints(e.Account)
		if i, found := place(list, e.To); found {
			return list[i : i+1]
		}
		return nil
	}
	if list, is := g.edited[e.Account]; is {
		return matching(list, e.Type)
	}
	return g.subs.match(e.Account, e.Type)
}

func (g *group) fanEvent(e *event.Event) {
	list := g.audience(e)
	if len(list) == 0 {
		return
	}
	shared := new(event.Event)
	*shared = *e
	for i, sub := range list {
		if i == maxFan {
			g.cursors = append(g.cursors, cursorRow{seq: e.Seq, account: e.Account, after: list[i-1].id, at: g.clock.at})
			return
		}
		g.deliveries = append(g.deliveries, deliver(g.fanout.Taker, sub, shared, g.now, g.now))
	}
}

// deliver makes the delivery of an event to an endpoint, claimed where the
// dispatcher has a place for it.
func deliver(taker Taker, sub *subscriber, e *event.Event, born, now int64) event.Delivery {
	d := event.Delivery{Seq: e.Seq, Endpoint: sub.id, Account: e.Account, Version: sub.Version, Born: born, Due: now, Event: e}
	switch {
	case !sub.Enabled:
		d.Due = event.Parked
	case taker != nil && taker.Reserve(sub.id):
		d.Fence, d.Due = taker.Fence(), now+Lease.Microseconds()
	}
	return d
}

// handOff tells what is on disk now, or that nothing is.
func (g *group) handOff(written bool) {
	f := g.fanout
	if f == nil {
		return
	}
	if written && len(g.edited) > 0 {
		g.subs.learn(g.edited, g.moved, g.began.endpoints, g.clock.endpoints)
	}
	if written {
		g.announce()
	}
	if written && len(g.cursors) > 0 {
		select {
		case g.fanning <- struct{}{}:
		default:
		}
	}
	handOver(f.Taker, g.deliveries, written)
}

// announce tells what was changed beside what was written.
func (g *group) announce() {
	f := g.fanout
	for _, c := range g.moved {
		switch {
		case f.Changed == nil:
		case c.sub == nil:
			f.Changed(c.id, nil)
		default:
			f.Changed(c.id, &c.sub.Subscription)
		}
	}
	for i := range g.revived {
		if f.Taker != nil {
			f.Taker.Wake(g.revived[i].Endpoint)
		}
	}
}

// handOver gives a dispatcher the deliveries that were made for it, or where
// they were not written the places back.
func handOver(taker Taker, list []event.Delivery, written bool) {
	if taker == nil {
		return
	}
	var claimed []event.Delivery
	for i := range list {
		switch d := &list[i]; {
		case d.Fence != 0 && written:
			claimed = append(claimed, *d)
		case d.Fence != 0:
			taker.Release(d.Endpoint)
		case written && d.Due != event.Parked:
			taker.Wake(d.Endpoint)
		}
	}
	if claimed != nil {
		taker.Take(claimed)
	}
}
