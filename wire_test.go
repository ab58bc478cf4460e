package parley_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/rooms/file"
	"github.com/parley-api/parley/rooms/image"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
)

// TestWire has the conversations of testdata/wire, each with a fresh service,
// over a real socket, on every engine. What every answer must be like, whether
// a file shows it or not, is in rule_test.go.
func TestWire(t *testing.T) {
	files := readWireFiles(t)
	seen, docs := newTally(), newDescriptions()
	t.Run("files", func(t *testing.T) {
		for _, engine := range engines {
			t.Run(engine, func(t *testing.T) {
				for _, f := range files {
					t.Run(f.name, func(t *testing.T) {
						t.Parallel()
						w := openWire(t, f, engine)
						w.seen, w.docs = seen, docs
						w.play()
					})
				}
			})
		}
	})
	if !t.Failed() && seen.files == len(files)*len(engines) { // -run may have left some out
		seen.check(t)
	}
}

// statuses are those that the files must provoke.
var statuses = []int{
	200, 201, 204, 206, 304, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 416, 422, 429, 500, 503,
}

// elsewhere are the kinds of problems that no file can provoke, and why.
var elsewhere = map[*problem.Kind]string{
	problem.InvalidSignature: "the service receives no webhooks yet",
	problem.RequestTimeout:   "needs a client that stalls: TestHardening",
	problem.StorageFull:      "needs a full disk: TestDiskFull",
	problem.KeyInUse:         "needs two requests at once: TestKeyInUse",
}

// A tally counts what was seen. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	files  int
	status map[int]int
	kinds  map[string]int
	paths  map[string]bool // of those that no description has
}

func newTally() *tally {
	return &tally{status: make(map[int]int), kinds: make(map[string]int), paths: make(map[string]bool)}
}

func (y *tally) add(status int, kind string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.status[status]++
	y.kinds[kind]++
}

// outside notes a path that no description has.
func (y *tally) outside(path string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.paths[path] = true
}

// done counts a file that was played to its end.
func (y *tally) done() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.files++
}

// check asserts that every status and every kind of problem was seen, and no
// other status.
func (y *tally) check(t *testing.T) {
	if got := slices.Sorted(maps.Keys(y.status)); !slices.Equal(got, statuses) {
		t.Errorf("statuses seen: got %v, want %v", got, statuses)
	}
	for path := range undescribed {
		if !y.paths[path] {
			t.Errorf("%s is listed as not described, and no file asks for it", path)
		}
	}
	for _, k := range problem.Kinds() {
		_, other := elsewhere[k]
		if seen := y.kinds[k.Type()] > 0; seen == other {
			t.Errorf("the problem %s: seen %v, listed as seen elsewhere %v", k.Name, seen, other)
		}
	}
}

// A clock is the service's: real time from some day on, or frozen. Files move
// it.
type clock struct {
	day    time.Time
	begin  time.Time
	frozen bool
	ahead  atomic.Int64
}

// today is when a file begins that names no other day: of the calendar's versions the first is
// retired, the second deprecated and the third active.
var today = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func (c *clock) now() time.Time {
	now := c.day.Add(time.Duration(c.ahead.Load()))
	if c.frozen {
		return now
	}
	return now.Add(time.Since(c.begin))
}

// set moves the clock to a moment.
func (c *clock) set(t time.Time) { c.ahead.Store(int64(t.Sub(c.day))) }

// A journal is the service's log.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// A wire is one file being played against one service.
type wire struct {
	*testing.T
	file  *wireFile
	svc   *service
	addr  string // where requests go: the service, or a proxy in front of it
	vars  variables
	clock *clock
	log   *journal
	dsn   string // of PostgreSQL; "" on SQLite
	quiet bool   // nothing is sent but what the file shows
	cors  bool
	proxy bool

	seen  *tally
	docs  *descriptions
	pages map[string]bool // of problems, that were looked at

	described map[string]*openapi3.T // by version, as of now
}

