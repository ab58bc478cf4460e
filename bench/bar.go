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
	maxOffset      = 1000.0 // milliseconds, for the page behind 900,000 rows by offset: what docs/guide/lists.md says
)

// A ratio is a bar that stands on another contender's figure.
type ratio struct {
	operation operation
	name, to  string
	least     float64
	enough    float64   // a rate that clears the bar by itself; 0 means none
	of        operation // the other's, where it is not the same
}

var ratios = []ratio{
	{operation: getOne, name: "parley-memory", to: "hand-memory", least: 0.85},
	{operation: getOne, name: "parley-sqlite", to: "hand-sqlite", least: 0.7},
	{operation: getOne, name: "parley-postgres", to: "hand-postgres", least: 0.7},
	{operation: post, name: "parley-sqlite", to: "hand-sqlite", least: 0.6},
	{operation: post, name: "parley-postgres", to: "hand-postgres", least: 0.6, enough: enoughPosts},
	{operation: getOne, name: "parley-sqlite", to: "pocketbase", least: 5},
	{operation: post, name: "parley-sqlite", to: "pocketbase", least: 3},

	{operation: list, name: "parley-sqlite", to: "hand-sqlite", least: 0.75},
	{operation: list, name: "parley-postgres", to: "hand-postgres", least: 0.75},
	{operation: list, name: "parley-sqlite", to: "pocketbase", least: 4},
	{operation: list, name: "parley-sqlite", to: "pocketbase", of: listTotal, least: 400},
	{operation: listDeep, name: "parley-sqlite", to: "parley-sqlite", of: list, least: 0.9},
	{operation: listDeep, name: "parley-postgres", to: "parley-postgres", of: list, least: 0.9},
	{operation: tokenDeep, name: "parley-sqlite", to: "parley-sqlite", of: token, least: 0.9},
	{operation: tokenDeep, name: "parley-postgres", to: "parley-postgres", of: token, least: 0.9},
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
		if r.of.name == "" {
			r.of = r.operation
		}
		f, to := b.find(r.operation, r.name), b.find(r.of, r.to)
		if f == nil || to == nil {
			continue
		}
		v := verdict{Name: r.name, Operation: r.operation.name, Value: f.Rate / to.Rate}
		v.Bar = fmt.Sprintf("≥ %.4g × %s", r.least, r.to)
		switch {
		case r.of == r.operation:
		case r.to == r.name:
			v.Bar = fmt.Sprintf("≥ %.4g × its %s", r.least, r.of.name)
		default:
			v.Bar += "'s " + r.of.name
		}
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
	for _, name := range []string{"parley-sqlite", "parley-postgres"} {
		if f := b.find(offsetDeep, name); f != nil {
			all = append(all, verdict{
				Name: name, Operation: offsetDeep.name, Value: 1000 / f.Rate,
				Bar: fmt.Sprintf("≤ %.0f ms of the core", maxOffset), Pass: 1000/f.Rate <= maxOffset,
			})
		}
	}
	return append(all, verdict{
		Name: "parley-memory", Operation: "allocations", Value: b.allocations,
		Bar: fmt.Sprintf("≤ %d", maxAllocations), Pass: b.allocations <= maxAllocations,
	})
}
