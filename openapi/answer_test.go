package openapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// A hall does the least that a room needs around it, and holds each answer
// against the description.
type hall struct {
	t       *testing.T
	doc     *openapi3.T
	routes  []*resource.Route
	version *version.Version
}

func newHall(t *testing.T, v *version.Version) *hall {
	_, routes := open(t, all()...)
	return &hall{t, load(t, build(t, v)), routes, v}
}

// do sends a request to the route with an operation id and returns the answer.
func (h *hall) do(id, target, contentType, body string, header ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	var route *resource.Route
	for _, r := range h.routes {
		if r.Operation == id {
			route = r
		}
	}
	if route == nil {
		h.t.Fatalf("no route %s", id)
	}
	r := httptest.NewRequest(route.Method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	for _, name := range []string{"Vary", "X-Content-Type-Options", "X-Request-Id"} {
		w.Header().Set(name, "nosniff") // the value counts for one of them only
	}
	cal := version.BuiltIn()
	cal.Announce(w.Header(), cal.Find(h.version.Name), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), "", r.URL)
	c := &resource.Call{
		W: w, R: r, Route: route, Path: r.URL.Path, Version: h.version, Account: 1,
		Type: "application/json", ContentType: contentType, Body: []byte(body),
	}
	if at := strings.Split(r.URL.Path, "/"); len(at) > 2 {
		c.Args[0] = at[2]
	}
	if err := route.Serve(c); err != nil {
		problem.Write(w, r, err)
	}
	h.check(route, r, w)
	return w
}

// check validates status, header fields and body.
func (h *hall) check(route *resource.Route, r *http.Request, w *httptest.ResponseRecorder) {
	h.t.Helper()
	item := h.doc.Paths.Value(route.Pattern)
	input := &openapi3filter.RequestValidationInput{
		Request: r, Route: &routers.Route{Spec: h.doc, Path: route.Pattern, PathItem: item, Method: route.Method, Operation: item.GetOperation(route.Method)},
	}
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		h.t.Errorf("%s %s: the answer %d %s is not as described: %v", route.Method, r.URL, w.Code, w.Body, err)
	}
	described := item.GetOperation(route.Method).Responses.Status(w.Code)
	for name := range w.Header() {
		if name == "Content-Type" || name == "Content-Length" || name == "Accept-Ranges" && w.Code == 412 {
			continue // of every message; of a list that had begun its answer
		}
		known := false
		for header := range described.Value.Headers {
			known = known || strings.EqualFold(header, name)
		}
		if !known {
			h.t.Errorf("%s %s: the answer %d has the header %s, which is not described", route.Method, r.URL, w.Code, name)
		}
	}
}

