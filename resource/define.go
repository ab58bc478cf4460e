// Package resource turns one description of a resource into its whole
// interface: routes, validation, states, links, events, older versions, and
// what OpenAPI says of it.
//
// A resource is a Go struct, whose json tags name its members and whose parley
// tags give their rules, and a [Rules] value. [Define] checks both and panics
// on a mistake, so that a wrong definition never serves a request:
//
//	type Note struct {
//		Text string `json:"text" parley:"required,max=2000"`
//	}
//	var Notes = resource.Define("note", "notes", resource.Rules[Note]{})
//
// # Tags
//
//	required     must be given when the resource is made or replaced
//	min=, max=   length of a string or list, value of a number
//	line         a string without control characters
//	enum=a|b     a string that is one of these
//	format=email looks like an address
//	readonly     set by Check, never by a client
//	immutable    can be given on create only
//	hidden       stored, never shown
//	writeonly    given by a client, never shown
//	unique       within the account: 409 for a second
//	ref=users    the id of a row of that collection, of the same account
//	ondelete=    restrict (default): that row cannot be deleted; null: this becomes null
//	state        only of an older version's struct: stands for the state member
//
// A pointer is a member that may be null. The members id, created_at,
// updated_at and _links are added to every resource.
package resource

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// Rules is what a struct's tags cannot say. The zero value is a plain resource
// with all methods.
type Rules[T any] struct {
	About   string   // one sentence for the documentation
	States  States   // zero: the resource has no states
	Actions Actions  // POST /plural/{id}/name
	Filters []string // members that a list can be filtered by
	Links   Links    // further links of an item
	Changes []version.Step

	// Check looks at a whole resource that the tags allow. It may set readonly
	// members of next. Was is nil on create. It must be pure: it may run twice.
	Check func(next, was *T) []problem.FieldError

	// Reveal is called once on create, after Check, with the account that asks.
	// It may set any member and returns the value of the member Shown, a text
	// that is in the 201 answer and never again.
	Reveal func(next *T, account int64) (value string, err error)
	Shown  string

	// Keep is called before a row is deleted; an error stops the deletion.
	Keep func(row *T, id int64) error

	// Content makes items bytes that the struct describes; nil: items are JSON.
	Content *Content[T]

	// Prefix makes ids texts: the prefix and 13 characters. "" leaves them
	// numbers.
	Prefix string
	// Key is a member that stands in paths instead of the id: a string, unique
	// and immutable.
	Key string
	// Owner is a hidden member, a whole number, that holds the account of a
	// row. With it rows are kept for the whole service, so that what is unique
	// is so in all accounts, and still each account sees only its own.
	Owner string

	Parent Parent // zero: the collection stands by itself

	// Along is called once on create, after Check and in place of Reveal, with
	// the parent's row. It may set any member of next, and returns the value of
	// Shown and what is to be written together with the new row.
	Along func(next *T, parent *store.Row) (value string, also []store.Write, err error)

	// Live is called before one resource is shown to a GET, and may set
	// readonly members that are not stored. They are no part of the entity tag.
	Live func(ctx context.Context, shown *T, row *store.Row)

	Methods []Kind // nil means all

	System bool // rows belong to the service, not to an account: needs scope admin
	Silent bool // emits no events
}

// States is the life of a resource as a member with named states.
type States struct {
	Field   string              // the member, a string
	Initial string              // the state of a new resource
	Moves   map[string][]string // from a state to those it can go to
	Enter   map[string]string   // state → the action of an extra event on entering it, "done": "completed"
}

// Actions are named moves, each a POST of its own and a link while it can be
// made.
type Actions map[string]Action

// An Action moves a resource to a state. To be already there is a conflict.
type Action struct {
	To    string
	About string // one sentence for the documentation
}

// Links are links of an item besides self, collection and its actions.
type Links map[string]Link

// A Link leads to another resource.
type Link struct{ field string }

// Ref is a link to the resource whose id a ref member holds. There is none
// while it is null.
func Ref(field string) Link { return Link{field} }

// A Definition is a checked description of a resource. It is immutable and may
// be served by several services at once.
type Definition struct {
	singular, plural, about string

	plan    *plan
	table   *store.Table
	columns []*field // of table.Columns

	states  States
	order   []string // the states, initial first
	state   *field
	actions []action
	links   []link
	filters []*field
	steps   []version.Step
	older   map[reflect.Type]*plan // of the older shapes

	system, silent, splice bool

	prefix     string
	key, owner *field
	parent     *field
	above      *Definition // whose id parent holds
	methods    []Kind

	check  func(next, was any) []problem.FieldError
	reveal func(next any, account int64) (string, error)
	shown  string
	keep   func(row any, id int64) error
	along  func(next any, parent *store.Row) (string, []store.Write, error)
	live   func(ctx context.Context, shown any, row *store.Row)

	content *content // nil: items are JSON
}

