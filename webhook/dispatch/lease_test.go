package dispatch_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

// A frail queue fails while it is told to.
type frail struct {
	dispatch.Queue
	settle, extend, claim atomic.Bool
	settles               atomic.Int64
	largest               atomic.Int64
	refusals              atomic.Int64
	extended              atomic.Int64
	most                  atomic.Int64 // deliveries in one claim
	claims                atomic.Int64
	slow                  time.Duration // what a claim takes
}

var errAway = errors.New("the database is away")

func (f *frail) Settle(ctx context.Context, outcomes []event.Outcome) error {
	if f.settle.Load() {
		f.refusals.Add(1)
		return errAway
	}
	f.settles.Add(1)
	f.largest.Store(max(f.largest.Load(), int64(len(outcomes))))
	return f.Queue.Settle(ctx, outcomes)
}

func (f *frail) Extend(ctx context.Context, held []event.Delivery, lease time.Duration) error {
	if f.extend.Load() {
		return errAway
	}
	f.extended.Add(int64(len(held)))
	return f.Queue.Extend(ctx, held, lease)
}

func (f *frail) Claim(ctx context.Context, wants []event.Want, lease time.Duration) ([]event.Delivery, error) {
	if f.claim.Load() {
		return nil, errAway
	}
	f.claims.Add(1)
	time.Sleep(f.slow)
	list, err := f.Queue.Claim(ctx, wants, lease)
	f.most.Store(max(f.most.Load(), int64(len(list))))
	return list, err
}

// weaken puts a frail queue between the rig's dispatcher and its table.
func (r *rig) weaken() *frail {
	f := &frail{}
	r.kill()
	r.queue = func(q dispatch.Queue) dispatch.Queue {
		f.Queue = q
		return f
	}
	r.run()
	return f
}

// TestSettleFails shows that outcomes survive a table that is away, that the
// claims on them are extended, that nothing is sent twice, and that nothing
// new is sent meanwhile.
func TestSettleFails(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		f := r.weaken()
		f.settle.Store(true)
		r.commit(1, 1)
		time.Sleep(time.Second)
		r.commit(2, 1)
		time.Sleep(10 * time.Minute)
		if got := len(c.arrivals()); got != 1 {
			t.Errorf("got %d arrivals while nothing could be settled, want 1", got)
		}
		if row, _ := r.table.Row(1, 1); row.State != event.Pending {
			t.Errorf("got %v before it was settled", row.State)
		}
		if got := f.refusals.Load(); got < 10 || got > 1000 {
			t.Errorf("got %d tries to settle in 10 minutes", got)
		}
		f.settle.Store(false)
		time.Sleep(10 * time.Second)
		for seq := range int64(2) {
			if row, _ := r.table.Row(seq+1, 1); row.State != event.Delivered || row.Tries != 1 {
				t.Errorf("delivery %d: got %v after %d tries, want delivered after 1", seq+1, row.State, row.Tries)
			}
		}
		if got := len(c.arrivals()); got != 2 {
			t.Errorf("got %d arrivals in all, want 2", got)
		}
	})
}

// TestHeartbeat shows that an attempt may outlast the lease while another
// process looks for work.
func TestHeartbeat(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) { time.Sleep(100 * time.Second) }, status(200)}}
	o := dispatch.Options{Timeout: 2 * time.Minute, Lease: 9 * time.Second}
	simulate(t, c, o, func(r *rig) {
		for seq := range int64(4) { // one flies, three wait in memory
			r.commit(seq+1, 1)
		}
		first := r.kill
		time.Sleep(time.Second)
		r.o.Fence = 0
		r.run()
		time.Sleep(99*time.Second + 500*time.Millisecond)
		if got := len(c.arrivals()); got < 1 || got > 4 {
			t.Errorf("got %d arrivals", got)
		}
		time.Sleep(time.Minute)
		for seq := range int64(4) {
			if row, _ := r.table.Row(seq+1, 1); row.State != event.Delivered || row.Tries != 1 {
				t.Errorf("delivery %d: got %v after %d tries, want delivered after 1", seq+1, row.State, row.Tries)
			}
		}
		if got := len(c.arrivals()); got != 4 {
			t.Errorf("got %d arrivals, want each once", got)
		}
		first()
	})
}

// TestDeath shows that what a dead process held is sent by another when the
// claim ends, not before.
func TestDeath(t *testing.T) {
	var dead atomic.Bool
	dead.Store(true)
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) {
		if dead.Load() {
			time.Sleep(14 * time.Second)
		}
	}}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		r.commit(1, 1)
		r.commit(2, 1)
		time.Sleep(time.Second)
		r.kill()
		dead.Store(false)
		r.run()
		time.Sleep(28 * time.Second)
		if got := len(c.arrivals()); got != 1 {
			t.Errorf("got %d arrivals before the claim ended, want 1", got)
		}
		time.Sleep(3 * time.Second)
		if got := len(c.arrivals()); got != 3 {
			t.Errorf("got %d arrivals after it, want 3: one was in flight", got)
		}
		for seq := range int64(2) {
			if row, _ := r.table.Row(seq+1, 1); row.State != event.Delivered || row.Tries != 1 {
				t.Errorf("delivery %d: got %v after %d tries", seq+1, row.State, row.Tries)
			}
		}
	})
}

