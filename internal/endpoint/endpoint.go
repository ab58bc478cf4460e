// Package endpoint is the room of the webhook endpoints: where events are
// delivered, how they are signed, and what is done about failures.
package endpoint

import (
	"context"
	"math"
	"regexp"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
	"github.com/parley-api/parley/webhook"
)

// Prefix begins the ids of endpoints.
const Prefix = "ep_"

// DefaultInFlight is how many deliveries an endpoint gets at once.
const DefaultInFlight = 8

// An Endpoint is where events are delivered.
type Endpoint struct {
	URL          string   `json:"url" parley:"required,max=2048,line" about:"Where events are POSTed: https, on a public address."`
	EventTypes   []string `json:"event_types" parley:"max=100" about:"Which types it wants, exact or with * at the end, as in task.*; none means all."`
	Description  *string  `json:"description" parley:"max=500"`
	Enabled      *bool    `json:"enabled" about:"While it is false its deliveries are parked. True by default."`
	APIVersion   *string  `json:"api_version" about:"The version in whose shape it gets events; by default the one its account is pinned to."`
	Scheme       *string  `json:"scheme" parley:"enum=v1|v1a,immutable" about:"v1: HMAC-SHA256 with a shared secret, the default. v1a: Ed25519 with a public key."`
	InFlight     *int64   `json:"max_in_flight" parley:"min=1,max=64" about:"How many deliveries it gets at once; 8 by default."`
	StatusReason *string  `json:"status_reason,omitzero" parley:"readonly" about:"Why it was disabled."`
	PublicKey    *string  `json:"public_key,omitzero" parley:"readonly" about:"Of scheme v1a: what signatures are verified with."`
	Health       *Health  `json:"health,omitzero" parley:"readonly" about:"How it has answered lately."`
	Keys         []Key    `json:"keys" parley:"hidden"`
}

// A Key signs deliveries until its time is over.
type Key struct {
	Text  string     `json:"text"`
	Until *time.Time `json:"until"` // null: it is the one that stays
}

// Health is how an endpoint has answered.
type Health struct {
	Delivered    int64      `json:"delivered" about:"Attempts that were accepted."`
	Failed       int64      `json:"failed" about:"Attempts that failed."`
	SuccessRate  *float64   `json:"success_rate" about:"Of all attempts, 0 to 1; null before the first."`
	Waiting      int64      `json:"waiting" about:"Deliveries that have not been accepted yet."`
	LagSeconds   float64    `json:"lag_seconds" about:"How long the oldest of them has been waiting."`
	InFlight     int64      `json:"in_flight" about:"Attempts under way on this node."`
	LastSuccess  *time.Time `json:"last_success_at"`
	LastFailure  *time.Time `json:"last_failure_at"`
	FailingSince *time.Time `json:"failing_since" about:"Since when every attempt has failed; null if the last succeeded."`
}

// Options are what the room needs from its service.
type Options struct {
	Calendar *version.Calendar
	CheckURL func(string) error                               // what deliveries may be sent to
	Pin      func(ctx context.Context, account int64) string  // the version of an account
	Health   func(ctx context.Context, row *store.Row) Health // nil: none is shown
	Now      func() time.Time
}

var pattern = regexp.MustCompile(`^(\*|[a-z][a-z0-9-]*(\.[a-z0-9-]+)*(\.\*)?)$`)

// Resource defines the room.
func Resource(o Options) *resource.Definition {
	return resource.Define("webhook-endpoint", "webhook-endpoints", resource.Rules[Endpoint]{
		About:   "Where events are delivered.",
		Prefix:  Prefix,
		Silent:  true,
		Filters: []string{"enabled"},
		Check:   func(next, was *Endpoint) []problem.FieldError { return check(&o, next, was) },
		Shown:   "secret",
		Reveal: func(next *Endpoint, account int64) (string, error) {
			if next.APIVersion == nil {
				pin := o.Pin(context.Background(), account)
				next.APIVersion = &pin
			}
			return next.addKey(time.Time{}), nil
		},
		Live: func(ctx context.Context, shown *Endpoint, row *store.Row) {
			if o.Health != nil {
				h := o.Health(ctx, row)
				shown.Health = &h
			}
		},
	})
}

