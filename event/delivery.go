package event

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// A State is how far a delivery has come.
type State uint8

// The states of a delivery. The first two are open: another attempt follows.
const (
	Pending   State = iota // no attempt has been made yet
	Retrying               // an attempt failed and another follows
	Delivered              // the consumer has accepted it
	Dead                   // it has failed for good, and waits to be looked at
)

var states = [...]string{"pending", "retrying", "delivered", "dead"}

// String returns the state's name on the wire.
func (s State) String() string {
	if int(s) >= len(states) {
		return "State(" + strconv.Itoa(int(s)) + ")"
	}
	return states[s]
}

// ParseState returns the state of a name on the wire.
func ParseState(name string) (State, bool) {
	for i, s := range states {
		if s == name {
			return State(i), true
		}
	}
	return 0, false
}

// Parked is the due time of a delivery whose endpoint is disabled: later than
// any other.
const Parked int64 = 1 << 62

// A Delivery is an event for one endpoint.
type Delivery struct {
	Seq      int64 // of the event
	Endpoint int64
	Account  int64
	Version  string // the API version of its body, chosen when the event happened
	State    State
	Tries    int   // attempts made so far
	Spent    int   // attempts made of the present budget
	Born     int64 // when it was written, in microseconds since 1970 UTC
	Due      int64 // when the next attempt may begin; while it is claimed, when the claim ends
	Fence    int64 // who has claimed it; 0: nobody

	// Event is what is delivered, where it is at hand. Who finds nil reads it.
	Event *Event
}

const deliveryPrefix = "msg_"

// ID returns the delivery's public id, which is its webhook-id: msg_ and 26
// characters. It is the same over all attempts and redeliveries.
func (d *Delivery) ID() string { return DeliveryID(d.Seq, d.Endpoint) }

// DeliveryID returns the public id of the delivery of an event to an endpoint.
func DeliveryID(seq, endpoint int64) string { return pair(deliveryPrefix, seq, endpoint) }

// ParseDeliveryID returns what DeliveryID was made from, and whether the text
// has the one form that it gives.
func ParseDeliveryID(id string) (seq, endpoint int64, ok bool) {
	return parsePair(deliveryPrefix, id)
}

const letterPrefix = "dl_"

// DeadLetterID returns the public id of the dead letter of a delivery.
func DeadLetterID(seq, endpoint int64) string { return pair(letterPrefix, seq, endpoint) }

// ParseDeadLetterID is the inverse of DeadLetterID.
func ParseDeadLetterID(id string) (seq, endpoint int64, ok bool) { return parsePair(letterPrefix, id) }

func pair(prefix string, a, b int64) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(a))
	binary.BigEndian.PutUint64(raw[8:], uint64(b))
	return prefix + strings.ToLower(encoding.EncodeToString(raw[:]))
}

func parsePair(prefix, id string) (a, b int64, ok bool) {
	rest, found := strings.CutPrefix(id, prefix)
	if !found || len(rest) != 26 {
		return 0, 0, false
	}
	raw, err := encoding.DecodeString(strings.ToUpper(rest))
	if err != nil || len(raw) != 16 {
		return 0, 0, false
	}
	a, b = int64(binary.BigEndian.Uint64(raw)), int64(binary.BigEndian.Uint64(raw[8:]))
	return a, b, a > 0 && b > 0 && pair(prefix, a, b) == id
}

// An Attempt is one POST.
type Attempt struct {
	Number   int
	Started  int64  // microseconds since 1970 UTC
	Duration int64  // microseconds
	Status   int    // of the response; 0: none came
	Error    string // the class of the failure, such as timeout; "" where a response came in time
	Response []byte // the first bytes of the response's body
}

// A Want is how many deliveries of an endpoint are wanted.
type Want struct {
	Endpoint int64
	N        int
}

// An Outcome is what became of a claimed delivery.
type Outcome struct {
	Seq, Endpoint, Account int64
	Fence                  int64 // an outcome with another fence than the row's is ignored

	// Attempt is what was done; nil: nothing, the delivery is given back.
	Attempt *Attempt
	State   State  // after it
	Due     int64  // of an open delivery: when the next attempt may begin, or Parked
	Reason  string // of a dead one, or why an open one waits
	Disable string // "": no; otherwise why the endpoint is to be disabled
}
