package store

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"
)

// recent remembers rows of SQLite that are read again and again, for as long as
// nothing is committed: a row that is remembered is the row that a read would
// find. It is safe for concurrent use.
//
// All that is committed in this process passes turn. Other processes cannot
// open the same Store; what is done to a row from outside, with another
// program, is seen after freshness at the latest.
type recent struct {
	// turn is odd while a transaction is being committed, and another number
	// after each.
	turn  atomic.Uint64
	seed  maphash.Seed
	began time.Time
	seen  [256]atomic.Uint64 // the hash that each slot was asked for last
	rows  [256]atomic.Pointer[memory]
}

const (
	freshness = time.Second
	// maxMemory is the longest document that is remembered, in bytes.
	maxMemory = 2 << 10
)

// A memory is a row as it was at a turn.
type memory struct {
	sql  string // that found it
	turn uint64
	at   time.Duration // since began
	row  Row
}

func newRecent() *recent { return &recent{seed: maphash.MakeSeed(), began: time.Now()} }

// A spot is where a row is remembered.
type spot struct {
	hash uint64
	turn uint64 // when it was looked for
}

// find returns the row with an id, if it is remembered, or where to keep it.
func (r *recent) find(sql string, account, id int64) (Row, spot, bool) {
	turn := r.turn.Load()
	p := spot{maphash.String(r.seed, sql) ^ uint64(id)*0x9e3779b97f4a7c15 ^ uint64(account)*0xc2b2ae3d27d4eb4f, turn}
	m := r.rows[p.slot()].Load()
	if m == nil || m.turn != turn || m.row.ID != id || m.row.Account != account || m.sql != sql || time.Since(r.began)-m.at > freshness {
		return Row{}, p, false
	}
	return m.row, p, true
}

func (p spot) slot() uint64 { return (p.hash ^ p.hash>>32) % 256 }

// keep remembers a row that was read after it was not found, if it was looked
// for before and nothing was committed meanwhile. Its document must not change
// any more.
func (r *recent) keep(sql string, p spot, row Row) {
	if r.seen[p.slot()].Swap(p.hash) != p.hash || p.turn%2 == 1 || len(row.Doc) > maxMemory || r.turn.Load() != p.turn {
		return
	}
	row.Doc = slices.Clip(row.Doc) // many have it now
	r.rows[p.slot()].Store(&memory{sql: sql, turn: p.turn, at: time.Since(r.began), row: row})
}

// commit calls f, which commits a transaction. What was remembered before is
// forgotten, whatever f returns.
func (r *recent) commit(f func() error) error {
	r.turn.Add(1)
	defer r.turn.Add(1)
	return f()
}
