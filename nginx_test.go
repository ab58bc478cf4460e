package parley_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/problem"
)

// ownAnswers are the exchanges that the proxy answers by itself, and why.
// TestNginxAlone looks at what it says then.
var ownAnswers = map[string]string{
	"auth: Two keys":                      "nginx refuses a second Authorization header as no HTTP",
	"methods: TRACE":                      "nginx refuses TRACE before it looks at any location",
	"methods: Methods are case-sensitive": "nginx takes a method in lower case for no HTTP",
}

// proxyOwns are the header fields that the proxy speaks in, and why. All others
// must come through as the service sent them.
var proxyOwns = map[string]string{
	"Server": "nginx signs every answer and cannot be told not to; server_tokens off takes its version away",
}

// TestNginx has the conversations of testdata/wire again, through nginx with
// the configuration that the project ships. A client must not be able to tell
// (spec, What the service does), so every answer must be the same.
func TestNginx(t *testing.T) {
	files := readWireFiles(t)
	seen, docs := newTally(), newDescriptions()
	t.Run("files", func(t *testing.T) {
		for _, f := range files {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				w := openWire(t, f, "sqlite")
				w.seen, w.docs = seen, docs
				var state string
				w.addr, state = startNginx(t, w.addr)
				w.proxy = true
				w.play()
				w.checkAccessLog(state)
			})
		}
	})
	if !t.Failed() && seen.files == len(files) {
		seen.check(t)
	}
}

// logged are the files in which the proxy logs a key, and why.
var logged = map[string]string{
	"auth": "a client puts its key into the URL, where none belongs, and nginx logs request lines",
}

// checkAccessLog looks for keys in what the proxy logs.
func (w *wire) checkAccessLog(state string) {
	w.Helper()
	for _, name := range []string{"access.log", "error.log"} {
		text, err := os.ReadFile(filepath.Join(state, name))
		if err != nil {
			w.Fatal(err)
		}
		for _, secret := range w.secrets() {
			if strings.Contains(string(text), secret) && logged[w.file.name] == "" {
				w.Errorf("%s shows a key", name)
			}
		}
	}
}

// startNginx puts nginx in front of an address and returns its own, and the
// folder with its logs.
func startNginx(t *testing.T, upstream string) (addr, state string) {
	t.Helper()
	binary := os.Getenv("PARLEY_TEST_NGINX")
	if binary == "" {
		binary = "/usr/sbin/nginx"
	}
	text, err := os.ReadFile("deploy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir, listen := t.TempDir(), freeAddr(t)
	conf := strings.NewReplacer("__LISTEN__", listen, "__UPSTREAM__", upstream, "__STATE__", dir).Replace(string(text))
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	globals := "daemon off;"
	if os.Getuid() == 0 {
		globals += " user root;" // the folder is ours alone
	}
	cmd := exec.Command(binary, "-e", "stderr", "-c", file, "-g", globals)
	var said journal
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting nginx: %v: install it, or name it in PARLEY_TEST_NGINX", err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	for range 200 {
		conn, err := net.DialTimeout("tcp", listen, time.Second)
		if err == nil {
			conn.Close()
			return listen, dir
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("nginx does not listen: %s", said.String())
	return "", ""
}

// freeAddr returns an address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestNginxAlone looks at what the proxy says by itself: problem details, too.
// It knows neither the version nor the quota, and says nothing of them.
func TestNginxAlone(t *testing.T) {
	w := openWire(t, &wireFile{name: "alone"}, "sqlite")
	live, _ := startNginx(t, w.addr)
	dead, _ := startNginx(t, freeAddr(t))
	tests := []struct {
		why, addr, head string
		kind            *problem.Kind
		headers         []string
	}{
		{"the origin is away", dead, "GET /tasks?status=done HTTP/1.1", problem.Unavailable, []string{"Retry-After"}},
		{"the origin is away and HEAD has no body", dead, "HEAD /tasks HTTP/1.1", problem.Unavailable, []string{"Retry-After"}},
		{"TRACE is refused", live, "TRACE /tasks HTTP/1.1", problem.MethodNotAllowed, []string{"Allow"}},
		{"a method in lower case is no HTTP", live, "get /tasks HTTP/1.1", problem.BadRequest, nil},
		{"a request line that is none", live, "nonsense", problem.BadRequest, nil},
		{"a header that is too large", live, "GET /tasks HTTP/1.1\nX-Large: " + strings.Repeat("x", 40_000), problem.BadRequest, nil},
		{"two keys", live, "GET /tasks HTTP/1.1\nAuthorization: Bearer a\nAuthorization: Bearer b", problem.BadRequest, nil},
		{"two lengths", live, "POST /tasks HTTP/1.1\nContent-Length: 1\nContent-Length: 2", problem.BadRequest, nil},
	}
	for _, tt := range tests {
		s := newSent(tt.head, "")
		a, err := converse(tt.addr, s)
		if err != nil {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		if a.status != tt.kind.Status || !a.is(problem.ContentType) || s.method == "HEAD" != (len(a.body) == 0) {
			t.Errorf("%s: got %d %s %q, want a problem %d", tt.why, a.status, a.header.Get("Content-Type"), a.body, tt.kind.Status)
			continue
		}
		for _, name := range append(tt.headers, "Cache-Control", "X-Request-Id") {
			if err := present(a, name); err != nil {
				t.Errorf("%s: %v", tt.why, err)
			}
		}
		if p := a.problem(); s.method != "HEAD" && (p.Type != tt.kind.Type() || p.Title != tt.kind.Title || p.Status != a.status || p.Detail == "" || p.Instance == "") {
			t.Errorf("%s: got %s, want the problem %s", tt.why, a.body, tt.kind.Name)
		}
	}
}

// TestNginxCache makes sure that a shared cache never mixes accounts, versions
// or formats, though everything is asked for at one path: first with an origin
// that lets everything be shared, then with the service itself.
func TestNginxCache(t *testing.T) {
	var asked atomic.Int64
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Cache-Control", "public, max-age=60")
		w.Header().Set("Vary", "Accept, API-Version, Authorization")
		fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("Accept"), r.Header.Get("API-Version"), r.Header.Get("Authorization"))
	}))
	defer origin.Close()
	addr, _ := startNginx(t, strings.TrimPrefix(origin.URL, "http://"))
	clients := []string{"|1|", "|0|", "application/json|1|", "text/html|1|", "|1|Bearer a", "|1|Bearer b", "||Bearer a", "||"}
	for round := range 2 {
		for _, client := range clients {
			v := strings.Split(client, "|")
			lines := []string{"GET /shared HTTP/1.1"}
			for i, name := range []string{"Accept", "API-Version", "Authorization"} {
				if v[i] != "" {
					lines = append(lines, name+": "+v[i])
				}
			}
			a, err := converse(addr, newSent(strings.Join(lines, "\n"), ""))
			if err != nil {
				t.Fatal(err)
			}
			if string(a.body) != client {
				t.Errorf("round %d: got the answer for %q, want that for %q", round, a.body, client)
			}
		}
	}
	if got, want := asked.Load(), int64(len(clients)); got != want {
		t.Errorf("the origin was asked %d times, want %d: the second round comes from the cache", got, want)
	}
	cacheOfService(t)
}

