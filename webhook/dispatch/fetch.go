package dispatch

import (
	"time"

	"github.com/parley-api/parley/event"
)

const second = 1_000_000 // in microseconds

// Deliveries that wait in the table are claimed for several lanes at once. Few
// claims are under way at a time, and those for lanes that are not prompt are
// small: what is written meanwhile, and so every publish, waits for them.
const (
	claimMost  = 256 // deliveries of one lane
	claimsMost = 512 // of all lanes of one claim
	fewLanes   = 16  // in a claim for lanes that are not prompt

	// claimGap is the time between the beginnings of two of those.
	claimGap = 10 * time.Millisecond
)

// claimers is how many claims may be under way for a class.
func claimers(c class) int {
	if c == prompt {
		return 4
	}
	return 1
}

// fetch begins the claims that can be begun. It wants d.mu.
func (d *Dispatcher) fetch() {
	if !d.running || d.closing || d.stalled {
		return
	}
	for c := range classes {
		for d.wanting[c].n > 0 && d.claiming[c] < claimers(c) && d.rested(c) {
			wants := d.gather(c)
			if len(wants) == 0 {
				break
			}
			d.claiming[c]++
			d.begun[c] = time.Now()
			go d.claim(c, wants)
		}
	}
}

// rested reports whether a claim for a class may begin already. If not, fetch
// is called in time.
func (d *Dispatcher) rested(c class) bool {
	wait := claimGap - time.Since(d.begun[c])
	if c == prompt || wait <= 0 {
		return true
	}
	if !d.resting {
		d.resting = true
		time.AfterFunc(wait, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.resting = false
			d.fetch()
		})
	}
	return false
}

// gather takes the next lanes of a class that want deliveries and could send
// them.
func (d *Dispatcher) gather(c class) (wants []event.Want) {
	lanes := d.places(c) - d.ready[c].n
	if c != prompt {
		lanes = min(lanes, fewLanes)
	}
	room := min(d.o.Memory-d.held[0]-d.held[1], claimsMost)
	for r := &d.wanting[c]; r.n > 0 && len(wants) < lanes && room > 0; {
		l := r.pop()
		if l.wanting != c {
			continue
		}
		l.wanting = classes
		if l.flying >= l.limit || l.paused != 0 || !l.wantsClaim() {
			continue
		}
		l.claiming, l.woken = true, false
		most := d.allowance(l)
		n := max(1, min(most-most/4-l.held, room, claimMost))
		room -= n
		wants = append(wants, event.Want{Endpoint: l.id, N: n})
	}
	return wants
}

// claim claims deliveries for lanes of a class, and goes on while there are
// lanes that want some.
func (d *Dispatcher) claim(c class, wants []event.Want) {
	before := d.now()
	list, err := d.queue.Claim(d.base, wants, d.o.Lease)
	if err != nil && d.base.Err() == nil {
		d.o.Log.Warn("claiming deliveries", "endpoints", len(wants), "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claiming[c]--
	now := d.now()
	until := before + d.o.Lease.Microseconds()
	for i := range list {
		l := d.lane(list[i].Endpoint)
		l.fetched++
		d.hold(l, 1)
		d.accept(l, held{list[i], until}, now)
	}
	for _, w := range wants {
		l := d.lane(w.Endpoint)
		l.claiming = false
		l.backlog = l.woken || err != nil || l.fetched >= w.N
		l.fetched = 0
		l.idle = now
		if err != nil {
			d.pause(l, now, now+second, "")
		}
		d.enlist(l)
	}
	if d.closing {
		poke(d.calm)
	}
	d.fill()
}

// Attempts for lanes of which nothing good is known begin one after the other,
// at this pace, so that a thousand that give up at one moment do not keep those
// that are prompt from the processor.
const (
	paceEvery = 500 * time.Microsecond
	paceBurst = 8
)

// paced reports whether an attempt of a class may begin now, and counts it. If
// not, fill is called in time. It wants d.mu.
func (d *Dispatcher) paced(c class) bool {
	if c == prompt || c == slow {
		return true
	}
	now := time.Now()
	if earliest := now.Add(-paceBurst * paceEvery); d.pace.Before(earliest) {
		d.pace = earliest
	}
	if next := d.pace.Add(paceEvery); !next.After(now) {
		d.pace = next
		return true
	}
	if !d.pacing {
		d.pacing = true
		time.AfterFunc(paceBurst/2*paceEvery, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.pacing = false
			d.fill()
		})
	}
	return false
}