// openWire starts the service that a file asks for, adjusted further.
func openWire(t *testing.T, f *wireFile, engine string, further ...func(*parley.Config)) *wire {
	w := &wire{
		T: t, file: f, clock: &clock{day: today, begin: time.Now()}, log: new(journal),
		vars: variables{"admin": adminKey}, pages: make(map[string]bool),
		described: make(map[string]*openapi3.T),
	}
	rooms := []*resource.Definition{task.Resource, user.Resource, file.Resource, image.Resource}
	for _, o := range f.orders {
		if o.verb == "room" {
			rooms = append(rooms, odd[o.argument])
		}
	}
	w.svc = startWith(t, engine, func(cfg *parley.Config) {
		cfg.RateLimit = "" // the default: every answer shows the quota
		cfg.Now = w.clock.now
		cfg.Log = slog.New(slog.NewJSONHandler(w.log, nil))
		w.dsn = cfg.Database
		for _, o := range f.orders {
			w.adjust(cfg, o)
		}
		for _, adjust := range further {
			adjust(cfg)
		}
	}, rooms...)
	w.addr = strings.TrimPrefix(w.svc.URL, "http://")
	return w
}

// adjust obeys an order that stands before the first exchange.
func (w *wire) adjust(cfg *parley.Config, o order) {
	switch o.verb {
	case "rate-limit": // what the file does not show would count, too
		cfg.RateLimit, w.quiet = o.argument, true
	case "clock":
		w.clock.frozen = o.argument == "frozen"
	case "today":
		day, err := time.Parse(time.RFC3339, o.argument)
		if err != nil {
			w.Fatal(err)
		}
		w.clock.day = day
	case "cors":
		cfg.CORSOrigins, w.cors = []string{o.argument}, true
	case "profile":
		cfg.Profile = o.argument
	case "room":
	default:
		w.Fatalf("%s: unknown order %q", w.file.name, o.verb)
	}
}

// odd are rooms that only tests open.
var odd = map[string]*resource.Definition{"fuses": fuses}

// A fuse is a resource whose rules fail.
type fuse struct {
	Name string `json:"name" parley:"required,max=100"`
}

// blown is what only the log may tell.
const blown = "the fuse of cellar 7 is blown"

var fuses = resource.Define("fuse", "fuses", resource.Rules[fuse]{
	About: "Something that fails.",
	Check: func(_, _ *fuse) []problem.FieldError { panic(blown) },
})

// play has the conversation, up to the first exchange that goes wrong.
func (w *wire) play() {
	for _, x := range w.file.exchanges {
		for _, o := range x.orders {
			w.obey(o)
		}
		if w.proxy && ownAnswers[w.file.name+": "+x.title] != "" {
			continue
		}
		w.exchange(x)
		if w.Failed() {
			w.Fatalf("testdata/wire/%s.txt:%d: %s", w.file.name, x.line, x.title)
		}
	}
	w.checkLog()
	w.seen.done()
}

// obey does what an order before an exchange says.
func (w *wire) obey(o order) {
	switch o.verb {
	case "order", "once":
	case "advance":
		d, err := time.ParseDuration(o.argument)
		if err != nil {
			w.Fatal(err)
		}
		w.clock.ahead.Add(int64(d))
		clear(w.described)
	case "break":
		if w.dsn == "" {
			w.svc.Store().Close()
		} else {
			lock(w, w.dsn)
		}
	default:
		w.Fatalf("%s: unknown order %q", w.file.name, o.verb)
	}
}

// exchange sends a request and checks the answer: first what the file says,
// then what holds for all.
func (w *wire) exchange(x *exchange) {
	head, err := w.vars.expand(x.head)
	body, failed := w.vars.expand(x.body)
	if err = errors.Join(err, failed); err != nil {
		w.Error(err)
		return
	}
	s := newSent(head, body)
	a, err := converse(w.addr, s)
	if err != nil {
		w.Error(err)
		return
	}
	m := &matcher{vars: w.vars, fresh: variables{}, order: x.has("order")}
	w.compare(x, m, a)
	w.judge(s, a)
	if !w.quiet && !x.has("once") && !w.Failed() {
		w.probe(s, a)
	}
	if w.Failed() {
		w.Logf("sent\n%s\ngot\n%s", clipLines(s.raw()), clipLines(a.raw))
		return
	}
	m.commit()
}

func clipLines(b []byte) []byte { return b[:min(len(b), 1500)] }

