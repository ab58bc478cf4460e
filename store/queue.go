package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parley-api/parley/event"
)

// A Queue is the deliveries of a store as the dispatcher sees them. Its claims
// have one name, the fence.
type Queue struct {
	store *Store
	fence int64
}

// Queue returns the queue for a dispatcher whose claims have this fence, which
// is not 0 and which no other process uses.
func (s *Store) Queue(fence int64) *Queue { return &Queue{s, fence} }

// claimSQL selects apart from the update, so that it is done once and no more
// rows are locked than are claimed.
const (
	claimSQL = `WITH c AS (SELECT seq FROM delivery WHERE endpoint = $1 AND state < 2 AND due <= $2 ORDER BY due, seq LIMIT $3)
		UPDATE delivery SET fence = $4, due = $5 WHERE endpoint = $1 AND seq IN (SELECT seq FROM c) RETURNING ` + claimColumns
	claimsSQL = `WITH c AS (SELECT w.endpoint, n.seq FROM unnest($1::bigint[]) AS w (endpoint) CROSS JOIN LATERAL
		(SELECT d.seq FROM delivery AS d WHERE d.endpoint = w.endpoint AND d.state < 2 AND d.due <= $2 ORDER BY d.due, d.seq LIMIT $3 FOR UPDATE SKIP LOCKED) AS n)
		UPDATE delivery AS d SET fence = $4, due = $5 FROM c WHERE d.endpoint = c.endpoint AND d.seq = c.seq
		RETURNING d.endpoint, d.seq, d.account, d.version, d.state, d.tries, d.spent, d.born, d.due, d.fence`
)

// Claim leases deliveries that are due, with their events: of each endpoint up
// to so many as are wanted, those that became due first, in order of their
// events. It never gives what another has claimed and whose lease has not
// ended.
func (q *Queue) Claim(ctx context.Context, wants []event.Want, lease time.Duration) ([]event.Delivery, error) {
	s := q.store
	var list []event.Delivery
	err := s.chore(ctx, func(db session) error {
		list = list[:0]
		now := s.now()
		take := func(c cursor) { list = append(list, scanClaim(c)) }
		if err := claim(db, wants, now, q.fence, now+lease.Microseconds(), take); err != nil || len(list) == 0 {
			return err
		}
		slices.SortFunc(list, func(a, b event.Delivery) int {
			return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Seq, b.Seq))
		})
		return attach(db, list)
	})
	return list, err
}

// claim selects and marks. PostgreSQL is asked once for all endpoints of which
// the same number is wanted.
func claim(db session, wants []event.Want, now, fence, until int64, take func(cursor)) error {
	if !isPostgres(db) {
		for _, w := range wants {
			if err := db.query(claimSQL, []any{w.Endpoint, now, int64(w.N), fence, until}, take); err != nil {
				return err
			}
		}
		return nil
	}
	groups := make(map[int][]int64, 1)
	for _, w := range wants {
		groups[w.N] = append(groups[w.N], w.Endpoint)
	}
	for _, n := range slices.Sorted(maps.Keys(groups)) {
		if err := db.query(claimsSQL, []any{groups[n], now, int64(n), fence, until}, take); err != nil {
			return err
		}
	}
	return nil
}

// attach gives deliveries their events, each of which is read once.
func attach(db session, list []event.Delivery) error {
	type key struct{ account, seq int64 }
	found := make(map[key]*event.Event, len(list))
	seqs := make(map[int64][]int64) // by account
	for i := range list {
		k := key{list[i].Account, list[i].Seq}
		if _, is := found[k]; !is {
			found[k] = nil
			seqs[k.account] = append(seqs[k.account], k.seq)
		}
	}
	for account, some := range seqs {
		read := func(c cursor) {
			e := scanEvent(c, account)
			found[key{account, e.Seq}] = &e
		}
		if err := readEvents(db, account, some, read); err != nil {
			return err
		}
	}
	for i := range list {
		list[i].Event = found[key{list[i].Account, list[i].Seq}]
	}
	return nil
}

func readEvents(db session, account int64, seqs []int64, read func(cursor)) error {
	if isPostgres(db) {
		return db.query(eventSQL+" WHERE account = $1 AND seq = ANY($2::bigint[])", []any{account, seqs}, read)
	}
	for _, seq := range seqs {
		if err := db.query(eventSQL+" WHERE account = $1 AND seq = $2", []any{account, seq}, read); err != nil {
			return err
		}
	}
	return nil
}

