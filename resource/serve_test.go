package resource_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/idempotency"
	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/route"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// A house serves definitions from a memory, as a hall would.
type house struct {
	*memory
	t        testing.TB
	calendar *version.Calendar
	routes   route.Table[*resource.Route]
	account  int64
	replay   *resource.Replay
}

func newHouse(t testing.TB, definitions ...*resource.Definition) *house {
	h := &house{memory: newMemory(), t: t, calendar: version.BuiltIn(), account: 1}
	keys, err := paginate.NewKeys(paginate.Key{ID: 1, Secret: [32]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := blob.OpenFolder(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		room := d.Open(resource.Options{Blobs: bytes, Store: h.memory, Calendar: h.calendar, Keys: func(string) *paginate.Keys { return keys }, Now: func() time.Time { return time.UnixMicro(h.clock) }})
		for _, r := range room.Routes() {
			h.routes.Add(r.Method, r.Pattern, r)
		}
	}
	return h
}

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		mount, path := "", r.URL.Path
		v := h.calendar.Find("1")
		if rest, ok := strings.CutPrefix(path, "/v0"); ok {
			mount, path, v = "/v0", rest, h.calendar.Find("0")
		}
		m, err := h.routes.Match(r.Method, path)
		if err != nil {
			return err
		}
		var body []byte
		if !m.Value.Stream {
			if body, err = io.ReadAll(r.Body); err != nil {
				return err
			}
		}
		return m.Value.Serve(&resource.Call{
			Stream: r.Body,
			W:      w, R: r, Route: m.Value, Args: m.Args, Mount: mount, Path: path, Version: v, Account: h.account,
			Type: resource.TypeJSON, ContentType: r.Header.Get("Content-Type"), Body: body, Replay: h.replay,
		})
	}).ServeHTTP(w, r)
}

// ask sends a request; header is names and values in turn.
func (h *house) ask(method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// want checks the status and that the body has all these parts.
func (h *house) want(why string, w *httptest.ResponseRecorder, status int, parts ...string) {
	h.t.Helper()
	if w.Code != status {
		h.t.Errorf("%s: status %d, want %d: %s", why, w.Code, status, w.Body)
		return
	}
	if w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
		h.t.Errorf("%s: not JSON: %s", why, w.Body)
	}
	for _, part := range parts {
		if !strings.Contains(w.Body.String(), part) {
			h.t.Errorf("%s: no %s in %s", why, part, w.Body)
		}
	}
}

// emitted returns the events since it was last called.
func (h *house) emitted() string {
	all := strings.Join(h.events, " ")
	h.events = nil
	return all
}

// withJob has one user and one job.
func withJob(t testing.TB) *house {
	h := newHouse(t, jobs, people)
	h.want("a user", h.ask("POST", "/users", `{"name":"Ada"}`), 201)
	h.want("a job", h.ask("POST", "/jobs", `{"name":"one","user_id":1,"parts":[{"name":"p","amount":2}],"spot":{"lat":1},"origin":"o"}`), 201)
	h.events = nil
	return h
}

