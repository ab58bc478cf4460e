// Package delivery is the room of the deliveries: what was sent where, what
// became of it, and what waits for which reason.
package delivery

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
)

// A Room serves deliveries and dead letters. It is safe for concurrent use.
type Room struct {
	Sender
	store   *store.Store
	options resource.Options
	prefix  string // of the ids of endpoints
	all     paginate.List
	dead    paginate.List
}

// A Sender is what the room needs to know from those who send.
type Sender struct {
	Endpoints *resource.Room
	// Lane tells how busy the way to an endpoint is.
	Lane func(endpoint int64) (inFlight, limit, queued int)
	// Envelope writes an event as an endpoint gets it in a version.
	Envelope func(dst []byte, e *event.Event, endpoint int64, version string) ([]byte, error)
	// Read tells what an endpoint wants.
	Read func(store.Row) (store.Subscription, error)
}

// New returns the room.
func New(s *store.Store, sender Sender, o resource.Options) *Room {
	rm := &Room{Sender: sender, store: s, options: o, prefix: sender.Endpoints.Prefix()}
	rm.all = paginate.List{Collection: "deliveries", Limits: o.Limits, RFC: o.RFC,
		Parameters: []string{"api-version", "endpoint_id", "event_id", "sort", "status", "version"}}
	rm.dead = paginate.List{Collection: "dead-letters", Limits: o.Limits, RFC: o.RFC,
		Parameters: []string{"api-version", "endpoint_id", "event_id", "sort", "version"}}
	return rm
}

// Routes returns the methods of the room.
func (rm *Room) Routes() []*resource.Route {
	const read, write = "webhook-endpoints:read", "webhook-endpoints:write"
	return []*resource.Route{
		{Method: http.MethodGet, Pattern: "/deliveries", Scope: read, Serve: rm.list, Operation: "listDeliveries", Summary: "List deliveries, oldest first"},
		{Method: http.MethodGet, Pattern: "/deliveries/{id}", Scope: read, Serve: rm.read, Operation: "getDelivery", Summary: "Get a delivery with its attempts"},
		{Method: http.MethodGet, Pattern: "/dead-letters", Scope: read, Serve: rm.listDead, Operation: "listDeadLetters", Summary: "List what could not be delivered"},
		{Method: http.MethodGet, Pattern: "/dead-letters/{id}", Scope: read, Serve: rm.readDead, Operation: "getDeadLetter", Summary: "Get a dead letter"},
		{Method: http.MethodPost, Pattern: "/dead-letters/{id}/redeliveries", Scope: write, Serve: rm.redeliver, Operation: "redeliver", Summary: "Deliver a dead letter again"},
		{Method: http.MethodPost, Pattern: "/webhook-endpoints/{id}/pings", Scope: write, Serve: rm.ping, Operation: "pingWebhookEndpoint", Summary: "Send an event to try an endpoint"},
		{Method: http.MethodGet, Pattern: "/webhook-endpoints/{id}/messages", Scope: read, Serve: rm.messages, Operation: "listMessages", Summary: "List what an endpoint was sent, to catch up"},
	}
}

func (rm *Room) list(c *resource.Call) error {
	return rm.page(c, &rm.all, nil, rm.Append)
}

func (rm *Room) listDead(c *resource.Call) error {
	dead := event.Dead
	return rm.page(c, &rm.dead, &dead, rm.appendLetter)
}

// page answers a list.
func (rm *Room) page(c *resource.Call, pages *paginate.List, state *event.State, item func([]byte, *resource.Call, *store.DeliveryRow) []byte) error {
	plan, err := pages.Parse(c.R.URL.RawQuery, resource.Ranges(c))
	if err != nil {
		return err
	}
	q := store.DeliveryQuery{Account: c.Account, State: state}
	scope := paginate.Scope{Collection: pages.Collection, Account: c.Account}
	if err := rm.filter(plan, &q, &scope); err != nil {
		return err
	}
	ctx := c.Context()
	return resource.Serve(c, resource.Listing[store.DeliveryRow]{
		Pages: pages, Plan: plan, Scope: scope, Keys: rm.options.Keys(plan.Cursor), Now: rm.options.Now(),
		Fetch: func(w resource.Window) ([]store.DeliveryRow, error) {
			q.Mark, q.Back, q.Offset, q.Limit = w.Mark, w.Back, w.Offset, w.Limit
			if w.After {
				q.After = &store.Position{Key: w.Key, ID: w.ID}
			}
			return rm.store.Deliveries(ctx, q)
		},
		Mark:  func() (int64, error) { return rm.store.EventMark(ctx, c.Account) },
		Count: func() (int64, error) { return rm.store.CountDeliveries(ctx, q) },
		Place: func(d *store.DeliveryRow) resource.Place {
			return resource.Place{Key: d.Seq, ID: d.Endpoint, Rev: revision(d)}
		},
		Item: func(dst []byte, d *store.DeliveryRow) ([]byte, error) { return item(dst, c, d), nil },
	})
}

