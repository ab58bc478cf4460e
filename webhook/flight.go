package webhook

import "sync"

// flights lets the twins of a delivery that reach one receiver at the same
// time wait for the first of them, instead of asking the store again and again.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight // by webhook-id
}

// A flight is a delivery that is being accepted.
type flight struct {
	done chan struct{} // closed when it has ended
	safe bool          // then: whether the delivery was accepted
}

// enter returns the flight of a delivery, and whether the caller leads it: who
// does must call leave.
func (f *flights) enter(id string) (one *flight, leads bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one = f.all[id]; one != nil {
		return one, false
	}
	if f.all == nil {
		f.all = make(map[string]*flight)
	}
	one = &flight{done: make(chan struct{})}
	f.all[id] = one
	return one, true
}

// leave ends a flight.
func (f *flights) leave(id string, one *flight, safe bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, id)
	one.safe = safe
	close(one.done)
}
