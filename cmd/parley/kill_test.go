package main_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The promise under test: kill -9 at any moment loses no acknowledged write
// and no event, and the service is back within a second.
const (
	kills   = 100 // in each engine; a tenth with -short
	writers = 8
	ready   = time.Second // from the start of the process to its first answer
	// On a machine that is busy with other tests one start in twenty may take
	// longer than ready, but none longer than this.
	late    = 4 * time.Second
	killKey = "pk_test_admin_key_of_the_ledger"
)

// A client speaks to one run of the service.
type client struct {
	http.Client
	url string
}

func newClient(url string) *client {
	return &client{http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * writers}, Timeout: 30 * time.Second}, url}
}

// send makes a request. An error means that no whole answer came.
func (c *client) send(method, path, key, body string) (*http.Response, []byte, error) {
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+killKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	resp, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, b, err
}

// do asks for the last step of an entry. It returns what is wrong with the
// answer, or an error where no whole answer came.
func (c *client) do(e *entry) (resp *http.Response, fault string, err error) {
	s := &e.steps[len(e.steps)-1]
	item := "/tasks/" + strconv.FormatInt(e.id, 10)
	var b []byte
	want := http.StatusOK
	switch {
	case s.kind == create:
		want = http.StatusCreated
		resp, b, err = c.send(http.MethodPost, "/tasks", s.key, `{"title":"`+s.title+`"}`)
	case s.kind == retitle:
		resp, b, err = c.send(http.MethodPatch, item, "", `{"title":"`+s.title+`"}`)
	case s.kind == complete && s.key != "":
		resp, b, err = c.send(http.MethodPost, item+"/complete", s.key, "")
	case s.kind == complete:
		resp, b, err = c.send(http.MethodPatch, item, "", `{"status":"done"}`)
	case s.kind == remove:
		want = http.StatusNoContent
		resp, b, err = c.send(http.MethodDelete, item, "", "")
	}
	if err != nil {
		return nil, "", err
	}
	if resp.StatusCode != want {
		return resp, fmt.Sprintf("%s: got %d %s, want %d", e, resp.StatusCode, b, want), nil
	}
	var got row
	if s.kind != remove {
		if err := json.Unmarshal(b, &got); err != nil {
			return resp, fmt.Sprintf("%s: got %q: %v", e, b, err), nil
		}
	}
	if s.kind == create && e.id == 0 {
		e.id = got.ID
	}
	s.acked = true
	_, left := e.expect(e.id, e.steps)
	if got.Updated = ""; left != nil && got != *left {
		return resp, fmt.Sprintf("%s: got %v, want %v", e, got, *left), nil
	}
	return resp, "", nil
}

// A writer makes and changes tasks of its own, one request after another.
type writer struct {
	name    string
	made    int
	entries []*entry // all of them
	alive   []*entry // those it may still change
	touched []*entry // since the last kill
	keyed   *entry   // the last it created with an Idempotency-Key
	resent  int      // requests in doubt that it sent again, by their key
	faults  []string
}

// run writes until the service is gone.
func (w *writer) run(c *client, killed *atomic.Bool) {
	for {
		e := w.next()
		w.touched = append(w.touched, e)
		_, fault, err := c.do(e)
		if err != nil {
			if !killed.Load() {
				w.faults = append(w.faults, fmt.Sprintf("%s: before the kill: %v", e, err))
			}
			return
		}
		if fault != "" {
			w.faults = append(w.faults, fault)
			return
		}
		switch s := e.steps[len(e.steps)-1]; {
		case s.kind == create:
			w.alive = append(w.alive, e)
			if s.key != "" {
				w.keyed = e
			}
		case s.kind == remove:
			w.alive = slices.DeleteFunc(w.alive, func(a *entry) bool { return a == e })
		}
	}
}

// regroup finds out what it may still change, once nothing is in doubt.
func (w *writer) regroup() {
	w.alive = w.alive[:0]
	for _, e := range w.entries {
		if !e.void && e.steps[len(e.steps)-1].kind != remove {
			w.alive = append(w.alive, e)
		}
	}
}

