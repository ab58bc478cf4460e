package resource

import (
	"maps"
	"slices"

	"github.com/parley-api/parley/version"
)

// A Member describes one member of a JSON object, for documentation.
type Member struct {
	Name     string
	Type     string // string, integer, number, boolean, array, object; "" any
	Format   string // date-time, email, int64 …; "" none
	About    string
	Nullable bool
	Required bool // a client must send it on create and replace
	ReadOnly bool // a client must not send it
	Hidden   bool // no answer has it
	Fixed    bool // it can be given on create only
	NoCreate bool // it cannot be given on create
	Optional bool // it may be absent from an answer
	Line     bool // a string without control characters
	Enum     []string
	Min, Max *int64   // length of a string or array, value of a number
	Items    *Member  // of an array
	Members  []Member // of an object
}

// Members describes the members that the room's own struct has in a version,
// without those that every resource has and without hidden ones.
func (rm *Room) Members(v *version.Version) []Member {
	return rm.plans[v.Index()].describe()
}

func (p *plan) describe() []Member {
	var all []Member
	for _, f := range p.fields {
		if !f.hidden || !f.readonly {
			all = append(all, f.describe())
		}
	}
	return all
}

func (f *field) describe() Member {
	m := Member{
		Name: f.name, Type: f.jsonName(), Format: f.format, About: f.about, Nullable: f.nullable,
		Required: f.required, ReadOnly: f.readonly, Hidden: f.hidden, Fixed: f.immutable, NoCreate: f.state, Optional: f.omit, Line: f.line, Enum: f.enum,
	}
	switch f.kind {
	case kindTime:
		m.Format = "date-time"
	case kindInt:
		m.Format = "int64"
	case kindList:
		items := f.elem.describe()
		m.Items = &items
	case kindObject:
		m.Members = f.plan.describe()
	}
	if f.hasMin {
		m.Min = &f.min
	}
	if f.hasMax {
		m.Max = &f.max
	}
	return m
}

// LinkNames returns the names of the links an item can have, self and
// collection first, and which of them are actions.
func (rm *Room) LinkNames() (names []string, actions []string) {
	names = []string{"self", "collection"}
	for _, l := range rm.links {
		names = append(names, l.name)
	}
	for _, a := range rm.actions {
		names = append(names, a.name)
		actions = append(actions, a.name)
	}
	return names, actions
}

// FilterMembers describes the filters of the list in a version, as query
// parameters.
func (rm *Room) FilterMembers(v *version.Version) []Member {
	var all []Member
	for _, name := range rm.filterNames(v) {
		for _, m := range rm.Members(v) {
			if m.Name == name {
				all = append(all, m)
			}
		}
	}
	return all
}

// filterNames are the filters under the names that a version has for them.
func (rm *Room) filterNames(v *version.Version) []string {
	names := make(map[string]bool)
	for _, f := range rm.filters {
		names[rm.chain.Parameter(v, f.name)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Sorts returns the orders of the list.
func (rm *Room) Sorts() []string { return slices.Clone(sorts) }

// Reveals reports whether the 201 of a create shows a member once, and which.
func (rm *Room) Reveals() string { return rm.shown }