func TestAnswersAreAsDescribed(t *testing.T) {
	each(t, func(t *testing.T, v *version.Version) {
		h := newHall(t, v)
		task, patch := `{"title":"x"}`, `{"status":"in_progress","assignee_id":null}`
		if v.Major < 1 {
			task, patch = `{"name":"x"}`, `{"done":true}`
		}
		thing := `{"code":"12345678","colour":"red","parts":[{"name":"a","size":2},{"name":"b"}],"maybe":{"name":"c"},"count":3,"at":"2026-11-01T00:00:00Z"}`
		for _, c := range []struct {
			id, target, contentType, body string
			header                        []string
			status                        int
			why                           string
		}{
			{"listTasks", "/tasks", "", "", nil, 200, "an empty list has null cursors"},
			{"createTask", "/tasks", "application/json", task, nil, 201, "a new task"},
			{"createTask", "/tasks", "application/json", task, nil, 201, "another"},
			{"createTask", "/tasks", "application/json", task, nil, 201, "and another"},
			{"createTask", "/tasks", "application/json", `{`, nil, 400, "not JSON"},
			{"createTask", "/tasks", "application/json", `{}`, nil, 422, "a member is missing"},
			{"createTask", "/tasks?x=1", "application/json", task, nil, 400, "an unknown parameter"},
			{"getTask", "/tasks/1", "", "", nil, 200, "one task"},
			{"getTask", "/tasks/9", "", "", nil, 404, "no task"},
			{"getTask", "/tasks/1", "", "", []string{"If-None-Match", "*"}, 304, "not changed"},
			{"getTask", "/tasks/1", "", "", []string{"If-Match", `"other"`}, 412, "another state"},
			{"updateTask", "/tasks/1", "application/merge-patch+json", patch, nil, 200, "a merge patch"},
			{"updateTask", "/tasks/1", "application/json-patch+json", `[{"op":"test","path":"/id","value":1}]`, nil, 200, "a JSON Patch"},
			{"updateTask", "/tasks/1", "application/json-patch+json", `[{"op":"test","path":"/id","value":2}]`, nil, 409, "a test fails"},
			{"replaceTask", "/tasks/2", "application/json", task, nil, 200, "a new content"},
			{"completeTask", "/tasks/2/complete", "", "", nil, 200, "an action"},
			{"completeTask", "/tasks/2/complete", "", "", nil, 409, "a second time"},
			{"listTasks", "/tasks?limit=2", "", "", nil, 200, "a page with a next one"},
			{"listTasks", "/tasks?limit=2&include_total=true", "", "", nil, 200, "a total in cursor style"},
			{"listTasks", "/tasks?page=2&size=1&include_total=true", "", "", nil, 200, "offset style with everything"},
			{"listTasks", "/tasks?page=9", "", "", nil, 200, "a page past the end"},
			{"listTasks", "/tasks?page_size=2", "", "", nil, 200, "page-token style"},
			{"listTasks", "/tasks?page_size=9&include_total=true", "", "", nil, 200, "its last page"},
			{"listTasks", "/tasks?limit=101", "", "", nil, 400, "over the maximum"},
			{"listTasks", "/tasks", "", "", []string{"Range", "tasks=0-1"}, 206, "a range"},
			{"listTasks", "/tasks", "", "", []string{"Range", "tasks=7-"}, 416, "a range of nothing"},
			{"listTasks", "/tasks", "", "", []string{"Range", "bytes=0-1"}, 416, "a range in another unit"},
			{"listTasks", "/tasks", "", "", []string{"If-None-Match", "*"}, 304, "a list that is not changed"},
			{"listTasks", "/tasks", "", "", []string{"If-Match", `"x"`}, 412, "a list in another state"},
			{"deleteTask", "/tasks/3", "", "", nil, 204, "no body"},
			{"deleteTask", "/tasks/3", "", "", nil, 404, "a second time"},
			{"createApiKey", "/api-keys", "application/json", `{"name":"x","scopes":["admin"],"owner_id":3}`, nil, 201, "a secret is shown"},
			{"getApiKey", "/api-keys/1", "", "", nil, 200, "and not again"},
			{"createThing", "/things", "application/json", `{"code":"12345678","parts":[{"name":"a"},{"name":"b"}]}`, nil, 201, "members that are empty, whatever their rules"},
			{"createThing", "/things", "application/json", thing, nil, 201, "members that are not"},
			{"updateThing", "/things/1", "application/json", `{"colour":null,"parts":null,"maybe":{"name":"z","size":4},"at":null,"remark":"x"}`, nil, 200, "members that are reset, and one that was absent"},
			{"listThings", "/things?colour=red&count=3&flag=true&sort=-id", "", "", nil, 200, "filters"},
		} {
			w := h.do(c.id, c.target, c.contentType, c.body, c.header...)
			if w.Code != c.status {
				t.Errorf("%s %s: status = %d %s, want %d (%s)", c.id, c.target, w.Code, w.Body, c.status, c.why)
			}
		}
	})
}

