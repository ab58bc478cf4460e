package endpoint

import (
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
)

// A Recovery gives the dead letters of an endpoint since a moment a fresh
// budget of attempts, at a rate.
type Recovery struct {
	Since      time.Time  `json:"since" parley:"required,immutable" about:"Deliveries that were made then or later, and have failed."`
	DryRun     *bool      `json:"dry_run" parley:"immutable" about:"Only count them."`
	Rate       *int64     `json:"rate" parley:"min=1,max=10000" about:"How many in a second; 100 by default."`
	Status     string     `json:"status" about:"Set it to stopped to stop it."`
	Found      int64      `json:"count" parley:"readonly" about:"How many there were when it was made."`
	Recovered  int64      `json:"recovered" parley:"readonly" about:"How many were given a fresh budget so far."`
	FinishedAt *time.Time `json:"finished_at" parley:"readonly"`
	After      int64      `json:"after" parley:"hidden"`
	Endpoint   int64      `json:"endpoint" parley:"hidden"`
}

// Recoveries defines the recoveries of an endpoint. Count tells how many
// deliveries one would be about.
func Recoveries(endpoints *resource.Definition, count func(endpoint, since int64) (int64, error), now func() time.Time) *resource.Definition {
	return resource.Define("recovery", "recoveries", resource.Rules[Recovery]{
		About:   "A second chance for what an endpoint did not get.",
		Silent:  true,
		Parent:  resource.Parent{Of: endpoints, Member: "endpoint"},
		Methods: []resource.Kind{resource.List, resource.Create, resource.Read, resource.Patch},
		Filters: []string{"status"},
		States: resource.States{Field: "status", Initial: "running", Moves: map[string][]string{
			"running": {"stopped", "done"},
		}},
		Check: func(next, was *Recovery) []problem.FieldError {
			byDefault(&next.DryRun, false)
			byDefault(&next.Rate, 100)
			if was != nil {
				next.After, next.Endpoint = was.After, was.Endpoint
				if was.Status != next.Status && next.Status == "done" {
					return []problem.FieldError{{Pointer: "/status", Detail: "is done by itself; it can be stopped"}}
				}
				if was.Status != next.Status {
					finished := now().UTC()
					next.FinishedAt = &finished
				}
			}
			return nil
		},
		Along: func(next *Recovery, parent *store.Row) (string, []store.Write, error) {
			var err error
			if next.Found, err = count(parent.ID, next.Since.UnixMicro()); err != nil {
				return "", nil, err
			}
			if *next.DryRun || next.Found == 0 {
				finished := now().UTC()
				next.Status, next.FinishedAt = "done", &finished
			}
			return "", nil, nil
		},
	})
}
