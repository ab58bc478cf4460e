package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

// A post is a bench whose store has endpoints and a dispatcher.
type post struct {
	*bench
	Endpoints *store.Table
	Taker     *taker
}

// A wish is the document of an endpoint in the suite.
type wish struct {
	Types   []string `json:"types,omitempty"`
	Version string   `json:"version"`
	Enabled bool     `json:"enabled"`
	Note    string   `json:"note,omitempty"` // of no concern to deliveries
	Broken  bool     `json:"broken,omitempty"`
}

func newPost(b *bench) *post {
	b.Helper()
	p := &post{bench: b, Endpoints: &store.Table{Name: "endpoints"}, Taker: &taker{fence: 7, places: 1 << 30}}
	b.fanout = &store.Fanout{Endpoints: p.Endpoints, Read: readWish, Taker: p.Taker}
	p.Restart()
	return p
}

func readWish(row store.Row) (store.Subscription, error) {
	var w wish
	if err := json.Unmarshal(row.Doc, &w); err != nil {
		return store.Subscription{}, err
	}
	if w.Broken {
		return store.Subscription{}, errBroken
	}
	return store.Subscription{Types: w.Types, Version: w.Version, Enabled: w.Enabled}, nil
}

var errBroken = errors.New("broken endpoint")

// Restart closes the store and opens the database again.
func (p *post) Restart() {
	p.Helper()
	p.Reopen(p.tables()...)
}

func (p *post) tables() []*store.Table {
	return []*store.Table{p.Users, p.Projects, p.Tasks, p.Endpoints}
}

// all is an endpoint that wants everything, or the types that are given.
func all(types ...string) wish { return wish{Types: types, Version: "v1", Enabled: true} }

func (w wish) doc() []byte {
	doc, _ := json.Marshal(w)
	return doc
}

// Add makes endpoints of account 1, in one Tx, and returns their ids.
func (p *post) Add(wishes ...wish) []int64 {
	p.Helper()
	return p.AddFor(1, wishes...)
}

// AddFor is Add for an account.
func (p *post) AddFor(account int64, wishes ...wish) []int64 {
	p.Helper()
	var writes []store.Write
	for _, w := range wishes {
		writes = append(writes, store.Write{Table: p.Endpoints, Op: store.Insert, Doc: w.doc()})
	}
	var ids []int64
	for _, row := range p.CommitFor(account, writes...) {
		ids = append(ids, row.ID)
	}
	return ids
}

// Set is a change of an endpoint.
func (p *post) Set(id int64, w wish) store.Write {
	return store.Write{Table: p.Endpoints, Op: store.Update, ID: id, Doc: w.doc()}
}

// Tell commits events of account 1, in one Tx, and returns the last one's
// sequence number.
func (p *post) Tell(types ...string) int64 {
	p.Helper()
	var events []event.Event
	for _, typ := range types {
		events = append(events, event.Event{Type: typ, Doc: []byte(`{"n":1}`)})
	}
	return p.TellFor(1, events...)
}

// TellFor is Tell for an account, with whole events.
func (p *post) TellFor(account int64, events ...event.Event) int64 {
	p.Helper()
	if _, err := p.S.Commit(p.ctx, &store.Tx{Account: account, Events: events}); err != nil {
		p.Fatalf("Commit: %v", err)
	}
	told := must(p.S.Events(p.ctx, store.EventQuery{Account: account, Desc: true, Limit: 1}))(p.bench)
	return told[0].Seq
}

// Deliveries reads all deliveries of account 1.
func (p *post) Deliveries() []store.DeliveryRow {
	p.Helper()
	return p.DeliveriesFor(1)
}

// DeliveriesFor is Deliveries for an account.
func (p *post) DeliveriesFor(account int64) []store.DeliveryRow {
	p.Helper()
	rows, err := p.S.Deliveries(p.ctx, store.DeliveryQuery{Account: account, Limit: 1 << 20})
	if err != nil {
		p.Fatalf("Deliveries: %v", err)
	}
	return rows
}