// What a room refuses as invalid its request schema refuses, and the other way
// round.
func TestRequestsAreAsStrict(t *testing.T) {
	h := newHall(t, version.BuiltIn().Find("1"))
	h.do("createTask", "/tasks", "application/json", `{"title":"x"}`)
	const parts = `"parts":[{"name":"a"},{"name":"b"}]`
	h.do("createThing", "/things", "application/json", `{"code":"12345678",`+parts+`}`)
	h.do("createApiKey", "/api-keys", "application/json", `{"name":"x","scopes":["a"],"owner_id":3}`)
	for _, c := range []struct {
		id, target, body string
		ok               bool
		why              string
	}{
		{"createTask", "/tasks", `{"title":"x"}`, true, "the least"},
		{"createTask", "/tasks", `{"title":"x","assignee_id":null}`, true, "null where it is allowed"},
		{"createTask", "/tasks", `{"title":"x","assignee_id":7}`, true, "everything"},
		{"createTask", "/tasks", `{}`, false, "a member is missing"},
		{"createTask", "/tasks", `{"title":null}`, false, "null where it is not allowed"},
		{"createTask", "/tasks", `{"title":""}`, false, "too short"},
		{"createTask", "/tasks", `{"title":"` + strings.Repeat("é", 500) + `"}`, true, "characters count, not bytes"},
		{"createTask", "/tasks", `{"title":"` + strings.Repeat("é", 501) + `"}`, false, "too long"},
		{"createTask", "/tasks", `{"title":"a\u0007b"}`, false, "a control character"},
		{"createTask", "/tasks", `{"title":"a\u0085b"}`, false, "a control character beyond ASCII"},
		{"createTask", "/tasks", `{"title":"x","status":"pending"}`, false, "a state cannot be given on create"},
		{"createTask", "/tasks", `{"title":"x","id":1}`, false, "a member that the service gives"},
		{"createTask", "/tasks", `{"title":"x","other":1}`, false, "an unknown member"},
		{"createTask", "/tasks", `{"title":7}`, false, "a wrong type"},
		{"createTask", "/tasks", `{"title":"x","assignee_id":0}`, false, "an id begins at 1"},
		{"createTask", "/tasks", `{"title":"x","assignee_id":1.5}`, false, "an id is whole"},
		{"createTask", "/tasks", `[]`, false, "no object"},
		{"replaceTask", "/tasks/1", `{"title":"x"}`, true, "the state stays"},
		{"replaceTask", "/tasks/1", `{"title":"x","status":"pending"}`, true, "the state is the same"},
		{"replaceTask", "/tasks/1", `{"title":"x","status":"lost"}`, false, "an unknown state"},
		{"replaceTask", "/tasks/1", `{"title":"x","status":null}`, false, "no state"},
		{"replaceTask", "/tasks/1", `{"status":"pending"}`, false, "a member is missing"},
		{"updateTask", "/tasks/1", `{}`, true, "nothing changes"},
		{"updateTask", "/tasks/1", `{"status":"pending"}`, true, "one member"},
		{"updateTask", "/tasks/1", `{"title":null}`, false, "what is required cannot be reset"},
		{"updateTask", "/tasks/1", `{"status":null}`, false, "a state cannot be reset"},
		{"updateTask", "/tasks/1", `{"assignee_id":null}`, true, "null resets"},
		{"updateTask", "/tasks/1", `{"created_at":"2026-11-01T00:00:00Z"}`, false, "read-only"},
		{"createThing", "/things", `{"code":"12345678",` + parts + `,"colour":"blue"}`, false, "not of the enumeration"},
		{"createThing", "/things", `{"code":"12345678",` + parts + `,"colour":null}`, false, "null resets in a patch only"},
		{"createThing", "/things", `{"code":"12345678",` + parts + `,"paint":null}`, true, "null of an enumeration"},
		{"createThing", "/things", `{"code":"12345678",` + parts + `,"seen":null}`, false, "read-only"},
		{"createThing", "/things", `{"code":"12345678",` + parts + `,"count":10}`, false, "too large"},
		{"createThing", "/things", `{"code":"12345678","parts":[{"name":"a"}]}`, false, "too few"},
		{"createThing", "/things", `{"code":"12345678","parts":[{"name":"a"},{"size":1}]}`, false, "an element lacks a member"},
		{"createThing", "/things", `{"code":"12345678",` + parts + `,"whole":{}}`, false, "an inner object lacks a member"},
		{"createThing", "/things", `{"code":"12345678",` + parts + `,"whole":{"name":"x","note":"y"}}`, false, "read-only within"},
		{"updateThing", "/things/1", `{"whole":{"size":4}}`, true, "an inner object is patched too"},
		{"updateThing", "/things/1", `{"whole":{"name":null}}`, false, "what is required within cannot be reset"},
		{"updateThing", "/things/1", `{"colour":null,"mail":null,"count":null,"flag":null,"whole":null,"remark":null}`, true, "null resets"},
		{"updateThing", "/things/1", `{"parts":[{"size":1},{"name":"b"}]}`, false, "elements are whole in a patch too"},
		{"updateThing", "/things/1", `{"code":"1234"}`, false, "too short"},
		{"updateApiKey", "/api-keys/1", `{"owner_id":3}`, true, "the value it has"},
		{"updateApiKey", "/api-keys/1", `{"hash":"x"}`, false, "hidden"},
		{"createApiKey", "/api-keys", `{"name":"x","scopes":[]}`, false, "too few"},
	} {
		t.Run(c.id+" "+c.why, func(t *testing.T) {
			h.t = t
			w := h.do(c.id, c.target, "application/json", c.body)
			if served := w.Code < 300; served != c.ok || !served && w.Code != 422 {
				t.Errorf("the room answers %d %s to %s", w.Code, w.Body, c.body)
			}
			if err := h.accepts(c.id, c.target, c.body); (err == nil) != c.ok {
				t.Errorf("the description says of %s: %v", c.body, err)
			}
		})
	}
}

