package delivery

import (
	"strconv"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
)

// Ping is the type of the event that a ping sends.
const Ping = "webhook-endpoint.ping"

// ping publishes an event for one endpoint.
func (rm *Room) ping(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	row, err := rm.Endpoints.Load(c, c.Args[0])
	if err != nil {
		return err
	}
	sub, err := rm.Read(row)
	if err != nil {
		return err
	}
	tx := &store.Tx{Account: c.Account, Events: []event.Event{{
		Type: Ping, To: row.ID, Subject: row.ID, Version: c.Version.Name, Doc: []byte(`{"id":"` + c.Args[0] + `"}`),
	}}}
	answer := func() (string, []byte) {
		now := rm.options.Now().UnixMicro()
		d := store.DeliveryRow{Attempts: []byte("[]"), Delivery: event.Delivery{
			Seq: tx.Events[0].Seq, Endpoint: row.ID, Account: c.Account, Version: sub.Version, Born: now, Due: now,
		}}
		if !sub.Enabled {
			d.Due = event.Parked
		}
		return "/deliveries/" + d.ID(), rm.Append(nil, c, &d)
	}
	tx.Replay = c.Once(answer)
	if _, err := rm.store.Commit(c.Context(), tx); err != nil {
		return err
	}
	path, body := answer()
	c.Created(path, body)
	return nil
}

// messages lists the envelopes that an endpoint was sent or would have been,
// with the ids of their deliveries: push and pull share one idempotency store.
// It is made of events, so that it is whole whatever became of deliveries.
func (rm *Room) messages(c *resource.Call) error {
	pages := &paginate.List{Collection: "messages", Limits: rm.options.Limits, RFC: rm.options.RFC, Parameters: []string{"api-version", "since", "version"}}
	plan, err := pages.Parse(c.R.URL.RawQuery, resource.Ranges(c))
	if err != nil {
		return err
	}
	row, err := rm.Endpoints.Load(c, c.Args[0])
	if err != nil {
		return err
	}
	sub, err := rm.Read(row)
	if err != nil {
		return err
	}
	q := store.EventQuery{Account: c.Account, Types: sub.Types, For: row.ID, Since: row.Created}
	scope := paginate.Scope{Collection: "messages", Account: c.Account, Filters: c.Args[0]}
	if since, ok := plan.Value("since"); ok {
		at, err := resource.ParseTime("since", since)
		if err != nil {
			return err
		}
		q.Since = max(q.Since, at)
		scope.Filters += "&" + strconv.FormatInt(at, 10)
	}
	ctx := c.Context()
	return resource.Serve(c, resource.Listing[event.Event]{
		Pages: pages, Plan: plan, Scope: scope, Keys: rm.options.Keys(plan.Cursor), Now: rm.options.Now(),
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
		Item: func(dst []byte, e *event.Event) ([]byte, error) {
			return rm.Envelope(dst, e, row.ID, sub.Version)
		},
	})
}
