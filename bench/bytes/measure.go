package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A figure is what an operation costs a contender.
type figure struct {
	contender *contender
	operation operation

	Name      string    `json:"name"`
	Operation string    `json:"operation"`
	CPU       float64   `json:"cpu_us_per_request"` // the median
	Rate      float64   `json:"requests_per_second"`
	CPUs      []float64 `json:"cpu_us_per_request_rounds"`
	Rates     []float64 `json:"requests_per_second_rounds"`
	Peak      int64     `json:"peak_rss_bytes"` // of the process, up to the end of the last round
}

// measure goes round and round over everything, so that what disturbs the
// machine for a while disturbs all alike.
func (b *bench) measure(ctx context.Context) error {
	for _, o := range actions {
		for _, c := range b.contenders {
			b.figures = append(b.figures, &figure{contender: c, operation: o, Name: c.name, Operation: o.name})
		}
	}
	for round := range b.rounds {
		for _, f := range b.figures {
			if err := b.sample(ctx, f); err != nil {
				return fmt.Errorf("%s of %s: %w", f.Operation, f.Name, err)
			}
			say("round %d of %d: %-14s %-9s %9.1f µs of CPU", round+1, b.rounds, f.Operation, f.Name, f.CPUs[round])
		}
	}
	for _, f := range b.figures {
		f.CPU, f.Rate = median(f.CPUs), median(f.Rates)
	}
	return nil
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// sample asks once for a warm-up, of a tenth, and once that counts.
func (b *bench) sample(ctx context.Context, f *figure) error {
	conns, requests := b.conns, b.requests
	if f.operation.ranges == 0 {
		conns, requests = 1, b.wholes
	}
	if _, err := b.load(ctx, f, conns, max(requests/10, conns)); err != nil {
		return err
	}
	before, err := cpuOf(f.contender.pid)
	if err != nil {
		return err
	}
	took, err := b.load(ctx, f, conns, requests)
	if err != nil {
		return err
	}
	after, err := cpuOf(f.contender.pid)
	if err != nil {
		return err
	}
	f.CPUs = append(f.CPUs, float64((after-before).Nanoseconds())/1e3/float64(requests))
	f.Rates = append(f.Rates, float64(requests)/took.Seconds())
	f.Peak, err = peakOf(f.contender.pid)
	return err
}

// load sends so many requests over connections and waits for their answers.
func (b *bench) load(ctx context.Context, f *figure, conns, requests int) (time.Duration, error) {
	clients := make([]*client, conns)
	for i := range clients {
		c, err := dial(f.contender.addr)
		if err != nil {
			return 0, err
		}
		defer c.conn.Close()
		defer context.AfterFunc(ctx, func() { c.conn.Close() })()
		clients[i] = c
	}
	errs := make([]error, conns)
	var wg sync.WaitGroup
	begun := time.Now()
	for i, c := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), uint64(requests)))
			var request []byte
			for n := i; n < requests && errs[i] == nil; n += conns {
				request, _ = f.operation.request(request[:0], f.contender, b.size, random)
				a, err := c.ask(request)
				if err == nil && a.status != f.operation.status() {
					err = fmt.Errorf("got status %d", a.status)
				}
				errs[i] = err
				if err == nil {
					errs[i] = c.discard(a)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begun), errors.Join(append(errs, ctx.Err())...)
}
