package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a writer asks for.
const (
	create   = "create"
	retitle  = "retitle"
	complete = "complete"
	remove   = "delete"
)

// A step is one change that a writer asked for. It is acknowledged when the
// whole of a 2xx has arrived; else it is in doubt: all of it happened or
// nothing.
type step struct {
	kind, title string
	key         string // Idempotency-Key; "": none
	acked       bool
}

// An entry of the ledger is the life of one task. Only its last step can be in
// doubt.
type entry struct {
	id    int64 // 0: nobody has said
	steps []step
	void  bool // the creation was in doubt and did not happen
}

// A row is a task as the service shows it, or as an event does.
type row struct {
	ID      int64  `json:"id"`
	Title   string `json:"title"`
	Status  string `json:"status"`
	Updated string `json:"updated_at,omitempty"`
}

// A happening is an event as the service shows it.
type happening struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Sequence  int64  `json:"sequence"`
	Data      row    `json:"data"`
}

// A world is what the service shows.
type world struct {
	rows   map[int64]row
	events []happening
}

// expect returns the events of a number of steps and the row they leave; nil
// means none.
func (e *entry) expect(id int64, steps []step) (events []happening, left *row) {
	now, rev := row{ID: id, Status: "pending"}, int64(0)
	add := func(typ string) {
		events = append(events, happening{Type: "task." + typ, Sequence: rev, Data: now})
	}
	for _, s := range steps {
		rev++
		switch s.kind {
		case create:
			now.Title = s.title
			add("created")
		case retitle:
			now.Title = s.title
			add("updated")
		case complete:
			now.Status = "done"
			add("updated")
			add("completed")
		case remove:
			add("deleted")
			return events, nil
		}
	}
	if rev == 0 {
		return nil, nil
	}
	return events, &now
}

// settled returns the steps that are known to have happened.
func (e *entry) settled() []step {
	if n := len(e.steps); e.void || !e.steps[n-1].acked {
		return e.steps[:n-1]
	}
	return e.steps
}