func TestCreate(t *testing.T) {
	h := newHouse(t, jobs, people)
	h.want("a user", h.ask("POST", "/users", `{"name":"Ada"}`), 201)
	w := h.ask("POST", "/jobs", `{"name":"one","user_id":1,"parts":[{"name":"p","amount":2},{"name":"q","amount":3}],"origin":"o"}`)
	h.want("create", w, 201)
	const want = `{"id":1,"name":"one","user_id":1,"status":"new","parts":[{"name":"p","amount":2},{"name":"q","amount":3}],"spot":null,"origin":"o","total":5,` +
		`"created_at":"2026-11-01T12:00:00.000002Z","updated_at":"2026-11-01T12:00:00.000002Z",` +
		`"_links":{"self":{"href":"/jobs/1"},"collection":{"href":"/jobs"},"owner":{"href":"/users/1"},` +
		`"finish":{"href":"/jobs/1/finish","method":"POST"},"start":{"href":"/jobs/1/start","method":"POST"}}}`
	if got := w.Body.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, want := range map[string]string{
		"Location": "/jobs/1", "Etag": `"1-2026-11-01"`, "Content-Type": "application/json", "Cache-Control": "private, no-cache", "Accept-Ranges": "none",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := h.emitted(); got != "job.created" {
		t.Errorf("events %q, want job.created", got)
	}

	w = h.ask("POST", "/jobs", `{"name":"two"}`)
	h.want("a job of nobody", w, 201, `"user_id":null`)
	if strings.Contains(w.Body.String(), `"owner"`) {
		t.Errorf("a reference to nobody has a link: %s", w.Body)
	}
	h.emitted()

	for _, test := range []struct {
		why, target, body string
		status            int
		part              string
	}{
		{"the state is not the client's to give", "/jobs", `{"name":"x","status":"done"}`, 422, `{"pointer":"/status","detail":"cannot be set on create"}`},
		{"nor in an older version", "/v0/jobs", `{"title":"x","done":true}`, 422, `{"pointer":"/done","detail":"cannot be set on create"}`},
		{"nobody with this id", "/jobs", `{"name":"x","user_id":9}`, 422, `{"pointer":"/user_id","detail":"must be the id of one of the users of this account"}`},
		{"a name that is taken", "/jobs", `{"name":"one"}`, 409, `"errors":[{"pointer":"/name","detail":"is already taken"}]`},
		{"in an older version under its older name", "/v0/jobs", `{"title":"one"}`, 409, `"errors":[{"pointer":"/title","detail":"is already taken"}]`},
		{"a rule of Check", "/jobs", `{"name":"x","parts":[{"name":"p","amount":101}]}`, 422, `{"pointer":"/parts","detail":"must not amount to more than 100"}`},
		{"a rule of a tag, before Check", "/jobs", `{"parts":[{"amount":-1}]}`, 422, `{"pointer":"/parts/0/amount","detail":"must be at least 0"},{"pointer":"/parts/0/name","detail":"is required"},{"pointer":"/name","detail":"is required"}`},
		{"not JSON", "/jobs", `{"name":`, 400, `"type":"/problems/malformed-json"`},
		{"a query where none has a meaning", "/jobs?dry_run=true", `{"name":"x"}`, 400, `"parameter":"dry_run"`},
	} {
		h.want(test.why, h.ask("POST", test.target, test.body), test.status, test.part)
		if got := h.emitted(); got != "" {
			t.Errorf("%s: events %q, want none", test.why, got)
		}
	}
}

func TestRead(t *testing.T) {
	h := withJob(t)
	w := h.ask("GET", "/jobs/1", "")
	h.want("a job", w, 200, `"id":1,"name":"one"`)
	if got := w.Body.String(); strings.Contains(got, "token") || strings.Contains(got, "labels") {
		t.Errorf("shows what is hidden or absent: %s", got)
	}
	head := h.ask("HEAD", "/jobs/1", "")
	if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != w.Header().Get("Content-Length") || head.Header().Get("Etag") != `"1-2026-11-01"` {
		t.Errorf("HEAD answers %d %v %s", head.Code, head.Header(), head.Body)
	}
	w = h.ask("GET", "/jobs/1", "", "If-None-Match", `"1-2026-11-01"`)
	h.want("what the client has", w, 304)
	if w.Body.Len() != 0 || w.Header().Get("Etag") == "" {
		t.Errorf("304 with %v and %s", w.Header(), w.Body)
	}
	h.want("what a client of another version has", h.ask("GET", "/v0/jobs/1", "", "If-None-Match", `"1-2026-11-01"`), 200,
		`{"id":1,"title":"one","user_id":1,"done":false,"parts":[{"name":"p","amount":2}],"total":2,"created_at":`, `"self":{"href":"/v0/jobs/1"}`, `"owner":{"href":"/v0/users/1"}`)
	h.want("a condition that does not hold", h.ask("GET", "/jobs/1", "", "If-Match", `"7"`), 412)
	h.want("a query", h.ask("GET", "/jobs/1?x=1", ""), 400, `"parameter":"x"`)
	h.want("a query that names the version", h.ask("GET", "/jobs/1?api-version=1", ""), 200)
	for _, id := range []string{"2", "0", "01", "+1", "-1", "1.0", "1e0", "one", "１", "9223372036854775808", "1.json", " 1"} {
		h.want("the id "+id, h.ask("GET", "/jobs/"+strings.ReplaceAll(id, " ", "%20"), ""), 404, "There is no such job in this account.")
	}
	h.account = 2
	h.want("another account's", h.ask("GET", "/jobs/1", ""), 404)
}

func TestPatch(t *testing.T) {
	const merge, patch = resource.TypeMerge, resource.TypePatch
	for _, test := range []struct {
		why, target, kind, body string
		status                  int
		part, events            string
	}{
		{"a member", "/jobs/1", merge, `{"name":"two"}`, 200, `"name":"two","user_id":1,"status":"new"`, "job.updated"},
		{"plain JSON means the same", "/jobs/1", resource.TypeJSON, `{"name":"two"}`, 200, `"name":"two"`, "job.updated"},
		{"null where it may be", "/jobs/1", merge, `{"user_id":null}`, 200, `"user_id":null`, "job.updated"},
		{"what is computed follows", "/jobs/1", merge, `{"parts":[{"name":"q","amount":40}]}`, 200, `"total":40`, "job.updated"},
		{"a nested member", "/jobs/1", merge, `{"spot":{"lon":2}}`, 200, `"spot":{"lat":1,"lon":2}`, "job.updated"},
		{"nothing", "/jobs/1", merge, `{}`, 200, `"name":"one"`, ""},
		{"what is so already", "/jobs/1", merge, `{"name":"one","status":"new","origin":"o"}`, 200, `"name":"one"`, ""},
		{"a state", "/jobs/1", merge, `{"status":"running"}`, 200, `"status":"running"`, "job.updated"},
		{"a state with an event of its own", "/jobs/1", merge, `{"status":"done"}`, 200, `"status":"done"`, "job.updated job.finished"},
		{"a state that does not exist", "/jobs/1", merge, `{"status":"gone"}`, 422, `{"pointer":"/status","detail":"must be one of: new, running, done"}`, ""},
		{"no state", "/jobs/1", merge, `{"status":null}`, 422, `{"pointer":"/status","detail":"is required"}`, ""},
		{"what is fixed", "/jobs/1", merge, `{"origin":"p"}`, 422, `{"pointer":"/origin","detail":"cannot be changed"}`, ""},
		{"what is computed", "/jobs/1", merge, `{"total":1}`, 422, `{"pointer":"/total","detail":"is read-only"}`, ""},
		{"what is hidden", "/jobs/1", merge, `{"token":"x"}`, 422, `{"pointer":"/token","detail":"is not a member of this resource"}`, ""},
		{"the id", "/jobs/1", merge, `{"id":2}`, 422, `{"pointer":"/id","detail":"is not a member of this resource"}`, ""},
		{"a rule of Check that knows the value before", "/jobs/1", merge, `{"name":"taken back"}`, 422, `{"pointer":"/name","detail":"cannot be taken back"}`, ""},
		{"nobody with this id", "/jobs/1", merge, `{"user_id":9}`, 422, `{"pointer":"/user_id",`, ""},
		{"not JSON", "/jobs/1", merge, `{`, 400, `malformed-json`, ""},
		{"nothing there", "/jobs/7", merge, `{}`, 404, `not-found`, ""},
		{"a query", "/jobs/1?x=1", merge, `{}`, 400, `"parameter":"x"`, ""},

		{"an older version", "/v0/jobs/1", merge, `{"title":"two"}`, 200, `"title":"two","user_id":1,"done":false`, "job.updated"},
		{"its state", "/v0/jobs/1", merge, `{"done":true}`, 200, `"done":true`, "job.updated job.finished"},
		{"its errors are in its words", "/v0/jobs/1", merge, `{"title":"taken back"}`, 422, `{"pointer":"/title","detail":"cannot be taken back"}`, ""},
		{"it does not know new members", "/v0/jobs/1", merge, `{"name":"x"}`, 422, `{"pointer":"/name","detail":"is not a member of this resource"}`, ""},

		{"operations", "/jobs/1", patch, `[{"op":"test","path":"/name","value":"one"},{"op":"replace","path":"/name","value":"two"}]`, 200, `"name":"two"`, "job.updated"},
		{"id and times can be tested", "/jobs/1", patch, `[{"op":"test","path":"/id","value":1},{"op":"test","path":"/created_at","value":"2026-11-01T12:00:00.000002Z"},{"op":"test","path":"/updated_at","value":"2026-11-01T12:00:00.000002Z"},{"op":"test","path":"/total","value":2}]`, 200, `"name":"one"`, ""},
		{"a test that fails", "/jobs/1", patch, `[{"op":"test","path":"/name","value":"two"},{"op":"remove","path":"/user_id"}]`, 409, `"type":"/problems/conflict"`, ""},
		{"a failing test against a list of null", "/jobs/1", patch, `[{"op":"test","path":"/parts","value":[null]}]`, 409, `operation 0`, ""},
		{"an element added", "/jobs/1", patch, `[{"op":"add","path":"/parts/-","value":{"name":"q","amount":5}}]`, 200, `"parts":[{"name":"p","amount":2},{"name":"q","amount":5}]`, "job.updated"},
		{"an element changed", "/jobs/1", patch, `[{"op":"replace","path":"/parts/0/amount","value":7}]`, 200, `"total":7`, "job.updated"},
		{"an element moved", "/jobs/1", patch, `[{"op":"copy","from":"/parts/0","path":"/parts/0"},{"op":"replace","path":"/parts/0/name","value":"a"},{"op":"move","from":"/parts/0","path":"/parts/1"}]`, 200, `"parts":[{"name":"p","amount":2},{"name":"a","amount":2}]`, "job.updated"},
		{"an element removed", "/jobs/1", patch, `[{"op":"remove","path":"/parts/0"}]`, 200, `"parts":[]`, "job.updated"},
		{"an element from the end", "/jobs/1", patch, `[{"op":"remove","path":"/parts/-1"}]`, 422, `{"pointer":"/0/path","detail":"cannot be applied to the resource"}`, ""},
		{"more elements than a list holds", "/jobs/1", patch, `[{"op":"copy","from":"/parts/0","path":"/parts/-"},{"op":"copy","from":"/parts/0","path":"/parts/-"},{"op":"copy","from":"/parts/0","path":"/parts/-"}]`, 422, `{"pointer":"/parts","detail":"must have at most 3 elements"}`, ""},
		{"a member removed is reset", "/jobs/1", patch, `[{"op":"remove","path":"/spot"},{"op":"remove","path":"/parts"}]`, 200, `"parts":[],"spot":null`, "job.updated"},
		{"what is required removed", "/jobs/1", patch, `[{"op":"remove","path":"/name"}]`, 422, `{"pointer":"/name","detail":"is required"}`, ""},
		{"an object made of nothing", "/jobs/1", patch, `[{"op":"add","path":"/spot","value":{"lon":1}}]`, 422, `{"pointer":"/spot/lat","detail":"is required"}`, ""},
		{"the state", "/jobs/1", patch, `[{"op":"replace","path":"/status","value":"done"}]`, 200, `"status":"done"`, "job.updated job.finished"},
		{"a member that does not exist", "/jobs/1", patch, `[{"op":"add","path":"/a~1b","value":1}]`, 422, `{"pointer":"/a~1b","detail":"is not a member of this resource"}`, ""},
		{"what is hidden", "/jobs/1", patch, `[{"op":"add","path":"/token","value":"x"}]`, 422, `{"pointer":"/token",`, ""},
		{"what is hidden cannot be probed", "/jobs/1", patch, `[{"op":"test","path":"/token","value":""}]`, 409, `conflict`, ""},
		{"what is computed", "/jobs/1", patch, `[{"op":"replace","path":"/total","value":1}]`, 422, `{"pointer":"/total","detail":"is read-only"}`, ""},
		{"what is computed, to what it is", "/jobs/1", patch, `[{"op":"replace","path":"/total","value":2.0}]`, 200, `"total":2`, ""},
		{"the id, and a time removed", "/jobs/1", patch, `[{"op":"replace","path":"/id","value":2},{"op":"remove","path":"/created_at"}]`, 422, `{"pointer":"/id","detail":"is read-only"},{"pointer":"/created_at","detail":"is read-only"}`, ""},
		{"what is fixed", "/jobs/1", patch, `[{"op":"replace","path":"/origin","value":"p"}]`, 422, `{"pointer":"/origin","detail":"cannot be changed"}`, ""},
		{"everything, by an object that lacks the id", "/jobs/1", patch, `[{"op":"replace","path":"","value":{"name":"x"}}]`, 422, `{"pointer":"/id","detail":"is read-only"}`, ""},
		{"everything, by nothing", "/jobs/1", patch, `[{"op":"replace","path":"","value":null}]`, 422, `{"pointer":"","detail":"must be an object"}`, ""},
		{"links are not part of it", "/jobs/1", patch, `[{"op":"remove","path":"/_links"}]`, 422, `{"pointer":"/0/path",`, ""},
		{"not a patch", "/jobs/1", patch, `{"name":"x"}`, 422, `must be an array of operations`, ""},
		{"a patch with data after it", "/jobs/1", patch, `[] x`, 400, `malformed-json`, ""},
		{"an older version has its own members", "/v0/jobs/1", patch, `[{"op":"test","path":"/title","value":"one"},{"op":"replace","path":"/done","value":true}]`, 200, `"title":"one","user_id":1,"done":true`, "job.updated job.finished"},
	} {
		h := withJob(t)
		h.want(test.why, h.ask("PATCH", test.target, test.body, "Content-Type", test.kind), test.status, test.part)
		if got := h.emitted(); got != test.events {
			t.Errorf("%s: events %q, want %q", test.why, got, test.events)
		}
	}
}

func TestTransitions(t *testing.T) {
	for _, test := range []struct {
		why     string
		steps   []string // bodies of PATCH, the last of which counts
		status  int
		part    string
		actions []string
	}{
		{"forth", []string{"running"}, 200, `"status":"running"`, []string{"finish"}},
		{"back", []string{"running", "new"}, 200, `"status":"new"`, []string{"finish", "start"}},
		{"to where it is", []string{"done", "done"}, 200, `"status":"done"`, []string{"start"}},
		{"where no way leads", []string{"done", "new"}, 409, `"detail":"A job that is done cannot become new.","instance":"/jobs/1","allowed":["running"]`, nil},
	} {
		h := withJob(t)
		var w *httptest.ResponseRecorder
		for _, state := range test.steps {
			w = h.ask("PATCH", "/jobs/1", `{"status":"`+state+`"}`, "Content-Type", resource.TypeMerge)
		}
		h.want(test.why, w, test.status, test.part)
		for _, action := range []string{"finish", "start"} {
			if got, want := strings.Contains(w.Body.String(), `"`+action+`":{"href":`), slices.Contains(test.actions, action); got != want {
				t.Errorf("%s: has a link to %s: %v, want %v", test.why, action, got, want)
			}
		}
	}
}

func TestAct(t *testing.T) {
	h := withJob(t)
	h.want("finish", h.ask("POST", "/jobs/1/finish", ""), 200, `"status":"done"`)
	if got := h.emitted(); got != "job.updated job.finished" {
		t.Errorf("events %q", got)
	}
	h.want("again", h.ask("POST", "/jobs/1/finish", ""), 409, `"detail":"The job is already done."`, `"allowed":["running"]`)
	h.want("what does not exist", h.ask("POST", "/jobs/9/finish", ""), 404)
	h.want("in an older version", h.ask("POST", "/v0/jobs/1/start", ""), 200, `"done":false`)
	h.want("under a condition that does not hold", h.ask("POST", "/jobs/1/finish", "", "If-Match", `"1-2026-11-01"`), 412)
}

func TestReplace(t *testing.T) {
	for _, test := range []struct {
		why, target, body string
		status            int
		part              string
	}{
		{"what is not sent is reset, but for the state and what is not the client's", "/jobs/1", `{"name":"two"}`, 200, `"name":"two","user_id":null,"status":"running","parts":[],"spot":null,"origin":"o","total":0,`},
		{"with the state the transitions hold", "/jobs/1", `{"name":"two","status":"done"}`, 200, `"status":"done"`},
		{"what is required", "/jobs/1", `{"user_id":1}`, 422, `{"pointer":"/name","detail":"is required"}`},
		{"what is read-only", "/jobs/1", `{"name":"two","total":2}`, 422, `{"pointer":"/total","detail":"is read-only"}`},
		{"what is fixed, as it is", "/jobs/1", `{"name":"two","origin":"o"}`, 200, `"origin":"o"`},
		{"what is fixed, otherwise", "/jobs/1", `{"name":"two","origin":"p"}`, 422, `{"pointer":"/origin","detail":"cannot be changed"}`},
		{"it does not create", "/jobs/2", `{"name":"two"}`, 404, `not-found`},
		{"an older version keeps what it does not know", "/v0/jobs/1", `{"title":"two"}`, 200, `"title":"two","user_id":null,"done":false,"parts":[]`},
	} {
		h := withJob(t)
		h.want("start", h.ask("POST", "/jobs/1/start", ""), 200)
		h.want(test.why, h.ask("PUT", test.target, test.body), test.status, test.part)
		if test.target == "/v0/jobs/1" {
			h.want(test.why, h.ask("GET", "/jobs/1", ""), 200, `"status":"running"`, `"spot":{"lat":1,"lon":0}`, `"origin":"o"`)
		}
	}
}

// Where the row moved on in between, the change is made to what it is now; with
// a condition it is refused.
func TestConcurrentChange(t *testing.T) {
	for _, test := range []struct {
		why, kind, body string
		header          []string
		status          int
		part            string
	}{
		{"a merge keeps the other's change", resource.TypeMerge, `{"name":"two"}`, nil, 200, `"name":"two","user_id":null`},
		{"operations are applied to what is there now", resource.TypePatch, `[{"op":"add","path":"/parts/-","value":{"name":"q","amount":1}}]`, nil, 200, `"user_id":null,"status":"new","parts":[{"name":"p","amount":2},{"name":"q","amount":1}]`},
		{"so are tests", resource.TypePatch, `[{"op":"test","path":"/user_id","value":1},{"op":"replace","path":"/name","value":"two"}]`, nil, 409, `conflict`},
		{"with a condition", resource.TypeMerge, `{"name":"two"}`, []string{"If-Match", `"1-2026-11-01"`}, 412, `precondition-failed`},
		{"what the other did as well", resource.TypeMerge, `{"user_id":null}`, nil, 200, `"user_id":null`},
	} {
		h := withJob(t)
		h.meddle = func() {
			h.want("the other's change", h.ask("PATCH", "/jobs/1", `{"user_id":null}`, "Content-Type", resource.TypeMerge), 200)
		}
		h.want(test.why, h.ask("PATCH", "/jobs/1", test.body, append(test.header, "Content-Type", test.kind)...), test.status, test.part)
	}
	h := withJob(t)
	h.meddle = func() { h.want("the other's deletion", h.ask("DELETE", "/jobs/1", ""), 204) }
	h.want("what is gone", h.ask("PATCH", "/jobs/1", `{"name":"two"}`, "Content-Type", resource.TypeMerge), 404)
}

func TestDelete(t *testing.T) {
	h := withJob(t)
	h.want("a query", h.ask("DELETE", "/jobs/1?x=1", ""), 400)
	h.want("under a condition that does not hold", h.ask("DELETE", "/jobs/1", "", "If-Match", `"7"`), 412)
	w := h.ask("DELETE", "/jobs/1", "", "If-Match", `"1-2026-11-01"`)
	h.want("a job", w, 204)
	if w.Body.Len() != 0 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("204 with %v and %s", w.Header(), w.Body)
	}
	if got := h.emitted(); got != "job.deleted" {
		t.Errorf("events %q", got)
	}
	h.want("again", h.ask("DELETE", "/jobs/1", ""), 404)
	h.want("no id", h.ask("DELETE", "/jobs/x", ""), 404)

	rules := resource.Rules[Person]{Keep: func(p *Person, id int64) error {
		if id == 1 {
			return problem.Conflict.New(p.Name + " stays.")
		}
		return nil
	}}
	h = newHouse(t, resource.Define("user", "users", rules))
	h.ask("POST", "/users", `{"name":"Ada"}`)
	h.ask("POST", "/users", `{"name":"Bob"}`)
	h.want("what is kept", h.ask("DELETE", "/users/1", ""), 409, "Ada stays.")
	h.want("what is not", h.ask("DELETE", "/users/2", ""), 204)
}