// Delivery reads a delivery of account 1 that must exist.
func (p *post) Delivery(seq, endpoint int64) store.DeliveryRow {
	p.Helper()
	row, err := p.S.Delivery(p.ctx, 1, seq, endpoint)
	if err != nil {
		p.Fatalf("Delivery %d to %d: %v", seq, endpoint, err)
	}
	return row
}

// Queue is that of the post's dispatcher.
func (p *post) Queue() *store.Queue { return p.S.Queue(p.Taker.fence) }

// Claim claims what must be claimable.
func (p *post) Claim(endpoint int64, n int) []event.Delivery {
	p.Helper()
	list, err := p.Queue().Claim(p.ctx, []event.Want{{Endpoint: endpoint, N: n}}, store.Lease)
	if err != nil {
		p.Fatalf("Claim: %v", err)
	}
	return list
}

// Settle settles a claimed delivery of account 1.
func (p *post) Settle(outcomes ...event.Outcome) {
	p.Helper()
	if err := p.Queue().Settle(p.ctx, outcomes); err != nil {
		p.Fatalf("Settle: %v", err)
	}
}

// outcome is what became of a delivery that the post's dispatcher had claimed.
func (p *post) outcome(seq, endpoint int64, state event.State) event.Outcome {
	o := event.Outcome{Seq: seq, Endpoint: endpoint, Account: 1, Fence: p.Taker.fence, State: state,
		Attempt: &event.Attempt{Number: 1, Started: p.clock.Load(), Duration: 1000, Status: 200}}
	if state == event.Dead {
		o.Attempt.Status, o.Reason = 404, "refused"
	}
	return o
}

// Redeliver gives a dead delivery another chance.
func (p *post) Redeliver(account, seq, endpoint int64) error {
	_, err := p.S.Commit(p.ctx, &store.Tx{Account: account, Revive: &event.Delivery{Seq: seq, Endpoint: endpoint}})
	return err
}

// Kill writes an event, claims its delivery to an endpoint and lets it die.
func (p *post) Kill(endpoint int64) int64 {
	p.Helper()
	seq := p.Tell("x.dead")
	p.Settle(p.outcome(seq, endpoint, event.Dead))
	return seq
}

// pairs are deliveries as "event→endpoint", events by their place among all of
// account 1.
func (p *post) pairs() []string {
	p.Helper()
	place := map[int64]int{}
	for i, e := range p.Events() {
		place[e.Seq] = i
	}
	list := []string{}
	for _, d := range p.Deliveries() {
		list = append(list, fmt.Sprintf("%d→%d", place[d.Seq], d.Endpoint))
	}
	return list
}

// Eventually waits for what the store does by itself.
func (p *post) Eventually(what string, f func() bool) {
	p.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("%s: it did not happen within a minute", what)
		}
	}
}

// A taker is a dispatcher that notes what it is told.
type taker struct {
	mu       sync.Mutex
	fence    int64
	places   int
	reserved []int64
	released []int64
	woken    []int64
	taken    []event.Delivery
}

func (t *taker) Reserve(endpoint int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.reserved)-len(t.released) >= t.places {
		return false
	}
	t.reserved = append(t.reserved, endpoint)
	return true
}

func (t *taker) Release(endpoint int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = append(t.released, endpoint)
}

func (t *taker) Take(list []event.Delivery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = append(t.taken, list...)
}

func (t *taker) Wake(endpoint int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.woken = append(t.woken, endpoint)
}

func (t *taker) Fence() int64 { return t.fence }

// told returns what was noted since it was last asked.
func (t *taker) told() (reserved, released, woken []int64, taken []event.Delivery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	reserved, released, woken, taken = t.reserved, t.released, t.woken, t.taken
	t.reserved, t.released, t.woken, t.taken = nil, nil, nil, nil
	return reserved, released, woken, taken
}

// full lets the taker have so many places.
func (t *taker) full(places int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.places = places
}

// deliverySeqs are the events of deliveries, in their order.
func deliverySeqs(list []event.Delivery) []int64 {
	seqs := []int64{}
	for i := range list {
		seqs = append(seqs, list[i].Seq)
	}
	return seqs
}

func sorted(list []int64) []int64 { return slices.Sorted(slices.Values(list)) }