// next adds a step to a task, or a task.
func (w *writer) next() *entry {
	w.made++
	title := fmt.Sprintf("%s-%d", w.name, w.made)
	key := ""
	if rand.IntN(2) == 0 {
		key = "key-" + title
	}
	kind := []string{create, create, create, retitle, complete, complete, remove}[rand.IntN(7)]
	if kind == create || len(w.alive) == 0 {
		e := &entry{steps: []step{{kind: create, title: title, key: key}}}
		w.entries = append(w.entries, e)
		return e
	}
	e := w.alive[rand.IntN(len(w.alive))]
	if kind == complete && slices.ContainsFunc(e.steps, func(s step) bool { return s.kind == complete }) {
		kind = retitle
	}
	e.steps = append(e.steps, step{kind: kind, title: title, key: key})
	return e
}

// resume sends again, after a kill, what has an Idempotency-Key: what is in
// doubt, and the last creation that was acknowledged.
func (w *writer) resume(c *client) {
	if w.keyed != nil {
		first := &entry{id: w.keyed.id, steps: slices.Clone(w.keyed.steps[:1])}
		resp, fault, err := c.do(first)
		if err != nil || fault != "" || resp.Header.Get("Idempotency-Replayed") != "true" {
			w.faults = append(w.faults, fmt.Sprintf("%s, sent again after the kill: %s %v", w.keyed, fault, err))
		}
		w.keyed = nil
	}
	if len(w.touched) == 0 {
		return
	}
	e := w.touched[len(w.touched)-1]
	if s := &e.steps[len(e.steps)-1]; !s.acked && s.key != "" && (s.kind == create || s.kind == complete) {
		w.resent++
		if _, fault, err := c.do(e); err != nil || fault != "" {
			w.faults = append(w.faults, fmt.Sprintf("%s, in doubt and sent again after the kill: %s %v", e, fault, err))
		}
	}
}

// walk reads a list to its end.
func walk[T any](c *client, path string) ([]T, error) {
	var all []T
	for cursor := ""; ; {
		next := path
		if cursor != "" {
			next += "&cursor=" + cursor
		}
		resp, b, err := c.send(http.MethodGet, next, "", "")
		if err != nil {
			return nil, err
		}
		var page struct {
			Data       []T `json:"data"`
			Pagination struct {
				Next *string `json:"next_cursor"`
				More bool    `json:"has_more"`
			} `json:"pagination"`
		}
		if err := json.Unmarshal(b, &page); err != nil || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: got %d %s", path, resp.StatusCode, b)
		}
		all = append(all, page.Data...)
		if !page.Pagination.More {
			return all, nil
		}
		cursor = *page.Pagination.Next
	}
}

// A siege is a service that is killed over and over.
type siege struct {
	t       *testing.T
	command []string
	stderr  *os.File
	writers []*writer
	owners  map[int64]*entry
	book    map[int64][]happening // every event so far, by task
	seen    map[string]bool       // events in the book
	since   string                // timestamp of the last of them
	starts  []time.Duration

	acked, doubtful, happened, resent, lost int
}

