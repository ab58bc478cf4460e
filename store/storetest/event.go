package storetest

import (
	"fmt"
	"slices"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
)

func eventCases() []rule {
	return []rule{
		{"events of a row", "a webhook shows the resource as it was at that moment", eventsOfRow},
		{"several events of one change", "entering a state emits its own event beside the update", eventsOfChange},
		{"events about no row", "an application publishes events of its own", eventsOwn},
		{"one event", "an event is found by its number, by its account only", eventOne},
		{"lists of events", "every filter, direction and start gives what a plain walk gives", eventLists},
	}
}

func eventsOfRow(b *bench) {
	b.Commit(b.NewUser("a@x"))
	b.clock.Add(10)
	b.Commit(b.SetEmail(1, "b@x"))
	b.clock.Add(10)
	b.Commit(b.Drop(b.Users, 1, "user.deleted"))
	want := []event.Event{
		{Seq: 2, Account: 1, Type: "user.created", At: start, Resource: "users", Subject: 1, Rev: 1, Created: start, Updated: start, Version: "v1", Doc: []byte(`{"email":"a@x"}`)},
		{Seq: 4, Account: 1, Type: "user.updated", At: start + 10, Resource: "users", Subject: 1, Rev: 2, Created: start, Updated: start + 10, Version: "v1", Doc: []byte(`{"email":"b@x"}`)},
		{Seq: 6, Account: 1, Type: "user.deleted", At: start + 20, Resource: "users", Subject: 1, Rev: 3, Created: start, Updated: start + 10, Version: "v1", Doc: []byte(`{"email":"b@x"}`)},
	}
	b.Same("events", b.Events(), want)
}

func eventsOfChange(b *bench) {
	w := b.NewUser("a@x")
	w.Events = []string{"user.created", "user.welcomed"}
	quiet := b.NewUser("b@x")
	quiet.Events = nil
	rows := b.Commit(w, quiet, b.NewUser("c@x"))
	b.Same("events", b.Types(), []string{"user.created", "user.welcomed", "user.created"})
	events := b.Events()
	b.Same("order", []int64{rows[0].Seq, events[0].Seq, events[1].Seq, rows[1].Seq, rows[2].Seq, events[2].Seq}, []int64{1, 2, 3, 4, 5, 6})
	b.Same("times", events[0].At == events[1].At && events[2].At > rows[1].Updated, true)
}

func eventsOwn(b *bench) {
	_, err := b.S.Commit(b.ctx, &store.Tx{Account: 1, Events: []event.Event{
		{Type: "order.shipped", Doc: []byte(`{"n":1}`), Version: "v1", Seq: 99, Account: 99},
		{Type: "order.lost", At: 5},
	}})
	if err != nil {
		b.Fatal(err)
	}
	want := []event.Event{
		{Seq: 1, Account: 1, Type: "order.shipped", At: start, Version: "v1", Doc: []byte(`{"n":1}`)},
		{Seq: 2, Account: 1, Type: "order.lost", At: 5},
	}
	b.Same("events", b.Events(), want)
}

func eventOne(b *bench) {
	b.Commit(b.NewUser("a@x"))
	b.Same("the event", must(b.S.Event(b.ctx, 1, 2))(b), b.Events()[0])
	for _, k := range [][2]int64{{2, 2}, {1, 1}, {1, 0}, {1, -1}} {
		_, err := b.S.Event(b.ctx, k[0], k[1])
		b.Is(err, store.ErrNotFound)
	}
}

func eventLists(b *bench) {
	for i := range 30 {
		b.clock.Add(20_000_000)
		b.CommitFor(int64(1+i%4/3), b.NewUser(nil))
		own := event.Event{Type: fmt.Sprintf("own.%d", i%3)}
		if i%5 == 0 {
			own.At = start + int64(i*37_000_000)
		}
		if _, err := b.S.Commit(b.ctx, &store.Tx{Account: 1, Events: []event.Event{own}}); err != nil {
			b.Fatal(err)
		}
	}
	all := b.Events()
	b.Same("all events", len(all), 30+23)
	mid := all[20]
	for _, e := range all {
		for _, since := range []int64{e.At, e.At + 1} {
			eventWalks(b, all, store.EventQuery{Account: 1, Since: since}, []int64{0})
		}
	}
	for _, typ := range []string{"", "own.1", "none", "x\x00"} {
		for _, since := range []int64{0, mid.At, start * 2} {
			for _, mark := range []int64{0, all[40].Seq} {
				q := store.EventQuery{Account: 1, Type: typ, Since: since, Mark: mark}
				eventWalks(b, all, q, []int64{0, mid.Seq, mid.Seq + 1, 1 << 40})
			}
		}
	}
}

// eventWalks compares every walk over what q selects with a plain one.
func eventWalks(b *bench, all []event.Event, q store.EventQuery, starts []int64) {
	b.Helper()
	var selected []event.Event
	for _, e := range all {
		if (q.Type == "" || q.Type == e.Type) && e.At >= q.Since && (q.Mark == 0 || e.Seq <= q.Mark) {
			selected = append(selected, e)
		}
	}
	b.Same(fmt.Sprintf("count of %+v", q), must(b.S.CountEvents(b.ctx, q))(b), int64(len(selected)))
	for _, after := range starts {
		for _, way := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			for _, window := range [][2]int{{0, 0}, {0, 7}, {3, 4}, {100, 0}} {
				q.After, q.Desc, q.Back, q.Offset, q.Limit = after, way[0], way[1], window[0], window[1]
				want := walkModel(selected, q.Desc, q.Back, after != 0, func(e event.Event) int {
					return int(e.Seq - after)
				}, q.Offset, q.Limit)
				got := must(b.S.Events(b.ctx, q))(b)
				b.Same(fmt.Sprintf("%+v", q), seqs(got), seqs(want))
			}
		}
	}
}

func seqs(events []event.Event) []int64 {
	list := []int64{}
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

// walkModel is what a walk over rows in ascending order returns. side says on
// which side of the start a row lies.
func walkModel[R any](rows []R, desc, back, started bool, side func(R) int, offset, limit int) []R {
	list := slices.Clone(rows)
	down := desc != back
	if down {
		slices.Reverse(list)
	}
	if started {
		list = slices.DeleteFunc(list, func(r R) bool {
			if down {
				return side(r) >= 0
			}
			return side(r) <= 0
		})
	}
	if limit == 0 {
		limit = 20
	}
	list = list[min(offset, len(list)):]
	list = list[:min(limit, len(list))]
	if back {
		slices.Reverse(list)
	}
	return list
}
