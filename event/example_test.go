package event_test

import (
	"fmt"

	"github.com/parley-api/parley/event"
)

// The id of an event says when it happened in relation to others: ids sort as
// events were committed.
func Example() {
	first, second := event.Event{Seq: 41}, event.Event{Seq: 42}
	fmt.Println(first.ID(), first.ID() < second.ID())

	seq, ok := event.ParseID(first.ID())
	fmt.Println(seq, ok)

	_, ok = event.ParseID("evt_41")
	fmt.Println(ok)
	// Output:
	// evt_000000000002i true
	// 41 true
	// false
}
