package webhook_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/parley-api/parley/webhook"
)

// stores are the ways to make an empty store.
var stores = map[string]func(testing.TB) webhook.Store{
	"memory": func(testing.TB) webhook.Store { return webhook.NewMemoryStore(nil) },
	"sqlite": func(t testing.TB) webhook.Store {
		return sqlStore(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "claims.db")+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)")
	},
	"postgres": func(t testing.TB) webhook.Store {
		dsn := os.Getenv("PARLEY_TEST_POSTGRES")
		if dsn == "" {
			t.Fatal("PARLEY_TEST_POSTGRES is not set: run the tests with make test, or under scripts/with-postgres")
		}
		return sqlStore(t, "pgx", dsn)
	},
}

func sqlStore(t testing.TB, driver, dsn string) *webhook.SQLStore {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	table := "claims_" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		db.Exec("DROP TABLE " + table)
		db.Close()
	})
	s := webhook.NewSQLStore(db, &webhook.SQLOptions{Table: table})
	for range 2 { // the second finds it
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// each runs a test on every store.
func each(t *testing.T, test func(t *testing.T, s webhook.Store)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// A step is one call of a store and what it must say.
type step struct {
	why   string
	call  string // claim, settle or release
	id    string
	token string
	at    time.Duration // after noon
	want  webhook.State // of a claim
}

const (
	lease  = time.Minute
	memory = 72 * time.Hour
)

// TestStore is the contract of a store, told as small histories.
func TestStore(t *testing.T) {
	histories := map[string][]step{
		"settled": {
			{"a new delivery", "claim", "a", "1", 0, webhook.Claimed},
			{"its twin, meanwhile", "claim", "a", "2", time.Second, webhook.Running},
			{"another delivery", "claim", "b", "3", time.Second, webhook.Claimed},
			{"the work is queued", "settle", "a", "1", 2 * time.Second, 0},
			{"a retry", "claim", "a", "4", 3 * time.Second, webhook.Known},
			{"a retry long after the lease", "claim", "a", "5", 71 * time.Hour, webhook.Known},
			{"a retry after the memory has ended", "claim", "a", "6", 73 * time.Hour, webhook.Claimed},
		},
		"released": {
			{"a new delivery", "claim", "a", "1", 0, webhook.Claimed},
			{"the queue failed", "release", "a", "1", time.Second, 0},
			{"a retry is new", "claim", "a", "2", 2 * time.Second, webhook.Claimed},
		},
		"abandoned": {
			{"a new delivery", "claim", "a", "1", 0, webhook.Claimed},
			{"a retry before the claim has ended", "claim", "a", "2", 59 * time.Second, webhook.Running},
			{"a retry when it has ended: the process died", "claim", "a", "3", lease, webhook.Claimed},
			{"the dead process wakes up and fails", "release", "a", "1", lease, 0},
			{"the second claim stands", "claim", "a", "4", lease, webhook.Running},
			{"it wakes up and is done", "settle", "a", "1", lease, 0},
			{"the second claim still stands", "claim", "a", "5", lease, webhook.Running},
			{"the second is done", "settle", "a", "3", lease, 0},
			{"now it is known", "claim", "a", "6", lease, webhook.Known},
		},
		"late": {
			{"a new delivery", "claim", "a", "1", 0, webhook.Claimed},
			{"settled after the claim has ended, and nobody else came", "settle", "a", "1", 2 * lease, 0},
			{"it is known", "claim", "a", "2", 3 * lease, webhook.Known},
		},
		"wrong token": {
			{"a new delivery", "claim", "a", "1", 0, webhook.Claimed},
			{"settled", "settle", "a", "1", 0, 0},
			{"what is settled cannot be released", "release", "a", "1", 0, 0},
			{"nor by a token of nothing", "release", "a", "", 0, 0},
			{"it is known", "claim", "a", "2", 0, webhook.Known},
			{"to release what was never claimed does nothing", "release", "z", "9", 0, 0},
			{"it is new", "claim", "z", "9", 0, webhook.Claimed},
		},
	}
	each(t, func(t *testing.T, s webhook.Store) {
		for scope, history := range histories { // at once in one store: scopes are apart
			for _, step := range history {
				c := webhook.Claim{Scope: scope, ID: step.id, Token: step.token, At: noon.Add(step.at)}
				var got webhook.State
				var err error
				switch step.call {
				case "claim":
					c.Until = c.At.Add(lease)
					got, err = s.Claim(t.Context(), c)
				case "settle":
					c.Until = c.At.Add(memory)
					err = s.Settle(t.Context(), c)
				case "release":
					err = s.Release(t.Context(), c)
				}
				if err != nil || got != step.want {
					t.Errorf("%s: %s: got %v, %v; want %v", scope, step.why, got, err, step.want)
				}
			}
		}
	})
}

// Of many that claim at once exactly one wins, also when a claim has ended.
func TestStoreConcurrently(t *testing.T) {
	each(t, func(t *testing.T, s webhook.Store) {
		for round := range 5 {
			at := noon.Add(time.Duration(round) * time.Hour) // the claim before has ended
			var won atomic.Int64
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					state, err := s.Claim(t.Context(), webhook.Claim{ID: "msg_1", Token: fmt.Sprint(round, i), At: at, Until: at.Add(lease)})
					if err != nil {
						t.Error(err)
					}
					if state == webhook.Claimed {
						won.Add(1)
					}
				})
			}
			wg.Wait()
			if got := won.Load(); got != 1 {
				t.Errorf("round %d: %d of 32 claimed it, want 1", round, got)
			}
		}
	})
}

