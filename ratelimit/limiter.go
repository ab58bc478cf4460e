package ratelimit

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// Options of a [Limiter].
type Options struct {
	// Now is the clock. Nil means the process's monotonic clock. If a given
	// one is set back, a credential waits one step (Window/Quota) at most
	// for it.
	Now func() time.Time

	// Max is the number of credentials held at once. An entry takes about
	// 16 bytes, 40 with the room that a map needs, whatever the length of
	// the key. Zero or less means 131,072, about 5 MB.
	//
	// Credentials whose burst is full again are forgotten as new ones come.
	// Only where Max are in use within one refill of a burst does a new one
	// displace another: the one with the most left among a few looked at,
	// whose burst is then full too early.
	Max int
}

const (
	defaultMax = 1 << 17
	shards     = 64 // when Max is large enough for each to be well filled
	crowd      = 64 // entries a shard holds before it looks for idle ones
	glance     = 8  // entries it looks at for each new one
)

// A Limiter counts requests by credential. It is safe for concurrent use. A
// nil Limiter allows everything and sets no header.
type Limiter struct {
	prefix string   // of the value of RateLimit, up to the number of requests left
	policy []string // the value of RateLimit-Policy
	step   int64    // nanoseconds that one request costs, rounded up
	full   int64    // nanoseconds that the whole burst costs

	now  func() time.Time // nil: time.Since(base)
	base time.Time

	seed   maphash.Seed
	shards []shard
	max    int // entries in a shard
}

// A shard holds the time, in nanoseconds since base, at which the burst of a
// credential will be full again, by the hash of its key. The hash is seeded at
// random: nobody can choose two keys that share a quota, and among 131,072 the
// odds that any two do are 1 in 2,000,000,000.
type shard struct {
	mu  sync.Mutex
	tat map[uint64]int64 // theoretical arrival time, in the words of GCRA
	_   [48]byte         // a cache line of its own
}

// New returns a limiter with all quotas unused. The zero policy gives nil,
// which is a limiter without a limit. A nil opts means the defaults. A policy
// that [Policy.Validate] refuses is a mistake in the program: New panics.
func New(p Policy, opts *Options) *Limiter {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	if p == (Policy{}) {
		return nil
	}
	p = p.filled()
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	n := 1
	if o.Max >= shards*crowd {
		n = shards
	}
	l := &Limiter{
		step:   (int64(p.Window) + int64(p.Quota) - 1) / int64(p.Quota),
		now:    o.Now,
		seed:   maphash.MakeSeed(),
		shards: make([]shard, n),
		max:    o.Max / n,
	}
	l.full = l.step * int64(p.Burst)
	l.prefix, l.policy = fields(p)
	for i := range l.shards {
		l.shards[i].tat = make(map[uint64]int64)
	}
	if l.base = time.Now(); o.Now != nil {
		l.base = o.Now()
	}
	return l
}

// Take counts one request of the credential and decides on it. A request that
// is not allowed costs nothing. The key is not kept, only a hash of it.
func (l *Limiter) Take(key string) Decision {
	if l == nil {
		return Decision{Allowed: true}
	}
	hash := maphash.String(l.seed, key)
	s := &l.shards[hash%uint64(len(l.shards))]
	now := l.clock()
	s.mu.Lock()
	tat, known := s.tat[hash]
	var debt int64 // of a credential whose burst is full
	if known {
		debt = max(tat-now, 0)
	}
	if debt > l.full { // the clock was set back
		debt = l.full
		s.tat[hash] = now + debt
	}
	allowed := debt+l.step <= l.full
	if allowed {
		debt += l.step
		if !known && len(s.tat) >= min(crowd, l.max) {
			s.tidy(now, l.max)
		}
		s.tat[hash] = now + debt
	}
	s.mu.Unlock()
	left := (l.full - debt) / l.step
	d := Decision{Allowed: allowed, Left: int(left), Reset: time.Duration(debt)}
	if left == 0 {
		d.RetryAfter = time.Duration(debt + l.step - l.full)
	}
	return d
}

func (l *Limiter) clock() int64 {
	if l.now == nil {
		return int64(time.Since(l.base))
	}
	return int64(l.now().Sub(l.base))
}

// tidy looks at a few entries, drops the idle ones and makes room for one more
// where the shard is full. As each new entry makes it look at several, the
// idle are never more than a small part.
func (s *shard) tidy(now int64, most int) {
	var victim uint64
	least, seen := int64(math.MaxInt64), 0
	for hash, tat := range s.tat { // begins at a random place
		if tat <= now {
			delete(s.tat, hash)
		} else if tat < least {
			victim, least = hash, tat
		}
		if seen++; seen == glance {
			break
		}
	}
	if len(s.tat) >= most {
		delete(s.tat, victim)
	}
}

// Len returns the number of credentials held, those included whose burst is
// full again and that have not been forgotten yet.
func (l *Limiter) Len() int {
	if l == nil {
		return 0
	}
	n := 0
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += len(s.tat)
		s.mu.Unlock()
	}
	return n
}
