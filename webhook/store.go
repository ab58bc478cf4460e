package webhook

import (
	"context"
	"time"
)

// A State is what a [Store] says of a delivery.
type State int

// The states of a delivery.
const (
	Claimed State = iota + 1 // it was new, and is the caller's now
	Running                  // another has claimed it and is not done
	Known                    // it was accepted before
)

// A Claim is one try to accept a delivery.
type Claim struct {
	Scope string    // whose ids these are: two senders may use the same
	ID    string    // the webhook-id
	Token string    // tells this try from all others
	At    time.Time // the present
	Until time.Time // how long the claim, or once settled the memory of it, lasts
}

// A Store remembers which deliveries were accepted, so that none is processed
// twice. [MemoryStore] and [SQLStore] are two.
//
// To accept a delivery takes two steps, because the process can die between
// them and the queue can refuse: Claim before the work is queued, Settle
// after. A claim that is neither settled nor released ends at its Until, and
// the next retry of the sender is taken for new: nothing is lost. Methods are
// called concurrently, from several processes where they share the store.
type Store interface {
	// Claim takes the delivery if it is new, or if the claim or memory that
	// stands in its way has ended at c.At. Of concurrent calls with one scope
	// and id exactly one gets Claimed.
	Claim(ctx context.Context, c Claim) (State, error)

	// Settle makes a claimed delivery known until c.Until. A delivery that
	// another token has claimed meanwhile is left alone.
	Settle(ctx context.Context, c Claim) error

	// Release gives a claimed delivery back, as if it had never come. A
	// delivery that c.Token has not claimed, or has settled, is left alone.
	Release(ctx context.Context, c Claim) error
}
