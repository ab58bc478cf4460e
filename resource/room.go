package resource

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/negotiate"
	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// Options are what a room needs from its service.
type Options struct {
	Store    Store
	Calendar *version.Calendar
	Limits   paginate.Limits // zero: 20 and 100
	RFC      bool            // ranges as RFC 9110 has them, not the contract
	Blobs    Blobs           // for resources of bytes; nil: there are none
	Vendors  []string        // media types that name a version and mean its JSON

	// Quota returns how many bytes an account may still store, and how many it
	// may have in all; nil: as many as it likes.
	Quota func(ctx context.Context, account int64) (left, most int64, err error)
	Now   func() time.Time // nil: time.Now

	// Keys returns the keys that seal cursors and open this one; "" is none.
	Keys func(cursor string) *paginate.Keys
}

// A Room is a definition that serves requests. It is safe for concurrent use.
type Room struct {
	*Definition
	Options
	chain  *version.Chain
	plans  []*plan         // by the version's index in the calendar
	writes string          // the version documents are written in
	pages  []paginate.List // by the same index

	lowerings []*sync.Pool                 // by the same index: of *lowering; nil for the latest shape
	offers    map[string]*negotiate.Offers // of an item, by the type of its bytes
	servings  *servings                    // of bytes; nil: items are JSON alone
}

// Open binds a definition to a service. It panics where the definition's
// changes do not fit the calendar.
func (d *Definition) Open(o Options) *Room {
	if o.Now == nil {
		o.Now = time.Now
	}
	rm := &Room{Definition: d, Options: o}
	if _, ok := o.Store.(finder); d.key != nil && !ok {
		d.panicf("a definition with a key needs a store that can Find")
	}
	var err error
	if rm.chain, err = version.NewChain(o.Calendar, d.plan.typ, d.steps...); err != nil {
		d.panicf("%v", err)
	}
	for _, v := range o.Calendar.Versions() {
		p, lowering := d.plan, (*sync.Pool)(nil)
		if !rm.chain.Same(v) {
			p = d.older[rm.chain.Type(v)]
			lowering = rm.newLowerings(v, p)
		}
		rm.lowerings = append(rm.lowerings, lowering)
		rm.plans = append(rm.plans, p)
		rm.pages = append(rm.pages, paginate.List{Collection: d.plural, Limits: o.Limits, RFC: o.RFC, Parameters: rm.parameters(v)})
		rm.writes = v.Name
	}
	rm.openContent()
	return rm
}

// Routes returns the methods of the resource.
func (rm *Room) Routes() []*Route {
	collection, item := rm.patterns()
	one := article(strings.ReplaceAll(rm.singular, "-", " "))
	read, write := rm.plural+":read", rm.plural+":write"
	if rm.above != nil {
		read, write = rm.above.plural+":read", rm.above.plural+":write"
	}
	if rm.system {
		read, write = "admin", "admin"
	}
	patch := []string{TypeMerge, TypeJSON, TypePatch}
	routes := []*Route{
		{Method: http.MethodGet, Pattern: collection, Scope: read, Serve: rm.list, Kind: List, Operation: "list" + Title(rm.plural), Summary: "List " + strings.ReplaceAll(rm.plural, "-", " ")},
		{Method: http.MethodPost, Pattern: collection, Scope: write, Serve: rm.create, Kind: Create, Accepts: []string{TypeJSON}, Operation: "create" + Title(rm.singular), Summary: "Create " + one},
		{Method: http.MethodGet, Pattern: item, Scope: read, Serve: rm.read, Kind: Read, Operation: "get" + Title(rm.singular), Summary: "Get " + one},
		{Method: http.MethodPut, Pattern: item, Scope: write, Serve: rm.replace, Kind: Replace, Accepts: []string{TypeJSON}, Operation: "replace" + Title(rm.singular), Summary: "Replace " + one},
		{Method: http.MethodPatch, Pattern: item, Scope: write, Serve: rm.patch, Kind: Patch, Accepts: patch, Operation: "update" + Title(rm.singular), Summary: "Change members of " + one},
		{Method: http.MethodDelete, Pattern: item, Scope: write, Serve: rm.remove, Kind: Remove, Operation: "delete" + Title(rm.singular), Summary: "Delete " + one},
	}
	if rm.content != nil {
		post, get, put := routes[1], routes[2], routes[3]
		post.Serve, post.Accepts, post.Stream = rm.upload, anything, true
		put.Serve, put.Accepts, put.Stream = rm.exchange, anything, true
		get.Serve, get.Single = rm.receive, true
		put.Summary = "Replace the bytes of " + one
	}
	for _, a := range rm.actions {
		routes = append(routes, &Route{
			Method: http.MethodPost, Pattern: item + "/" + a.name, Scope: write, Kind: Act, Summary: a.About,
			Serve: func(c *Call) error { return rm.act(c, a) }, Operation: a.name[:1] + Title(a.name)[1:] + Title(rm.singular),
		})
	}
	if rm.methods != nil {
		routes = slices.DeleteFunc(routes, func(r *Route) bool { return !slices.Contains(rm.methods, r.Kind) })
	}
	for _, r := range routes {
		r.Room = rm
	}
	return routes
}

