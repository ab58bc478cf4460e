package parley

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/internal/endpoint"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/webhook/dispatch"
)

const (
	// drainRate is how many parked deliveries become due in a second when
	// their endpoint is enabled again.
	drainRate = 100
	// tidyEvery is how often endpoints that nobody was told of are looked for.
	tidyEvery = time.Minute
	// receiptAge is how long receipts are kept.
	receiptAge = 30 * 24 * time.Hour
)

// observe counts outcomes, and remembers which endpoint is to be disabled.
func (w *webhooks) observe(d *event.Delivery, o *event.Outcome) {
	if o.Attempt == nil {
		return
	}
	w.outcomes.WithLabelValues(o.State.String()).Inc()
	if o.State == event.Delivered {
		w.lag.Observe(float64(o.Attempt.Started+o.Attempt.Duration-d.Born) / 1e6)
		if k, ok := w.known.Load(o.Endpoint); ok && k.(*acquaintance).endpoint.FailingSince != 0 {
			w.known.Delete(o.Endpoint) // it does not fail any more
		}
	}
	if o.Disable == "" {
		return
	}
	select {
	case w.gone <- *o:
	default: // the next failure says it again
	}
}

// tidy does what follows from a change of an endpoint: what waits for one that
// is disabled is parked, for one that is enabled again made due, for one that
// is gone buried. It also finds what a crash has left undone.
func (w *webhooks) tidy() {
	s, tick := w.app.store, time.NewTicker(tidyEvery)
	defer tick.Stop()
	complain := func(err error) {
		if err != nil && w.life.Err() == nil {
			w.app.log.Warn("tidying up after endpoints", "error", err)
		}
	}
	complain(s.Queue(w.fence).Orphans(w.life))
	parked := func() {
		list, err := s.Parked(w.life)
		complain(err)
		for _, id := range list {
			complain(w.settle(id))
		}
	}
	expiry := time.NewTicker(time.Hour)
	defer expiry.Stop()
	for parked(); ; {
		select {
		case <-w.life.Done():
			return
		case id := <-w.moved:
			complain(w.settle(id))
		case o := <-w.gone:
			complain(w.disable(&o))
		case <-tick.C:
			parked()
		case <-expiry.C:
			complain(s.Expire(w.life, w.receipts.Table(), w.app.now().Add(-receiptAge).UnixMicro()))
		}
	}
}

// settle gives the open deliveries of an endpoint the due time that its state
// asks for.
func (w *webhooks) settle(id int64) error {
	s := w.app.store
	row, err := s.Endpoint(w.life, id)
	if errors.Is(err, store.ErrNotFound) {
		return s.Bury(w.life, id, "the endpoint was deleted")
	}
	if err != nil {
		return err
	}
	sub, err := w.subscription(row)
	if err != nil {
		return err
	}
	if sub.Enabled {
		return s.Unpark(w.life, id, drainRate)
	}
	return s.Park(w.life, id)
}

// disable switches an endpoint off, with an event, unless somebody else has.
func (w *webhooks) disable(o *event.Outcome) error {
	row, err := w.app.store.Endpoint(w.life, o.Endpoint)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var e endpoint.Endpoint
	if err := w.endpoints.Decode(row.Doc, &e); err != nil || !*e.Enabled {
		return err
	}
	if o.Attempt.Status != http.StatusGone { // what the dispatcher knew may have been old
		h, err := w.app.store.Health(w.life, o.Endpoint)
		if err != nil || o.Attempt.Started-h.LastSuccess < dispatch.DisableAfter.Microseconds() {
			return err
		}
	}
	off := false
	e.Enabled, e.StatusReason = &off, &o.Disable
	write := w.endpoints.Record(&e)
	write.Op, write.ID, write.IfRev = store.Update, row.ID, row.Rev
	doc, err := json.Marshal(map[string]string{"id": event.Name(endpoint.Prefix, row.ID), "reason": o.Disable}, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = w.app.store.Commit(w.life, &store.Tx{Account: row.Account, Writes: []store.Write{write}, Events: []event.Event{{
		Type: "webhook-endpoint.disabled", Subject: row.ID, Version: w.app.calendar.Latest(w.app.now()).Name, Doc: doc,
	}}})
	if errors.Is(err, store.ErrStale) { // somebody changed it just now; the next failure will tell again
		return nil
	}
	return err
}

// recover works on recoveries, a second's worth at a time.
func (w *webhooks) recover() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-w.life.Done():
			return
		case <-tick.C:
		}
		rows, err := w.app.store.Every(w.life, w.recoveries.Table(), "status", "running")
		for i := range rows {
			if err == nil {
				err = w.recoverSome(w.life, rows[i])
			}
		}
		if err != nil && w.life.Err() == nil {
			w.app.log.Warn("recovering deliveries", "error", err)
		}
	}
}

