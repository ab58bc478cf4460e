package parley_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/rooms/task"
)

// TestListPoller has clients write on every node while another polls with
// updated_since and the last time it has seen. Every change that was answered
// before a poll began is known after it, unless the task has changed again;
// in the end everything is.
func TestListPoller(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			b := newBand(t, startNodes(t, engine))
			random := rand.New(rand.NewPCG(5, uint64(time.Now().UnixNano())))
			b.fill(random, 20)
			l := newLedger(b.all(random))
			end := play(random.Uint64(), 6, func(random *rand.Rand) { l.write(b, random) })
			p := poller{known: make(map[int64]time.Time)}
			for deadline := time.Now().Add(4 * time.Second); time.Now().Before(deadline) && !t.Failed(); {
				before := l.answered()
				p.poll(b, random)
				p.check(b, random, before)
			}
			end()
			p.poll(b, random)
			for _, s := range b.all(random) {
				if !p.known[s.ID].Equal(s.Updated) {
					t.Errorf("in the end %d is known as of %v, want %v", s.ID, p.known[s.ID], s.Updated)
				}
			}
			t.Logf("%d polls, %d pages, %d changes", p.polls, p.pages, l.changes)
		})
	}
}

// A poller remembers the last time of change that it has seen.
type poller struct {
	last         time.Time
	known        map[int64]time.Time
	polls, pages int
}

// poll walks over what changed since, with small pages.
func (p *poller) poll(b *band, random *rand.Rand) {
	p.polls++
	c := choice{since: p.last}
	if c.since.IsZero() {
		c.since = time.Unix(0, 0).UTC()
	}
	style := []string{"cursor", "page_token"}[random.IntN(2)]
	for cursor := ""; ; {
		l := b.turn(random, c, style, cursor, 1+random.IntN(7))
		p.pages++
		for _, s := range l.rows {
			p.known[s.ID] = s.Updated
			if s.Updated.Before(p.last) {
				b.t.Errorf("the times go back from %v to %v", p.last, s.Updated)
			}
			p.last = s.Updated
		}
		if cursor = l.next; cursor == "" {
			return
		}
	}
}

// check compares with what had been answered when the poll began.
func (p *poller) check(b *band, random *rand.Rand, before map[int64]time.Time) {
	b.t.Helper()
	for id, at := range before {
		if !p.known[id].Before(at) {
			continue
		}
		var now shown
		if b.send(random, "GET", fmt.Sprint("/tasks/", id), "", &now); now.Updated.Equal(at) {
			b.t.Errorf("poll %d missed the change of %d at %v; it knows %v and has seen up to %v", p.polls, id, at, p.known[id], p.last)
		}
	}
}

// A ledger is what the writers were answered: the last change of each task.
type ledger struct {
	mu      sync.Mutex
	tasks   []int64
	at      map[int64]time.Time
	changes int
}

func newLedger(rows []shown) *ledger {
	l := &ledger{at: make(map[int64]time.Time)}
	for _, r := range rows {
		l.note(r)
	}
	return l
}

func (l *ledger) note(s shown) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.at[s.ID]; !known {
		l.tasks = append(l.tasks, s.ID)
	}
	if s.Updated.After(l.at[s.ID]) {
		l.at[s.ID] = s.Updated
	}
	l.changes++
}

func (l *ledger) answered() map[int64]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.at)
}

// write changes some task, or makes one.
func (l *ledger) write(b *band, random *rand.Rand) {
	if random.IntN(4) == 0 {
		if made := b.post(random); made.ID != 0 {
			l.note(made)
		}
		return
	}
	l.mu.Lock()
	id := l.tasks[random.IntN(len(l.tasks))]
	l.mu.Unlock()
	var s shown
	body := fmt.Sprintf(`{"title": "%d", "status": %q}`, random.Int(), task.InProgress)
	if b.send(random, "PATCH", fmt.Sprint("/tasks/", id), body, &s) == 200 {
		l.note(s)
	}
}

// TestListInFlight holds a transaction open between two polls: while it is, it
// has no time, so that it cannot slip in behind what the poller has seen.
func TestListInFlight(t *testing.T) {
	var dsn string
	b := newBand(t, []*service{start(t, "postgres", func(cfg *parley.Config) { dsn = cfg.Database })})
	random := rand.New(rand.NewPCG(1, 2))
	b.fill(random, 9)
	p := poller{known: make(map[int64]time.Time)}
	p.poll(b, random)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT seq FROM clock FOR UPDATE"); err != nil { // as another node that commits
		t.Fatal(err)
	}
	made := make(chan shown)
	go func() { made <- b.post(rand.New(rand.NewPCG(3, 4))) }()
	for range 5 {
		p.poll(b, random)
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := tx.Exec(t.Context(), "UPDATE clock SET at = at + 60000000"); err != nil { // its clock is a minute ahead
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := <-made
	if !late.Updated.After(p.last.Add(time.Minute - time.Second)) {
		t.Errorf("got %v, want a time after the other node's, a minute after %v", late.Updated, p.last)
	}
	if p.poll(b, random); !p.known[late.ID].Equal(late.Updated) {
		t.Errorf("the poller knows %v of %d, want %v", p.known[late.ID], late.ID, late.Updated)
	}
}