// anything is what an upload may be.
var anything = []string{"*/*"}

// article puts a or an before a noun.
func article(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Title joins hyphenated words in camel case: api-key gives ApiKey.
func Title(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// account is the one whose rows a call is about.
func (rm *Room) account(c *Call) int64 {
	if rm.Service() {
		return 0
	}
	return c.Account
}

// parseID reads an id as it is written in a path: the prefix and its
// characters, or digits, no sign, no zeros before them. Anything else is the id
// of nothing.
func (d *Definition) parseID(s string) (int64, error) {
	if d.prefix != "" {
		id, ok := event.ParseName(d.prefix, s)
		if !ok {
			return 0, store.ErrNotFound
		}
		return id, nil
	}
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || s[0] < '1' || s[0] > '9' {
		return 0, store.ErrNotFound
	}
	return id, nil
}

// load reads the row that a call's path names. Where it is below another, that
// one is looked for first.
func (rm *Room) load(c *Call) (store.Row, error) {
	over, err := rm.over(c)
	if err != nil {
		return store.Row{}, err
	}
	row, err := rm.find(c, rm.Store, rm.name(c))
	if err == nil && over != nil && number(row.Doc, rm.parent) != over.ID {
		err = store.ErrNotFound
	}
	if err != nil {
		return row, rm.problem(err)
	}
	return row, nil
}

// problem gives the store's errors that a client caused their answer. Others
// are left to the hall.
func (rm *Room) problem(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problem.NotFound.Newf("There is no such %s in this account.", strings.ReplaceAll(rm.singular, "-", " "))
	}
	if errors.Is(err, store.ErrStale) {
		return problem.PreconditionFail.New("The resource was changed in the meantime.")
	}
	if e, ok := errors.AsType[*store.DuplicateError](err); ok {
		p := problem.Duplicate.Newf("Another %s of this account has the same %s.", rm.singular, e.Column)
		p.Errors = []problem.FieldError{{Pointer: "/" + e.Column, Detail: "is already taken"}}
		return p
	}
	if e, ok := errors.AsType[*store.MissingRefError](err); ok {
		to := rm.plan.byName[e.Column].ref
		return Invalid(problem.FieldError{Pointer: "/" + e.Column, Detail: "must be the id of one of the " + to + " of this account"})
	}
	if e, ok := errors.AsType[*store.ReferencedError](err); ok {
		return problem.StillReferenced.Newf("The %s is still referred to by %s.", rm.singular, e.Table)
	}
	return err
}

// failed is problem for a commit, in the names of the client's version. A
// problem of a write that was redone has them already.
func (rm *Room) failed(c *Call, err error) error {
	if _, redone := errors.AsType[*problem.Problem](err); redone {
		return err
	}
	return rm.chain.Problem(c.Version, rm.problem(err))
}

// value decodes a row's document.
func (rm *Room) value(doc []byte) (reflect.Value, error) {
	v := reflect.New(rm.plan.typ)
	return v, rm.plan.decode(doc, v.Elem(), modeStored)
}

// Record returns the write that stores a value of the definition's type, a
// pointer, as a new row, without the rules of a request and without an event.
func (d *Definition) Record(v any) store.Write {
	value := reflect.ValueOf(v).Elem()
	return store.Write{Table: d.table, Op: store.Insert, Doc: d.plan.append(nil, value, true), Keys: d.keys(value)}
}

// Read reads a request body that makes a resource into v, a pointer to the
// definition's type, with the rules of the tags. The error is a problem.
func (d *Definition) Read(body []byte, v any) error {
	return d.plan.decode(body, reflect.ValueOf(v).Elem(), modeCreate)
}

// Decode reads a row's document into v, a pointer to the definition's type.
func (d *Definition) Decode(doc []byte, v any) error {
	return d.plan.decode(doc, reflect.ValueOf(v).Elem(), modeStored)
}
