package main

import "fmt"

// A verdict says whether the service clears a bar.
type verdict struct {
	Name      string  `json:"name"` // the contender
	Operation string  `json:"operation"`
	Bar       string  `json:"bar"`
	Value     float64 `json:"value"`
	Pass      bool    `json:"pass"`
}

// The bars. Those of what was not measured are left out.
const (
	maxAllocations = 25
	maxPatch       = 40.0   // milliseconds, the 99th percentile
	enoughPosts    = 10_000 // a second, on PostgreSQL
)

// A ratio is a bar that stands on another contender's figure.
type ratio struct {
	operation operation
	name, to  string
	least     float64
	enough    float64 // a rate that clears the bar by itself; 0 means none
}

var ratios = []ratio{
	{getOne, "parley-memory", "hand-memory", 0.85, 0},
	{getOne, "parley-sqlite", "hand-sqlite", 0.7, 0},
	{getOne, "parley-postgres", "hand-postgres", 0.7, 0},
	{post, "parley-sqlite", "hand-sqlite", 0.6, 0},
	{post, "parley-postgres", "hand-postgres", 0.6, enoughPosts},
	{getOne, "parley-sqlite", "pocketbase", 5, 0},
	{post, "parley-sqlite", "pocketbase", 3, 0},
}

func (b *bench) find(o operation, name string) *figure {
	for _, f := range b.figures {
		if f.operation == o && f.Name == name {
			return f
		}
	}
	return nil
}

// judge holds the figures against the bars.
func judge(b *bench) []verdict {
	var all []verdict
	for _, r := range ratios {
		f, to := b.find(r.operation, r.name), b.find(r.operation, r.to)
		if f == nil || to == nil {
			continue
		}
		v := verdict{Name: r.name, Operation: r.operation.name, Value: f.Rate / to.Rate}
		v.Bar = fmt.Sprintf("≥ %.4g × %s", r.least, r.to)
		v.Pass = v.Value >= r.least
		if r.enough > 0 {
			v.Bar += fmt.Sprintf(" or ≥ %.0f/s", r.enough)
			v.Pass = v.Pass || f.Rate >= r.enough
		}
		all = append(all, v)
	}
	for _, name := range []string{"parley-sqlite", "parley-postgres"} {
		if f := b.find(patch, name); f != nil {
			all = append(all, verdict{
				Name: name, Operation: patch.name, Value: f.P99,
				Bar: fmt.Sprintf("p99 ≤ %.0f ms", maxPatch), Pass: f.P99 <= maxPatch,
			})
		}
	}
	return append(all, verdict{
		Name: "parley-memory", Operation: "allocations", Value: b.allocations,
		Bar: fmt.Sprintf("≤ %d", maxAllocations), Pass: b.allocations <= maxAllocations,
	})
}
