package parley_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/webhook"
)

// A post is a webhook that arrived.
type post struct {
	path   string
	header http.Header
	body   []byte
	at     time.Time // when, by the real clock
}

// A consumer receives webhooks on a real socket. What it answers is the number
// that a path ends with, or what Answer says.
type consumer struct {
	testing.TB
	*httptest.Server

	// Answer, where it is set, answers a webhook. The posts until then, this
	// one included, are those of its path.
	Answer func(w http.ResponseWriter, p *post, posts int)

	mu    sync.Mutex
	posts []*post
}

func newConsumer(t testing.TB) *consumer {
	c := &consumer{TB: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP keeps the webhook and answers it.
func (c *consumer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it was cut off
	}
	p := &post{path: r.URL.Path, header: r.Header, body: body, at: time.Now()}
	c.mu.Lock()
	c.posts = append(c.posts, p)
	c.mu.Unlock()
	if c.Answer != nil {
		c.Answer(w, p, len(c.at(p.path)))
		return
	}
	if status, err := strconv.Atoi(p.path[strings.LastIndex(p.path, "/")+1:]); err == nil && status >= 200 && status <= 599 {
		w.WriteHeader(status)
	}
	fmt.Fprint(w, "seen")
}

// at returns what arrived at a path, in order.
func (c *consumer) at(path string) []*post {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.posts), func(p *post) bool { return p.path != path })
}

// wait returns what arrived at a path as soon as that are n, and fails where
// they do not come.
func (c *consumer) wait(path string, n int) []*post {
	c.Helper()
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(2 * time.Millisecond) {
		if got := c.at(path); len(got) >= n {
			return got
		}
	}
	c.Fatalf("%s: got %d webhooks, want %d", path, len(c.at(path)), n)
	return nil
}

// verified checks the signature of a webhook and reads its event.
func (p *post) verified(t testing.TB, now time.Time, secrets ...string) *webhook.Event {
	t.Helper()
	var keys []webhook.Secret
	for _, text := range secrets {
		parse := webhook.ParseSecret
		if strings.HasPrefix(text, "whpk_") {
			parse = webhook.ParsePublicKey
		}
		key, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if err := webhook.NewVerifier(keys, nil).Verify(p.header, p.body, now); err != nil {
		t.Errorf("%s: %v", p.path, err)
	}
	e, err := webhook.ParseEvent(p.body)
	if err != nil {
		t.Fatalf("%s: %v: %s", p.path, err, p.body)
	}
	if got := p.header.Get("webhook-id"); got != e.ID {
		t.Errorf("%s: got the webhook-id %s in the header and %s in the body", p.path, got, e.ID)
	}
	return e
}

// signed adds the header of a webhook to a request that has the order sign.
func (w *wire) signed(x *exchange, head, body string) string {
	for _, o := range x.orders {
		if o.verb != "sign" {
			continue
		}
		name, offset, _ := strings.Cut(o.argument, " ")
		shift, err := time.ParseDuration(offset)
		if err != nil && offset != "" {
			w.Fatal(err)
		}
		secret, err := webhook.ParseSecret(w.vars[name])
		if err != nil {
			w.Fatalf("{{%s}}: %v", name, err)
		}
		s, at := newSent(head, body), w.clock.now().Add(shift).Unix()
		signature, err := webhook.Sign([]webhook.Secret{secret}, s.header.Get("webhook-id"), at, []byte(body))
		if err != nil {
			w.Fatal(err)
		}
		head += "\nwebhook-timestamp: " + strconv.FormatInt(at, 10) + "\nwebhook-signature: " + signature
	}
	return head
}

// recovered waits until no recovery of the default account is running.
func (w *wire) recovered() {
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if !w.recovering() {
			settled(w, w.svc)
			return
		}
	}
	w.Fatal("a recovery still runs after a minute")
}

func (w *wire) recovering() bool {
	get := func(path string) []byte {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", "Bearer "+adminKey)
		rec := httptest.NewRecorder()
		w.svc.ServeHTTP(rec, r)
		return rec.Body.Bytes()
	}
	for _, part := range bytes.Split(get("/webhook-endpoints?limit=100"), []byte(`"id":"`))[1:] {
		id, _, _ := bytes.Cut(part, []byte(`"`))
		if bytes.Contains(get("/webhook-endpoints/"+string(id)+"/recoveries?status=running"), []byte(`"since"`)) {
			return true
		}
	}
	return false
}
