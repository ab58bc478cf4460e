package store

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// A Subscription is what an endpoint wants to be told.
type Subscription struct {
	Types   []string // exact, a prefix and .*, or * for all; none means all
	Version string   // the API version of its deliveries
	Enabled bool     // otherwise its deliveries are parked
}

// A subscriber is an endpoint with what it wants.
type subscriber struct {
	Subscription
	id, account int64
	created     int64
}

func (s *subscriber) wants(typ string) bool {
	if len(s.Types) == 0 {
		return true
	}
	for _, t := range s.Types {
		if t == typ || t == "*" || strings.HasSuffix(t, ".*") && strings.HasPrefix(typ, t[:len(t)-1]) {
			return true
		}
	}
	return false
}

// same reports whether nothing that concerns deliveries differs. Either may be
// nil, which is an endpoint that is not there.
func (s *subscriber) same(o *subscriber) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Version == o.Version && s.Enabled == o.Enabled && s.created == o.created && slices.Equal(s.Types, o.Types)
}

// subscriptions are the endpoints of all accounts. The lists in it are never
// changed, only replaced.
type subscriptions struct {
	mu       sync.RWMutex
	loaded   bool
	as       int64                              // the clock's endpoints when they were read
	accounts map[int64][]*subscriber            // in order of ids
	owners   map[int64]int64                    // the accounts of endpoints
	matches  map[int64]map[string][]*subscriber // by account and type: those that want it
	held     int                                // entries of all lists in matches
}

// maxHeld bounds what is remembered of which endpoints want which type.
const maxHeld = 1 << 18

// fresh reports whether the endpoints are known as they are at this change.
func (s *subscriptions) fresh(as int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.loaded && s.as == as
}

// reset takes all endpoints anew, as they are on disk at a change. What was
// read before a change that is known already is ignored.
func (s *subscriptions) reset(list []*subscriber, as int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded && s.as >= as {
		return
	}
	s.owners = make(map[int64]int64, len(list))
	for _, sub := range list {
		s.owners[sub.id] = sub.account
	}
	s.accounts, s.matches, s.held = byAccount(list), make(map[int64]map[string][]*subscriber), 0
	s.loaded, s.as = true, as
}

func byAccount(list []*subscriber) map[int64][]*subscriber {
	accounts := make(map[int64][]*subscriber)
	for _, sub := range list {
		accounts[sub.account] = append(accounts[sub.account], sub)
	}
	for _, list := range accounts {
		slices.SortFunc(list, func(a, b *subscriber) int { return cmp.Compare(a.id, b.id) })
	}
	return accounts
}

// learn takes the accounts whose endpoints a group has changed, which brought
// the clock from one change to another.
func (s *subscriptions) learn(edited map[int64][]*subscriber, moved []changedEndpoint, from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.as != from { // another has read them meanwhile
		s.loaded = s.as == to
		return
	}
	for _, c := range moved {
		if s.owners[c.id] = c.account; c.sub == nil {
			delete(s.owners, c.id)
		}
	}
	for account, list := range edited {
		s.accounts[account] = list
		for _, list := range s.matches[account] {
			s.held -= len(list)
		}
		delete(s.matches, account)
	}
	s.as = to
}

// owner returns the account of an endpoint, and whether it is there.
func (s *subscriptions) owner(id int64) (int64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	account, ok := s.owners[id]
	return account, ok
}

// list returns the endpoints of an account.
func (s *subscriptions) list(account int64) []*subscriber {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.accounts[account]
}

// match returns the endpoints of an account that want a type, in order of
// their ids.
func (s *subscriptions) match(account int64, typ string) []*subscriber {
	s.mu.RLock()
	list, known := s.matches[account][typ]
	none := len(s.accounts[account]) == 0
	s.mu.RUnlock()
	if known || none {
		return list
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list = matching(s.accounts[account], typ)
	if s.held += len(list) + 1; s.held > maxHeld {
		clear(s.matches)
		s.held = len(list) + 1
	}
	if s.matches[account] == nil {
		s.matches[account] = make(map[string][]*subscriber)
	}
	s.matches[account][typ] = list
	return list
}

// matching returns those of a list that want a type.
func matching(list []*subscriber, typ string) []*subscriber {
	var some []*subscriber
	for _, sub := range list {
		if sub.wants(typ) {
			some = append(some, sub)
		}
	}
	return some
}

// place returns where an endpoint is in a list, and whether it is.
func place(list []*subscriber, id int64) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(s *subscriber, id int64) int { return cmp.Compare(s.id, id) })
}

// edit returns the list with an endpoint replaced, added or, where it is nil,
// removed, and whether that makes a difference.
func edit(list []*subscriber, id int64, sub *subscriber) ([]*subscriber, bool) {
	i, found := place(list, id)
	var was *subscriber
	next := i
	if found {
		was, next = list[i], i+1
	}
	if was.same(sub) {
		return list, false
	}
	edited := make([]*subscriber, 0, len(list)+1)
	edited = append(edited, list[:i]...)
	if sub != nil {
		edited = append(edited, sub)
	}
	return append(edited, list[next:]...), true
}