// begin starts the service and waits for its first answer.
func (s *siege) begin() (*exec.Cmd, *client) {
	s.t.Helper()
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.Stderr = s.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	from := time.Now()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill() })
	watchdog := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer watchdog.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		b, _ := os.ReadFile(s.stderr.Name())
		s.t.Fatalf("the service did not start: %q, %v\n%s", line, err, b)
	}
	c := newClient(url)
	for {
		resp, _, err := c.send(http.MethodGet, "/readyz", "", "")
		if err == nil && resp.StatusCode == http.StatusOK {
			break
		}
		if time.Since(from) > time.Minute {
			s.t.Fatalf("the service is not ready after a minute: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
	s.starts = append(s.starts, time.Since(from))
	return cmd, c
}

// attack lets the writers write and kills the service in the midst of it.
func (s *siege) attack(cmd *exec.Cmd, c *client) {
	var killed atomic.Bool
	var work sync.WaitGroup
	for _, w := range s.writers {
		w.touched = w.touched[:0]
		work.Go(func() { w.run(c, &killed) })
	}
	time.Sleep(20*time.Millisecond + rand.N(130*time.Millisecond))
	killed.Store(true)
	cmd.Process.Kill()
	cmd.Wait()
	work.Wait()
	c.CloseIdleConnections()
}

// inspect checks what was touched since the last kill, and takes what it finds
// into the book.
func (s *siege) inspect(c *client) {
	var judged []*entry
	for _, w := range s.writers {
		judged = append(judged, w.touched...)
	}
	fresh, rows := s.news(c)
	births := make(map[string]int64)
	for _, e := range fresh {
		if s.book[e.Data.ID] = append(s.book[e.Data.ID], e); e.Type == "task.created" {
			births[e.Data.Title] = e.Data.ID
		}
	}
	present := make(map[int64]row)
	for _, e := range judged {
		s.owners[cmp.Or(e.id, births[e.steps[0].title])] = e
	}
	for _, r := range rows {
		present[r.ID] = r
	}
	ids := slices.Collect(maps.Keys(present))
	for _, e := range fresh {
		ids = append(ids, e.Data.ID)
	}
	for _, id := range ids {
		if e := s.owners[id]; e != nil {
			judged = append(judged, e)
		}
	}
	for _, e := range judged {
		ids = append(ids, cmp.Or(e.id, births[e.steps[0].title]))
	}
	slices.Sort(ids)
	var w world
	for _, id := range slices.Compact(ids) {
		w.events = append(w.events, s.book[id]...)
		if _, known := present[id]; !known && id != 0 {
			s.look(c, id, present)
		}
	}
	slices.SortFunc(w.events, func(a, b happening) int { return strings.Compare(a.ID, b.ID) })
	w.rows = present
	slices.SortFunc(judged, func(a, b *entry) int { return strings.Compare(a.steps[0].title, b.steps[0].title) })
	judged = slices.Compact(judged)
	s.report(verify(judged, w))
	for _, e := range judged {
		doubtful, happened := e.settle(w)
		if doubtful {
			s.doubtful++
		}
		if happened {
			s.happened++
		}
	}
}

// news reads the events and the rows that are new since the last time.
func (s *siege) news(c *client) (fresh []happening, rows []row) {
	query := func(name string) string {
		if s.since == "" {
			return "?limit=100"
		}
		return "?limit=100&" + name + "=" + url.QueryEscape(s.since)
	}
	rows, err := walk[row](c, "/tasks"+query("updated_since"))
	if err != nil {
		s.t.Fatal(err)
	}
	events, err := walk[happening](c, "/events"+query("since"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		if !s.seen[e.ID] {
			s.seen[e.ID], s.since = true, e.Timestamp
			fresh = append(fresh, e)
		}
	}
	return fresh, rows
}

// look reads one row, if it is there.
func (s *siege) look(c *client, id int64, into map[int64]row) {
	resp, b, err := c.send(http.MethodGet, "/tasks/"+strconv.FormatInt(id, 10), "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusNotFound {
		return
	}
	var r row
	if err := json.Unmarshal(b, &r); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("task %d: got %d %s", id, resp.StatusCode, b)
	}
	into[id] = r
}

// audit checks everything.
func (s *siege) audit(c *client) {
	rows, err := walk[row](c, "/tasks?limit=100")
	if err != nil {
		s.t.Fatal(err)
	}
	w := world{rows: make(map[int64]row)}
	if w.events, err = walk[happening](c, "/events?limit=100"); err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rows {
		if _, twice := w.rows[r.ID]; twice {
			s.report([]string{fmt.Sprintf("task %d is listed twice", r.ID)})
		}
		w.rows[r.ID] = r
	}
	var all []*entry
	for _, writer := range s.writers {
		s.resent += writer.resent
		for _, e := range writer.entries {
			all = append(all, e)
			if !e.void {
				s.acked += len(e.settled())
			}
		}
	}
	s.report(verify(all, w))
	if len(w.events) != len(s.seen) {
		s.report([]string{fmt.Sprintf("there are %d events, and %d were seen along the way", len(w.events), len(s.seen))})
	}
}

func (s *siege) report(wrong []string) {
	s.t.Helper()
	s.lost += len(wrong)
	for _, text := range wrong[:min(len(wrong), 20)] {
		s.t.Error(text)
	}
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// TestKill kills the real program while it is written to, a hundred times on
// each database, and holds what it then shows against what it acknowledged.
func TestKill(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "parley")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Run("sqlite", func(t *testing.T) {
		besiege(t, func() func() { return func() {} }, binary)
	})
	t.Run("postgres", func(t *testing.T) {
		dsn, quiet := emptyDatabase(t)
		besiege(t, quiet, binary, "--database", dsn)
	})
}

// besiege runs the test on one database. Quiet is called after each kill, and
// what it returns after the next start: that must wait until nothing that the
// killed process sent is still under way.
func besiege(t *testing.T, quiet func() func(), binary string, flags ...string) {
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	s := &siege{
		t: t, stderr: stderr, owners: make(map[int64]*entry), book: make(map[int64][]happening), seen: make(map[string]bool),
		command: slices.Concat([]string{binary, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--admin-key", killKey, "--rate-limit", "off", "--log-level", "error"}, flags),
	}
	for i := range writers {
		s.writers = append(s.writers, &writer{name: fmt.Sprintf("w%d", i)})
	}
	n := kills
	if testing.Short() {
		n = kills / 10
	}
	cmd, c := s.begin()
	for range n {
		s.attack(cmd, c)
		settled := quiet()
		cmd, c = s.begin()
		var work sync.WaitGroup
		for _, w := range s.writers {
			work.Go(func() { w.resume(c) })
		}
		work.Wait()
		settled()
		for _, w := range s.writers {
			s.report(w.faults)
		}
		s.inspect(c)
		for _, w := range s.writers {
			w.regroup()
		}
	}
	s.audit(c)
	cmd.Process.Kill()
	cmd.Wait()
	slices.Sort(s.starts)
	most, worst := s.starts[len(s.starts)*95/100], s.starts[len(s.starts)-1]
	t.Logf("%d kills, %d acknowledged writes, %d lost; %d in doubt, of which %d had happened, and %d sent again by their key; restarts: median %v, 95 %% within %v, worst %v",
		n, s.acked, s.lost, s.doubtful, s.happened, s.resent, s.starts[len(s.starts)/2].Round(time.Millisecond), most.Round(time.Millisecond), worst.Round(time.Millisecond))
	if most > ready || worst > late {
		t.Errorf("restarts took %v at worst, and 95 %% of them up to %v; want %v", worst, most, ready)
	}
	if s.acked < n {
		t.Errorf("got %d acknowledged writes in %d kills; the test shows nothing", s.acked, n)
	}
}

// emptyDatabase makes a PostgreSQL database that goes with the test. Quiet is
// what besiege wants: a backend may finish what a killed client had sent.
func emptyDatabase(t *testing.T) (dsn string, quiet func() func()) {
	admin := os.Getenv("PARLEY_TEST_POSTGRES")
	if admin == "" {
		t.Fatal("PARLEY_TEST_POSTGRES is not set: run the tests with make test, or under scripts/with-postgres")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("parley_kill_%016x", rand.Uint64())
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		conn.Close(ctx)
	})
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	backends := func(among []int32) []int32 {
		rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND ($2::int[] IS NULL OR pid = ANY($2))", name, among)
		if err != nil {
			t.Fatal(err)
		}
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err != nil {
			t.Fatal(err)
		}
		return pids
	}
	return u.String(), func() func() {
		old := backends(nil)
		return func() {
			for deadline := time.Now().Add(time.Minute); len(old) > 0; old = backends(old) {
				if time.Now().After(deadline) {
					t.Fatalf("backends %v outlive their client by a minute", old)
				}
			}
		}
	}
}