// check fills in the defaults and refuses what cannot work.
func check(o *Options, next, was *Endpoint) (errs []problem.FieldError) {
	if was == nil || was.URL != next.URL {
		if err := o.CheckURL(next.URL); err != nil {
			errs = append(errs, problem.FieldError{Pointer: "/url", Detail: err.Error()})
		}
	}
	for _, t := range next.EventTypes {
		if !pattern.MatchString(t) {
			errs = append(errs, problem.FieldError{Pointer: "/event_types", Detail: "must be types such as task.created, or task.* for all of a resource"})
			break
		}
	}
	byDefault(&next.Enabled, true)
	byDefault(&next.Scheme, "v1")
	byDefault(&next.InFlight, DefaultInFlight)
	if was != nil {
		if next.APIVersion == nil {
			next.APIVersion = was.APIVersion
		}
		next.Keys, next.PublicKey = was.Keys, was.PublicKey
		if *next.Enabled {
			next.StatusReason = nil
		}
	}
	if v := next.APIVersion; v != nil && (o.Calendar.Find(*v) == nil || o.Calendar.Find(*v).Name != *v || o.Calendar.Find(*v).Status(o.Now()) == version.Retired) {
		errs = append(errs, problem.FieldError{Pointer: "/api_version", Detail: "must be the name of a version that is not retired"})
	}
	return errs
}

func byDefault[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

// addKey makes a key that signs from now on, and lets the others sign until
// then. It returns the secret to show, which for v1a is none: the public key is
// a member.
func (e *Endpoint) addKey(until time.Time) (secret string) {
	kept := e.Keys[:0:0]
	for _, k := range e.Keys {
		if k.Until == nil {
			k.Until = &until
		}
		if k.Until.After(until) {
			k.Until = &until
		}
		kept = append(kept, k)
	}
	key := webhook.NewSecret()
	if *e.Scheme == "v1a" {
		key = webhook.NewKeyPair()
		public := key.Public().Reveal()
		e.PublicKey = &public
	} else {
		secret = key.Reveal()
	}
	e.Keys = append([]Key{{Text: key.Reveal()}}, kept...)
	return secret
}

// Secrets returns the keys that sign now, and when that changes; the zero time
// is never.
func (e *Endpoint) Secrets(now time.Time) (secrets []webhook.Secret, until time.Time, err error) {
	for _, k := range e.Keys {
		if k.Until != nil {
			if !now.Before(*k.Until) {
				continue
			}
			if until.IsZero() || k.Until.Before(until) {
				until = *k.Until
			}
		}
		var s webhook.Secret
		if *e.Scheme == "v1a" {
			s, err = webhook.ParsePrivateKey(k.Text)
		} else {
			s, err = webhook.ParseSecret(k.Text)
		}
		if err != nil {
			return nil, until, err
		}
		secrets = append(secrets, s)
	}
	return secrets, until, nil
}

// HealthOf makes the health of what the store knows.
func HealthOf(h store.Health, waiting, oldest int64, inFlight int, now time.Time) Health {
	out := Health{Delivered: h.Delivered, Failed: h.Failed, Waiting: waiting, InFlight: int64(inFlight),
		LastSuccess: moment(h.LastSuccess), LastFailure: moment(h.LastFailure), FailingSince: moment(h.Failing)}
	if all := h.Delivered + h.Failed; all > 0 {
		rate := math.Round(float64(h.Delivered)/float64(all)*10000) / 10000
		out.SuccessRate = &rate
	}
	if oldest > 0 {
		out.LagSeconds = math.Round(max(0, float64(now.UnixMicro()-oldest))/1000) / 1000
	}
	return out
}

func moment(micros int64) *time.Time {
	if micros == 0 {
		return nil
	}
	t := time.UnixMicro(micros).UTC()
	return &t
}