// A secret is in the 201 and nowhere else, not even in the record that answers
// the same request again.
func TestReveal(t *testing.T) {
	type Door struct {
		Name string `json:"name" parley:"required"`
		Hash string `json:"hash" parley:"hidden,unique"`
		By   int64  `json:"by" parley:"readonly"`
	}
	h := newHouse(t, resource.Define("door", "doors", resource.Rules[Door]{
		System: true, Shown: "key",
		Reveal: func(next *Door, account int64) (string, error) {
			if next.Name == "jammed" {
				return "", errors.New("no randomness left")
			}
			next.Hash, next.By = "hash-of-"+next.Name, account
			return "sesame \"<" + next.Name, nil
		},
	}))
	h.account = 5
	h.replay = &resource.Replay{Key: "k", Print: idempotency.Print{1}}
	w := h.ask("POST", "/doors", `{"name":"front"}`)
	h.want("create", w, 201, `{"id":1,"name":"front","by":5,"key":"sesame \"<front","created_at":`)
	if got := w.Header(); got.Get("Cache-Control") != "no-store" || got.Get("Etag") != "" || got.Get("Location") != "/doors/1" {
		t.Errorf("a secret is sent with %v", got)
	}
	again, err := idempotency.ParseAnswer(h.answer)
	if err != nil || again.Status != 201 || strings.Contains(string(again.Body), "sesame") || !strings.Contains(string(again.Body), `"name":"front"`) {
		t.Errorf("the record is %d %s, %v, want the answer without the secret", again.Status, again.Body, err)
	}
	for _, w := range []*httptest.ResponseRecorder{h.ask("GET", "/doors/1", ""), h.ask("GET", "/doors", ""), h.ask("PATCH", "/doors/1", `{"name":"back"}`), h.ask("PUT", "/doors/1", `{"name":"side"}`)} {
		h.want("later", w, 200)
		if got := w.Body.String(); strings.Contains(got, "sesame") || strings.Contains(got, "hash") {
			t.Errorf("shows the secret: %s", got)
		}
	}
	if row := h.tables["doors"][0]; row.Account != 0 || !strings.Contains(string(row.Doc), `"hash":"hash-of-front"`) {
		t.Errorf("the row is %+v with %s, want the service's own, with its hash", row.Row, row.Doc)
	}
	h.want("a secret that cannot be made", h.ask("POST", "/doors", `{"name":"jammed"}`), 500)
}