// compare checks an answer against the file.
func (w *wire) compare(x *exchange, m *matcher, a *answer) {
	if a.status != x.status || a.reason != x.reason {
		w.Errorf("got status %d %s, want %d %s", a.status, a.reason, x.status, x.reason)
		return
	}
	for _, rule := range x.headers {
		values := a.header.Values(rule.name)
		if rule.absent {
			if len(values) > 0 {
				w.Errorf("got %s: %q, want none", rule.name, values)
			}
			continue
		}
		err := fmt.Errorf("got none, want %q", rule.pattern)
		for _, v := range values {
			if err = m.text(rule.pattern, v, placeholder); err == nil {
				break
			}
		}
		if err != nil {
			w.Errorf("%s: %v", rule.name, err)
		}
	}
	var err error
	switch pattern := strings.TrimSpace(x.answer); {
	case pattern == "":
		if len(a.body) > 0 {
			err = fmt.Errorf("got a body of %d bytes, want none", len(a.body))
		}
	case pattern[0] == '{' || pattern[0] == '[':
		err = m.json(pattern, a.body)
	default:
		err = m.text(pattern, strings.TrimRight(string(a.body), "\n"), plain)
	}
	if err != nil {
		w.Error(err)
	}
}

// administer runs a statement on the PostgreSQL server of the tests.
func administer(t testing.TB, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, os.Getenv("PARLEY_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
}

// lock throws everybody out of a database and lets nobody in.
func lock(t testing.TB, dsn string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	administer(t, "ALTER DATABASE "+config.Database+" ALLOW_CONNECTIONS false")
	administer(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+config.Database+"'")
}

// unlock lets everybody in again.
func unlock(t testing.TB, dsn string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	administer(t, "ALTER DATABASE "+config.Database+" ALLOW_CONNECTIONS true")
}

// TestKeyInUse sends two requests with one Idempotency-Key at once: the second
// is 409 while the first runs, and is its replay afterwards (decisions, Bodies).
func TestKeyInUse(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			entered, open := make(chan bool, 1), make(chan bool)
			gates := resource.Define("gate", "gates", resource.Rules[fuse]{
				Check: func(_, _ *fuse) []problem.FieldError {
					entered <- true
					<-open
					return nil
				},
			})
			svc := startWith(t, engine, nil, gates)
			post := func() *answer {
				return ask(t, svc, `{"name": "north"}`, "POST /gates HTTP/1.1", "Authorization: Bearer "+adminKey,
					"Content-Type: application/json", "Idempotency-Key: one-at-a-time")
			}
			first := make(chan *answer)
			go func() { first <- post() }()
			<-entered
			a := post()
			if got, want := a.problem().Type, problem.KeyInUse.Type(); a.status != 409 || got != want || a.header.Get("Retry-After") == "" {
				t.Errorf("while the first runs: got %d %s, Retry-After %q, want 409 %s", a.status, got, a.header.Get("Retry-After"), want)
			}
			close(open)
			b := <-first
			c := post()
			if b.status != 201 || c.status != 201 || c.header.Get("Idempotency-Replayed") != "true" || !bytes.Equal(b.body, c.body) {
				t.Errorf("afterwards: got %d %s and %d %s, want the first answer twice", b.status, b.body, c.status, c.body)
			}
		})
	}
}

// TestRecovery takes PostgreSQL away and gives it back: the service is not
// ready, then it is again, without a restart (spec, Errors: 503 is temporary).
func TestRecovery(t *testing.T) {
	var dsn string
	svc := start(t, "postgres", func(cfg *parley.Config) { dsn = cfg.Database })
	list := func() int {
		return ask(t, svc, "", "GET /tasks HTTP/1.1", "Authorization: Bearer "+adminKey).status
	}
	if got := list(); got != 200 {
		t.Fatalf("before: got %d, want 200", got)
	}
	lock(t, dsn)
	if got := list(); got != 503 {
		t.Errorf("without the database: got %d, want 503", got)
	}
	unlock(t, dsn)
	got := 0
	for range 50 {
		if got = list(); got == 200 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	a := ask(t, svc, `{"title": "after"}`, "POST /tasks HTTP/1.1", "Authorization: Bearer "+adminKey, "Content-Type: application/json")
	if got != 200 || a.status != 201 {
		t.Errorf("with the database again: got %d and %d, want 200 and 201", got, a.status)
	}
}
