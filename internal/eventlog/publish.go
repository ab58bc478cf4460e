package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
)

// A publication is an event as an application hands it in.
type publication struct {
	Type      string         `json:"type" parley:"required,max=100"`
	Data      jsontext.Value `json:"data" parley:"required"`
	Timestamp *time.Time     `json:"timestamp"`
}

var publications = resource.Define("publication", "publications", resource.Rules[publication]{})

// MaxBatch is how many events can be published at once.
const MaxBatch = 100

// publish answers POST /events: one event, or an array of them, all or none.
func (rm *Room) publish(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	parts, many, err := split(c.Body)
	if err != nil {
		return err
	}
	events, err := rm.gather(c, parts, many)
	if err != nil {
		return err
	}
	tx := &store.Tx{Account: c.Account, Events: events}
	answer := func() (string, []byte) { return rm.published(c, tx.Events, many) }
	tx.Replay = c.Once(answer)
	if _, err := rm.store.Commit(c.Context(), tx); err != nil {
		return err
	}
	path, body := answer()
	c.Created(path, body)
	return nil
}

// published is the path and the body of the answer.
func (rm *Room) published(c *resource.Call, events []event.Event, many bool) (string, []byte) {
	var body []byte
	if many {
		body = append(body, `{"data":[`...)
	}
	for i := range events {
		if i > 0 {
			body = append(body, ',')
		}
		body, _ = rm.append(body, c, &events[i])
	}
	if many {
		body = append(body, "]}"...)
	}
	return "/events/" + events[0].ID(), body
}

// split finds the events in a body.
func split(body []byte) (parts [][]byte, many bool, err error) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '[' {
		return [][]byte{body}, false, nil
	}
	if err := resource.CheckJSON(body); err != nil {
		return nil, true, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	dec.ReadToken()
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, true, err
		}
		parts = append(parts, bytes.Clone(value))
	}
	if len(parts) == 0 || len(parts) > MaxBatch {
		return nil, true, resource.Invalid(problem.FieldError{Pointer: "", Detail: fmt.Sprintf("must have 1 to %d events", MaxBatch)})
	}
	return parts, true, nil
}

// gather reads and checks the events. All errors are found, with pointers.
func (rm *Room) gather(c *resource.Call, parts [][]byte, many bool) ([]event.Event, error) {
	var events []event.Event
	var errs []problem.FieldError
	for i, part := range parts {
		prefix := ""
		if many {
			prefix = "/" + strconv.Itoa(i)
		}
		var p publication
		err := publications.Read(part, &p)
		if wrong, ok := errors.AsType[*problem.Problem](err); ok && wrong.Kind == problem.ValidationFailed {
			for _, e := range wrong.Errors {
				errs = append(errs, problem.FieldError{Pointer: prefix + e.Pointer, Detail: e.Detail})
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := rm.fits(c, &p, prefix)
		if err != nil {
			return nil, err
		}
		errs = append(errs, found...)
		e := event.Event{Type: p.Type, Doc: bytes.Clone(p.Data), Version: c.Version.Name}
		if p.Timestamp != nil {
			if e.At = p.Timestamp.UnixMicro(); e.At <= 0 {
				errs = append(errs, problem.FieldError{Pointer: prefix + "/timestamp", Detail: "must be after 1970"})
			}
		}
		events = append(events, e)
	}
	if len(errs) > 0 {
		return nil, resource.Invalid(errs...)
	}
	return events, nil
}

// fits holds an event against its type.
func (rm *Room) fits(c *resource.Call, p *publication, prefix string) ([]problem.FieldError, error) {
	if rm.builtIn(p.Type) != nil {
		return []problem.FieldError{{Pointer: prefix + "/type", Detail: "is a type that the service itself emits"}}, nil
	}
	if kind := p.Data.Kind(); kind != '{' {
		return []problem.FieldError{{Pointer: prefix + "/data", Detail: "must be an object"}}, nil
	}
	key := kindKey{c.Account, p.Type}
	if schema := rm.known.get(key, rm.options.Now()); schema != nil && check(schema, p.Data, "") == nil {
		return nil, nil
	}
	schema, err := rm.readSchema(c.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return []problem.FieldError{{Pointer: prefix + "/type", Detail: "must be a type that is registered at /event-types"}}, nil
	}
	if err != nil {
		return nil, err
	}
	return check(schema, p.Data, prefix+"/data"), nil
}

// writes are the routes of the types that applications register. Those of the
// service itself cannot be changed.
func (rm *Room) writes() []*resource.Route {
	routes := rm.own.Routes()
	for _, r := range routes {
		r.Scope = "events:write"
		serve := r.Serve
		r.Serve = func(c *resource.Call) error {
			if c.Route.Method != http.MethodPost && rm.builtIn(c.Args[0]) != nil {
				return problem.Conflict.New("The service itself emits events of this type: it cannot be changed.")
			}
			defer rm.known.forget()
			return serve(c)
		}
	}
	return routes
}
