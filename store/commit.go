package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// A job is a Tx on its way through a writer.
type job struct {
	tx     *Tx
	run    func(session) error // instead of tx: work of the store's own, in the same transaction
	loose  bool                // the run need not be on disk when it is done
	tables []*table            // of the writes
	size   int                 // bytes of documents
	state  atomic.Int32
	done   chan struct{}
	rows   []Row
	err    error
}

const (
	queued int32 = iota
	taken
	left // its caller gave up before it was taken
)

// A group is closed when its documents pass this size.
const groupBytes = 8 << 20

// An outcome says what to do about a group that failed as a whole.
type outcome struct {
	err error
	// again: nothing was written and the reason may have passed.
	again bool
	// spoilt: one of the group's Txs is the reason.
	spoilt bool
}

func (o *outcome) Error() string { return o.err.Error() }
func (o *outcome) Unwrap() error { return o.err }

// Commit writes all of a Tx or nothing and returns when it is on disk, one Row
// for each Write: the row after it, or for a Delete the last.
//
// The errors are those of this package; an error of Write.Redo is returned as
// it is. If ctx ends while the Tx still waits for its turn, nothing is written
// and Commit returns ctx.Err(); later the outcome is waited for and reported.
// Neither the Tx nor what it points to may be changed until Commit returns,
// and the documents not after it. Commit may be called concurrently.
func (s *Store) Commit(ctx context.Context, tx *Tx) ([]Row, error) {
	j, err := s.job(tx)
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.submit(ctx, j)
}

// submit hands a job to the writer and waits for its outcome.
func (s *Store) submit(ctx context.Context, j *job) ([]Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case s.queue <- j:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		if j.state.CompareAndSwap(queued, left) {
			return nil, ctx.Err()
		}
		<-j.done
	}
	return j.rows, j.err
}

// work runs f in a transaction that needs no sequence number. On SQLite it is
// that of a group, so that it shares a flush with what others write; f may run
// twice and must begin anew each time.
func (s *Store) work(ctx context.Context, f func(session) error) error {
	return s.labour(ctx, f, false)
}

// chore is work that nobody was promised and that may be lost when the machine
// dies, though not when the process does: claims on deliveries, and how
// endpoints have answered. It waits for no flush, and keeps no flush from what
// was promised.
func (s *Store) chore(ctx context.Context, f func(session) error) error {
	return s.labour(ctx, f, true)
}

func (s *Store) labour(ctx context.Context, f func(session) error, loose bool) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if p, ok := s.engine.(*postgresEngine); ok {
		return p.transact(ctx, f, loose)
	}
	_, err := s.submit(ctx, &job{run: f, loose: loose, done: make(chan struct{})})
	return err
}

// job checks the form of a Tx.
func (s *Store) job(tx *Tx) (*job, error) {
	j := &job{tx: tx, done: make(chan struct{})}
	if n := len(tx.Writes); n > 0 {
		j.tables = make([]*table, n)
	}
	for i := range tx.Writes {
		w := &tx.Writes[i]
		t, err := s.table(w.Table)
		if err != nil {
			return nil, err
		}
		if err := t.fits(w); err != nil {
			return nil, err
		}
		j.tables[i] = t
		j.size += len(w.Doc)
	}
	return j, nil
}

// write takes groups from the queue until it is closed.
func (s *Store) write() {
	g := newGroup(s.list)
	g.fanout, g.subs, g.fanning = s.fanout, &s.subs, s.fanning
	jobs := make([]*job, 0, s.options.Group)
	yields := 0
	for j := range s.queue {
		jobs = s.take(jobs[:0], j, yields)
		if len(jobs) == 0 {
			continue
		}
		s.settle(g, jobs)
		yields = yielding(jobs, yields)
		for _, j := range jobs {
			close(j.done)
		}
		clear(jobs)
	}
}

// yielding is how often the next group, before it is closed, lets others run
// who are about to hand something in. While groups have more than one Tx that
// makes them larger; where they do not, a Tx would wait for whatever else there
// is to do. A group without any says nothing.
func yielding(group []*job, so int) int {
	txs := 0
	for _, j := range group {
		if j.tx != nil {
			txs++
		}
	}
	switch {
	case txs > 1:
		return 2
	case txs == 1:
		return 0
	}
	return so
}

// take claims the first job and whatever waits behind it. It does not wait for
// more, but yields so many times.
func (s *Store) take(jobs []*job, first *job, yields int) []*job {
	size := 0
	for j := first; ; {
		if j.state.CompareAndSwap(queued, taken) {
			jobs = append(jobs, j)
			size += j.size
		}
		if len(jobs) >= s.options.Group || size >= groupBytes {
			return jobs
		}
		next, open := s.next(&yields)
		if !open {
			return jobs
		}
		j = next
	}
}

// next returns the next job in the queue, or false where there is none, also
// after others had their turn.
func (s *Store) next(yields *int) (*job, bool) {
	for {
		select {
		case j, open := <-s.queue:
			return j, open
		default:
		}
		if *yields == 0 {
			return nil, false
		}
		*yields--
		runtime.Gosched()
	}
}

// settle commits a group and gives each job its outcome.
func (s *Store) settle(g *group, jobs []*job) {
	err := s.attempt(g, jobs)
	if o, ok := errors.AsType[*outcome](err); ok && o.again {
		err = s.attempt(g, jobs)
	}
	if err == nil {
		return
	}
	if o, ok := errors.AsType[*outcome](err); ok {
		if o.spoilt && len(jobs) > 1 {
			for i := range jobs {
				s.settle(g, jobs[i:i+1])
			}
			return
		}
		err = o.err
	}
	s.options.Log.Error("commit failed", "transactions", len(jobs), "error", err)
	for _, j := range jobs {
		j.rows, j.err = nil, err
	}
}

func (s *Store) attempt(g *group, jobs []*job) (err error) {
	g.reset(jobs, s.now())
	written := false
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: committing a group panicked: %v", p)
		}
		// What is on disk stays there, whatever the dispatcher makes of it.
		if e := call("the Taker", func() error { g.handOff(written); return nil }); e != nil {
			s.options.Log.Error("handing deliveries over", "error", e)
		}
	}()
	err = s.engine.commit(g)
	written = err == nil
	return err
}

const day = int64(24 * time.Hour / time.Microsecond)

// expired reports whether a replay record is too old to be used.
func expired(created, now int64) bool { return created <= now-day }

// unavailable wraps the error of a database that cannot be reached or written.
func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }
