// Package load asks an HTTP server as fast as it answers, over a fixed number
// of keep-alive connections, and measures how long each answer takes.
//
// It speaks HTTP/1.1 itself: the requests are bytes made in advance, and of an
// answer no more is read than its status and its length. What is measured is
// then the server and not its client.
package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Plan says what to ask and for how long.
type Plan struct {
	Conns   int           // connections; 0 means 64
	Warm    time.Duration // before anything is counted
	Measure time.Duration // while it is
	Status  int           // that every answer must have; 0 means 200

	// Request appends the bytes of the next request. It is called by many
	// goroutines, each with a random source of its own.
	Request func(dst []byte, r *rand.Rand) []byte

	// Begin and End are called when the counting begins and when it ends. Nil
	// means nothing.
	Begin, End func()
}

// A Result is what was measured.
type Result struct {
	Requests int           // answers that came while it was counted
	All      int           // answers in all, the warm-up included
	Elapsed  time.Duration // for how long it was counted
	P50, P99 time.Duration
	Max      time.Duration
}

// Rate returns the answers per second.
func (r Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Requests) / r.Elapsed.Seconds()
}

// The phases of a run.
const (
	warming int32 = iota
	counting
	over
)

// Run asks addr as the plan says. It fails where a connection fails or an
// answer has another status than the one expected: the error shows the first
// such answer.
func Run(ctx context.Context, addr string, p Plan) (Result, error) {
	if p.Conns == 0 {
		p.Conns = 64
	}
	if p.Status == 0 {
		p.Status = 200
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var phase atomic.Int32
	askers := make([]*asker, p.Conns)
	var wg sync.WaitGroup
	for i := range askers {
		c, err := net.DialTimeout("tcp", addr, 5*time.Second)
		if err != nil {
			cancel(err)
			break
		}
		a := &asker{plan: &p, conn: c, phase: &phase, random: rand.New(rand.NewPCG(uint64(i)+1, uint64(time.Now().UnixNano())))}
		askers[i] = a
		stop := context.AfterFunc(ctx, func() { c.Close() })
		wg.Go(func() {
			defer stop()
			defer c.Close()
			if err := a.run(); err != nil {
				cancel(err)
			}
		})
	}
	elapsed := p.direct(ctx, &phase)
	late := time.AfterFunc(patience, func() { cancel(errLate) })
	wg.Wait()
	late.Stop()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	return collect(askers, elapsed), nil
}

// direct moves the run through its phases and returns how long it counted.
func (p *Plan) direct(ctx context.Context, phase *atomic.Int32) time.Duration {
	defer phase.Store(over)
	if !wait(ctx, p.Warm) {
		return 0
	}
	if p.Begin != nil {
		p.Begin()
	}
	phase.Store(counting)
	start := time.Now()
	wait(ctx, p.Measure)
	phase.Store(over)
	elapsed := time.Since(start)
	if p.End != nil {
		p.End()
	}
	return elapsed
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func collect(askers []*asker, elapsed time.Duration) Result {
	r := Result{Elapsed: elapsed}
	var took []time.Duration
	for _, a := range askers {
		r.All += a.all
		took = append(took, a.took...)
	}
	r.Requests = len(took)
	if len(took) == 0 {
		return r
	}
	slices.Sort(took)
	r.P50, r.P99, r.Max = percentile(took, 50), percentile(took, 99), took[len(took)-1]
	return r
}

// percentile returns the smallest duration that at least n percent of the
// sorted ones do not exceed.
func percentile(sorted []time.Duration, n int) time.Duration {
	return sorted[max(0, (len(sorted)*n+99)/100-1)]
}

// An asker is one connection.
type asker struct {
	plan   *Plan
	conn   net.Conn
	phase  *atomic.Int32
	random *rand.Rand
	all    int
	took   []time.Duration
}

func (a *asker) run() error {
	request := make([]byte, 0, 1024)
	answers := reader{conn: a.conn, buf: make([]byte, 16<<10)}
	a.took = make([]time.Duration, 0, 1<<14)
	for {
		request = a.plan.Request(request[:0], a.random)
		start := time.Now()
		if _, err := a.conn.Write(request); err != nil {
			return fmt.Errorf("sending a request: %w", err)
		}
		status, err := answers.next()
		if err != nil {
			return fmt.Errorf("reading an answer: %w", err)
		}
		if status != a.plan.Status {
			return &StatusError{Status: status, Want: a.plan.Status, Request: string(request), Answer: string(answers.last())}
		}
		a.all++
		switch a.phase.Load() {
		case counting:
			a.took = append(a.took, time.Since(start))
		case over:
			return nil
		}
	}
}

// A StatusError is an answer with another status than the one expected.
type StatusError struct {
	Status, Want    int
	Request, Answer string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("an answer had status %d, not %d:\n%s\n\n%s", e.Status, e.Want, e.Request, e.Answer)
}

// patience is how long the last answers may take once the time is up.
const patience = 20 * time.Second

var (
	errAnswer = errors.New("the answer is not HTTP/1.1 with a Content-Length or in chunks")
	errLate   = fmt.Errorf("an answer did not come within %v", patience)
)
