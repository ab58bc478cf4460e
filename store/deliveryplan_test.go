package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/event"
)

// A question is a statement about deliveries with the indexes that may answer
// it.
type question struct {
	why     string
	own     bool // asked in a transaction of the store's own work, not by a reader
	sql     string
	args    []any
	indexes []string
}

func questions(s *Store, db session) []question {
	ask := func(why string, q DeliveryQuery, indexes ...string) question {
		q.Account = 1
		b := q.text()
		return question{why, false, s.hinted(string(b.text)), b.args, indexes}
	}
	due, endpoints := dueSQL, endpointsSQL
	claim, claimed := claimSQL, any(int64(7))
	if isPostgres(db) {
		due, endpoints = postgresDueSQL, postgresEndpointsSQL
		claim, claimed = claimsSQL, "'{7,8}'"
	}
	dead, pending := event.Dead, event.Pending
	after := &Position{Key: 5000, ID: 20}
	const primary, endpoint = "delivery_pkey", "delivery_endpoint"
	return []question{
		{"a claim does not slow down with the backlog", true, claim, []any{claimed, int64(9000), int64(100), int64(3), int64(9999)}, []string{"delivery_due", endpoint}},
		{"a sweep looks at endpoints, not at deliveries", false, due, []any{int64(3), int64(dueSlice)}, []string{"delivery_due"}},
		{"a recovery looks at dead letters", true, s.hinted(recoverSQL), []any{int64(1), int64(7), int64(10), int64(10), int64(100)}, []string{"delivery_dead", endpoint, "tick"}},
		{"a dry run too", false, s.hinted(recoverableSQL), []any{int64(7), int64(10)}, []string{"delivery_dead", "tick"}},
		{"parking", true, parkSQL, []any{event.Parked, int64(7), int64(100)}, []string{"delivery_due", endpoint}},
		{"a burial", true, burySQL, []any{int64(1), "'x'", int64(7), event.Parked, int64(100)}, []string{"delivery_due", endpoint}},
		{"who has parked ones", false, endpoints + lastParked, []any{event.Parked}, []string{"delivery_due"}},
		{"what waits for an endpoint", false, waitingSQL, []any{int64(7), event.Parked}, []string{"delivery_due"}},
		{"unparking", true, parkedSQL, []any{int64(7), event.Parked, int64(100)}, []string{"delivery_due"}},
		{"retention of deliveries", false, oldDeliveriesSQL, []any{int64(1), int64(50), int64(3), int64(9000), int64(100)}, []string{primary}},
		{"retention of events", false, oldEventsSQL, []any{int64(1), int64(50), int64(9000), int64(100)}, []string{"event", primary, "fanout"}},
		ask("the list", DeliveryQuery{After: after}, primary),
		ask("the list, back", DeliveryQuery{After: after, Desc: true, Mark: 9000}, primary),
		ask("by state", DeliveryQuery{State: &pending}, "delivery_state"),
		ask("by state, in the middle", DeliveryQuery{State: &dead, After: after, Desc: true}, "delivery_state"),
		ask("by endpoint", DeliveryQuery{Endpoint: 7, After: after}, endpoint),
		ask("by endpoint, back", DeliveryQuery{Endpoint: 7, After: after, Desc: true, Mark: 9000}, endpoint),
		ask("dead letters of an endpoint", DeliveryQuery{Endpoint: 7, State: &dead, After: after}, "delivery_dead", endpoint),
		ask("by event", DeliveryQuery{Event: 5000}, primary),
		ask("by event and endpoint", DeliveryQuery{Event: 5000, Endpoint: 7}, "delivery_"),
	}
}