// A document that lacks members which were added since shows them all the same.
func TestReshape(t *testing.T) {
	h := newHouse(t, jobs, people)
	h.tables["jobs"] = []kept{{store.Row{ID: 1, Account: 1, Rev: 1, Doc: []byte(`{"name":"old","status":"new"}`), Reshape: true}, make([]any, 4)}}
	h.want("read", h.ask("GET", "/jobs/1", ""), 200, `"name":"old","user_id":null,"status":"new","parts":[],"spot":null,"origin":null,"total":0,`, `"start":{"href"`)
	h.want("older", h.ask("GET", "/v0/jobs/1", ""), 200, `"title":"old","user_id":null,"done":false,"parts":[],"total":0`)
}

// A document that cannot be read is our fault.
func TestBrokenDocument(t *testing.T) {
	h := newHouse(t, jobs, people)
	h.tables["jobs"] = []kept{{store.Row{ID: 1, Account: 1, Rev: 1, Doc: []byte(`{"name":7}`)}, make([]any, 4)}}
	h.last["jobs"] = 1
	h.want("read in an older version", h.ask("GET", "/v0/jobs/1", ""), 500)
	h.want("list in an older version", h.ask("GET", "/v0/jobs", ""), 500)
	h.want("change", h.ask("PATCH", "/jobs/1", `{}`, "Content-Type", resource.TypeMerge), 500)
	h.want("replace", h.ask("PUT", "/jobs/1", `{"name":"x"}`), 500)
}

