// Package usage keeps the ledger of versions: which account used which
// operation of which version, and when. It counts in memory, writes every few
// seconds, and shows what it knows to an admin.
package usage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// pause is how long uses are gathered before they are written. A process that
// is killed loses no more than these.
const pause = 5 * time.Second

// shards keep requests of different accounts out of each other's way.
const shards = 16

// A Ledger counts uses. Its methods are safe for concurrent use.
type Ledger struct {
	store      Keeper
	versions   []*version.Version
	operations []string
	log        *slog.Logger

	shards [shards]shard

	writing sync.Mutex // one at a time
	batch   []store.Use
	stop    chan struct{}
	ended   chan struct{}
}

// A Keeper adds uses to what it keeps, all or none of them.
type Keeper interface {
	AddUses(ctx context.Context, uses []store.Use) error
}

// roomy is how many uses a flush may have whose memory is kept for the next.
const roomy = 1 << 16

type shard struct {
	mu    sync.Mutex
	uses  map[key]tally
	spare map[key]tally // empty; of who writes
	_     [40]byte      // its own line of the cache
}

type key struct {
	account            int64
	day                int32
	version, operation uint16
}

type tally struct{ count, first, last int64 }

// NewLedger returns a ledger of the calendar's versions. Nothing is written by
// itself before Run.
func NewLedger(s Keeper, c *version.Calendar, log *slog.Logger) *Ledger {
	l := &Ledger{store: s, versions: c.Versions(), log: log, stop: make(chan struct{}), ended: make(chan struct{})}
	for i := range l.shards {
		l.shards[i].uses, l.shards[i].spare = make(map[key]tally), make(map[key]tally)
	}
	return l
}

// Operation gives an operation the number that Note knows it by; -1 means that
// it is not counted, since who reads the ledger should not write in it. It
// belongs into the start of a service, before the first Note.
func (l *Ledger) Operation(name string) int {
	if name == reading {
		return -1
	}
	l.operations = append(l.operations, name)
	return len(l.operations) - 1
}

const microday = int64(24 * time.Hour / time.Microsecond)

// Note counts a use. It neither waits for the database nor, but for what was
// not used since the last flush, allocates.
func (l *Ledger) Note(account int64, v *version.Version, operation int, at time.Time) {
	now := at.UnixMicro()
	k := key{account: account, day: int32(now / microday), version: uint16(v.Index()), operation: uint16(operation)}
	s := &l.shards[uint64(account)%shards]
	s.mu.Lock()
	s.uses[k] = s.uses[k].add(tally{1, now, now})
	s.mu.Unlock()
}

func (t tally) add(u tally) tally {
	if t.count == 0 {
		return u
	}
	return tally{t.count + u.count, min(t.first, u.first), max(t.last, u.last)}
}

// Flush writes what was counted. Where that fails the counts are kept for the
// next time.
func (l *Ledger) Flush(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.batch = l.batch[:0]
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		s.uses, s.spare = s.spare, s.uses
		s.mu.Unlock()
		for k, t := range s.spare {
			l.batch = append(l.batch, store.Use{
				Account: k.account, Version: l.versions[k.version].Name, Operation: l.operations[k.operation],
				Count: t.count, First: t.first, Last: t.last,
			})
		}
		if clear(s.spare); len(l.batch) > roomy {
			s.spare = make(map[key]tally)
		}
	}
	err := l.store.AddUses(ctx, l.batch)
	if err != nil {
		l.restore()
	}
	if cap(l.batch) > roomy {
		l.batch = nil
	}
	return err
}

// restore counts the batch again.
func (l *Ledger) restore() {
	versions, operations := make(map[string]uint16), make(map[string]uint16)
	for i, v := range l.versions {
		versions[v.Name] = uint16(i)
	}
	for i, name := range l.operations {
		operations[name] = uint16(i)
	}
	for _, u := range l.batch {
		k := key{account: u.Account, day: int32(u.First / microday), version: versions[u.Version], operation: operations[u.Operation]}
		s := &l.shards[uint64(u.Account)%shards]
		s.mu.Lock()
		s.uses[k] = s.uses[k].add(tally{u.Count, u.First, u.Last})
		s.mu.Unlock()
	}
}

// Run flushes every few seconds until Close. Call it once, in a goroutine of
// its own.
func (l *Ledger) Run() {
	defer close(l.ended)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), pause)
		if err := l.Flush(ctx); err != nil {
			l.log.Warn("writing the usage of versions; it is tried again", "error", err)
		}
		cancel()
	}
}

// Close ends Run and writes what is left. If that fails it is lost, which is
// logged: a few counts are not worth more.
func (l *Ledger) Close() {
	close(l.stop)
	<-l.ended
	ctx, cancel := context.WithTimeout(context.Background(), pause)
	defer cancel()
	if err := l.Flush(ctx); err != nil {
		l.log.Warn("writing the usage of versions; the last counts are lost", "error", err)
	}
}
