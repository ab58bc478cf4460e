package parley_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/store"
)

// A band is a number of clients of one account, over HTTP, on one node or on
// two that share a database.
type band struct {
	t       testing.TB
	nodes   []*service
	account int64
	key     string
	owners  []int64
	client  *http.Client
}

// A shown is a task as a list shows it.
type shown struct {
	ID      int64
	Status  string
	Owner   *int64    `json:"assignee_id"`
	Updated time.Time `json:"updated_at"`
}

// startNodes starts one service on SQLite, whose clock wavers, or two on one
// PostgreSQL database, whose clocks differ.
func startNodes(t *testing.T, engine string) []*service {
	t.Helper()
	waver := func() time.Time { return time.Now().Add(-time.Duration(rand.IntN(3000)) * time.Millisecond) }
	if engine != "postgres" {
		return []*service{start(t, engine, func(cfg *parley.Config) { cfg.Now = waver })}
	}
	var dsn string
	first := start(t, engine, func(cfg *parley.Config) { dsn = cfg.Database })
	return []*service{first, start(t, engine, func(cfg *parley.Config) { cfg.Database, cfg.Now = dsn, waver })}
}

// newBand makes an account with two users.
func newBand(t *testing.T, nodes []*service) *band {
	t.Helper()
	admin := caller{t, nodes[0].URL, adminKey}
	account := created(admin, "/accounts", fmt.Sprintf(`{"name": "band %d"}`, time.Now().UnixNano()))
	holder, _ := issue(admin, account, "tasks:read", "tasks:write", "users:read", "users:write")
	b := &band{t: t, nodes: nodes, key: holder.key, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: time.Minute}}
	t.Cleanup(b.client.CloseIdleConnections)
	var err error
	if b.account, err = strconv.ParseInt(account, 10, 64); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada", "bob"} {
		id, err := strconv.ParseInt(created(holder, "/users", `{"name": "`+name+`", "email": "`+name+`@example.com"}`), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		b.owners = append(b.owners, id)
	}
	return b
}

// fill makes tasks of every sort, in one transaction, and changes some of them
// so that the order of change is not that of creation.
func (b *band) fill(random *rand.Rand, n int) {
	b.t.Helper()
	tx := &store.Tx{Account: b.account}
	for range n {
		one := task.Task{Title: "t", Status: randomState(random)}
		if i := random.IntN(3); i < 2 {
			one.AssigneeID = &b.owners[i]
		}
		tx.Writes = append(tx.Writes, task.Resource.Record(&one))
	}
	if n == 0 {
		return
	}
	rows, err := b.nodes[0].Store().Commit(b.t.Context(), tx)
	if err != nil {
		b.t.Fatal(err)
	}
	tx.Writes = nil
	for _, i := range random.Perm(n)[:n/2] {
		var one task.Task
		if err := task.Resource.Decode(rows[i].Doc, &one); err != nil {
			b.t.Fatal(err)
		}
		one.Title = "changed"
		w := task.Resource.Record(&one)
		w.Op, w.ID = store.Update, rows[i].ID
		tx.Writes = append(tx.Writes, w)
	}
	if _, err := b.nodes[0].Store().Commit(b.t.Context(), tx); err != nil {
		b.t.Fatal(err)
	}
}

func randomState(random *rand.Rand) string {
	return []string{task.Pending, task.InProgress, task.Done}[random.IntN(3)]
}

// send makes a request to some node and reads a good answer into out; nil
// leaves it. It may be called by any goroutine: what fails is an error of the
// test. Of what other clients cause, 404 and 409 are none.
func (b *band) send(random *rand.Rand, method, path, body string, out any) int {
	r, err := http.NewRequest(method, b.nodes[random.IntN(len(b.nodes))].URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Error(err)
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+b.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && out != nil && resp.StatusCode < 300 {
		err = json.Unmarshal(text, out)
	}
	if err != nil || resp.StatusCode >= 300 && resp.StatusCode != 404 && resp.StatusCode != 409 {
		b.t.Errorf("%s %s: got %d %.300s, error %v", method, path, resp.StatusCode, text, err)
	}
	return resp.StatusCode
}

// post makes a task and returns it.
func (b *band) post(random *rand.Rand) (made shown) {
	body := `{"title": "new"}`
	if i := random.IntN(3); i < 2 {
		body = fmt.Sprintf(`{"title": "new", "assignee_id": %d}`, b.owners[i])
	}
	b.send(random, "POST", "/tasks", body, &made)
	return made
}

// play has n goroutines do something over and over. The function that it
// returns ends them and waits.
func play(seed uint64, n int, do func(random *rand.Rand)) (end func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		random := rand.New(rand.NewPCG(seed, uint64(i)+1))
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					do(random)
				}
			}
		})
	}
	return func() {
		close(done)
		wg.Wait()
	}
}