// A resource all of whose members are left out can still be patched.
func TestPatchOfNothing(t *testing.T) {
	type Bare struct {
		Note string `json:"note,omitempty"`
	}
	h := newHouse(t, resource.Define("bare", "bares", resource.Rules[Bare]{}))
	h.want("create", h.ask("POST", "/bares", `{}`), 201, `{"id":1,"created_at":`)
	h.want("read", h.ask("GET", "/bares/1", ""), 200, `{"id":1,"created_at":`)
	h.want("patch", h.ask("PATCH", "/bares/1", `[{"op":"add","path":"/note","value":"x"}]`, "Content-Type", resource.TypePatch), 200, `{"id":1,"note":"x",`)
}

func TestSnapshot(t *testing.T) {
	calendar := version.BuiltIn()
	room := jobs.Open(resource.Options{Store: newMemory(), Calendar: calendar})
	row := &store.Row{ID: 7, Rev: 2, Created: 1, Updated: 2, Doc: jobs.Record(&Job{Name: "a", Status: "done", Token: "z"}).Doc}
	const times = `"created_at":"1970-01-01T00:00:00.000001Z","updated_at":"1970-01-01T00:00:00.000002Z"}`
	for _, test := range []struct{ why, version, want string }{
		{"the latest, without what is hidden and without links", "1", `{"id":7,"name":"a","user_id":null,"status":"done","parts":[],"spot":null,"origin":null,"total":0,` + times},
		{"an older version", "0", `{"id":7,"title":"a","user_id":null,"done":true,"parts":[],"total":0,` + times},
	} {
		got, err := room.Snapshot(nil, calendar.Find(test.version), row)
		if err != nil || string(got) != test.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", test.why, got, err, test.want)
		}
	}
	row.Doc = []byte(`{"name":`)
	if _, err := room.Snapshot(nil, calendar.Find("0"), row); err == nil {
		t.Error("a broken document has a snapshot")
	}
}
