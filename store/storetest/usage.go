package storetest

import (
	"slices"
	"sync"

	"github.com/parley-api/parley/store"
)

func usageCases() []rule {
	return []rule{
		{"uses add up", "a ledger is written a few seconds at a time, by many requests", usesAdd},
		{"uses of another day", "how often something was used lately must not count what was long ago", usesSince},
		{"users in pages", "a version that everybody uses has more users than fit on a page", usersPaged},
		{"users that are bound", "who is pinned to a version breaks with it, seen or not", usersBound},
		{"users that were told", "nobody is told twice", usersTold},
		{"uses expire", "what is older than a year of notice is not kept", usesExpire},
	}
}

const aDay = 24 * 60 * 60 * 1_000_000

func use(account int64, operation string, count, first, last int64) store.Use {
	return store.Use{Account: account, Version: "v1", Operation: operation, Count: count, First: first, Last: last}
}

func add(b *bench, uses ...store.Use) {
	b.Helper()
	if err := b.S.AddUses(b.ctx, uses); err != nil {
		b.Fatalf("AddUses: %v", err)
	}
}

func usesAdd(b *bench) {
	add(b)
	add(b, use(7, "getTask", 2, start+5, start+9), use(7, "listTasks", 1, start, start))
	add(b, use(7, "getTask", 3, start+1, start+6))
	other := use(7, "getTask", 100, start, start)
	other.Version = "v2"
	add(b, other, use(8, "getTask", 1, start, start))
	want := []store.Use{use(7, "getTask", 5, start+1, start+9), use(7, "listTasks", 1, start, start)}
	b.Same("uses", must(b.S.Uses(b.ctx, "v1", 0, 7, 7))(b), want)
	b.Reopen()
	b.Same("uses after a restart", must(b.S.Uses(b.ctx, "v1", 0, 7, 7))(b), want)
	b.Same("users", must(b.S.Users(b.ctx, store.UserQuery{Version: "v1"}))(b), []int64{7, 8})
	b.Same("the mark", must(b.S.UserMark(b.ctx, "v1"))(b), int64(8))
	b.Same("the mark of nothing", must(b.S.UserMark(b.ctx, "v3"))(b), int64(0))
}

func usesSince(b *bench) {
	add(b, use(1, "getTask", 1, start, start), use(2, "getTask", 4, start, start), use(2, "getTask", 8, start+aDay, start+aDay+3))
	q := store.UserQuery{Version: "v1", Since: start + aDay}
	b.Same("users", must(b.S.Users(b.ctx, q))(b), []int64{2})
	b.Same("their number", must(b.S.CountUsers(b.ctx, q))(b), int64(1))
	b.Same("uses", must(b.S.Uses(b.ctx, "v1", q.Since, 1, 2))(b), []store.Use{use(2, "getTask", 8, start+aDay, start+aDay+3)})
	b.Same("all uses", must(b.S.Uses(b.ctx, "v1", 0, 2, 2))(b), []store.Use{use(2, "getTask", 12, start, start+aDay+3)})
}

func usersPaged(b *bench) {
	var uses []store.Use
	for id := int64(1); id <= 5000; id++ {
		uses = append(uses, use(id, "getTask", id, start, start), use(id, "listTasks", 1, start, start))
	}
	add(b, uses...)
	q := store.UserQuery{Version: "v1", Limit: 3}
	b.Same("the first page", must(b.S.Users(b.ctx, q))(b), []int64{1, 2, 3})
	q.After = 3
	b.Same("the next page", must(b.S.Users(b.ctx, q))(b), []int64{4, 5, 6})
	q.After, q.Back = 6, true
	b.Same("the page before", must(b.S.Users(b.ctx, q))(b), []int64{3, 4, 5})
	b.Same("by offset", must(b.S.Users(b.ctx, store.UserQuery{Version: "v1", Limit: 2, Offset: 4000}))(b), []int64{4001, 4002})
	b.Same("up to a mark", must(b.S.Users(b.ctx, store.UserQuery{Version: "v1", Mark: 2}))(b), []int64{1, 2})
	b.Same("the number", must(b.S.CountUsers(b.ctx, store.UserQuery{Version: "v1"}))(b), int64(5000))
	b.Same("of no size", len(must(b.S.Users(b.ctx, store.UserQuery{Version: "v1"}))(b)), 20)
}

