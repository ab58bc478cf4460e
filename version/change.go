package version

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-api/parley/problem"
)

// A Change says how a value of one version and of its successor become each
// other. Its functions must be pure: they run more than once for a request,
// concurrently, and must not change what they are given.
//
// The law: Up(Down(x), &x) == x for every x. [Verify] checks it.
type Change[Old, New any] struct {
	// Down shows a value to a client of the older version. Required.
	Down func(New) Old
	// Up takes what such a client sent. was is the value before the change,
	// so that what the old shape does not know is kept; nil on create. An
	// error should be a problem whose pointers are those of Old. Required.
	Up func(old Old, was *New) (New, error)

	// Fields maps the JSON Pointer (RFC 6901) of each member that moved, in
	// Old, to its pointer in New: "/name" to "/title". What is below a
	// member moves with it. Nil: none moved.
	Fields map[string]string
	// Filters maps each query parameter that was renamed, in Old, to its
	// name in New. A new name that is not also an old one does not exist for
	// the older version. Nil: none.
	Filters map[string]string
	// Values gives, for a parameter of Filters (by its old name), the new
	// values that each old value stands for: for "done", "false" is
	// "pending" or "in_progress". An old value it lacks is refused. A
	// parameter it lacks keeps its values.
	Values map[string]map[string][]string
}

// A Step is a [Change] between two neighbours whose types are erased. Make one
// with [Between]. It is safe for concurrent use.
type Step struct {
	From, To string       // names of versions, To being From's successor
	Old, New reflect.Type // to decode, validate and describe

	down    func(any) any
	downTo  func(x, old any)
	older   func() any // a pointer to a new Old
	up      func(old, was any) (any, error)
	fields  []rename // longest new pointer first
	filters map[string]string
	hidden  map[string]string // new filter to old
	values  map[string]map[string][]string
}

type rename struct{ old, new string }

// Between makes a change a step from the version named from to its successor
// to. It panics where the change lacks Down or Up, or has a pointer that is
// neither empty nor begins with "/", or values of a filter that it does not
// rename: it belongs into the start of a program.
func Between[Old, New any](from, to string, c Change[Old, New]) Step {
	if c.Down == nil || c.Up == nil {
		panic(fmt.Sprintf("version: the change from %s to %s needs Down and Up", from, to))
	}
	s := Step{
		From: from, To: to,
		Old: reflect.TypeFor[Old](), New: reflect.TypeFor[New](),
		down:   func(x any) any { return c.Down(*value[New](x)) },
		downTo: func(x, old any) { *old.(*Old) = c.Down(*value[New](x)) },
		older:  func() any { return new(Old) },
		up: func(old, was any) (any, error) {
			n, err := c.Up(*value[Old](old), value[New](was))
			if err != nil {
				return nil, err
			}
			return n, nil
		},
		filters: maps.Clone(c.Filters),
		hidden:  make(map[string]string),
		values:  maps.Clone(c.Values),
	}
	for old, new := range c.Fields {
		if !pointer(old) || !pointer(new) {
			panic(fmt.Sprintf("version: the change from %s to %s has fields %q and %q, which are not JSON Pointers", from, to, old, new))
		}
		s.fields = append(s.fields, rename{old, new})
	}
	slices.SortFunc(s.fields, func(a, b rename) int {
		if d := len(b.new) - len(a.new); d != 0 {
			return d
		}
		return strings.Compare(a.old, b.old)
	})
	for _, old := range slices.Sorted(maps.Keys(c.Filters)) {
		if new := c.Filters[old]; s.hidden[new] == "" {
			s.hidden[new] = old
		}
	}
	for old := range c.Values {
		if _, ok := c.Filters[old]; !ok {
			panic(fmt.Sprintf("version: the change from %s to %s has values of %q, which is not in its filters", from, to, old))
		}
	}
	return s
}

func pointer(s string) bool { return s == "" || s[0] == '/' }

// value returns x, a T or a *T, as a pointer; nil is nil.
func value[T any](x any) *T {
	switch x := x.(type) {
	case nil:
		return nil
	case T:
		return &x
	case *T:
		return x
	}
	panic(fmt.Sprintf("version: got a %T, want a %v", x, reflect.TypeFor[T]()))
}

// Down turns a New, or a pointer to one, into an Old. It panics on any other
// type; [NewChain] makes sure at the start that types fit.
func (s Step) Down(x any) any { return s.down(x) }

// Up turns an Old into a New, each as itself or a pointer; was is the New
// before the change, or nil. The error is that of the change. It panics on any
// other type.
func (s Step) Up(old, was any) (any, error) { return s.up(old, was) }

// Pointer translates a JSON Pointer into New to the one into Old, for the
// errors that the older version's client sees.
func (s Step) Pointer(new string) string {
	for _, f := range s.fields {
		if rest, ok := strings.CutPrefix(new, f.new); ok && pointer(rest) {
			return f.old + rest
		}
	}
	return new
}

// Parameter translates the name of a filter of New to the one of Old.
func (s Step) Parameter(new string) string {
	if old, ok := s.hidden[new]; ok {
		return old
	}
	return new
}

// Value translates a value of a filter of New, by its name there, to the one
// of Old that stands for it. A value that nothing stands for stays as it is.
func (s Step) Value(name, new string) string {
	table := s.values[s.Parameter(name)]
	for _, old := range slices.Sorted(maps.Keys(table)) {
		if slices.Contains(table[old], new) {
			return old
		}
	}
	return new
}

// Filter translates a query parameter of the older version and the values it
// may have to those of the newer. Values are alternatives: a row passes the
// filter if it has one of them. The error is an InvalidParameter problem: a
// parameter that the older version does not have, or a value it does not know.
func (s Step) Filter(name string, values ...string) (string, []string, error) {
	new, ok := s.filters[name]
	if !ok {
		if _, hidden := s.hidden[name]; hidden {
			p := problem.InvalidParameter.New("This version has no such query parameter.")
			p.Parameter = name
			return "", nil, p
		}
		return name, values, nil
	}
	table, ok := s.values[name]
	if !ok {
		return new, values, nil
	}
	var translated []string
	for _, v := range values {
		to, ok := table[v]
		if !ok {
			p := problem.InvalidParameter.New("The query parameter has a value that is not accepted.")
			p.Parameter = name
			p.Allowed = slices.Sorted(maps.Keys(table))
			return "", nil, p
		}
		translated = append(translated, to...)
	}
	return new, translated, nil
}

// Verify checks the law of a change on samples, compared with
// [reflect.DeepEqual]. The error says which sample breaks it and how, or that
// there was none.
func Verify[Old, New any](c Change[Old, New], samples iter.Seq[New]) error {
	n := 0
	for x := range samples {
		n++
		was := x
		got, err := c.Up(c.Down(x), &was)
		if err != nil {
			return fmt.Errorf("sample %d: lifting %+v again: %w", n, x, err)
		}
		if !reflect.DeepEqual(got, x) {
			return fmt.Errorf("sample %d: Up(Down(x), &x) is %+v, want x, which is %+v", n, got, x)
		}
	}
	if n == 0 {
		return errors.New("no samples: the law was checked on nothing")
	}
	return nil
}