// fillDeliveries writes deliveries in every state: endpoints times events, of
// account 1.
func fillDeliveries(t testing.TB, s *Store, endpoints, events int) {
	t.Helper()
	series := "WITH RECURSIVE e (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e WHERE n < %d), v (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM v WHERE n < %d) "
	err := s.engine.alone(t.Context(), func(db session) error {
		if isPostgres(db) {
			series = "WITH e (n) AS (SELECT generate_series(1, %d)), v (n) AS (SELECT generate_series(1, %d)) "
		}
		err := db.script(fmt.Sprintf(series, 1, events) + `INSERT INTO event (account, seq, type, at, resource, subject, rev, created, updated, version, doc)
			SELECT 1, v.n, 'a.b', v.n, '', 0, 0, 0, 0, '', '{}' FROM v`)
		if err != nil {
			return err
		}
		return db.script(fmt.Sprintf(series, endpoints, events) + `INSERT INTO delivery (endpoint, seq, account, version, state, tries, spent, born, due, fence, done, reason, attempts)
			SELECT e.n, v.n, 1, 'v1', CASE WHEN (e.n + v.n) % 10 < 6 THEN 2 WHEN (e.n + v.n) % 10 < 8 THEN 0 WHEN (e.n + v.n) % 10 = 8 THEN 1 ELSE 3 END,
			0, 0, v.n, v.n, 0, 0, '', '' FROM v CROSS JOIN e`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.engine.(*postgresEngine); ok { // which gathers statistics by itself
		execute(t, s, "ANALYZE")
	}
}

// TestDeliveryPlans proves that what is asked of many deliveries is answered
// by an index.
func TestDeliveryPlans(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		s := opened(t, open)
		fillDeliveries(t, s, 100, 400)
		both := map[bool]func(func(session) error) error{
			false: func(f func(session) error) error { return s.engine.alone(t.Context(), f) },
			true:  func(f func(session) error) error { return s.work(t.Context(), f) },
		}
		for own, in := range both {
			err := in(func(db session) error {
				for _, q := range questions(s, db) {
					if q.own == own {
						q.check(t, db)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func (q *question) check(t *testing.T, db session) {
	t.Helper()
	plan, err := planOf(db, q)
	if err != nil {
		t.Errorf("%s: %v", q.sql, err)
		return
	}
	text := strings.Join(plan, "\n")
	for _, line := range plan {
		if reads(line) && !slices.ContainsFunc(q.indexes, func(name string) bool { return strings.Contains(line, name) }) {
			t.Errorf("%s:\n%s\n%s\nwant nothing but %v", q.why, q.sql, text, q.indexes)
			break
		}
	}
	if !strings.Contains(text, q.indexes[0]) || strings.Contains(text, "B-TREE FOR") || strings.Contains(text, "Sort Key: delivery") || q.own && strings.Contains(text, "Hash ") {
		t.Errorf("%s:\n%s\n%s\nwant %s, in its order", q.why, q.sql, text, q.indexes[0])
	}
}

// reads reports whether a line of a plan is about a stored table.
func reads(line string) bool {
	if strings.Contains(line, "Seq Scan on ") {
		return true
	}
	for _, text := range []string{"SCAN ", "SEARCH "} {
		if _, of, ok := strings.Cut(line, text); ok {
			name, _, _ := strings.Cut(of, " ")
			return !slices.Contains([]string{"c", "CONSTANT", "(subquery"}, name) && !(name == "e" && !strings.Contains(line, "USING"))
		}
	}
	return strings.Contains(line, "Index Scan") || strings.Contains(line, "Index Only Scan")
}

// planOf asks the database how it would answer, PostgreSQL as for a prepared
// statement. SQLite calls the index of a primary key PRIMARY KEY.
func planOf(db session, q *question) ([]string, error) {
	sql, args, column := "EXPLAIN QUERY PLAN "+q.sql, q.args, 3
	if isPostgres(db) {
		values := ""
		for i, a := range q.args {
			values += fmt.Sprintf("%s%v", []string{"(", ", "}[min(i, 1)], a)
		}
		if values != "" {
			values += ")"
		}
		if err := db.script("PREPARE question AS " + q.sql); err != nil {
			return nil, err
		}
		defer db.script("DEALLOCATE question")
		sql, args, column = "EXPLAIN EXECUTE question"+values, nil, 0
	}
	var plan []string
	err := db.query(sql, args, func(c cursor) {
		line := c.text(column)
		for _, name := range []string{"delivery", "event", "fanout", "tick"} {
			for _, alias := range []string{name, name[:1]} {
				if strings.Contains(line, " "+alias+" USING PRIMARY KEY") || strings.Contains(line, " "+alias+" USING INTEGER PRIMARY KEY") {
					line = strings.Replace(line, "PRIMARY KEY", name+"_pkey", 1)
				}
			}
		}
		plan = append(plan, line)
	})
	return plan, err
}
