package version

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

func taskChain(t *testing.T) (*Calendar, *Chain) {
	t.Helper()
	c := BuiltIn()
	chain, err := NewChain(c, reflect.TypeFor[taskNew](),
		Between("2025-11-01", "2026-11-01", taskChange()),
		Between("2024-11-01", "2025-11-01", oldestChange()))
	if err != nil {
		t.Fatal(err)
	}
	return c, chain
}

// The law holds over all steps as it does over each.
func TestChainLaw(t *testing.T) {
	c, chain := taskChain(t)
	for _, v := range c.Versions() {
		for x := range samples {
			down := chain.Down(v, x)
			if got := reflect.TypeOf(down); got != chain.Type(v) {
				t.Fatalf("Down to %s is a %v, want a %v", v, got, chain.Type(v))
			}
			for _, was := range []any{x, &x} {
				if got, err := chain.Up(v, down, was); err != nil || !reflect.DeepEqual(got, x) {
					t.Errorf("%s: Up(Down(x), x) is %#v, %v, want %#v", v, got, err, x)
				}
			}
		}
	}
}

func TestChain(t *testing.T) {
	c, chain := taskChain(t)
	oldest, old, latest := c.Versions()[0], c.Versions()[1], c.Versions()[2]
	for v, want := range map[*Version]reflect.Type{
		oldest: reflect.TypeFor[taskOldest](), old: reflect.TypeFor[taskOld](), latest: reflect.TypeFor[taskNew](),
	} {
		if got := chain.Type(v); got != want || chain.Same(v) != (v == latest) {
			t.Errorf("type of %s is %v, the newest shape: %v", v, got, chain.Same(v))
		}
	}
	for _, was := range []any{nil, (*taskNew)(nil)} {
		got, err := chain.Up(oldest, &taskOldest{"a"}, was)
		if want := (taskNew{Title: "a", Status: "pending"}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("created as %#v, %v, want %#v", got, err, want)
		}
	}
	_, err := chain.Up(oldest, taskOldest{"done"}, nil) // refused by the second step
	p, _ := errors.AsType[*problem.Problem](err)
	if p == nil || p.Errors[0].Pointer != "/done" {
		t.Errorf("error of the second step is %+v, want one at /done, which the first leaves alone", p)
	}
	name, values, err := chain.Filter(oldest, "finished", "false")
	if err != nil || name != "status" || !slices.Equal(values, []string{"pending", "in_progress"}) {
		t.Errorf("finished=false is %s=%q, %v", name, values, err)
	}
	_, _, err = chain.Filter(oldest, "finished", "maybe")
	if p, _ := errors.AsType[*problem.Problem](err); p == nil || p.Parameter != "finished" {
		t.Errorf("finished=maybe: %+v, want the parameter as the client wrote it", err)
	}
	if name, values, err := chain.Filter(latest, "status", "done"); err != nil || name != "status" || values[0] != "done" {
		t.Errorf("the newest version's filter is %s=%q, %v", name, values, err)
	}
}

func TestChainProblem(t *testing.T) {
	c, chain := taskChain(t)
	oldest, latest := c.Versions()[0], c.Versions()[2]
	p := problem.ValidationFailed.New("")
	p.Parameter = "status"
	p.Errors = []problem.FieldError{{Pointer: "/title/0"}, {Pointer: "/other"}}
	got := problem.From(chain.Problem(oldest, p))
	if got.Parameter != "finished" || got.Errors[0].Pointer != "/text/0" || got.Errors[1].Pointer != "/other" {
		t.Errorf("lowered to %+v", got)
	}
	if got := chain.Parameter(oldest, "status"); got != "finished" {
		t.Errorf("the parameter status is %s in the oldest version, want finished", got)
	}
	if p.Parameter != "status" || p.Errors[0].Pointer != "/title/0" {
		t.Errorf("the problem itself changed: %+v", p)
	}
	plain := errors.New("plain")
	if got := chain.Problem(oldest, plain); got != plain {
		t.Errorf("another error became %v", got)
	}
	if got := chain.Problem(latest, p); got != error(p) {
		t.Errorf("for the newest version it became %v", got)
	}
}

func TestChainWithGaps(t *testing.T) {
	c := BuiltIn()
	chain, err := NewChain(c, reflect.TypeFor[taskNew](), Between("2025-11-01", "2026-11-01", taskChange()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := chain.Type(c.Versions()[0]), reflect.TypeFor[taskOld](); got != want {
		t.Errorf("without a step of its own the oldest has %v, want %v", got, want)
	}
	if chain, err = NewChain(c, reflect.TypeFor[taskNew]()); err != nil || !chain.Same(c.Versions()[0]) {
		t.Errorf("without any step: %v", err)
	}
}

func TestNewChainRefuses(t *testing.T) {
	for _, tt := range []struct {
		steps []Step
		want  string
		why   string
	}{
		{[]Step{Between("2023-11-01", "2024-11-01", taskChange())}, "no such version", "unknown"},
		{[]Step{Between("2024-11-01", "2026-11-01", taskChange())}, "not neighbours", "a version is skipped"},
		{[]Step{Between("2026-11-01", "2025-11-01", taskChange())}, "not neighbours", "backwards"},
		{[]Step{Between("2025-11-01", "2026-11-01", taskChange()), Between("0", "1", taskChange())}, "twice", "two for one"},
		{[]Step{Between("2025-11-01", "2026-11-01", oldestChange())}, "makes a", "does not end in the newest type"},
		{[]Step{Between("2025-11-01", "2026-11-01", taskChange()), Between("2024-11-01", "2025-11-01", taskChange())}, "makes a", "types do not meet"},
	} {
		if _, err := NewChain(BuiltIn(), reflect.TypeFor[taskNew](), tt.steps...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.why, err, tt.want)
		}
	}
}

// DownTo gives what Down gives, in values that are used again.
func TestDownTo(t *testing.T) {
	c, chain := taskChain(t)
	for _, v := range c.Versions() {
		shapes := chain.Shapes(v)
		if got, want := len(shapes) == 0, chain.Same(v); got != want {
			t.Fatalf("%s: got shapes %v, want none: %v", v, shapes, want)
		}
		for x := range samples {
			if chain.DownTo(v, &x, shapes); len(shapes) == 0 {
				continue
			}
			got := reflect.ValueOf(shapes[len(shapes)-1]).Elem().Interface()
			if want := chain.Down(v, x); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %#v, want %#v", v, got, want)
			}
		}
	}
	old := c.Find("0")
	x, shapes := &taskNew{Title: "a", Status: "done"}, chain.Shapes(old)
	if n := testing.AllocsPerRun(100, func() { chain.DownTo(old, x, shapes) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestValues(t *testing.T) {
	c, chain := taskChain(t)
	for _, tt := range []struct {
		why, version, name string
		values, want       []string
	}{
		{"the latest knows them as they are", "1", "status", []string{"in_progress", "pending"}, []string{"in_progress", "pending"}},
		{"several are one", "0", "status", []string{"in_progress", "pending"}, []string{"false"}},
		{"each by its own", "0", "status", []string{"in_progress", "done"}, []string{"false", "true"}},
		{"over two steps", "2024-11-01", "status", []string{"done"}, []string{"true"}},
		{"what nothing stands for", "0", "status", []string{"lost"}, []string{"lost"}},
		{"of a filter that did not change", "0", "assignee_id", []string{"7"}, []string{"7"}},
	} {
		if got := chain.Values(c.Find(tt.version), tt.name, tt.values...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.why, got, tt.want)
		}
	}
}