// filter reads the query parameters.
func (rm *Room) filter(plan paginate.Plan, q *store.DeliveryQuery, scope *paginate.Scope) error {
	if text, ok := plan.Value("status"); ok {
		state, known := event.ParseState(text)
		if !known {
			return resource.Parameter("status", "There is no such status.", "pending", "retrying", "delivered", "dead")
		}
		q.State = &state
		scope.Filters += "&status=" + text
	}
	if text, ok := plan.Value("endpoint_id"); ok {
		if q.Endpoint, ok = event.ParseName(rm.prefix, text); !ok {
			return resource.Parameter("endpoint_id", "The filter must be the id of a webhook endpoint.")
		}
		scope.Filters += "&endpoint=" + text
	}
	if text, ok := plan.Value("event_id"); ok {
		if q.Event, ok = event.ParseID(text); !ok {
			return resource.Parameter("event_id", "The filter must be the id of an event.")
		}
		scope.Filters += "&event=" + text
	}
	if scope.Sort, _ = plan.Value("sort"); scope.Sort != "" && scope.Sort != "id" && scope.Sort != "-id" {
		return resource.Parameter("sort", "The list cannot be sorted that way.", "id", "-id")
	}
	q.Desc = scope.Sort == "-id"
	return nil
}

// revision changes whenever what is shown of a delivery does.
func revision(d *store.DeliveryRow) int64 {
	return d.Due ^ d.Done<<1 ^ int64(d.Tries)<<50 ^ int64(d.State)<<58 ^ d.Fence
}

func (rm *Room) read(c *resource.Call) error {
	seq, endpoint, ok := event.ParseDeliveryID(c.Args[0])
	return rm.one(c, seq, endpoint, ok, "delivery", rm.Append)
}

func (rm *Room) readDead(c *resource.Call) error {
	seq, endpoint, ok := event.ParseDeadLetterID(c.Args[0])
	return rm.one(c, seq, endpoint, ok, "dead letter", rm.appendLetter)
}

func (rm *Room) one(c *resource.Call, seq, endpoint int64, ok bool, what string, item func([]byte, *resource.Call, *store.DeliveryRow) []byte) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	d, err := rm.load(c, seq, endpoint, ok, what)
	if err != nil {
		return err
	}
	return c.Show(fmt.Sprintf(`"%x"`, uint64(revision(&d))), item(c.Buf, c, &d))
}

func (rm *Room) load(c *resource.Call, seq, endpoint int64, ok bool, what string) (d store.DeliveryRow, err error) {
	if ok {
		d, err = rm.store.Delivery(c.Context(), c.Account, seq, endpoint)
	}
	if !ok || errors.Is(err, store.ErrNotFound) || err == nil && what == "dead letter" && d.State != event.Dead {
		return d, problem.NotFound.Newf("There is no such %s in this account.", what)
	}
	return d, err
}

// redeliver gives a dead letter a fresh budget of attempts.
func (rm *Room) redeliver(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	seq, endpoint, ok := event.ParseDeadLetterID(c.Args[0])
	d, err := rm.load(c, seq, endpoint, ok, "dead letter")
	if err != nil {
		return err
	}
	if _, err := rm.store.Endpoint(c.Context(), endpoint); errors.Is(err, store.ErrNotFound) {
		return problem.Conflict.New("The endpoint was deleted: there is nowhere to deliver it to.")
	} else if err != nil {
		return err
	}
	d.State, d.Spent, d.Done, d.Reason, d.Due, d.Fence = event.Pending, 0, 0, "", rm.options.Now().UnixMicro(), 0
	body := rm.Append(c.Buf, c, &d)
	path := "/deliveries/" + d.ID()
	tx := &store.Tx{Account: c.Account, Revive: &d.Delivery, Replay: c.Once(func() (string, []byte) { return path, body })}
	switch _, err := rm.store.Commit(c.Context(), tx); {
	case errors.Is(err, store.ErrStale):
		return problem.Conflict.New("It is being delivered again already.")
	case err != nil:
		return err
	}
	c.Created(path, body)
	return nil
}

