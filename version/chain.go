package version

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/parley-api/parley/problem"
)

// A Chain is the steps of one resource in order. It takes a value from any
// version of a calendar to the newest and back. It is safe for concurrent use.
type Chain struct {
	latest reflect.Type
	steps  []Step
	first  []int // by version: its first step
}

// NewChain returns the chain of the steps, in any order, that end in the type
// latest, the shape of the calendar's newest version. Between versions without
// a step nothing changed. The error names the step that is wrong: its versions
// are unknown or no neighbours, another step has the same, or its type New is
// not the type Old of the next step.
func NewChain(c *Calendar, latest reflect.Type, steps ...Step) (*Chain, error) {
	byIndex := make([]*Step, len(c.versions))
	for i := range steps {
		s := &steps[i]
		from, to := c.Find(s.From), c.Find(s.To)
		switch {
		case from == nil || to == nil:
			return nil, fmt.Errorf("step from %q to %q: the calendar has no such version", s.From, s.To)
		case from.Successor() != to:
			return nil, fmt.Errorf("step from %q to %q: the versions are not neighbours", s.From, s.To)
		case byIndex[from.Index()] != nil:
			return nil, fmt.Errorf("step from %q to %q: given twice", s.From, s.To)
		}
		byIndex[from.Index()] = s
	}
	chain := &Chain{latest: latest, first: make([]int, len(c.versions))}
	for i, s := range byIndex {
		chain.first[i] = len(chain.steps)
		if s != nil {
			chain.steps = append(chain.steps, *s)
		}
	}
	want := latest
	for _, s := range slices.Backward(chain.steps) {
		if s.New != want {
			return nil, fmt.Errorf("step from %q to %q: makes a %v, want a %v", s.From, s.To, s.New, want)
		}
		want = s.Old
	}
	return chain, nil
}

func (c *Chain) from(v *Version) []Step { return c.steps[c.first[v.index]:] }

// Same reports whether v has the newest shape, so that nothing need be
// translated.
func (c *Chain) Same(v *Version) bool { return c.first[v.index] == len(c.steps) }

// Type returns the type of the resource in v.
func (c *Chain) Type(v *Version) reflect.Type {
	if c.Same(v) {
		return c.latest
	}
	return c.from(v)[0].Old
}

// Down turns a value of the newest shape, or a pointer to one, into one of v's
// [Chain.Type]. Where the shapes are the same it returns x itself.
func (c *Chain) Down(v *Version, x any) any {
	for _, s := range slices.Backward(c.from(v)) {
		x = s.Down(x)
	}
	return x
}

// Shapes returns what [Chain.DownTo] needs to lower values to v: a pointer to a
// zero value of each shape on the way, the last being v's [Chain.Type]. It is
// empty where the shapes are the same.
func (c *Chain) Shapes(v *Version) []any {
	var shapes []any
	for _, s := range slices.Backward(c.from(v)) {
		shapes = append(shapes, s.older())
	}
	return shapes
}

// DownTo is [Chain.Down] into values that are there: the result is in the last
// of shapes, which come from [Chain.Shapes] for the same version and may be
// used again, by one goroutine at a time. It allocates nothing but what the
// changes do.
func (c *Chain) DownTo(v *Version, x any, shapes []any) {
	steps := c.from(v)
	for i, old := range shapes {
		steps[len(steps)-1-i].downTo(x, old)
		x = old
	}
}

// Up turns a value of v's [Chain.Type], or a pointer to one, into the newest
// shape. was is the value before the change in the newest shape, itself or a
// pointer; nil on create. Where the shapes are the same it returns old itself.
// An error is that of the step's change; the pointers of a problem are turned
// to those of v.
func (c *Chain) Up(v *Version, old, was any) (any, error) {
	steps := c.from(v)
	before := make([]any, len(steps)) // was, in the shape each step makes
	for i, w := len(steps)-1, was; i >= 0 && !absent(was); i-- {
		before[i] = w
		w = steps[i].Down(w)
	}
	x := old
	for i, s := range steps {
		var err error
		if x, err = s.Up(x, before[i]); err != nil {
			return nil, translate(steps[:i], err)
		}
	}
	return x, nil
}

func absent(x any) bool {
	r := reflect.ValueOf(x)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}

// Filter is [Step.Filter] over all steps from v to the newest. An error names
// the parameter as the client did.
func (c *Chain) Filter(v *Version, name string, values ...string) (string, []string, error) {
	steps := c.from(v)
	for i, s := range steps {
		var err error
		if name, values, err = s.Filter(name, values...); err != nil {
			return "", nil, translate(steps[:i], err)
		}
	}
	return name, values, nil
}

// Parameter returns the name that a filter of the newest shape has in v.
func (c *Chain) Parameter(v *Version, name string) string {
	for _, s := range slices.Backward(c.from(v)) {
		name = s.Parameter(name)
	}
	return name
}

// Values returns values of a filter of the newest shape as v calls them, each
// once: what an error may tell a client of v to choose from.
func (c *Chain) Values(v *Version, name string, values ...string) []string {
	seen := slices.Clone(values)
	for _, s := range slices.Backward(c.from(v)) {
		for i, value := range seen {
			seen[i] = s.Value(name, value)
		}
		name = s.Parameter(name)
	}
	slices.Sort(seen)
	return slices.Compact(seen)
}

// Problem returns err as a client of v must see it: where it is a problem, with
// the pointers and the parameter of the newest shape turned to those of v. It
// does not change err itself.
func (c *Chain) Problem(v *Version, err error) error { return translate(c.from(v), err) }

// translate lowers a problem through the steps, the last one first.
func translate(steps []Step, err error) error {
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok || len(steps) == 0 || p.Parameter == "" && len(p.Errors) == 0 {
		return err
	}
	lowered := *p
	lowered.Errors = slices.Clone(p.Errors)
	for _, s := range slices.Backward(steps) {
		lowered.Parameter = s.Parameter(lowered.Parameter)
		for i := range lowered.Errors {
			lowered.Errors[i].Pointer = s.Pointer(lowered.Errors[i].Pointer)
		}
	}
	return &lowered
}