func TestMemoryStoreForgets(t *testing.T) {
	s := webhook.NewMemoryStore(&webhook.MemoryOptions{Max: 3})
	accept := func(id string, at time.Time) webhook.State {
		c := webhook.Claim{ID: id, Token: id, At: at, Until: at.Add(lease)}
		state, _ := s.Claim(t.Context(), c)
		if state == webhook.Claimed {
			c.Until = at.Add(memory)
			s.Settle(t.Context(), c)
		}
		return state
	}
	for i := range 10 {
		accept(fmt.Sprint(i), noon)
	}
	if got := s.Len(); got != 3 {
		t.Errorf("got %d deliveries, want at most 3", got)
	}
	if got := accept("9", noon); got != webhook.Known {
		t.Errorf("the youngest: got %v, want it known", got)
	}
	if got := accept("0", noon); got != webhook.Claimed {
		t.Errorf("the oldest: got %v, want it forgotten", got)
	}
	accept("new", noon.Add(memory))
	if got := s.Len(); got != 1 {
		t.Errorf("after the retention: got %d deliveries, want the new one alone", got)
	}
}

// Old rows go in passing, and none that is young.
func TestSQLStorePrunes(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "claims.db")+"?_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := webhook.NewSQLStore(db, nil)
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	claim := func(id int, at time.Time) {
		if _, err := s.Claim(t.Context(), webhook.Claim{ID: fmt.Sprint(id), Token: "t", At: at, Until: at.Add(memory)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 250 {
		claim(i, noon)
	}
	claim(1000, noon.Add(time.Hour))
	for i := range 5 {
		claim(2000+i, noon.Add(memory).Add(time.Duration(i)*time.Millisecond)) // one after the other, within a second
	}
	var rows int
	if err := db.QueryRow("SELECT count(*) FROM webhook_claims").Scan(&rows); err != nil || rows != 6 {
		t.Errorf("got %d rows, %v; want the 6 that are young", rows, err)
	}
}

// A store whose database is gone says so.
func TestSQLStoreFails(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "claims.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	s := webhook.NewSQLStore(db, nil)
	c := webhook.Claim{ID: "a", Token: "t", At: noon, Until: noon}
	state, err := s.Claim(context.Background(), c)
	if err == nil || state != 0 {
		t.Errorf("Claim: got %v, %v; want an error", state, err)
	}
	for name, err := range map[string]error{"Create": s.Create(t.Context()), "Settle": s.Settle(t.Context(), c), "Release": s.Release(t.Context(), c)} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestNewSQLStorePanics(t *testing.T) {
	for _, table := range []string{"a b", "a;DROP TABLE b", `a"`, "1a", "a.b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q: no panic", table)
				}
			}()
			webhook.NewSQLStore(nil, &webhook.SQLOptions{Table: table})
		}()
	}
}

func BenchmarkStore(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c := webhook.Claim{ID: fmt.Sprint(i), Token: "t", At: noon, Until: noon.Add(lease)}
				if _, err := s.Claim(b.Context(), c); err != nil {
					b.Fatal(err)
				}
				c.Until = noon.Add(memory)
				if err := s.Settle(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
