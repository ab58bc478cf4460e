package version

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

type taskNew struct {
	Title  string
	Status string
	Tags   []string
}

type taskOld struct {
	Name string
	Done bool
	Tags []string
}

// taskOldest carries its text alone.
type taskOldest struct{ Text string }

var doneValues = map[string]map[string][]string{"done": {"true": {"done"}, "false": {"pending", "in_progress"}}}

func taskChange() Change[taskOld, taskNew] {
	return Change[taskOld, taskNew]{
		Down: func(n taskNew) taskOld { return taskOld{n.Title, n.Status == "done", n.Tags} },
		Up: func(o taskOld, was *taskNew) (taskNew, error) {
			if was == nil && o.Done {
				p := problem.ValidationFailed.New("")
				p.Errors = []problem.FieldError{{Pointer: "/done", Detail: "cannot be set on create"}}
				return taskNew{}, p
			}
			n := taskNew{Title: o.Name, Status: "pending", Tags: o.Tags}
			if was != nil {
				n.Status = was.Status
			}
			switch {
			case o.Done:
				n.Status = "done"
			case n.Status == "done":
				n.Status = "in_progress"
			}
			return n, nil
		},
		Fields:  map[string]string{"/name": "/title", "/done": "/status"},
		Filters: map[string]string{"done": "status"},
		Values:  doneValues,
	}
}

func oldestChange() Change[taskOldest, taskOld] {
	return Change[taskOldest, taskOld]{
		Down: func(n taskOld) taskOldest { return taskOldest{n.Name} },
		Up: func(o taskOldest, was *taskOld) (taskOld, error) {
			var n taskOld
			if was != nil {
				n = *was
			}
			n.Done = n.Done || o.Text == "done"
			n.Name = o.Text
			return n, nil
		},
		Fields:  map[string]string{"/text": "/name"},
		Filters: map[string]string{"finished": "done"},
	}
}

func samples(yield func(taskNew) bool) {
	for _, status := range []string{"pending", "in_progress", "done"} {
		for _, tags := range [][]string{nil, {}, {"a", "b"}} {
			for _, title := range []string{"", "x", "é"} {
				if !yield(taskNew{title, status, tags}) {
					return
				}
			}
		}
	}
}

func TestVerify(t *testing.T) {
	if err := Verify(taskChange(), samples); err != nil {
		t.Error(err)
	}
	forgets := taskChange()
	forgets.Up = func(o taskOld, _ *taskNew) (taskNew, error) {
		return taskNew{Title: o.Name, Status: "pending", Tags: o.Tags}, nil
	}
	if err := Verify(forgets, samples); err == nil || !strings.Contains(err.Error(), "sample 10:") {
		t.Errorf("a change that forgets the status: %v, want an error at sample 10", err)
	}
	alters := taskChange()
	alters.Up = func(o taskOld, was *taskNew) (taskNew, error) { was.Title += "!"; return *was, nil }
	if err := Verify(alters, samples); err == nil {
		t.Error("a change that alters was: no error")
	}
	failure := errors.New("failure")
	fails := taskChange()
	fails.Up = func(taskOld, *taskNew) (taskNew, error) { return taskNew{}, failure }
	if err := Verify(fails, samples); !errors.Is(err, failure) {
		t.Errorf("a change that fails: %v, want the failure", err)
	}
	if err := Verify(taskChange(), slices.Values([]taskNew(nil))); err == nil {
		t.Error("no samples: no error")
	}
}

func TestStep(t *testing.T) {
	s := Between("2025-11-01", "2026-11-01", taskChange())
	if s.From != "2025-11-01" || s.To != "2026-11-01" || s.Old != reflect.TypeFor[taskOld]() || s.New != reflect.TypeFor[taskNew]() {
		t.Errorf("step is %+v", s)
	}
	n := taskNew{Title: "a", Status: "in_progress"}
	want := taskOld{Name: "a"}
	for _, x := range []any{n, &n} {
		if got := s.Down(x); !reflect.DeepEqual(got, want) {
			t.Errorf("Down(%T) is %#v, want %#v", x, got, want)
		}
	}
	for _, tt := range []struct {
		old, was any
		want     string
		why      string
	}{
		{want, nil, "pending", "create"},
		{want, (*taskNew)(nil), "pending", "a typed nil is nil"},
		{&want, n, "in_progress", "was as a value"},
		{want, &n, "in_progress", "was as a pointer"},
		{taskOld{Done: true}, &n, "done", "finished"},
		{taskOld{}, taskNew{Status: "done"}, "in_progress", "reopened"},
	} {
		got, err := s.Up(tt.old, tt.was)
		if err != nil || got.(taskNew).Status != tt.want {
			t.Errorf("Up(%#v, %#v) is %#v, %v, want status %s: %s", tt.old, tt.was, got, err, tt.want, tt.why)
		}
	}
	if got, err := s.Up(taskOld{Done: true}, nil); got != nil || !errors.Is(err, problem.ValidationFailed.New("")) {
		t.Errorf("a refused create is %v, %v", got, err)
	}
}