// Append writes a delivery.
func (rm *Room) Append(dst []byte, c *resource.Call, d *store.DeliveryRow) []byte {
	now := rm.options.Now().UnixMicro()
	dst = append(append(dst, `{"id":"`...), d.ID()...)
	dst = append(append(dst, `","event_id":"`...), event.ID(d.Seq)...)
	dst = append(append(dst, `","endpoint_id":"`...), event.Name(rm.prefix, d.Endpoint)...)
	dst = append(append(dst, `","status":"`...), d.State.String()...)
	dst = append(append(dst, `","api_version":"`...), d.Version...)
	dst = append(dst, `","next_attempt_at":`...)
	if d.State < event.Delivered && d.Due != event.Parked && d.Fence == 0 {
		dst = append(resource.AppendTime(append(dst, '"'), max(d.Due, d.Born)), '"')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"waiting_for":`...)
	if why := rm.waiting(d, now); why != "" {
		dst, _ = jsontext.AppendQuote(dst, why)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(append(dst, `,"attempts":`...), d.Attempts...)
	dst = append(resource.AppendTime(append(dst, `,"created_at":"`...), d.Born), '"')
	return rm.links(dst, c, "/deliveries/"+d.ID(), d)
}

// waiting says why a delivery has not been made yet, "" where it has or is
// being made.
func (rm *Room) waiting(d *store.DeliveryRow, now int64) string {
	if d.State >= event.Delivered {
		return ""
	}
	if d.Due == event.Parked {
		return "endpoint disabled"
	}
	until := time.UnixMicro(d.Due).UTC().Format(time.RFC3339)
	switch {
	case d.Fence == 0 && d.Due > now && strings.HasSuffix(d.Reason, "429"):
		return "rate limited until " + until
	case d.Fence == 0 && d.Due > now && d.State == event.Pending:
		return "rate limited until " + until // what was parked drains at a rate
	case d.Fence == 0 && d.Due > now:
		return "retry at " + until
	}
	if inFlight, limit, _ := rm.Lane(d.Endpoint); limit > 0 && inFlight >= limit {
		return fmt.Sprintf("lane full %d/%d", inFlight, limit)
	}
	if d.Fence != 0 {
		return ""
	}
	return "its turn in the lane"
}

// appendLetter writes a dead letter.
func (rm *Room) appendLetter(dst []byte, c *resource.Call, d *store.DeliveryRow) []byte {
	id := event.DeadLetterID(d.Seq, d.Endpoint)
	dst = append(append(dst, `{"id":"`...), id...)
	dst = append(append(dst, `","delivery_id":"`...), d.ID()...)
	dst = append(append(dst, `","endpoint_id":"`...), event.Name(rm.prefix, d.Endpoint)...)
	dst = append(append(dst, `","event_id":"`...), event.ID(d.Seq)...)
	dst, _ = jsontext.AppendQuote(append(dst, `","reason":`...), d.Reason)
	dst = append(resource.AppendTime(append(dst, `,"died_at":"`...), d.Done), '"')
	return rm.links(dst, c, "/dead-letters/"+id, d)
}

func (rm *Room) links(dst []byte, c *resource.Call, self string, d *store.DeliveryRow) []byte {
	link := func(name, path string) {
		dst = append(append(append(dst, '"'), name...), `":{"href":"`...)
		dst = append(append(append(dst, c.Mount...), path...), `"}`...)
	}
	dst = append(dst, `,"_links":{`...)
	link("self", self)
	if strings.HasPrefix(self, "/dead") {
		dst = append(dst, ',')
		link("delivery", "/deliveries/"+d.ID())
	}
	dst = append(dst, ',')
	link("event", "/events/"+event.ID(d.Seq))
	dst = append(dst, ',')
	link("endpoint", "/webhook-endpoints/"+event.Name(rm.prefix, d.Endpoint))
	return append(dst, "}}"...)
}