// eachEndpoint walks from endpoint to endpoint that has open deliveries,
// without reading what lies between: as e, which ends with a NULL.
const eachEndpoint = `WITH RECURSIVE e (endpoint) AS (
	SELECT min(endpoint) FROM delivery WHERE state < 2{after}
	UNION ALL
	SELECT (SELECT min(d.endpoint) FROM delivery AS d WHERE d.state < 2 AND d.endpoint > e.endpoint) FROM e WHERE e.endpoint IS NOT NULL{slice}
) `

// On PostgreSQL an order that one index has keeps it from another, in which it
// would walk past all that is not open. It makes no more rows of e than are
// fetched, so that the limit can stand outside.
const postgresEachEndpoint = `WITH RECURSIVE e AS (
	(SELECT endpoint, due FROM delivery WHERE state < 2{after} ORDER BY endpoint, due LIMIT 1)
	UNION ALL
	SELECT n.endpoint, n.due FROM e CROSS JOIN LATERAL
	(SELECT d.endpoint, d.due FROM delivery AS d WHERE d.state < 2 AND d.endpoint > e.endpoint ORDER BY d.endpoint, d.due LIMIT 1) AS n
) `

var (
	unsliced = strings.NewReplacer("{after}", "", "{slice}", "")
	sliced   = strings.NewReplacer("{after}", " AND endpoint > $1", "{slice}", " LIMIT $2")

	endpointsSQL         = unsliced.Replace(eachEndpoint)
	postgresEndpointsSQL = unsliced.Replace(postgresEachEndpoint)
	dueSQL               = sliced.Replace(eachEndpoint) + "SELECT e.endpoint, (SELECT min(d.due) FROM delivery AS d WHERE d.state < 2 AND d.endpoint = e.endpoint) FROM e WHERE e.endpoint IS NOT NULL"
	postgresDueSQL       = sliced.Replace(postgresEachEndpoint) + "SELECT endpoint, due FROM e LIMIT $2"
)

// A sweep looks at so many endpoints in one go, and then lets others have the
// database and the processor. It does not just yield: to a goroutine that is
// always ready to run, the Go scheduler prefers no network.
const (
	dueSlice = 128
	dueRest  = time.Millisecond
)

// Due returns the endpoints that have a delivery which is due and not claimed,
// or whose claim has ended, and when the next of the others is due.
func (q *Queue) Due(ctx context.Context) (endpoints []int64, next time.Time, err error) {
	s := q.store
	sql := dueSQL
	if _, ok := s.engine.(*postgresEngine); ok {
		sql = postgresDueSQL
	}
	now, soonest := s.now(), event.Parked
	for after, n := int64(0), dueSlice; n == dueSlice && err == nil; {
		if after != 0 {
			time.Sleep(dueRest)
		}
		n = 0
		err = s.read(ctx, sql, []any{after, int64(dueSlice)}, func(c cursor) {
			n++
			after = c.int(0)
			if due := c.int(1); due <= now {
				endpoints = append(endpoints, after)
			} else {
				soonest = min(soonest, due)
			}
		})
	}
	if soonest < event.Parked {
		next = time.UnixMicro(soonest)
	}
	return endpoints, next, err
}

// Settle writes down what became of claimed deliveries. An outcome whose fence
// is not the row's, or is 0, is ignored, and so is one of another account. An
// Outcome's Disable is the caller's to
// act on.
func (q *Queue) Settle(ctx context.Context, outcomes []event.Outcome) error {
	s := q.store
	if len(outcomes) == 0 {
		return nil
	}
	err := s.work(ctx, func(db session) error { return settleOutcomes(db, outcomes, s.now()) })
	if err == nil {
		s.health.note(outcomes)
	}
	return err
}

// A settlement is an outcome as the columns it sets.
type settlement struct {
	account, seq, endpoint         int64
	fence, state, tries, due, done int64
	reason, attempt                string
}

func settlementOf(o *event.Outcome, now int64) settlement {
	t := settlement{account: o.Account, seq: o.Seq, endpoint: o.Endpoint, fence: o.Fence, state: int64(o.State), due: o.Due, reason: o.Reason}
	if !storable(t.reason) { // one that no column takes would keep the others from being written
		t.reason = strings.ToValidUTF8(strings.ReplaceAll(t.reason, "\x00", "\uFFFD"), "\uFFFD")
	}
	if o.State == event.Delivered || o.State == event.Dead {
		t.done, t.due = now, 0
	}
	if o.Attempt != nil {
		t.tries = 1
		t.attempt = string(append(o.Attempt.AppendJSON(make([]byte, 0, 256)), ','))
	}
	return t
}