// accepts validates a request body against the description.
func (h *hall) accepts(id, target, body string) error {
	for pattern, item := range h.doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID != id {
				continue
			}
			r := httptest.NewRequest(method, target, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			route := &routers.Route{Spec: h.doc, Path: pattern, PathItem: item, Method: method, Operation: op}
			return openapi3filter.ValidateRequestBody(r.Context(), &openapi3filter.RequestValidationInput{Request: r, Route: route}, op.RequestBody.Value)
		}
	}
	h.t.Fatalf("no operation %s", id)
	return nil
}

// The check of answers is worth something only if it can fail.
func TestWrongAnswersAreSeen(t *testing.T) {
	h := newHall(t, version.BuiltIn().Find("1"))
	const task = `{"id":1,"title":"x","assignee_id":null,"status":"pending","created_at":"2026-11-01T00:00:00.000000Z",` +
		`"updated_at":"2026-11-01T00:00:00.000000Z","_links":{"self":{"href":"/tasks/1"},"collection":{"href":"/tasks"}}}`
	const page = `{"data":[` + task + `],"pagination":{"limit":20,"next_cursor":null,"prev_cursor":null,"has_more":false},"_links":{"self":"/tasks"}}`
	etag := []string{"Vary", "Accept", "X-Content-Type-Options", "nosniff", "X-Request-Id", "1", "Api-Version", "2026-11-01",
		"Cache-Control", "no-cache", "Accept-Ranges", "none", "Etag", `"1"`}
	for _, c := range []struct {
		pattern string
		status  int
		body    string
		header  []string
		ok      bool
		why     string
	}{
		{"/tasks/{id}", 200, task, etag, true, "all is well"},
		{"/tasks/{id}", 200, strings.Replace(task, `}`, `,"method":"GET"}`, 1), etag, true, "a member more is allowed"},
		{"/tasks/{id}", 200, task, etag[:12], false, "the ETag is missing"},
		{"/tasks/{id}", 200, task, append(slices.Clone(etag[:6]), etag[8:]...), false, "the API-Version is missing"},
		{"/tasks/{id}", 200, strings.Replace(task, `"title":"x",`, "", 1), etag, false, "a member is missing"},
		{"/tasks/{id}", 200, strings.Replace(task, "pending", "lost", 1), etag, false, "an unknown state"},
		{"/tasks/{id}", 200, strings.Replace(task, `"assignee_id":null`, `"assignee_id":"7"`, 1), etag, false, "a wrong type"},
		{"/tasks/{id}", 200, strings.Replace(task, `"status":"pending"`, `"status":null`, 1), etag, false, "null that is not allowed"},
		{"/tasks/{id}", 200, strings.Replace(task, `"href":"/tasks/1"`, `"link":"/tasks/1"`, 1), etag, false, "a link without href"},
		{"/tasks/{id}", 207, task, etag, false, "an unknown status"},
		{"/tasks", 200, page, etag, true, "a page"},
		{"/tasks", 200, strings.Replace(page, `"has_more":false`, `"page":1`, 1), etag, false, "an envelope of no style"},
		{"/tasks", 200, strings.Replace(page, `"title":"x",`, "", 1), etag, false, "a wrong item"},
		{"/tasks", 200, strings.Replace(page, `"data"`, `"tasks"`, 1), etag, true, "page-token style"},
		{"/tasks", 200, strings.Replace(page, `"data"`, `"items"`, 1), etag, false, "an array of another name"},
	} {
		r := httptest.NewRequest("GET", "/tasks", nil)
		item := h.doc.Paths.Value(c.pattern)
		header := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(c.header); i += 2 {
			header.Set(c.header[i], c.header[i+1])
		}
		err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{
				Request: r, Route: &routers.Route{Spec: h.doc, Path: c.pattern, PathItem: item, Method: "GET", Operation: item.Get},
			},
			Status: c.status, Header: header, Body: io.NopCloser(strings.NewReader(c.body)),
			Options: &openapi3filter.Options{IncludeResponseStatus: true},
		})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v (%s)", c.pattern, err, c.why)
		}
	}
}