type action struct {
	name string
	Action
}

type link struct {
	name       string
	field      *field
	collection string
}

// Define checks a description and panics where it is wrong. The names are
// nouns in lower case, with hyphens between words.
func Define[T any](singular, plural string, rules Rules[T]) *Definition {
	d := &Definition{
		singular: singular, plural: plural, about: rules.About,
		plan: planOf(reflect.TypeFor[T]()), states: rules.States,
		steps: rules.Changes, system: rules.System, silent: rules.Silent,
	}
	if rules.Check != nil {
		d.check = func(next, was any) []problem.FieldError {
			w, _ := was.(*T)
			return rules.Check(next.(*T), w)
		}
	}
	if rules.Reveal != nil {
		d.reveal = func(next any, account int64) (string, error) { return rules.Reveal(next.(*T), account) }
		d.shown = rules.Shown
	}
	if rules.Along != nil {
		d.along = func(next any, parent *store.Row) (string, []store.Write, error) {
			return rules.Along(next.(*T), parent)
		}
		d.shown = rules.Shown
	}
	if rules.Live != nil {
		d.live = func(ctx context.Context, shown any, row *store.Row) { rules.Live(ctx, shown.(*T), row) }
	}
	if rules.Keep != nil {
		d.keep = func(row any, id int64) error { return rules.Keep(row.(*T), id) }
	}
	if (rules.Reveal == nil) != (rules.Shown == "") && (rules.Along == nil || rules.Reveal != nil) || d.shows(rules.Shown) {
		d.panicf("Reveal and Shown belong together, and Shown is no member of the struct that is shown")
	}
	for _, name := range []string{singular, plural} {
		if !isName(name) {
			d.panicf("the name %q is not lower case with hyphens", name)
		}
	}
	for _, name := range []string{"id", "created_at", "updated_at", "_links"} {
		if d.plan.byName[name] != nil {
			d.panicf("the member %q is added by the service", name)
		}
	}
	d.prefix = rules.Prefix
	d.defineKey(rules.Key, rules.Owner)
	d.defineParent(rules.Parent)
	d.methods = rules.Methods
	d.defineStates(rules.Actions)
	d.defineLinks(rules.Links)
	if c := rules.Content; c != nil {
		d.defineContent(&content{
			types: c.Types, limit: c.Limit, kind: c.Type,
			take: func(next any, up Upload) { c.Take(next.(*T), up) },
			give: func(row any) Bytes { return c.Give(row.(*T)) },
		}, c.Digest, c.Size)
	}
	d.defineTable(rules.Filters)
	d.older = make(map[reflect.Type]*plan)
	for _, s := range rules.Changes {
		d.older[s.Old] = planOf(s.Old)
	}
	d.splice = !slices.ContainsFunc(d.plan.fields, func(f *field) bool { return f.hidden })
	return d
}

func (d *Definition) panicf(format string, args ...any) {
	panic("resource: " + d.plural + ": " + fmt.Sprintf(format, args...))
}

// shows reports whether an answer has a member.
func (d *Definition) shows(name string) bool {
	f := d.plan.byName[name]
	return f != nil && (!f.hidden || f.readonly)
}

// isName reports whether s is lower-case words joined by hyphens.
func isName(s string) bool {
	for i, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (i == 0 || c != '-' || s[i-1] == '-' || i == len(s)-1) {
			return false
		}
	}
	return s != ""
}

func (d *Definition) defineKey(key, owner string) {
	if key != "" {
		if d.key = d.plan.byName[key]; d.key == nil || d.key.kind != kindString || d.key.nullable || !d.key.unique || !d.key.immutable {
			d.panicf("the key %q is not a member that is a string, unique and immutable", key)
		}
	}
	if owner != "" {
		if d.owner = d.plan.byName[owner]; d.owner == nil || d.owner.kind != kindInt || d.owner.nullable || !d.owner.hidden || d.system {
			d.panicf("the owner %q is not a member that is a whole number and hidden", owner)
		}
	}
}

func (d *Definition) defineStates(actions Actions) {
	s := d.states
	for _, f := range d.plan.fields {
		if f.state {
			d.panicf("the member %q has the tag state, which is for older versions: name it in States", f.name)
		}
	}
	if s.Field == "" {
		if len(actions) > 0 {
			d.panicf("actions need States")
		}
		return
	}
	f := d.plan.byName[s.Field]
	if f == nil || f.kind != kindString || f.nullable {
		d.panicf("the state member %q is not a string", s.Field)
	}
	if f.required || f.readonly || f.immutable || s.Initial == "" {
		d.panicf("the state member %q needs an initial state and has no other rules", s.Field)
	}
	d.order = []string{s.Initial}
	for i := 0; i < len(d.order); i++ {
		for _, to := range s.Moves[d.order[i]] {
			if !slices.Contains(d.order, to) {
				d.order = append(d.order, to)
			}
		}
	}
	for from := range s.Moves {
		if !slices.Contains(d.order, from) {
			d.panicf("the state %q cannot be reached from %q", from, s.Initial)
		}
	}
	for state := range s.Enter {
		if !slices.Contains(d.order, state) {
			d.panicf("Enter names the unknown state %q", state)
		}
	}
	f.state, f.enum, d.state = true, d.order, f
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		if !isName(name) || !slices.Contains(d.order, actions[name].To) {
			d.panicf("the action %q needs a lower-case name and a known state", name)
		}
		d.actions = append(d.actions, action{name, actions[name]})
	}
}

