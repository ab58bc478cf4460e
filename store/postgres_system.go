package store

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley/event"
)

// applyEvents queues the group's events.
func applyEvents(g *group, b *pgx.Batch) {
	if len(g.events) == 0 {
		return
	}
	ints := func(f func(*event.Event) int64) []int64 {
		out := make([]int64, len(g.events))
		for i := range g.events {
			out[i] = f(&g.events[i])
		}
		return out
	}
	texts := func(f func(*event.Event) string) []string {
		out := make([]string, len(g.events))
		for i := range g.events {
			out[i] = f(&g.events[i])
		}
		return out
	}
	docs := make([][]byte, len(g.events))
	for i := range g.events {
		docs[i] = present(g.events[i].Doc)
	}
	b.Queue("INSERT INTO event (account, seq, type, at, resource, subject, rev, created, updated, version, doc) SELECT * FROM unnest("+
		arrays(strings.Fields("bigint bigint text bigint text bigint bigint bigint bigint text text"))+")",
		ints(func(v *event.Event) int64 { return v.Account }), ints(func(v *event.Event) int64 { return v.Seq }),
		texts(func(v *event.Event) string { return v.Type }), ints(func(v *event.Event) int64 { return v.At }),
		texts(func(v *event.Event) string { return v.Resource }), ints(func(v *event.Event) int64 { return v.Subject }),
		ints(func(v *event.Event) int64 { return v.Rev }), ints(func(v *event.Event) int64 { return v.Created }),
		ints(func(v *event.Event) int64 { return v.Updated }), texts(func(v *event.Event) string { return v.Version }), docs)
	for _, i := range g.ahead {
		v := &g.events[i]
		b.Queue("INSERT INTO ahead (account, seq, at) VALUES ($1, $2, $3)", v.Account, v.Seq, v.At)
	}
}

// applyReplays queues the group's replay records. A key is in a group once.
func applyReplays(g *group, b *pgx.Batch) {
	n := len(g.keep)
	if n == 0 {
		return
	}
	accounts, created := make([]int64, n), make([]int64, n)
	keys, prints, answers := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i := range g.keep {
		k := &g.keep[i]
		accounts[i], created[i] = k.account, k.Created
		keys[i], prints[i], answers[i] = []byte(k.key), k.Print[:], present(k.Answer)
	}
	b.Queue(`INSERT INTO replay (account, key, print, answer, created)
		SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[])
		ON CONFLICT (account, key) DO UPDATE SET print = excluded.print, answer = excluded.answer, created = excluded.created`,
		accounts, keys, prints, answers, created)
}

// present makes an absent document an empty one, which is not NULL.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// applyDeliveries queues the deliveries of the group's events.
func applyDeliveries(g *group, b *pgx.Batch) {
	if len(g.deliveries) == 0 {
		return
	}
	b.Queue(deliveriesSQL, deliveryArrays(g.deliveries)...)
	for _, c := range g.cursors {
		b.Queue(cursorSQL, c.seq, c.account, c.after, c.at)
	}
}
