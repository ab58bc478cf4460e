// Package eventlog is the room of the events: what happened, in order, and the
// catalogue of what can happen.
package eventlog

import (
	"errors"
	"net/http"
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
	options resource.Options
	pages   paginate.List
}

// A Type is an entry of the catalogue.
type Type struct {
	Name, Description string
	Room              *resource.Room // whose rows its events show; nil: none
	Schema            string         // JSON Schema of its data, where it shows no row
}

// A Schema gives the JSON Schema of the events about a room in a version.
type Schema func(*resource.Room, *version.Version) []byte

// New returns the room over the events of these rooms.
func New(s *store.Store, rooms []*resource.Room, schema Schema, o resource.Options) *Room {
	rm := &Room{store: s, rooms: make(map[string]*resource.Room), schema: schema, options: o}
	for _, r := range rooms {
		rm.rooms[r.Plural()] = r
		for _, name := range r.EventTypes() {
			rm.types = append(rm.types, Type{Name: name, Room: r, Description: "A " + r.Singular() + " was " + name[len(r.Singular())+1:] + "."})
		}
	}
	rm.pages = paginate.List{
		Collection: "events", Limits: o.Limits, RFC: o.RFC,
		Parameters: []string{"api-version", "since", "sort", "type", "version"},
	}
	return rm
}

// Declare adds types of events about no row to the catalogue. It belongs into
// the start of a service.
func (rm *Room) Declare(types ...Type) { rm.types = append(rm.types, types...) }

// Types returns the catalogue.
func (rm *Room) Types() []Type { return rm.types }

// Routes returns the methods of the room.
func (rm *Room) Routes() []*resource.Route {
	return []*resource.Route{
		{Method: http.MethodGet, Pattern: "/events", Scope: "events:read", Serve: rm.list, Operation: "listEvents", Summary: "List events, oldest first"},
		{Method: http.MethodGet, Pattern: "/events/{id}", Scope: "events:read", Serve: rm.read, Operation: "getEvent", Summary: "Get an event"},
		{Method: http.MethodGet, Pattern: "/event-types", Scope: "events:read", Serve: rm.listTypes, Operation: "listEventTypes", Summary: "List the types of events"},
		{Method: http.MethodGet, Pattern: "/event-types/{name}", Scope: "events:read", Serve: rm.readType, Operation: "getEventType", Summary: "Get a type of event"},
	}
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
	dst = append(append(dst, `","type":"`...), e.Type...)
	dst = resource.AppendTime(append(dst, `","timestamp":"`...), e.At)
	dst = append(dst, '"')
	if e.Resource != "" {
		dst = strconv.AppendInt(append(dst, `,"sequence":`...), e.Rev, 10)
	}
	dst = append(dst, `,"data":`...)
	dst, err := rm.data(dst, c, e)
	return append(dst, '}'), err
}

func (rm *Room) data(dst []byte, c *resource.Call, e *event.Event) ([]byte, error) {
	room := rm.rooms[e.Resource]
	if room == nil {
		return append(dst, e.Doc...), nil
	}
	return room.Snapshot(dst, c.Version, &store.Row{
		ID: e.Subject, Account: e.Account, Rev: e.Rev, Created: e.Created, Updated: e.Updated, Doc: e.Doc,
	})
}

func (rm *Room) listTypes(c *resource.Call) error {
	return resource.Fixed(c, &rm.options, "event-types", rm.types, func(dst []byte, t *Type) ([]byte, error) {
		return rm.appendType(dst, c, t), nil
	})
}

func (rm *Room) readType(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	for i := range rm.types {
		if rm.types[i].Name == c.Args[0] {
			return c.Show(`"`+c.Version.Name+`"`, rm.appendType(c.Buf, c, &rm.types[i]))
		}
	}
	return problem.NotFound.New("There is no such type of event.")
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