func TestStepPointer(t *testing.T) {
	c := taskChange()
	c.Fields = map[string]string{"/name": "/title", "/done": "/status", "/lines": "/body/lines", "/text": "/body", "/a": "/same", "/b": "/same"}
	s := Between("a", "b", c)
	for _, tt := range []struct{ pointer, want, why string }{
		{"/title", "/name", "renamed"},
		{"/title/0", "/name/0", "below a renamed member"},
		{"/titles", "/titles", "only begins alike"},
		{"/body/lines/3", "/lines/3", "the longest prefix"},
		{"/body/x", "/text/x", "the shorter prefix"},
		{"/same", "/a", "two old ones: always the same"},
		{"/other", "/other", "untouched"},
		{"", "", "the whole document"},
	} {
		if got := s.Pointer(tt.pointer); got != tt.want {
			t.Errorf("Pointer(%q) is %q, want %q: %s", tt.pointer, got, tt.want, tt.why)
		}
	}
	c.Fields = map[string]string{"/task": ""}
	if got := Between("a", "b", c).Pointer("/title"); got != "/task/title" {
		t.Errorf("out of an envelope: %q, want /task/title", got)
	}
}

func TestStepFilter(t *testing.T) {
	c := taskChange()
	c.Filters = map[string]string{"done": "status", "owner_id": "assignee_id", "x": "y", "y": "x"}
	s := Between("a", "b", c)
	for _, tt := range []struct {
		name, value string
		wantName    string
		want        []string
		allowed     []string
		why         string
	}{
		{"done", "true", "status", []string{"done"}, nil, "one value"},
		{"done", "false", "status", []string{"pending", "in_progress"}, nil, "one value stands for two"},
		{"done", "maybe", "", nil, []string{"false", "true"}, "a value the old version does not know"},
		{"status", "done", "", nil, nil, "a parameter the old version does not know"},
		{"owner_id", "7", "assignee_id", []string{"7"}, nil, "renamed, values kept"},
		{"assignee_id", "7", "", nil, nil, "its new name"},
		{"x", "1", "y", []string{"1"}, nil, "names that changed places"},
		{"y", "1", "x", []string{"1"}, nil, "names that changed places"},
		{"sort", "id", "sort", []string{"id"}, nil, "untouched"},
	} {
		name, values, err := s.Filter(tt.name, tt.value)
		if name != tt.wantName || !slices.Equal(values, tt.want) || (err == nil) != (tt.wantName != "") {
			t.Errorf("Filter(%s=%s) is %s=%q, %v, want %s=%q: %s", tt.name, tt.value, name, values, err, tt.wantName, tt.want, tt.why)
		}
		if p, ok := err.(*problem.Problem); ok && (p.Kind != problem.InvalidParameter || p.Parameter != tt.name || !slices.Equal(p.Allowed, tt.allowed)) {
			t.Errorf("Filter(%s=%s): problem %+v: %s", tt.name, tt.value, p, tt.why)
		}
	}
	for new, want := range map[string]string{"status": "done", "assignee_id": "owner_id", "x": "y", "sort": "sort"} {
		if got := s.Parameter(new); got != want {
			t.Errorf("Parameter(%s) is %s, want %s", new, got, want)
		}
	}
}

func TestBetweenPanics(t *testing.T) {
	for why, wrong := range map[string]func(*Change[taskOld, taskNew]){
		"no Down":                    func(c *Change[taskOld, taskNew]) { c.Down = nil },
		"no Up":                      func(c *Change[taskOld, taskNew]) { c.Up = nil },
		"a field that is no pointer": func(c *Change[taskOld, taskNew]) { c.Fields = map[string]string{"name": "/title"} },
		"values of no filter":        func(c *Change[taskOld, taskNew]) { c.Filters = nil },
	} {
		c := taskChange()
		wrong(&c)
		if !panics(func() { Between("a", "b", c) }) {
			t.Errorf("%s: no panic", why)
		}
	}
	s := Between("a", "b", taskChange())
	if !panics(func() { s.Down(7) }) || !panics(func() { s.Up("x", nil) }) {
		t.Error("another type: no panic")
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return
}
