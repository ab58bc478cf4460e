package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// beside names the contender that another is compared with in the table.
var beside = map[string]string{
	"hand-memory": "constant", "parley-memory": "hand-memory", "parley-sqlite": "hand-sqlite",
	"parley-postgres": "hand-postgres", "huma-sqlite": "hand-sqlite", "pocketbase": "parley-sqlite",
}

// printTable shows the figures, operation by operation, and the bars.
func printTable(w io.Writer, b *bench, verdicts []verdict) {
	fmt.Fprintf(w, "\n%d tasks, %d connections, %d × %g s after %g s, one core for the server and its database, one for the load\n\n",
		b.tasks, b.conns, b.rounds, b.seconds, b.warm)
	for _, o := range operations {
		heading := false
		for _, f := range b.figures {
			if f.operation != o {
				continue
			}
			if !heading {
				heading = true
				fmt.Fprintf(w, heads, o.name, "req/s", "p50 ms", "p99 ms", "CPU µs", "db µs", "server", "load", "ratio", "bar")
			}
			fmt.Fprintf(w, lines, f.Name, f.Rate, f.P50, f.P99, f.CPU, orDash(f.Database, "%.1f"), 100*f.Server, 100*f.Load, b.ratio(f), bars(verdicts, f.Name, o.name))
		}
		if heading {
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "%-16s %8.0f  per GET, in the service  %s\n\n", "allocations", b.allocations, bars(verdicts, "parley-memory", "allocations"))
	fmt.Fprint(w, "CPU and db: µs of CPU time per request, of the server's process and of PostgreSQL's. server and load: how busy their cores were.\n\n")
	b.doubts(w)
}

const (
	heads = "%-16s %8s %8s %8s %8s %8s %7s %6s  %-22s %s\n"
	lines = "%-16s %8.0f %8.2f %8.2f %8.1f %8s %6.0f%% %5.0f%%  %-22s %s\n"
)

// doubts says which figures are not what they seem.
func (b *bench) doubts(w io.Writer) {
	for _, f := range b.figures {
		switch {
		case f.Load > 0.95:
			fmt.Fprintf(w, "note: the load's core was busy for %.0f %% of the time of %s %s: the server may be faster\n", 100*f.Load, f.Operation, f.Name)
		case f.operation.method == http.MethodGet && f.Server < 0.85:
			fmt.Fprintf(w, "note: %s had %.0f %% of its core for %s: something else was running, do not trust this run\n", f.Name, 100*f.Server, f.Operation)
		}
	}
}

func orDash(v float64, format string) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// ratio compares a figure with the one it belongs beside.
func (b *bench) ratio(f *figure) string {
	to := b.find(f.operation, beside[f.Name])
	if to == nil {
		return ""
	}
	return fmt.Sprintf("%.2f × %s", f.Rate/to.Rate, to.Name)
}

// bars shows the verdicts on one figure.
func bars(verdicts []verdict, name, operation string) string {
	var all []string
	for _, v := range verdicts {
		if v.Name != name || v.Operation != operation {
			continue
		}
		word := "MISSED"
		if v.Pass {
			word = "pass"
		}
		all = append(all, fmt.Sprintf("%s: %s (%.3g)", v.Bar, word, v.Value))
	}
	return strings.Join(all, ", ")
}