func settleOutcomes(db session, outcomes []event.Outcome, now int64) error {
	list := make([]settlement, 0, len(outcomes))
	for i := range outcomes {
		if outcomes[i].Fence != 0 {
			list = append(list, settlementOf(&outcomes[i], now))
		}
	}
	if isPostgres(db) {
		ints := func(f func(settlement) int64) []int64 { return pick(list, f) }
		_, err := db.run(`UPDATE delivery AS d SET state = u.state, tries = d.tries + u.tries, spent = d.spent + u.tries, due = u.due, fence = 0,
			done = u.done, reason = u.reason, attempts = d.attempts || u.attempt
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[])
			AS u (account, seq, endpoint, fence, state, tries, due, done, reason, attempt)
			WHERE d.account = u.account AND d.seq = u.seq AND d.endpoint = u.endpoint AND d.fence = u.fence`,
			ints(func(t settlement) int64 { return t.account }), ints(func(t settlement) int64 { return t.seq }),
			ints(func(t settlement) int64 { return t.endpoint }),
			ints(func(t settlement) int64 { return t.fence }), ints(func(t settlement) int64 { return t.state }),
			ints(func(t settlement) int64 { return t.tries }), ints(func(t settlement) int64 { return t.due }),
			ints(func(t settlement) int64 { return t.done }), pick(list, func(t settlement) string { return t.reason }),
			pick(list, func(t settlement) string { return t.attempt }))
		return err
	}
	for i := range list {
		t := &list[i]
		_, err := db.run(`UPDATE delivery SET state = $1, tries = tries + $2, spent = spent + $2, due = $3, fence = 0, done = $4, reason = $5,
			attempts = attempts || $6 WHERE account = $7 AND seq = $8 AND endpoint = $9 AND fence = $10`,
			t.state, t.tries, t.due, t.done, t.reason, t.attempt, t.account, t.seq, t.endpoint, t.fence)
		if err != nil {
			return err
		}
	}
	return nil
}

// Extend keeps the claims on deliveries that are still being sent: each ends a
// lease from now. Those that are no longer the queue's are left alone.
func (q *Queue) Extend(ctx context.Context, held []event.Delivery, lease time.Duration) error {
	s := q.store
	if len(held) == 0 {
		return nil
	}
	return s.chore(ctx, func(db session) error {
		until := s.now() + lease.Microseconds()
		if isPostgres(db) {
			_, err := db.run(`UPDATE delivery AS d SET due = $1 FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS u (account, seq, endpoint)
				WHERE d.account = u.account AND d.seq = u.seq AND d.endpoint = u.endpoint AND d.fence = $5`, until, pick(held, func(d event.Delivery) int64 { return d.Account }),
				pick(held, func(d event.Delivery) int64 { return d.Seq }), pick(held, func(d event.Delivery) int64 { return d.Endpoint }), q.fence)
			return err
		}
		for i := range held {
			_, err := db.run("UPDATE delivery SET due = $1 WHERE account = $2 AND seq = $3 AND endpoint = $4 AND fence = $5", until,
				held[i].Account, held[i].Seq, held[i].Endpoint, q.fence)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Orphans frees what a process that is gone had claimed. It is for a database
// that one process has to itself; on others claims run out.
func (q *Queue) Orphans(ctx context.Context) error {
	s := q.store
	if _, shared := s.engine.(*postgresEngine); shared {
		return nil
	}
	var list []deliveryKey
	// What has run out can be claimed as it is.
	err := s.read(ctx, orphanSQL, []any{s.now(), event.Parked, q.fence}, func(c cursor) { list = append(list, deliveryKey{c.int(0), c.int(1), c.int(2)}) })
	if err != nil {
		return err
	}
	for part := range slices.Chunk(list, parkSlice) {
		err := s.work(ctx, func(db session) error {
			now := s.now()
			for _, k := range part {
				if _, err := db.run("UPDATE delivery SET fence = 0, due = $1 WHERE endpoint = $2 AND seq = $3 AND fence = $4", now, k.endpoint, k.seq, k.fence); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var orphanSQL = endpointsSQL + `SELECT d.endpoint, d.seq, d.fence FROM e CROSS JOIN delivery AS d
	WHERE d.endpoint = e.endpoint AND d.state < 2 AND d.due > $1 AND d.due < $2 AND d.fence <> 0 AND d.fence <> $3`

// A deliveryKey names a delivery, and who had claimed it.
type deliveryKey struct{ endpoint, seq, fence int64 }
