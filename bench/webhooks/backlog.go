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

const pending = 1_000_000

// backlog fills the table with a million deliveries that are due, and looks at
// the restart, at the API beside it, and at how fast it drains.
func (b *bench) backlog(engine string) error {
	quiet, drain, _, err := b.behind(engine, 20_000)
	if err != nil {
		return err
	}
	busy, drainFull, ready, err := b.behind(engine, pending)
	if err != nil {
		return err
	}
	b.say(engine, "restart with 1,000,000 pending deliveries", ready.Seconds(), "s", "≤ 5 s", ready <= 5*time.Second)
	b.say(engine, "GET beside 20,000 pending, p99", ms(quiet), "ms", "", true)
	b.say(engine, "GET beside 1,000,000 pending, p99", ms(busy), "ms", "", true)
	ratio := float64(busy) / float64(quiet)
	b.say(engine, "GET beside 1,000,000 pending, of p99 beside few", ratio, "×", "≤ 2 ×", ratio <= 2)
	b.say(engine, "drain of 20,000", drain, "/s", "", true)
	b.say(engine, "drain of the first 100,000 of 1,000,000", drainFull, "/s", "", true)
	b.say(engine, "drain of 1,000,000, of the rate of 20,000", drainFull/drain, "×", "≥ 0.8 ×", drainFull/drain >= 0.8)
	return nil
}

// behind makes a service with n deliveries due to 100 endpoints. While those
// refuse it measures the API; then they accept, and it measures the drain.
func (b *bench) behind(engine string, n int) (p99 time.Duration, drain float64, ready time.Duration, err error) {
	s, to, err := b.begin(engine, "--retry-schedule", "0s,1s,1s,1s,1s,1s,1s,1s,1s,1s")
	if err != nil {
		return 0, 0, 0, err
	}
	defer to.server.Close()
	for i := range 100 {
		if _, err := s.endpoint(fmt.Sprintf("http://%s/ok/%d", to.addr, i)); err != nil {
			return 0, 0, 0, err
		}
	}
	if _, err := s.send("POST", "/tasks", `{"title":"to be read"}`); err != nil {
		return 0, 0, 0, err
	}
	s.kill()
	if err := b.fill(s, n); err != nil {
		return 0, 0, 0, err
	}
	to.reset()
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
	want := int64(min(n, 100_000))
	last, ok := to.await(want, 3*time.Minute)
	if err := <-asked; err != nil {
		return 0, 0, 0, err
	}
	if !ok {
		return 0, 0, 0, fmt.Errorf("%d of %d arrived", to.total.Load(), want)
	}
	return p99, float64(want) / last.Sub(began).Seconds(), ready, nil
}

// fill writes events and due deliveries straight into the tables, while the
// service is down.
func (b *bench) fill(s *service, n int) error {
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
			SELECT e.n, v.seq, 1, '2026-11-01', 0, 0, 0, %d, %d, 0, 0, '', '' FROM e CROSS JOIN event AS v WHERE v.type = 'load.made'`, at, at),
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
