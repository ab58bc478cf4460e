package idempotency

import "sync"

// Flights are the requests with a key that are under way in this process. The
// zero value is ready. It is safe for concurrent use and must not be copied.
type Flights struct {
	mu   sync.Mutex
	open map[flight]*ticket
}

type flight struct{ scope, key string }

// A ticket tells one entering of a key from the next. It is not empty, for
// empty variables may share an address.
type ticket struct{ _ byte }

// Enter claims the key for one request. If ok, the caller does the work and
// calls leave when it is done and its record stored, in a defer so that a
// panic frees the key. If not ok, another request has the key: look whether a
// record exists by now, else answer with [InUse].
//
// leave is never nil and may be called more than once.
func (f *Flights) Enter(scope, key string) (leave func(), ok bool) {
	name := flight{scope, key}
	mine := new(ticket)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[name] != nil {
		return func() {}, false
	}
	if f.open == nil {
		f.open = make(map[flight]*ticket)
	}
	f.open[name] = mine
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.open[name] == mine {
			delete(f.open, name)
		}
	}, true
}