// cacheOfService asks for one path in the names of two accounts and of two
// versions, each twice.
func cacheOfService(t *testing.T) {
	svc := start(t, "sqlite", func(cfg *parley.Config) { cfg.Now = func() time.Time { return today } })
	addr, _ := startNginx(t, strings.TrimPrefix(svc.URL, "http://"))
	ask := func(method, target, key, body string, lines ...string) map[string]any {
		t.Helper()
		head := append([]string{method + " " + target + " HTTP/1.1", "Authorization: Bearer " + key, "Content-Type: application/json"}, lines...)
		a, err := converse(addr, newSent(strings.Join(head, "\n"), body))
		if err != nil || a.status >= 300 {
			t.Fatalf("%s %s: got %+v, error %v", method, target, a, err)
		}
		var v map[string]any
		json.Unmarshal(a.body, &v)
		return v
	}
	other := ask("POST", "/accounts", adminKey, `{"name": "other"}`)
	key := ask("POST", "/api-keys", adminKey, fmt.Sprintf(`{"name": "k", "account_id": %v, "scopes": ["tasks:read", "tasks:write"]}`, other["id"]))["key"].(string)
	ask("POST", "/tasks", adminKey, `{"title": "ours"}`)
	ask("POST", "/tasks", key, `{"title": "theirs"}`)
	first := func(v map[string]any) map[string]any { return v["data"].([]any)[0].(map[string]any) }
	for range 2 {
		if got := first(ask("GET", "/tasks", adminKey, ""))["title"]; got != "ours" {
			t.Errorf("the first account got the task %v, want its own", got)
		}
		if got := first(ask("GET", "/tasks", key, ""))["title"]; got != "theirs" {
			t.Errorf("the second account got the task %v, want its own", got)
		}
		if got := first(ask("GET", "/tasks", key, "", "API-Version: 0"))["name"]; got != "theirs" {
			t.Errorf("a client of the old version got the name %v, want the old shape", got)
		}
		for _, name := range []string{"2025-11-01", "2026-11-01"} {
			info := ask("GET", "/openapi", key, "", "API-Version: "+name)["info"].(map[string]any)
			if info["version"] != name {
				t.Errorf("got the description of %v, want that of %s", info["version"], name)
			}
		}
	}
	ask("PATCH", "/accounts/"+fmt.Sprint(other["id"]), adminKey, `{"api_version": "2025-11-01"}`)
	if got := first(ask("GET", "/tasks", key, ""))["name"]; got != "theirs" {
		t.Errorf("after its pin was moved the account got the name %v, want the old shape", got)
	}
}

// TestNginxVersions makes the service's own answers cacheable for everybody and
// asks nginx for one row by every carrier, in every version, again and again:
// what comes from the cache is what that carrier asked for (spec, Version
// carriers: caches need Vary).
func TestNginxVersions(t *testing.T) {
	clock := &clock{frozen: true, day: date(t, "2026-05-01")} // all three versions answer
	svc := start(t, "sqlite", func(cfg *parley.Config) { cfg.Now = clock.now })
	ask(t, svc, `{"title": "One row"}`, "POST /v1/tasks HTTP/1.1", "Authorization: Bearer "+adminKey, "Content-Type: application/json")
	var asked atomic.Int64
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		svc.ServeHTTP(shared{w}, r)
	}))
	defer origin.Close()
	addr, _ := startNginx(t, strings.TrimPrefix(origin.URL, "http://"))
	requests := 0
	for round := range 3 {
		for i := range lives {
			l := &lives[i]
			for _, c := range carriers {
				if !c.able(l) {
					continue
				}
				o := &outgoing{path: "/tasks/1", lines: []string{"Authorization: Bearer " + adminKey}}
				c.apply(o, l)
				a, err := converse(addr, newSent(o.head("GET"), ""))
				if err != nil {
					t.Fatal(err)
				}
				if err := l.check(a, "2026-05-01", "/tasks/1"); err != nil {
					t.Errorf("round %d, %s in the %s: %v", round, l.name, c.name, err)
				}
				checkShape(t, l, a, o.mount)
				requests++
			}
		}
	}
	if got, want := asked.Load(), int64(requests/3); got != want {
		t.Errorf("the origin was asked %d times for %d requests, want %d: the rest comes from the cache", got, requests, want)
	}
}

// shared makes an answer one that any cache may keep.
type shared struct{ http.ResponseWriter }

func (s shared) WriteHeader(status int) {
	s.Header().Set("Cache-Control", "public, max-age=600")
	s.ResponseWriter.WriteHeader(status)
}
