package task

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

var states = []string{Pending, InProgress, Done}

func drawn() *rapid.Generator[Task] {
	return rapid.Custom(func(t *rapid.T) Task {
		return Task{
			Title:      rapid.String().Draw(t, "title"),
			AssigneeID: rapid.Ptr(rapid.Int64(), true).Draw(t, "assignee"),
			Status:     rapid.SampledFrom(states).Draw(t, "status"),
		}
	})
}

// The law of a change: what an older client reads and sends back unchanged
// changes nothing.
func TestRenamedLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawn().Draw(t, "task")
		was := x
		got, err := Renamed.Up(Renamed.Down(x), &was)
		if err != nil || !reflect.DeepEqual(got, x) {
			t.Fatalf("Up(Down(x), &x) is %+v, %v, want %+v", got, err, x)
		}
		if !reflect.DeepEqual(was, x) {
			t.Fatalf("the value before changed: %+v, want %+v", was, x)
		}
	})
	every := func(yield func(Task) bool) {
		for _, s := range states {
			if !yield(Task{Title: "t", Status: s}) {
				return
			}
		}
	}
	if err := version.Verify(Renamed, every); err != nil {
		t.Error(err)
	}
}

// What an older client sends is what it reads afterwards, from any state.
func TestRenamedShowsWhatWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := drawn().Draw(t, "was")
		sent := Task2025{rapid.String().Draw(t, "name"), rapid.Ptr(rapid.Int64(), true).Draw(t, "assignee"), rapid.Bool().Draw(t, "done")}
		next, err := Renamed.Up(sent, &was)
		if err != nil {
			t.Fatal(err)
		}
		if got := Renamed.Down(next); !reflect.DeepEqual(got, sent) {
			t.Fatalf("got %+v, want %+v", got, sent)
		}
	})
}

func TestRenamedUp(t *testing.T) {
	for _, test := range []struct {
		why  string
		done bool
		was  string // "": create
		want string
	}{
		{"a new task is pending", false, "", Pending},
		{"what is undone stays as it is", false, Pending, Pending},
		{"whatever it is", false, InProgress, InProgress},
		{"what is reopened is in progress", false, Done, InProgress},
		{"done is done", true, Pending, Done},
		{"from any state", true, InProgress, Done},
		{"and stays so", true, Done, Done},
	} {
		var was *Task
		if test.was != "" {
			was = &Task{Title: "t", Status: test.was}
		}
		got, err := Renamed.Up(Task2025{Name: "u", Done: test.done}, was)
		if want := (Task{Title: "u", Status: test.want}); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", test.why, got, err, want)
		}
	}
}

// Every move that an older client can make is one that the states allow.
func TestRenamedMovesAreAllowed(t *testing.T) {
	moves := map[string][]string{Pending: {InProgress, Done}, InProgress: {Done, Pending}, Done: {InProgress}}
	for _, from := range states {
		for _, done := range []bool{true, false} {
			next, err := Renamed.Up(Task2025{Name: "t", Done: done}, &Task{Title: "t", Status: from})
			if err != nil || next.Status != from && !slices.Contains(moves[from], next.Status) {
				t.Errorf("done %v takes a task from %s to %s, %v", done, from, next.Status, err)
			}
		}
	}
}

func TestMembers(t *testing.T) {
	calendar := version.BuiltIn()
	room := Resource.Open(resource.Options{Calendar: calendar})
	one, most := int64(1), int64(500)
	title := resource.Member{Type: "string", About: "What is to be done.", Required: true, Line: true, Min: &one, Max: &most}
	assignee := resource.Member{Name: "assignee_id", Type: "integer", Format: "int64", About: "The user who does it.", Nullable: true, Min: &one}
	named := func(m resource.Member, name string) resource.Member { m.Name = name; return m }
	old := []resource.Member{named(title, "name"), assignee, {Name: "done", Type: "boolean", About: "Whether it is done.", NoCreate: true}}
	for _, test := range []struct {
		why, version string
		want         []resource.Member
		filters      []string
	}{
		{"the contract", "2026-11-01", []resource.Member{named(title, "title"), assignee,
			{Name: "status", Type: "string", About: "How far it is.", NoCreate: true, Enum: []string{Pending, InProgress, Done}}}, []string{"assignee_id", "status"}},
		{"name and done", "2025-11-01", old, []string{"assignee_id", "done"}},
		{"the same before, when errors were texts", "2024-11-01", old, []string{"assignee_id", "done"}},
	} {
		v := calendar.Find(test.version)
		if got := room.Members(v); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got  %+v\nwant %+v", test.why, got, test.want)
		}
		var filters []string
		for _, m := range room.FilterMembers(v) {
			filters = append(filters, m.Name)
		}
		if !slices.Equal(filters, test.filters) {
			t.Errorf("%s: filters %q, want %q", test.why, filters, test.filters)
		}
	}
}

func TestDefinition(t *testing.T) {
	if got, want := Resource.EventTypes(), []string{"task.created", "task.updated", "task.deleted", "task.completed"}; !slices.Equal(got, want) {
		t.Errorf("event types %q, want %q", got, want)
	}
	want := []store.Column{
		{Name: "assignee_id", Kind: store.Int, Index: true, Ref: "users", OnDelete: store.Restrict},
		{Name: "status", Kind: store.Text, Index: true},
	}
	if got := Resource.Table().Columns; !slices.Equal(got, want) {
		t.Errorf("columns %+v, want %+v", got, want)
	}
	room := Resource.Open(resource.Options{Calendar: version.BuiltIn()})
	links, actions := room.LinkNames()
	if !slices.Equal(links, []string{"self", "collection", "owner", "complete"}) || !slices.Equal(actions, []string{"complete"}) {
		t.Errorf("links %q and actions %q", links, actions)
	}
	var paths []string
	for _, r := range room.Routes() {
		paths = append(paths, r.Method+" "+r.Pattern+" "+r.Operation)
	}
	if want := []string{
		"GET /tasks listTasks", "POST /tasks createTask", "GET /tasks/{id} getTask", "PUT /tasks/{id} replaceTask",
		"PATCH /tasks/{id} updateTask", "DELETE /tasks/{id} deleteTask", "POST /tasks/{id}/complete completeTask",
	}; !slices.Equal(paths, want) {
		t.Errorf("routes %q\nwant %q", paths, want)
	}
}
