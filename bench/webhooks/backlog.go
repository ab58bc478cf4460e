package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver
	_ "modernc.org/sqlite"             // registers the driver

	"github.com/parley-api/parley/bench/internal/load"
)

// A drain is timed for its first deliveries, as many of a million as of so many
// alone.
const (
	pending = 1_000_000
	timed   = 100_000
)

// backlog fills the table with a million deliveries, and looks at the restart,
// at the API while they wait, and at how fast they drain.
func (b *bench) backlog(engine string) error {
	if err := b.waiting(engine); err != nil {
		return err
	}
	quiet, drain, _, err := b.behind(engine, timed)
	if err != nil {
		return err
	}
	busy, drainFull, ready, err := b.behind(engine, pending)
	if err != nil {
		return err
	}
	b.say(engine, "restart with 1,000,000 pending deliveries", ready.Seconds(), "s", "≤ 5 s", ready <= 5*time.Second)
	b.say(engine, "GET while 100,000 drain, p99", ms(quiet), "ms", "", true)
	b.say(engine, "GET while 1,000,000 drain, p99", ms(busy), "ms", "", true)
	ratio := float64(busy) / float64(quiet)
	b.say(engine, "GET while 1,000,000 drain, of p99 while few do", ratio, "×", "≤ 2 ×", ratio <= 2)
	b.say(engine, "drain of 100,000", drain, "/s", "", true)
	b.say(engine, "drain of the first 100,000 of 1,000,000", drainFull, "/s", "", true)
	b.say(engine, "drain of 1,000,000, of the rate of 100,000", drainFull/drain, "×", "≥ 0.8 ×", drainFull/drain >= 0.8)
	return nil
}

// waiting compares the API with no delivery in the table and with a million
// that wait for their next attempt.
func (b *bench) waiting(engine string) error {
	var reads, writes [2]time.Duration
	for i, n := range []int{0, pending} {
		s, to, err := b.prepared(engine, n, time.Hour)
		if err != nil {
			return err
		}
		if _, err := s.start(); err != nil {
			return err
		}
		request := func(method, path, body string) func([]byte, *rand.Rand) []byte {
			return func(dst []byte, _ *rand.Rand) []byte {
				time.Sleep(2 * time.Millisecond)
				return fmt.Appendf(dst, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
					method, path, s.addr, key, len(body), body)
			}
		}
		read, err := load.Run(context.Background(), s.addr, load.Plan{Conns: 4, Warm: time.Second, Measure: 5 * time.Second, Status: 200, Request: request("GET", "/tasks/1", "")})
		if err != nil {
			return err
		}
		write, err := load.Run(context.Background(), s.addr, load.Plan{Conns: 4, Measure: 5 * time.Second, Status: 201, Request: request("POST", "/tasks", `{"title":"x"}`)})
		if err != nil {
			return err
		}
		reads[i], writes[i] = read.P99, write.P99
		s.kill()
		to.close()
	}
	for _, f := range []struct {
		name string
		p99  [2]time.Duration
	}{{"GET", reads}, {"POST", writes}} {
		ratio := float64(f.p99[1]) / float64(f.p99[0])
		b.say(engine, f.name+" without pending deliveries, p99", ms(f.p99[0]), "ms", "", true)
		b.say(engine, f.name+" with 1,000,000 that wait, p99", ms(f.p99[1]), "ms", "", true)
		b.say(engine, f.name+" with 1,000,000 that wait, of p99 without", ratio, "×", "≤ 2 ×", ratio <= 2)
	}
	return nil
}

// prepared makes a service that does not run, with a task, 100 endpoints and n
// deliveries to them that are due after a while.
func (b *bench) prepared(engine string, n int, due time.Duration) (*service, *sink, error) {
	s, to, err := b.begin(engine)
	if err != nil {
		return nil, nil, err
	}
	for i := range 100 {
		if _, err := s.endpoint(fmt.Sprintf("http://%s/ok/%d", to.addr, i), typ); err != nil {
			return nil, nil, err
		}
	}
	if _, err := s.send("POST", "/tasks", `{"title":"to be read"}`); err != nil {
		return nil, nil, err
	}
	s.kill()
	to.reset()
	return s, to, b.fill(s, n, due)
}

// behind makes a service with n deliveries due to 100 endpoints, and measures
// the drain and the API beside it.
func (b *bench) behind(engine string, n int) (p99 time.Duration, drain float64, ready time.Duration, err error) {
	s, to, err := b.prepared(engine, n, 0)
	if err != nil {
		return 0, 0, 0, err
	}
	defer to.close()
	if ready, err = s.start(); err != nil {
		return 0, 0, 0, err
	}
	defer s.kill()
	began := time.Now()
	// While the backlog drains, the API is asked gently.
	asked := make(chan error, 1)
	go func() {
		result, err := load.Run(context.Background(), s.addr, load.Plan{Conns: 1, Measure: 2 * time.Second, Status: 200,
			Request: func(dst []byte, _ *rand.Rand) []byte {
				time.Sleep(2 * time.Millisecond)
				return fmt.Appendf(dst, "GET /tasks/1 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", s.addr, key)
			}})
		p99 = result.P99
		asked <- err
	}()
	want := int64(timed)
	last, ok := to.await(want, 3*time.Minute)
	if err := <-asked; err != nil {
		return 0, 0, 0, err
	}
	if !ok {
		return 0, 0, 0, fmt.Errorf("%d of %d arrived", to.total.Load(), want)
	}
	return p99, float64(want) / last.Sub(began).Seconds(), ready, nil
}

// fill writes events and deliveries straight into the tables, while the
// service is down.
func (b *bench) fill(s *service, n int, due time.Duration) error {
	if n == 0 {
		return nil
	}
	driver, dsn := "pgx", s.dsn
	if s.dsn == "" {
		driver, dsn = "sqlite", filepath.Join(s.data, "parley.db")
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	events := n / 100
	var seq, at int64
	if err := db.QueryRow("SELECT seq, at FROM clock").Scan(&seq, &at); err != nil {
		return err
	}
	series := fmt.Sprintf("WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) ", events)
	endpoints := "WITH RECURSIVE e (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e WHERE n < 100) "
	for _, text := range []string{
		series + fmt.Sprintf(`INSERT INTO event (account, seq, type, at, resource, subject, rev, created, updated, version, doc)
			SELECT 1, %d + n, 'load.made', %d, '', 0, 0, 0, 0, '2026-11-01', '%s' FROM s`, seq, at, data(0)),
		endpoints + fmt.Sprintf(`INSERT INTO delivery (endpoint, seq, account, version, state, tries, spent, born, due, fence, done, reason, attempts)
			SELECT e.n, v.seq, 1, '2026-11-01', 0, 0, 0, %d, %d, 0, 0, '', '' FROM e CROSS JOIN event AS v WHERE v.type = 'load.made'`, at, at+due.Microseconds()),
		fmt.Sprintf("UPDATE clock SET seq = seq + %d", events),
	} {
		if _, err := db.Exec(text); err != nil {
			return err
		}
	}
	if s.dsn != "" {
		_, err = db.Exec("ANALYZE")
	}
	return err
}