func (d *Definition) defineLinks(links Links) {
	for _, name := range slices.Sorted(maps.Keys(links)) {
		f := d.plan.byName[links[name].field]
		if f == nil || f.ref == "" {
			d.panicf("the link %q needs a member with a ref tag", name)
		}
		taken := slices.ContainsFunc(d.actions, func(a action) bool { return a.name == name })
		if taken || !isName(name) || name == "self" || name == "collection" {
			d.panicf("the link %q needs a lower-case name that is not taken", name)
		}
		d.links = append(d.links, link{name, f, f.ref})
	}
}

// reserved are the query parameters that every list has.
var reserved = []string{
	"page", "size", "cursor", "limit", "page_token", "page_size", "include_total",
	"sort", "updated_since", "version", "api-version",
}

func (d *Definition) defineTable(filters []string) {
	d.table = &store.Table{Name: d.plural}
	for _, name := range filters {
		f := d.plan.byName[name]
		if f == nil {
			d.panicf("the filter %q is not a member", name)
		}
		if f.hidden || slices.Contains(reserved, name) {
			d.panicf("the filter %q is hidden or has the name of a parameter that every list has", name)
		}
		d.filters = append(d.filters, f)
	}
	for _, f := range d.plan.fields {
		if secret := f.hidden && !f.unique; !secret && !strings.Contains(f.name, "-") { // such a name cannot be a column of the view
			d.table.Fields = append(d.table.Fields, store.Field{Name: f.name, Type: f.jsonName()})
		}
		filter := slices.Contains(d.filters, f)
		held := d.content != nil && f == d.content.held
		summed := d.content != nil && f == d.content.size
		if !filter && !f.unique && f.ref == "" && f != d.owner && f != d.parent && !held && !summed {
			continue
		}
		k, ok := f.column()
		if !ok {
			d.panicf("the member %q cannot be a filter or unique: only strings, whole numbers and booleans can", f.name)
		}
		d.columns = append(d.columns, f)
		d.table.Columns = append(d.table.Columns, store.Column{
			Name: f.name, Kind: k, Unique: f.unique, Index: filter || f.ref != "" || f == d.owner || f == d.parent, Ref: f.ref, OnDelete: f.onDelete, Held: held, Summed: summed,
		})
	}
	d.table.Clear = d.clear
}

// clear sets a reference to null, for the store.
func (d *Definition) clear(doc []byte, column string) ([]byte, []string, error) {
	v := reflect.New(d.plan.typ).Elem()
	if err := d.plan.decode(doc, v, modeStored); err != nil {
		return nil, nil, err
	}
	v.Field(d.plan.byName[column].index).SetZero()
	return d.plan.append(nil, v, true), d.events("updated"), nil
}

// events returns the types of these actions, or none for a silent resource.
func (d *Definition) events(actions ...string) []string {
	if d.silent {
		return nil
	}
	types := make([]string, len(actions))
	for i, a := range actions {
		types[i] = d.singular + "." + a
	}
	return types
}

// Singular returns the name of one resource, task.
func (d *Definition) Singular() string { return d.singular }

// Plural returns the name of the collection, tasks.
func (d *Definition) Plural() string { return d.plural }

// About returns the sentence for the documentation.
func (d *Definition) About() string { return d.about }

// Table returns the table the rows are kept in.
func (d *Definition) Table() *store.Table { return d.table }

// System reports whether the rows belong to the service itself.
func (d *Definition) System() bool { return d.system }

// Service reports whether the rows are kept for the whole service, whoever
// they belong to.
func (d *Definition) Service() bool { return d.system || d.owner != nil }

// Prefix returns what ids begin with, or "" where they are numbers.
func (d *Definition) Prefix() string { return d.prefix }

// Key returns the member that stands in paths instead of the id, or "".
func (d *Definition) Key() string {
	if d.key == nil {
		return ""
	}
	return d.key.name
}

// EventTypes returns the types of all events the resource emits, in order.
func (d *Definition) EventTypes() []string {
	if d.silent {
		return nil
	}
	types := d.events("created", "updated", "deleted")
	for _, state := range d.order {
		if a, ok := d.states.Enter[state]; ok {
			types = append(types, d.singular+"."+a)
		}
	}
	return types
}