// verify holds the world against the ledger and returns a sentence for
// everything that is wrong. The entries must be all that the world's rows and
// events can be about.
func verify(entries []*entry, w world) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }

	events, births := make(map[int64][]happening), make(map[string][]int64)
	for i, e := range w.events {
		if i > 0 && e.ID <= w.events[i-1].ID {
			say("event %s comes after event %s", e.ID, w.events[i-1].ID)
		}
		events[e.Data.ID] = append(events[e.Data.ID], e)
		if e.Type == "task.created" {
			births[e.Data.Title] = append(births[e.Data.Title], e.Data.ID)
		}
	}
	owners := make(map[int64]*entry)
	for _, e := range entries {
		title := e.steps[0].title
		ids := births[title]
		if len(ids) > 1 {
			say("%q was created %d times, as %v", title, len(ids), ids)
		}
		id := e.id
		if id == 0 && len(ids) > 0 {
			id = ids[0]
		}
		if id == 0 {
			continue
		}
		if owners[id] != nil {
			say("the id %d was given to %q and to %q", id, owners[id].steps[0].title, title)
		}
		owners[id] = e
		if fault := e.judge(id, events[id], w.rows); fault != "" {
			say("task %d (%s): %s", id, e, fault)
		}
	}
	for id, of := range events {
		if owners[id] == nil {
			say("task %d has events and nobody asked for it: %v", id, names(of))
		}
	}
	for id, r := range w.rows {
		if owners[id] == nil {
			say("task %d, %q, is there and has no history", id, r.Title)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// judge says what is wrong with one task; "" means nothing.
func (e *entry) judge(id int64, events []happening, rows map[int64]row) string {
	if e.void {
		return "it had not happened after the kill, and has now"
	}
	steps := e.settled()
	want, left := e.expect(id, steps)
	if more, after := e.expect(id, e.steps); len(events) == len(more) {
		want, left = more, after // what was in doubt has happened
	}
	if len(events) != len(want) {
		return fmt.Sprintf("got events %v, want %v", names(events), names(want))
	}
	for i, got := range events {
		data := got.Data
		data.Updated = ""
		if got.Type != want[i].Type || got.Sequence != want[i].Sequence || data != want[i].Data {
			return fmt.Sprintf("got event %s %d of %v, want %s %d of %v", got.Type, got.Sequence, data, want[i].Type, want[i].Sequence, want[i].Data)
		}
	}
	got, there := rows[id]
	got.Updated = ""
	switch {
	case left == nil && there:
		return "the row is there and should not be"
	case left != nil && !there:
		return "the row is gone"
	case left != nil && got != *left:
		return fmt.Sprintf("got the row %v, want %v", got, *left)
	}
	return ""
}

func names(events []happening) []string {
	types := make([]string, len(events))
	for i, e := range events {
		types[i] = strings.TrimPrefix(e.Type, "task.")
	}
	return types
}

// String lists the steps, those in doubt with a question mark.
func (e *entry) String() string {
	var b strings.Builder
	for _, s := range e.steps {
		b.WriteString(s.kind)
		if !s.acked {
			b.WriteString("?")
		}
		b.WriteString(" ")
	}
	return b.String() + e.steps[0].title
}

// settle decides a step in doubt by what the world shows.
func (e *entry) settle(w world) (doubtful, happened bool) {
	last := &e.steps[len(e.steps)-1]
	if last.acked || e.void {
		return false, false
	}
	for _, h := range w.events {
		if h.Data.ID == e.id && h.Sequence == int64(len(e.steps)) || last.kind == create && h.Type == "task.created" && h.Data.Title == last.title {
			e.id, last.acked = h.Data.ID, true
			return true, true
		}
	}
	if last.kind == create {
		e.void = true
	} else {
		e.steps = e.steps[:len(e.steps)-1]
	}
	return true, false
}

// TestVerifier doctors a world that is right, and every time the verifier must
// notice.
func TestVerifier(t *testing.T) {
	done := func(kind, title string) step { return step{kind: kind, title: title, acked: true} }
	ledger := func() []*entry {
		return []*entry{
			{id: 1, steps: []step{done(create, "a"), done(retitle, "b"), done(complete, "")}},
			{id: 2, steps: []step{done(create, "c"), done(remove, "")}},
			{id: 3, steps: []step{done(create, "d"), {kind: complete}}},
			{steps: []step{{kind: create, title: "e"}}},
			{steps: []step{{kind: create, title: "f"}}, void: true},
			{id: 5, steps: []step{{kind: create, title: "g", key: "k", acked: true}}},
		}
	}
	tell := func(n int, typ string, rev, id int64, title, status string) happening {
		return happening{ID: fmt.Sprintf("evt_%03d", n), Type: "task." + typ, Sequence: rev, Data: row{ID: id, Title: title, Status: status}}
	}
	right := func() world {
		return world{
			rows: map[int64]row{1: {1, "b", "done", ""}, 3: {3, "d", "pending", ""}, 5: {5, "g", "pending", ""}},
			events: []happening{
				tell(1, "created", 1, 1, "a", "pending"), tell(2, "updated", 2, 1, "b", "pending"),
				tell(3, "updated", 3, 1, "b", "done"), tell(4, "completed", 3, 1, "b", "done"),
				tell(5, "created", 1, 2, "c", "pending"), tell(6, "deleted", 2, 2, "c", "pending"),
				tell(7, "created", 1, 3, "d", "pending"), tell(8, "created", 1, 5, "g", "pending"),
			},
		}
	}
	drop := func(i int) func(*world) {
		return func(w *world) { w.events = slices.Delete(w.events, i, i+1) }
	}
	add := func(events ...happening) func(*world) {
		return func(w *world) { w.events = append(w.events, events...) }
	}
	set := func(r row) func(*world) { return func(w *world) { w.rows[r.ID] = r } }
	tests := []struct {
		why    string
		doctor func(*world)
		want   string // "" means that nothing is wrong
	}{
		{"nothing is wrong", func(*world) {}, ""},
		{"what was in doubt happened, all of it", func(w *world) {
			set(row{3, "d", "done", ""})(w)
			add(tell(9, "updated", 2, 3, "d", "done"), tell(10, "completed", 2, 3, "d", "done"))(w)
		}, ""},
		{"a creation in doubt happened, all of it", func(w *world) {
			set(row{6, "e", "pending", ""})(w)
			add(tell(9, "created", 1, 6, "e", "pending"))(w)
		}, ""},
		{"an acknowledged creation has no event", drop(0), "got events [updated updated completed]"},
		{"an acknowledged change has no event", drop(1), "got events [created updated completed]"},
		{"task.completed is missing", drop(3), "got events [created updated updated]"},
		{"task.deleted is missing", drop(5), "got events [created], want [created deleted]"},
		{"a row is gone", func(w *world) { delete(w.rows, 1) }, "the row is gone"},
		{"a row and its events are gone", func(w *world) {
			delete(w.rows, 5)
			drop(7)(w)
		}, "got events [], want [created]"},
		{"a row is as it was before", set(row{1, "a", "done", ""}), "got the row"},
		{"a row is back to its state before", set(row{1, "b", "pending", ""}), "got the row"},
		{"a deleted row is there", set(row{2, "c", "pending", ""}), "should not be"},
		{"an event is told twice", add(tell(9, "created", 1, 5, "g", "pending")), "got events [created created]"},
		{"an event is told of the wrong change", add(tell(9, "updated", 2, 5, "g", "pending")), "got events [created updated]"},
		{"an event shows another state", func(w *world) { w.events[2].Data.Status = "pending" }, "got event task.updated"},
		{"an event has another revision", func(w *world) { w.events[1].Sequence = 3 }, "got event task.updated 3"},
		{"an id is told twice", func(w *world) { w.events[1].ID = w.events[0].ID }, "comes after event"},
		{"an idempotent creation made two tasks", func(w *world) {
			set(row{6, "g", "pending", ""})(w)
			add(tell(9, "created", 1, 6, "g", "pending"))(w)
		}, `"g" was created 2 times`},
		{"what was in doubt happened by half: the row", set(row{3, "d", "done", ""}), "got the row"},
		{"what was in doubt happened by half: the events", add(tell(9, "updated", 2, 3, "d", "done"), tell(10, "completed", 2, 3, "d", "done")), "got the row"},
		{"what was in doubt happened by half: one event", func(w *world) {
			set(row{3, "d", "done", ""})(w)
			add(tell(9, "updated", 2, 3, "d", "done"))(w)
		}, "got events [created updated]"},
		{"a creation in doubt left an event alone", add(tell(9, "created", 1, 6, "e", "pending")), "the row is gone"},
		{"a creation in doubt left a row alone", set(row{6, "e", "pending", ""}), "has no history"},
		{"what had not happened happens later", func(w *world) {
			set(row{6, "f", "pending", ""})(w)
			add(tell(9, "created", 1, 6, "f", "pending"))(w)
		}, "had not happened"},
		{"an event has no history", add(tell(9, "created", 1, 7, "z", "pending")), "nobody asked for it"},
		{"an id is given again", func(w *world) {
			set(row{2, "e", "pending", ""})(w)
			add(tell(9, "created", 1, 2, "e", "pending"))(w)
		}, "the id 2 was given"},
	}
	for _, test := range tests {
		w := right()
		test.doctor(&w)
		got := strings.Join(verify(ledger(), w), "\n")
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q in it", test.why, got, test.want)
		}
	}
}