// recoverSome goes on with one recovery. Its row is changed first: of several
// nodes one succeeds.
func (w *webhooks) recoverSome(ctx context.Context, row store.Row) error {
	var r endpoint.Recovery
	if err := w.recoveries.Decode(row.Doc, &r); err != nil {
		return err
	}
	mine := w.recoveries.Record(&r)
	mine.Op, mine.ID, mine.IfRev = store.Update, row.ID, row.Rev
	rows, err := w.app.store.Commit(ctx, &store.Tx{Account: row.Account, Writes: []store.Write{mine}})
	if errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	n, last, count := int(*r.Rate), r.After, 0
	switch _, err = w.app.store.Endpoint(ctx, r.Endpoint); {
	case err == nil:
		last, count, err = w.app.store.Recover(ctx, r.Endpoint, r.Since.UnixMicro(), r.After, w.app.now().UnixMicro(), n)
	case errors.Is(err, store.ErrNotFound):
		err = nil // it was deleted: there is nowhere to deliver to, and the recovery ends
	}
	if err != nil {
		return err
	}
	note := func(current store.Row) (*store.Write, error) {
		var r endpoint.Recovery
		if err := w.recoveries.Decode(current.Doc, &r); err != nil {
			return nil, err
		}
		r.After, r.Recovered = last, r.Recovered+int64(count)
		if count < n && r.Status == "running" {
			finished := w.app.now().UTC().Truncate(time.Microsecond)
			r.Status, r.FinishedAt = "done", &finished
		}
		write := w.recoveries.Record(&r)
		write.Op, write.ID, write.IfRev = store.Update, current.ID, current.Rev
		return &write, nil
	}
	write, err := note(rows[0])
	if err != nil {
		return err
	}
	write.Redo = note
	_, err = w.app.store.Commit(ctx, &store.Tx{Account: row.Account, Writes: []store.Write{*write}})
	return err
}

// measure makes the figures of the dispatcher known.
func (w *webhooks) measure() {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	d := w.dispatcher.Load()
	backlog := func(pick func(open, dead int64) int64) float64 {
		ctx, cancel := context.WithTimeout(w.life, 2*time.Second)
		defer cancel()
		open, dead, err := w.app.store.Backlog(ctx)
		if err != nil {
			return -1
		}
		return float64(pick(open, dead))
	}
	w.app.metrics.registry.MustRegister(w.outcomes, w.lag,
		gauge("parley_deliveries_in_flight", "Attempts under way.", func() float64 { return float64(d.Stats().InFlight) }),
		gauge("parley_deliveries_queued", "Deliveries that wait in memory.", func() float64 { return float64(d.Stats().Queued) }),
		gauge("parley_delivery_lanes", "Endpoints that the dispatcher has in mind.", func() float64 { return float64(d.Stats().Lanes) }),
		gauge("parley_deliveries_open", "Deliveries that have not been accepted yet, of all nodes.", func() float64 { return backlog(func(open, _ int64) int64 { return open }) }),
		gauge("parley_dead_letters", "Deliveries that have failed for good, of all nodes.", func() float64 { return backlog(func(_, dead int64) int64 { return dead }) }),
	)
}

// newOutcomes makes the counters that observe feeds.
func newOutcomes() (*prometheus.CounterVec, prometheus.Histogram) {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_delivery_attempts_total", Help: "Attempts to deliver by what the delivery was after them.",
		}, []string{"status"}),
		prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "parley_delivery_lag_seconds", Help: "From the commit of an event to its delivery.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300, 3600, 86400},
		})
}
