// Package eventlog is the room of the events: what happened, in order, and the
// catalogue of what can happen.
package eventlog

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// A Room serves events. It is safe for concurrent use.
type Room struct {
	store   *store.Store
	rooms   map[string]*resource.Room
	types   []Type
	schema  Schema
	own     *resource.Room // types that applications have registered
	schemas schemas
	known   known
	options resource.Options
	pages   paginate.List
}

// A Type is an entry of the catalogue.
type Type struct {
	Name, Description string
	Room              *resource.Room // whose rows its events show; nil: Schema says what they are
	Schema            string
}

// A Schema gives the JSON Schema of the events about a room in a version.
type Schema func(*resource.Room, *version.Version) []byte

// New returns the room over the events of these rooms, and of further types.
// Own is the room of the types that applications register.
func New(s *store.Store, rooms []*resource.Room, own *resource.Room, more []Type, schema Schema, o resource.Options) *Room {
	rm := &Room{store: s, rooms: make(map[string]*resource.Room), own: own, schema: schema, options: o}
	for _, r := range rooms {
		rm.rooms[r.Plural()] = r
		for _, name := range r.EventTypes() {
			rm.types = append(rm.types, Type{Name: name, Room: r, Description: "A " + r.Singular() + " was " + name[len(r.Singular())+1:] + "."})
		}
	}
	rm.types = append(rm.types, more...)
	rm.pages = paginate.List{
		Collection: "events", Limits: o.Limits, RFC: o.RFC,
		Parameters: []string{"api-version", "since", "sort", "type", "version"},
	}
	return rm
}

// Types returns the catalogue.
func (rm *Room) Types() []Type { return rm.types }

// Routes returns the methods of the room.
func (rm *Room) Routes() []*resource.Route {
	return append(rm.writes(), []*resource.Route{
		{Method: http.MethodGet, Pattern: "/events", Scope: "events:read", Serve: rm.list, Operation: "listEvents", Summary: "List events, oldest first"},
		{Method: http.MethodGet, Pattern: "/events/{id}", Scope: "events:read", Serve: rm.read, Operation: "getEvent", Summary: "Get an event"},
		{Method: http.MethodPost, Pattern: "/events", Scope: "events:write", Serve: rm.publish, Accepts: []string{resource.TypeJSON}, Operation: "publishEvent", Summary: "Publish an event of your own"},
		{Method: http.MethodGet, Pattern: "/event-types", Scope: "events:read", Serve: rm.listTypes, Operation: "listEventTypes", Summary: "List the types of events"},
		{Method: http.MethodGet, Pattern: "/event-types/{name}", Scope: "events:read", Serve: rm.readType, Operation: "getEventType", Summary: "Get a type of event"},
	}...)
}

// BuiltIn reports whether the service itself emits events of a type.
func (rm *Room) BuiltIn(name string) bool { return rm.builtIn(name) != nil }

// builtIn returns the type of a name that the service itself emits, or nil.
func (rm *Room) builtIn(name string) *Type {
	for i := range rm.types {
		if rm.types[i].Name == name {
			return &rm.types[i]
		}
	}
	return nil
}

func (rm *Room) list(c *resource.Call) error {
	plan, err := rm.pages.Parse(c.R.URL.RawQuery, resource.Ranges(c))
	if err != nil {
		return err
	}
	q := store.EventQuery{Account: c.Account}
	scope := paginate.Scope{Collection: "events", Account: c.Account}
	if since, ok := plan.Value("since"); ok {
		if q.Since, err = resource.ParseTime("since", since); err != nil {
			return err
		}
		scope.Filters = strconv.FormatInt(q.Since, 10)
	}
	q.Type, _ = plan.Value("type")
	scope.Filters += "&" + q.Type
	if scope.Sort, _ = plan.Value("sort"); scope.Sort != "" && scope.Sort != "id" && scope.Sort != "-id" {
		return resource.Parameter("sort", "The list cannot be sorted that way.", "id", "-id")
	}
	q.Desc = scope.Sort == "-id"
	ctx := c.Context()
	return resource.Serve(c, resource.Listing[event.Event]{
		Pages: &rm.pages, Plan: plan, Scope: scope, Keys: rm.options.Keys(plan.Cursor), Now: rm.options.Now(),
		Fetch: func(w resource.Window) ([]event.Event, error) {
			q.Mark, q.Back, q.Offset, q.Limit = w.Mark, w.Back, w.Offset, w.Limit
			if w.After {
				q.After = w.ID
			}
			return rm.store.Events(ctx, q)
		},
		Mark:  func() (int64, error) { return rm.store.EventMark(ctx, c.Account) },
		Count: func() (int64, error) { return rm.store.CountEvents(ctx, q) },
		Place: func(e *event.Event) resource.Place { return resource.Place{ID: e.Seq, Rev: 1} },
		Item:  func(dst []byte, e *event.Event) ([]byte, error) { return rm.append(dst, c, e) },
	})
}

func (rm *Room) read(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	missing := problem.NotFound.New("There is no such event in this account.")
	seq, ok := event.ParseID(c.Args[0])
	if !ok {
		return missing
	}
	e, err := rm.store.Event(c.Context(), c.Account, seq)
	if errors.Is(err, store.ErrNotFound) {
		return missing
	}
	if err != nil {
		return err
	}
	body, err := rm.append(c.Buf, c, &e)
	if err != nil {
		return err
	}
	return c.Show(`"`+e.ID()[4:]+"-"+c.Version.Name+`"`, body)
}

