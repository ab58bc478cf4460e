package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-api/parley/event"
)

// places counts what a dispatcher is told.
type places struct {
	mu                       sync.Mutex
	reserved, released, held int
	panics                   bool
}

func (p *places) Reserve(int64) bool { return p.count(&p.reserved, 1) }
func (p *places) Release(int64)      { p.count(&p.released, 1) }
func (p *places) Wake(int64)         {}
func (p *places) Fence() int64       { return 1 }

func (p *places) Take(list []event.Delivery) {
	p.count(&p.held, len(list))
	if p.panics {
		panic("no")
	}
}

func (p *places) count(n *int, by int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	*n += by
	return true
}

// fanned opens a store whose endpoints are rows with the text of what they
// want, and returns a group of it.
func fanned(t *testing.T, open func(tables ...*Table) (*Store, error)) (s *Store, endpoints *Table, g *group, p *places) {
	endpoints = &Table{Name: "endpoints"}
	s = opened(t, open, endpoints)
	p = new(places)
	f, err := s.newFanout(&Fanout{Endpoints: endpoints, Taker: p, Read: func(row Row) (Subscription, error) {
		want := strings.TrimSuffix(strings.TrimPrefix(string(row.Doc), `{"text":"`), `"}`)
		if want == "explode" {
			panic("no")
		}
		return Subscription{Types: strings.Fields(want), Enabled: !strings.Contains(want, "off")}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	g = newGroup(s.list)
	g.fanout, g.subs, g.fanning = f, new(subscriptions), make(chan struct{}, 1)
	return s, endpoints, g, p
}

// together commits Txs as one group.
func together(t *testing.T, s *Store, g *group, txs ...*Tx) []error {
	t.Helper()
	var jobs []*job
	for _, tx := range txs {
		j, err := s.job(tx)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	s.settle(g, jobs)
	var errs []error
	for _, j := range jobs {
		errs = append(errs, j.err)
	}
	return errs
}

// TestGroupFanout proves that in a group each event reaches the endpoints as
// the transactions before it have left them.
func TestGroupFanout(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		s, endpoints, g, _ := fanned(t, open)
		tell := func(typ string) *Tx { return &Tx{Account: 1, Events: []event.Event{{Type: typ, Doc: []byte("{}")}}} }
		change := func(op Op, id int64, want string) *Tx {
			w := note(want)
			w.Table, w.Op, w.ID = endpoints, op, id
			return &Tx{Account: 1, Writes: []Write{w}}
		}
		errs := together(t, s, g, tell("a.b"), change(Insert, 0, ""), tell("a.b"), change(Insert, 0, "c.d"), tell("a.b"), tell("c.d"),
			change(Update, 1, "off c.d"), change(Insert, 0, "explode"), tell("c.d"), change(Delete, 1, ""), tell("c.d"), change(Update, 1, ""))
		for i, err := range errs {
			if failed := i == 7 || i == 11; (err != nil) != failed {
				t.Errorf("transaction %d: %v", i, err)
			}
		}
		got := []string{}
		for _, part := range [][]*Tx{nil, {tell("c.d")}} { // as the group sees it, and as the next one does
			if part != nil {
				together(t, s, g, part...)
			}
			rows, err := s.Deliveries(t.Context(), DeliveryQuery{Account: 1, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			events, err := s.Events(t.Context(), EventQuery{Account: 1, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			got = got[:0]
			for _, d := range rows {
				i := slices.IndexFunc(events, func(e event.Event) bool { return e.Seq == d.Seq })
				got = append(got, fmt.Sprintf("%d→%d %v", i, d.Endpoint, d.Due == event.Parked))
			}
		}
		want := []string{"1→1 false", "2→1 false", "3→1 false", "3→2 false", "4→1 true", "4→2 false", "5→2 false", "6→2 false"}
		if !slices.Equal(got, want) {
			t.Errorf("deliveries\n%v\nwant\n%v", got, want)
		}
	})
}

// TestPlaces proves that every place that was found is used or given back,
// also where the database refuses the group or part of it.
func TestPlaces(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		s, endpoints, g, p := fanned(t, open)
		w := note("")
		w.Table = endpoints
		together(t, s, g, &Tx{Account: 1, Writes: []Write{w}})
		if _, ok := s.engine.(*sqliteEngine); ok {
			execute(t, s, "CREATE TRIGGER poison BEFORE INSERT ON event WHEN new.doc LIKE '%poison%' BEGIN SELECT RAISE(ABORT, 'poison'); END")
		} else {
			execute(t, s, "ALTER TABLE event ADD CONSTRAINT poison CHECK (doc NOT LIKE '%poison%')")
		}
		var txs []*Tx
		for _, doc := range []string{"{}", "poison", "{}"} {
			txs = append(txs, &Tx{Account: 1, Events: []event.Event{{Type: "a.b", Doc: []byte(doc)}}})
		}
		check := func(why string, held int) {
			t.Helper()
			n, err := s.CountDeliveries(t.Context(), DeliveryQuery{Account: 1})
			if err != nil || int(n) != held {
				t.Errorf("%s: %d deliveries, %v, want %d", why, n, err, held)
			}
			if p.reserved-p.released != held || p.held != held {
				t.Errorf("%s: %d places found, %d given back, %d used, want %d", why, p.reserved, p.released, p.held, held)
			}
		}
		errs := together(t, s, g, txs...)
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Errorf("errors %v, want one of the second", errs)
		}
		check("one is refused", 2)

		p.panics = true
		if errs := together(t, s, g, txs[0]); errs[0] != nil {
			t.Errorf("what is on disk failed: %v", errs[0])
		}
		check("the dispatcher panics", 3)
		p.panics = false

		real := s.engine
		s.engine = panicking{real}
		if errs := together(t, s, g, txs[0]); errs[0] == nil {
			t.Error("a panic was no failure")
		}
		s.engine = real
		check("the commit panics", 3)
	})
}

// A panicking engine decides and then panics.
type panicking struct{ engine }

func (e panicking) commit(g *group) error {
	switch e := e.engine.(type) {
	case *sqliteEngine:
		e.gate.Lock()
		defer e.gate.Unlock()
		defer e.rollback()
		if err := e.decide(g); err != nil {
			return err
		}
	case *postgresEngine:
		g.deliveries = append(g.deliveries, event.Delivery{Endpoint: 1, Fence: 1})
		g.fanout.Taker.Reserve(1)
	}
	panic("no")
}

// TestOwnWork proves that work which fails spoils no commit of its group.
func TestOwnWork(t *testing.T) {
	s := openFile(t, t.TempDir()+"/a.db")
	j, err := s.job(&Tx{Account: 1, Events: []event.Event{{Type: "a.b"}}})
	if err != nil {
		t.Fatal(err)
	}
	bad := &job{run: func(session) error { return fmt.Errorf("refused") }, done: make(chan struct{})}
	ran := false
	good := &job{run: func(session) error { ran = true; return nil }, done: make(chan struct{})}
	s.settle(newGroup(s.list), []*job{bad, j, good})
	if bad.err == nil || j.err != nil || good.err != nil || !ran {
		t.Errorf("errors %v, %v, %v, want one of the first", bad.err, j.err, good.err)
	}
}

// TestOrphans proves that a start frees what the process before it had
// claimed, on a file that is its own.
func TestOrphans(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		s, endpoints, g, _ := fanned(t, open)
		w := note("")
		w.Table = endpoints
		together(t, s, g, &Tx{Account: 1, Writes: []Write{w}})
		together(t, s, g, &Tx{Account: 1, Events: slices.Repeat([]event.Event{{Type: "a.b", Doc: []byte("{}")}}, 2500)})
		if err := s.Queue(1).Orphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Queue(2).Claim(t.Context(), []event.Want{{Endpoint: 1, N: 5000}}, Lease); err != nil || len(list) != 0 {
			t.Errorf("%d claimed, %v, want none while the claims are this process's", len(list), err)
		}
		if err := s.Queue(2).Orphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := 2500
		if _, shared := s.engine.(*postgresEngine); shared {
			want = 0 // another node's, perhaps
		}
		if list, err := s.Queue(2).Claim(t.Context(), []event.Want{{Endpoint: 1, N: 5000}}, Lease); err != nil || len(list) != want {
			t.Errorf("%d claimed, %v, want %d", len(list), err, want)
		}
	})
}