func usersBound(b *bench) {
	for _, status := range []string{"v1", "v2", "v1", "v1"} { // rows 1 to 4 of account 0
		b.CommitFor(0, b.NewTask(status, nil, nil))
	}
	b.Commit(b.NewTask("v1", nil, nil)) // of another account
	add(b, use(3, "getTask", 1, start, start), use(9, "getTask", 1, start, start))
	q := store.UserQuery{Version: "v1", Bound: store.Key{Table: b.Tasks, Column: "status"}}
	b.Same("users", must(b.S.Users(b.ctx, q))(b), []int64{1, 3, 4, 9})
	b.Same("their number", must(b.S.CountUsers(b.ctx, q))(b), int64(4))
	q.Limit, q.After = 2, 1
	b.Same("a page", must(b.S.Users(b.ctx, q))(b), []int64{3, 4})
	q.After, q.Back = 9, true
	b.Same("the page before", must(b.S.Users(b.ctx, q))(b), []int64{3, 4})
	q = store.UserQuery{Version: "v1", Bound: q.Bound, Since: start + 1}
	b.Same("bound, though not seen lately", must(b.S.Users(b.ctx, q))(b), []int64{1, 3, 4})
	q.Bound.Column = "notes"
	if _, err := b.S.Users(b.ctx, q); err == nil {
		b.Error("a column without an index was searched")
	}
}

func usersTold(b *bench) {
	add(b, use(1, "getTask", 1, start, start), use(2, "getTask", 1, start, start), use(3, "getTask", 1, start, start))
	b.CommitFor(2, b.NewUser("v1 deprecated"))
	b.CommitFor(3, b.NewUser("v1 retired"))
	q := store.UserQuery{Version: "v1", Told: store.Key{Table: b.Users, Column: "email"}, Notice: "v1 deprecated"}
	b.Same("users", must(b.S.Users(b.ctx, q))(b), []int64{1, 3})
	q.Bound = store.Key{Table: b.Tasks, Column: "status"}
	b.CommitFor(0, b.NewTask("v1", nil, nil), b.NewTask("v1", nil, nil)) // 1 and 2
	b.Same("users, bound or not", must(b.S.Users(b.ctx, q))(b), []int64{1, 3})
	b.Same("their number", must(b.S.CountUsers(b.ctx, q))(b), int64(2))
}

func usesExpire(b *bench) {
	add(b, use(1, "getTask", 1, start, start), use(2, "getTask", 1, start+aDay, start+aDay))
	b.clock.Store(start + 401*aDay)
	if err := b.S.Prune(b.ctx); err != nil {
		b.Fatal(err)
	}
	b.Same("users", must(b.S.Users(b.ctx, store.UserQuery{Version: "v1"}))(b), []int64{2})
}

func usesShared(b *bench) {
	nodes := []*store.Store{b.S, b.Open(b.Users, b.Projects, b.Tasks)}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				batch := []store.Use{use(1, "getTask", 1, start, start), use(2, "getTask", 2, start, start), use(3, "getTask", 3, start, start)}
				if i%2 == 1 {
					slices.Reverse(batch)
				}
				if err := nodes[i%2].AddUses(b.ctx, batch); err != nil {
					b.Errorf("AddUses: %v", err)
				}
			}
		})
	}
	all.Wait()
	want := []store.Use{use(1, "getTask", 160, start, start), use(2, "getTask", 320, start, start), use(3, "getTask", 480, start, start)}
	b.Same("uses", must(b.S.Uses(b.ctx, "v1", 0, 1, 3))(b), want)
}