// append writes an event in the caller's version.
func (rm *Room) append(dst []byte, c *resource.Call, e *event.Event) ([]byte, error) {
	dst = append(append(dst, `{"id":"`...), e.ID()...)
	return rm.Tail(append(dst, `",`...), c.Version, e)
}

// Tail writes the members of an event from its type on, in a version, and the
// brace at the end: what all that show an event have in common.
func (rm *Room) Tail(dst []byte, v *version.Version, e *event.Event) ([]byte, error) {
	dst = rm.head(dst, e)
	room := rm.rooms[e.Resource]
	if room == nil {
		return append(append(dst, e.Doc...), '}'), nil
	}
	dst, err := room.Snapshot(dst, v, &store.Row{
		ID: e.Subject, Account: e.Account, Rev: e.Rev, Created: e.Created, Updated: e.Updated, Doc: e.Doc,
	})
	return append(dst, '}'), err
}

// Reference is Tail with the address of the data in place of the data.
func (rm *Room) Reference(dst []byte, e *event.Event, href string) []byte {
	dst, _ = jsontext.AppendQuote(append(rm.head(dst, e), `{"href":`...), href)
	return append(dst, "}}"...)
}

// head writes what stands before the data.
func (rm *Room) head(dst []byte, e *event.Event) []byte {
	dst = append(append(dst, `"type":"`...), e.Type...)
	dst = resource.AppendTime(append(dst, `","timestamp":"`...), e.At)
	dst = append(dst, '"')
	if e.Resource != "" {
		dst = strconv.AppendInt(append(dst, `,"sequence":`...), e.Rev, 10)
	}
	return append(dst, `,"data":`...)
}

const (
	// maxOwn bounds how many own types a list of types shows.
	maxOwn = 10_000
	// firstOwn is the place of own types in the list: behind the others, each
	// where its id puts it, whatever comes and goes.
	firstOwn = 1 << 20
)

// An entry is a type in the list: the service's or an application's own.
type entry struct {
	built *Type
	own   *store.Row
	place int64
}

func (rm *Room) listTypes(c *resource.Call) error {
	pages := &paginate.List{Collection: "event-types", Limits: rm.options.Limits, RFC: rm.options.RFC, Parameters: []string{"api-version", "version"}}
	plan, err := pages.Parse(c.R.URL.RawQuery, resource.Ranges(c))
	if err != nil {
		return err
	}
	rows, err := rm.store.Page(c.Context(), rm.own.Table(), store.Query{Account: c.Account, Limit: maxOwn})
	if err != nil {
		return err
	}
	all := make([]entry, 0, len(rm.types)+len(rows))
	for i := range rm.types {
		all = append(all, entry{built: &rm.types[i], place: int64(i) + 1})
	}
	for i := range rows {
		all = append(all, entry{own: &rows[i], place: firstOwn + rows[i].ID})
	}
	return resource.Serve(c, resource.Listing[entry]{
		Pages: pages, Plan: plan, Keys: rm.options.Keys(plan.Cursor), Now: rm.options.Now(),
		Scope: paginate.Scope{Collection: "event-types", Account: c.Account},
		Fetch: func(w resource.Window) ([]entry, error) { return part(all, w), nil },
		Mark:  func() (int64, error) { return all[len(all)-1].place, nil },
		Count: func() (int64, error) { return int64(len(all)), nil },
		Place: func(e *entry) resource.Place {
			if e.own != nil {
				return resource.Place{ID: e.place, Rev: e.own.Rev}
			}
			return resource.Place{ID: e.place, Rev: 1}
		},
		Item: func(dst []byte, e *entry) ([]byte, error) {
			if e.own != nil {
				return rm.own.Append(dst, c, e.own)
			}
			return rm.appendType(dst, c, e.built), nil
		},
	})
}

// part returns the entries that a window shows, of all in order.
func part(all []entry, w resource.Window) []entry {
	if w.Mark != 0 {
		all = all[:place(all, w.Mark+1)]
	}
	switch {
	case w.After && w.Back:
		all = all[:place(all, w.ID)]
		return all[max(0, len(all)-w.Limit):]
	case w.After:
		all = all[place(all, w.ID+1):]
	}
	all = all[min(w.Offset, len(all)):]
	return all[:min(w.Limit, len(all))]
}

// place is the index of the first entry at a place or behind it.
func place(all []entry, at int64) int {
	i, _ := slices.BinarySearchFunc(all, at, func(e entry, at int64) int { return cmp.Compare(e.place, at) })
	return i
}

func (rm *Room) readType(c *resource.Call) error {
	if t := rm.builtIn(c.Args[0]); t != nil {
		if err := resource.NoParameters(c); err != nil {
			return err
		}
		return c.Show(`"`+c.Version.Name+`"`, rm.appendType(c.Buf, c, t))
	}
	return rm.own.Get(c)
}

func (rm *Room) appendType(dst []byte, c *resource.Call, t *Type) []byte {
	dst, _ = jsontext.AppendQuote(append(dst, `{"name":`...), t.Name)
	dst, _ = jsontext.AppendQuote(append(dst, `,"description":`...), t.Description)
	dst = append(dst, `,"schema":`...)
	if t.Room == nil {
		dst = append(dst, t.Schema...)
	} else {
		dst = append(dst, rm.schema(t.Room, c.Version)...)
	}
	return append(dst, '}')
}
