// Package notice tells accounts of the life of the versions they use: an event
// when one is deprecated and another when it is retired, once for each account
// that is pinned to it or was seen using it.
package notice

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// The types of the events.
const (
	Deprecated = "api-version.deprecated"
	Retired    = "api-version.retired"
)

// Schema is the JSON Schema of the data of both, in every version.
const Schema = `{"type":"object","description":"A version of the interface whose life has changed.",` +
	`"required":["name","major","status","released","deprecated","sunset","successor","guide"],"properties":{` +
	`"name":{"type":"string"},"major":{"type":["integer","null"]},` +
	`"status":{"type":"string","enum":["deprecated","retired"]},` +
	`"released":{"type":"string","format":"date"},"deprecated":{"type":"string","format":"date"},` +
	`"sunset":{"type":"string","format":"date","description":"From this day on, 00:00 UTC, requests answer 410."},` +
	`"successor":{"type":"string","description":"The version to move to."},` +
	`"guide":{"type":"string","format":"uri","description":"What to change in order to move."}}}`

// NewTable returns the table that remembers who was told what.
func NewTable() *store.Table {
	return &store.Table{
		Name:    "version-notices",
		Columns: []store.Column{{Name: column, Kind: store.Text, Unique: true}},
		Fields:  []store.Field{{Name: column, Type: "string"}},
	}
}

const column = "notice"

// again is how often it is looked for accounts that began to use a deprecated
// version after the rest was told.
const again = 10 * time.Minute

// page is how many accounts are told at once.
const page = 128

// A Herald writes the events. Its methods are safe for concurrent use, and any
// number of heralds may work on one database: an account is told once.
type Herald struct {
	Store    *store.Store
	Calendar *version.Calendar
	Told     *store.Table // of NewTable
	Bound    store.Key    // the column of the accounts that names their version
	BaseURL  string
	Now      func() time.Time
	Log      *slog.Logger

	next  time.Time // when there is something to do
	stop  context.CancelFunc
	ended chan struct{}
}

// Start tells who is to be told, then goes on doing so until Close. It looks
// at the clock every second, so that a clock that tests move is followed.
func (h *Herald) Start() {
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.ended = stop, make(chan struct{})
	go func() {
		defer close(h.ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			h.look(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
}

// Close ends what Start began.
func (h *Herald) Close() {
	h.stop()
	<-h.ended
}

// look tells who is to be told if it is time to. What fails is tried again.
func (h *Herald) look(ctx context.Context) {
	now := h.Now()
	if now.Before(h.next) {
		return
	}
	if err := h.Tell(ctx, now); err != nil {
		if ctx.Err() == nil {
			h.Log.Warn("telling accounts about their versions; it is tried again", "error", err)
			h.next = now.Add(5 * time.Second)
		}
		return
	}
	h.next = now.Add(again)
	for _, v := range h.Calendar.Versions() {
		for _, date := range []time.Time{v.Deprecated, v.Sunset} {
			if date.After(now) && date.Before(h.next) {
				h.next = date
			}
		}
	}
}

// Tell writes the events that are due at a moment and were not written before.
func (h *Herald) Tell(ctx context.Context, now time.Time) error {
	for _, v := range h.Calendar.Versions() {
		switch v.Status(now) {
		case version.Retired:
			if err := h.announce(ctx, v, Retired, version.Retired); err != nil {
				return err
			}
		case version.Deprecated:
			if err := h.announce(ctx, v, Deprecated, version.Deprecated); err != nil {
				return err
			}
		}
	}
	return nil
}

// announce writes one event for each account that has none yet.
func (h *Herald) announce(ctx context.Context, v *version.Version, kind string, status version.Status) error {
	data, err := json.Marshal(h.data(v, status))
	if err != nil {
		return err
	}
	notice := v.Name + " " + string(status)
	doc, err := json.Marshal(map[string]string{column: notice})
	if err != nil {
		return err
	}
	q := store.UserQuery{
		Version: v.Name, Bound: h.Bound, Limit: page,
		Told: store.Key{Table: h.Told, Column: column}, Notice: notice,
	}
	for {
		ids, err := h.Store.Users(ctx, q)
		if err != nil || len(ids) == 0 {
			return err
		}
		errs := make([]error, len(ids))
		var all sync.WaitGroup
		for i, id := range ids { // at once, so that they share a flush of the disk
			all.Go(func() {
				_, err := h.Store.Commit(ctx, &store.Tx{
					Account: id,
					Writes:  []store.Write{{Table: h.Told, Op: store.Insert, Doc: doc, Keys: []any{notice}}},
					Events:  []event.Event{{Type: kind, Doc: data}},
				})
				if _, told := errors.AsType[*store.DuplicateError](err); !told {
					errs[i] = err
				}
			})
		}
		if all.Wait(); errors.Join(errs...) != nil {
			return errors.Join(errs...)
		}
		q.After = ids[len(ids)-1]
	}
}

// body is the data of an event.
type body struct {
	Name       string         `json:"name"`
	Major      *int           `json:"major"`
	Status     version.Status `json:"status"`
	Released   string         `json:"released"`
	Deprecated string         `json:"deprecated"`
	Sunset     string         `json:"sunset"`
	Successor  string         `json:"successor"`
	Guide      string         `json:"guide"`
}

func (h *Herald) data(v *version.Version, status version.Status) body {
	b := body{
		Name: v.Name, Status: status, Released: day(v.Released), Deprecated: day(v.Deprecated), Sunset: day(v.Sunset),
		Successor: v.Successor().Name, Guide: h.BaseURL + "/versions/" + v.Name,
	}
	if v.Major >= 0 {
		b.Major = &v.Major
	}
	return b
}

func day(t time.Time) string { return t.Format(time.DateOnly) }
