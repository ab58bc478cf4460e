// Webhooks measures how fast events travel from POST /events to a consumer,
// through everything: authentication, the event and its deliveries in one
// durable transaction, signatures, attempts that are written down. All figures
// of a run are beside its own limit, a loop of signed POSTs to the same sink.
// It exits with 1 where a bar is missed.
//
// Everybody shares the machine, the limit as the service. With -pinned the
// service and PostgreSQL have one core, the load and the consumers another:
// then the limit has both cores, and the service one.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

type bench struct {
	binary, folder, admin string
	self                  string
	rounds                int
	pinned                bool
	length                time.Duration
	figures               []figure
	missed                bool
}

// A figure is one measurement.
type figure struct {
	Name   string  `json:"name"`
	Engine string  `json:"engine,omitempty"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Bar    string  `json:"bar,omitempty"`
	Met    *bool   `json:"met,omitempty"`
}

func main() {
	role := flag.String("role", "", "")
	sinkAddr := flag.String("sink", "", "")
	only := flag.String("only", "throughput,latency,hang,many,backlog", "which scenarios")
	engines := flag.String("engines", "sqlite,postgres", "which databases")
	rounds := flag.Int("rounds", 3, "rounds of a throughput and windows of a p99; the median counts")
	length := flag.Duration("length", 4*time.Second, "length of a round")
	pinned := flag.Bool("pinned", false, "one core for the service and PostgreSQL, another for the load and the consumers")
	out := flag.String("out", "bench/webhooks/results.json", "file for the figures")
	flag.Parse()
	if *role == "limit" {
		if err := limit(*sinkAddr, 64, *length); err != nil {
			fail(err)
		}
		return
	}
	debug.SetGCPercent(400) // the consumers are on the core of the load, and must not disturb it
	admin := os.Getenv("PARLEY_TEST_POSTGRES")
	if admin == "" && strings.Contains(*engines, "postgres") {
		again := exec.Command("scripts/with-postgres", append([]string{os.Args[0]}, os.Args[1:]...)...)
		again.Stdout, again.Stderr = os.Stdout, os.Stderr
		if err := again.Run(); err != nil {
			os.Exit(1)
		}
		return
	}
	b := &bench{admin: admin, rounds: *rounds, length: *length, pinned: *pinned}
	if err := b.prepare(); err != nil {
		fail(err)
	}
	defer os.RemoveAll(b.folder)
	for _, engine := range strings.Split(*engines, ",") {
		for _, name := range strings.Split(*only, ",") {
			scenario, ok := map[string]func(string) error{
				"throughput": b.throughput, "latency": b.latency, "hang": b.hang, "many": b.many, "backlog": b.backlog,
			}[name]
			if !ok {
				fail(fmt.Errorf("there is no scenario %q", name))
			}
			if err := scenario(engine); err != nil {
				fail(fmt.Errorf("%s on %s: %w", name, engine, err))
			}
		}
	}
	text, _ := json.MarshalIndent(map[string]any{"at": time.Now().UTC().Format(time.RFC3339), "figures": b.figures}, "", "  ")
	if err := os.WriteFile(*out, append(text, '\n'), 0o644); err != nil {
		fail(err)
	}
	if b.missed {
		os.RemoveAll(b.folder)
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench/webhooks:", err)
	os.Exit(1)
}

// prepare builds the program and puts everybody on their cores.
func (b *bench) prepare() (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.folder, err = os.MkdirTemp("", "parley-hooks"); err != nil {
		return err
	}
	b.binary = filepath.Join(b.folder, "parley")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", b.binary, "./cmd/parley")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	if !b.pinned {
		return nil
	}
	for core, pattern := range []string{"postgres", ""} {
		pids := strconv.Itoa(os.Getpid())
		if pattern != "" {
			list, _ := exec.Command("pgrep", pattern).Output()
			pids = strings.TrimSpace(string(list))
		}
		for _, pid := range strings.Fields(pids) {
			exec.Command("taskset", "-acp", strconv.Itoa(core), pid).Run()
		}
	}
	return nil
}

// say prints a figure and keeps it. A bar may be "".
func (b *bench) say(engine, name string, value float64, unit, bar string, met bool) {
	f := figure{Name: name, Engine: engine, Value: value, Unit: unit, Bar: bar}
	verdict := ""
	if bar != "" {
		f.Met = &met
		verdict = bar + ": pass"
		if !met {
			verdict = bar + ": MISSED"
			b.missed = true
		}
	}
	b.figures = append(b.figures, f)
	fmt.Printf("%-9s %-58s %12.2f %-10s %s\n", engine, name, value, unit, verdict)
}

func median[T cmp.Ordered](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, len(list)*p/100)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
