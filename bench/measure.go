package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/parley-api/parley/bench/internal/load"
)

// A figure is what was measured of one operation of one contender. Its own
// numbers are medians.
type figure struct {
	contender *contender
	operation operation

	Name      string   `json:"name"`
	Operation string   `json:"operation"`
	Rate      float64  `json:"requests_per_second"`
	P50       float64  `json:"p50_ms"`
	P99       float64  `json:"p99_ms"`
	CPU       float64  `json:"cpu_us_per_request"`
	Database  float64  `json:"database_cpu_us_per_request,omitempty"` // of PostgreSQL's processes
	Server    float64  `json:"server_core_busy"`                      // 0 to 1, with the database: where nothing waits for a disk, less than 1 was taken by others
	Load      float64  `json:"load_core_busy"`                        // 0 to 1: near 1 the load is what is measured
	Rounds    []sample `json:"rounds"`
}

// A sample is a figure of one round.
type sample struct {
	Rate     float64 `json:"requests_per_second"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Max      float64 `json:"max_ms"`
	CPU      float64 `json:"cpu_us_per_request"`
	Database float64 `json:"database_cpu_us_per_request,omitempty"`
	Server   float64 `json:"server_core_busy"`
	Load     float64 `json:"load_core_busy"`
	Requests int     `json:"requests"`
}

// measure goes round and round over everything, so that what disturbs the
// machine for a while disturbs all alike.
func (b *bench) measure(ctx context.Context) error {
	for _, o := range operations {
		for _, c := range b.contenders {
			if slices.Contains(c.operations, o) {
				b.figures = append(b.figures, &figure{contender: c, operation: o, Name: c.name, Operation: o.name})
			}
		}
	}
	for round := range b.rounds {
		for i, f := range b.figures {
			fmt.Fprintf(b.progress, "round %d of %d, %2d of %d: %-16s %-15s ", round+1, b.rounds, i+1, len(b.figures), f.Operation, f.Name)
			s, err := b.sample(ctx, f)
			if err != nil {
				b.say("")
				text, _ := os.ReadFile(filepath.Join(b.dir, f.Name+".err"))
				return fmt.Errorf("%s %s: %w\n%s", f.Operation, f.Name, err, text)
			}
			b.say("%8.0f/s  p99 %.2f ms", s.Rate, s.P99)
			f.Rounds = append(f.Rounds, s)
		}
	}
	for _, f := range b.figures {
		f.settle()
	}
	return nil
}

// settle takes the medians.
func (f *figure) settle() {
	median := func(value func(*sample) float64) float64 {
		var all []float64
		for i := range f.Rounds {
			all = append(all, value(&f.Rounds[i]))
		}
		slices.Sort(all)
		n := len(all)
		return (all[(n-1)/2] + all[n/2]) / 2
	}
	f.Rate = median(func(s *sample) float64 { return s.Rate })
	f.P50 = median(func(s *sample) float64 { return s.P50 })
	f.P99 = median(func(s *sample) float64 { return s.P99 })
	f.CPU = median(func(s *sample) float64 { return s.CPU })
	f.Database = median(func(s *sample) float64 { return s.Database })
	f.Server = median(func(s *sample) float64 { return s.Server })
	f.Load = median(func(s *sample) float64 { return s.Load })
}

// used is the CPU time of server, database and load.
type used struct{ server, database, load time.Duration }

func (b *bench) used(c *contender) used {
	u := used{server: cpuOf(c.cmd.Process.Pid), load: cpuOf(os.Getpid())}
	if c.engine == "postgres" {
		u.database = b.postgres.cpu()
	}
	return u
}

func (b *bench) sample(ctx context.Context, f *figure) (sample, error) {
	c, o := f.contender, f.operation
	if c.ready.Logs {
		if err := os.Truncate(c.log, 0); err != nil {
			return sample{}, err
		}
	}
	pid := c.cmd.Process.Pid
	if err := resume(pid); err != nil {
		return sample{}, err
	}
	defer pause(pid)
	var before, after used
	r, err := load.Run(ctx, c.ready.Addr, load.Plan{
		Conns: cmp.Or(o.conns, b.conns), Warm: seconds(b.warm), Measure: seconds(b.seconds), Status: o.status(&c.ready),
		Request: o.requests(&c.ready, b.tasks),
		Begin:   func() { before = b.used(c) },
		End:     func() { after = b.used(c) },
	})
	if err != nil {
		return sample{}, err
	}
	if err := b.logged(c, r.All); err != nil {
		return sample{}, err
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(max(r.Requests, 1)) }
	return sample{
		Rate: r.Rate(), P50: milli(r.P50), P99: milli(r.P99), Max: milli(r.Max), Requests: r.Requests,
		CPU: each(after.server - before.server), Database: each(after.database - before.database),
		Server: float64(after.server-before.server+after.database-before.database) / float64(r.Elapsed),
		Load:   float64(after.load-before.load) / float64(r.Elapsed),
	}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
func milli(d time.Duration) float64   { return float64(d.Nanoseconds()) / 1e6 }

// logged checks that a server that says it logs has written a line for each
// request, but for those that it may be about to write.
func (b *bench) logged(c *contender, requests int) error {
	if !c.ready.Logs {
		return nil
	}
	f, err := os.Open(c.log)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := 0
	for buf := make([]byte, 1<<20); ; {
		n, err := f.Read(buf)
		lines += bytes.Count(buf[:n], []byte{'\n'})
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if lines < requests-b.conns {
		return fmt.Errorf("answered %d requests and logged %d", requests, lines)
	}
	return nil
}