// TestExtendFails shows that what is queued is dropped from memory before its
// claim ends, found again in the table, and sent.
func TestExtendFails(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) { time.Sleep(50 * time.Second) }, status(200)}}
	o := dispatch.Options{Timeout: time.Minute}
	simulate(t, c, o, func(r *rig) {
		f := r.weaken()
		f.extend.Store(true)
		for seq := range int64(4) {
			r.commit(seq+1, 1)
		}
		time.Sleep(29 * time.Second)
		if _, _, queued := r.d.Lane(1); queued != 0 {
			t.Errorf("got %d queued whose claims are about to end", queued)
		}
		f.extend.Store(false)
		time.Sleep(2 * time.Minute)
		for seq := range int64(4) {
			if row, _ := r.table.Row(seq+1, 1); row.State != event.Delivered || row.Tries != 1 {
				t.Errorf("delivery %d: got %v after %d tries", seq+1, row.State, row.Tries)
			}
		}
	})
}

// TestClaimFails shows that a table that is away is asked again.
func TestClaimFails(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(200)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		f := r.weaken()
		f.claim.Store(true)
		now := time.Now().UnixMicro()
		r.table.Insert(event.Delivery{Seq: 1, Endpoint: 1, Account: 1, Born: now, Due: now})
		r.d.Wake(1)
		time.Sleep(time.Minute)
		f.claim.Store(false)
		time.Sleep(3 * time.Second)
		if row, _ := r.table.Row(1, 1); row.State != event.Delivered {
			t.Errorf("got %v, want delivered", row.State)
		}
	})
}

// TestBacklog shows that what does not fit in memory is drained from the
// table, in groups, within the lane's bound.
func TestBacklog(t *testing.T) {
	var flying, most atomic.Int64
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) {
		most.Store(max(most.Load(), flying.Add(1)))
		time.Sleep(10 * time.Millisecond)
		flying.Add(-1)
	}}}
	simulate(t, c, dispatch.Options{Lane: 100}, func(r *rig) {
		f := r.weaken()
		for seq := range int64(2000) {
			r.commit(seq+1, 1)
		}
		time.Sleep(5 * time.Second)
		for seq := range int64(2000) {
			if row, _ := r.table.Row(seq+1, 1); row.State != event.Delivered || row.Tries != 1 {
				t.Fatalf("delivery %d: got %v after %d tries", seq+1, row.State, row.Tries)
			}
		}
		if got := len(c.arrivals()); got != 2000 {
			t.Errorf("got %d arrivals, want 2000", got)
		}
		if got := most.Load(); got != 8 {
			t.Errorf("got %d at once, want 8", got)
		}
		if got := f.most.Load(); got < 50 || got > 100 {
			t.Errorf("got %d claimed at once, want most of what the lane may hold", got)
		}
		if got := f.settles.Load(); got > 1500 {
			t.Errorf("got %d calls of Settle for 2000 outcomes, want groups", got)
		}
		seen := c.arrivals()
		if last := seen[len(seen)-1].at.Sub(seen[0].at); last > 4*time.Second {
			t.Errorf("got all after %v, want about 2.5s", last)
		}
	})
}

// TestBacklogEnds shows that a lane that was flooded goes back to taking its
// deliveries from memory, though more come all the time.
func TestBacklogEnds(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){func(http.ResponseWriter) { time.Sleep(time.Millisecond) }}}
	simulate(t, c, dispatch.Options{Lane: 100}, func(r *rig) {
		f := r.weaken()
		f.slow = 5 * time.Millisecond
		seq := int64(0)
		steady := func(n int) { // 1,000 a second
			for range n {
				seq++
				r.commit(seq, 1)
				time.Sleep(time.Millisecond)
			}
		}
		for range 3000 {
			seq++
			r.commit(seq, 1)
		}
		steady(3000)
		before := f.claims.Load()
		steady(2000)
		if got := f.claims.Load() - before; got > 20 {
			t.Errorf("got %d claims when there was no backlog any more", got)
		}
		time.Sleep(time.Second)
		if got := len(c.arrivals()); got != int(seq) {
			t.Errorf("got %d arrivals, want %d", got, seq)
		}
	})
}

// TestGone shows that an endpoint that answers 410 does not kill what waits:
// it is parked once the source knows.
func TestGone(t *testing.T) {
	c := &consumer{answers: []func(http.ResponseWriter){status(200), status(410)}}
	simulate(t, c, dispatch.Options{}, func(r *rig) {
		r.commit(1, 1)
		time.Sleep(time.Second)
		for seq := range int64(50) {
			r.commit(seq+2, 1)
		}
		time.Sleep(100 * time.Millisecond)
		r.book.set(dispatch.Endpoint{ID: 1, URL: "http://consumer.example/hook"})
		time.Sleep(time.Minute)
		dead, parked := 0, 0
		for seq := range int64(50) {
			switch row, _ := r.table.Row(seq+2, 1); {
			case row.State == event.Dead:
				dead++
			case row.Due == event.Parked:
				parked++
			}
		}
		if dead < 1 || dead > 8 || dead+parked != 50 {
			t.Errorf("got %d dead and %d parked of 50, want those in flight and the rest", dead, parked)
		}
	})
}
