package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// serve answers a request with err.
func serve(method, target string, err error) *http.Response {
	w := httptest.NewRecorder()
	Write(w, httptest.NewRequest(method, target, nil), err)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// full is a problem with every extension.
func full() *Problem {
	p := ValidationFailed.New("See errors.")
	p.Instance = "/elsewhere"
	p.Errors = []FieldError{{"/title", "is required"}, {"/a~1b", "is unknown"}}
	p.Parameter = "limit"
	p.Maximum = 100
	p.Allowed = []string{"a", "b"}
	p.RetryAfter = 7
	p.RequestID = "r-1"
	return p
}

func TestBody(t *testing.T) {
	for _, test := range []struct {
		why  string
		err  error
		want string
	}{
		{"the five members of the contract, in its order", NotFound.New("No such task."),
			`{"type":"/problems/not-found","title":"Not found","status":404,"detail":"No such task.","instance":"/tasks/7"}`},
		{"without a detail the title explains", NotFound.New(""),
			`{"type":"/problems/not-found","title":"Not found","status":404,"detail":"Not found","instance":"/tasks/7"}`},
		{"Newf formats", InvalidPageSize.Newf("At most %d.", 100),
			`{"type":"/problems/invalid-page-size","title":"Invalid page size","status":400,"detail":"At most 100.","instance":"/tasks/7"}`},
		{"every extension, after the five, in the order of the contract", full(),
			`{"type":"/problems/validation-failed","title":"Invalid content","status":422,"detail":"See errors.","instance":"/elsewhere",` +
				`"errors":[{"pointer":"/title","detail":"is required"},{"pointer":"/a~1b","detail":"is unknown"}],` +
				`"parameter":"limit","maximum":100,"allowed":["a","b"],"retry_after":7,"request_id":"r-1"}`},
		{"what HTML would escape stays readable", BadRequest.New(`<a> & "b"`),
			`{"type":"/problems/bad-request","title":"Bad request","status":400,"detail":"<a> & \"b\"","instance":"/tasks/7"}`},
		{"a wrapped problem is found", fmt.Errorf("reading: %w", Forbidden.New("tasks:write")),
			`{"type":"/problems/forbidden","title":"Not permitted","status":403,"detail":"tasks:write","instance":"/tasks/7"}`},
		{"the cause stays inside", Conflict.New("Busy.").Because(errors.New("secret")),
			`{"type":"/problems/conflict","title":"Conflict with the current state","status":409,"detail":"Busy.","instance":"/tasks/7"}`},
		{"another error says nothing of itself", errors.New("secret"),
			`{"type":"/problems/internal-error","title":"Internal server error","status":500,"detail":"The server met an unexpected condition. The request id identifies it in the server's log.","instance":"/tasks/7"}`},
	} {
		r := serve("GET", "/tasks/7?secret=1", test.err)
		if got := text(t, r); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.why, got, test.want)
		}
		if got, want := r.StatusCode, From(test.err).Kind.Status; got != want {
			t.Errorf("%s: status %d, want %d", test.why, got, want)
		}
	}
}

func TestInstance(t *testing.T) {
	for _, test := range []struct{ why, target, want string }{
		{"the path as the client wrote it", "/tasks/7", "/tasks/7"},
		{"without the query, which may hold secrets", "/tasks?api_key=pk_1", "/tasks"},
		{"escaped, so that it is a URI reference", "/a%20b/%C3%A9", "/a%20b/%C3%A9"},
		{"an escaped slash stays escaped", "/tasks/a%2Fb", "/tasks/a%2Fb"},
		{"quotes and angle brackets are escaped too", `/%22%3Cx%3E`, "/%22%3Cx%3E"},
	} {
		var body struct{ Instance string }
		if err := json.Unmarshal([]byte(text(t, serve("GET", test.target, NotFound.New("")))), &body); err != nil {
			t.Fatalf("%s: %v", test.why, err)
		}
		if body.Instance != test.want {
			t.Errorf("%s: got %q, want %q", test.why, body.Instance, test.want)
		}
	}
}

func TestHeader(t *testing.T) {
	limited := RateLimited.New("")
	limited.RetryAfter = 12
	for _, test := range []struct {
		why   string
		err   error
		begun http.Header // what a response that was begun has set
		want  map[string]string
	}{
		{"what every error has", NotFound.New(""), nil, map[string]string{
			"Content-Type": "application/problem+json", "Cache-Control": "no-store",
			"X-Content-Type-Options": "nosniff", "Retry-After": "",
		}},
		{"Retry-After repeats the member", limited, nil, map[string]string{"Retry-After": "12"}},
		{"a field of the problem's own", MethodNotAllowed.New("").Set("Allow", "GET"), nil, map[string]string{"Allow": "GET"}},
		{"of a begun response its validators, place and coding go", NotFound.New(""),
			http.Header{"Etag": {`"1"`}, "Last-Modified": {"x"}, "Location": {"/"}, "Content-Encoding": {"gzip"}, "Content-Range": {"bytes 0-1/2"}, "Vary": {"Accept"}},
			map[string]string{"Etag": "", "Last-Modified": "", "Location": "", "Content-Encoding": "", "Content-Range": "", "Vary": "Accept"}},
		{"but the problem's own stay", RangeUnsatisfied.New("").Set("Content-Range", "*/9").Set("Location", "/x"),
			http.Header{"Content-Range": {"bytes 0-1/2"}}, map[string]string{"Content-Range": "*/9", "Location": "/x"}},
		{"a cacheable response that failed is not cached", NotFound.New(""),
			http.Header{"Cache-Control": {"public"}, "Content-Type": {"text/html"}},
			map[string]string{"Cache-Control": "no-store", "Content-Type": "application/problem+json"}},
	} {
		w := httptest.NewRecorder()
		for name, values := range test.begun {
			w.Header()[name] = values
		}
		Write(w, httptest.NewRequest("GET", "/", nil), test.err)
		for name, want := range test.want {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", test.why, name, got, want)
			}
		}
		if got, want := w.Header().Get("Content-Length"), strconv.Itoa(w.Body.Len()); got != want {
			t.Errorf("%s: Content-Length is %q, want %q", test.why, got, want)
		}
	}
}

func TestHead(t *testing.T) {
	get, head := serve("GET", "/x", NotFound.New("")), serve("HEAD", "/x", NotFound.New(""))
	if got := text(t, head); got != "" {
		t.Errorf("HEAD has the body %q, want none", got)
	}
	if head.StatusCode != get.StatusCode || !reflect.DeepEqual(head.Header, get.Header) {
		t.Errorf("HEAD answers %d %v, want what GET answers, %d %v", head.StatusCode, head.Header, get.StatusCode, get.Header)
	}
}

// A problem may be declared once and returned by many requests at a time.
func TestShared(t *testing.T) {
	shared := full()
	shared.Instance = ""
	shared.Set("Allow", "GET")
	before := *shared
	header := shared.Header.Clone()
	for _, path := range []string{"/a", "/b"} {
		w := httptest.NewRecorder()
		Write(w, httptest.NewRequest("GET", path, nil), shared)
		if !strings.Contains(w.Body.String(), `"instance":"`+path+`"`) {
			t.Errorf("%s: the instance is another's: %s", path, w.Body)
		}
		w.Header()["Allow"][0] = "changed"
		w.Header().Set("Content-Type", "changed")
	}
	if !reflect.DeepEqual(*shared, before) || !reflect.DeepEqual(shared.Header, header) {
		t.Errorf("writing changed the problem:\n got %+v\nwant %+v with header %v", *shared, before, header)
	}
}

func TestFrom(t *testing.T) {
	p := NotFound.New("")
	cause := errors.New("cause")
	var null *Problem
	for _, test := range []struct {
		why  string
		err  error
		kind *Kind
		same *Problem // nil: a new one
	}{
		{"itself", p, NotFound, p},
		{"wrapped", fmt.Errorf("act: %w", p), NotFound, p},
		{"joined", errors.Join(cause, p), NotFound, p},
		{"the outer of two", Conflict.New("").Because(p), Conflict, nil},
		{"another error", cause, Internal, nil},
		{"no error", nil, Internal, nil},
		{"a nil problem in an error is a mistake of ours", null, Internal, nil},
	} {
		got := From(test.err)
		if got.Kind != test.kind || test.same != nil && got != test.same {
			t.Errorf("%s: got %v, want the kind %s", test.why, got, test.kind.Name)
		}
		if got.Error() == "" {
			t.Errorf("%s: nothing for the log", test.why)
		}
	}
	if got := From(cause); !errors.Is(got, cause) {
		t.Errorf("the cause of an unexpected error is lost: %v", got)
	}
}

func TestIs(t *testing.T) {
	cause := errors.New("disk full")
	err := fmt.Errorf("act: %w", NotFound.New("one").Because(cause))
	for _, test := range []struct {
		why    string
		target error
		want   bool
	}{
		{"the kind, whatever the detail", NotFound.New("another"), true},
		{"another kind of the same family", Conflict.New("one"), false},
		{"the cause, by Unwrap", cause, true},
		{"a stranger", io.EOF, false},
		{"a kind with the same fields is another kind", (&Kind{Name: NotFound.Name}).New("one"), false},
	} {
		if got := errors.Is(err, test.target); got != test.want {
			t.Errorf("%s: errors.Is is %v, want %v", test.why, got, test.want)
		}
	}
	if got := errors.Unwrap(NotFound.New("")); got != nil {
		t.Errorf("a problem without a cause unwraps to %v", got)
	}
}

func TestError(t *testing.T) {
	for _, test := range []struct {
		why  string
		p    *Problem
		want string
	}{
		{"kind and detail", NotFound.New("No task."), "not-found: No task."},
		{"kind and title", NotFound.New(""), "not-found: Not found"},
		{"and the cause", Conflict.New("Busy.").Because(io.EOF), "conflict: Busy.: EOF"},
	} {
		if got := test.p.Error(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.why, got, test.want)
		}
	}
}

func TestShape(t *testing.T) {
	shared := NotFound.New("No task.")
	w := httptest.NewRecorder()
	WriteShape(w, httptest.NewRequest("GET", "/tasks/7", nil), shared, func(p *Problem) (string, []byte) {
		if p == shared {
			t.Error("the shape got the shared problem, want a copy")
		}
		return "application/json", []byte(`{"error":"` + p.Detail + " at " + p.Instance + `"}`)
	})
	if got, want := w.Body.String(), `{"error":"No task. at /tasks/7"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Content-Length": strconv.Itoa(w.Body.Len()),
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if w.Code != 404 {
		t.Errorf("status %d, want 404: a shape changes the body only", w.Code)
	}
}

func TestHandler(t *testing.T) {
	for _, test := range []struct {
		why    string
		err    error
		status int
		body   string
	}{
		{"no error: what the function wrote", nil, 200, "fine"},
		{"a problem", Forbidden.New("No."), 403, `"detail":"No."`},
		{"another error", io.ErrUnexpectedEOF, 500, `"status":500`},
	} {
		w := httptest.NewRecorder()
		Handler(func(w http.ResponseWriter, r *http.Request) error {
			if test.err == nil {
				io.WriteString(w, "fine")
			}
			return test.err
		}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) {
			t.Errorf("%s: got %d %s, want %d with %s", test.why, w.Code, w.Body, test.status, test.body)
		}
	}
}

// FuzzBody puts any text in every place and expects one JSON object that holds
// the five members and, for text that is UTF-8, the very text.
func FuzzBody(f *testing.F) {
	f.Add("plain", "/tasks")
	f.Add("<a> & \"b\" \u2028 \x00", "/a b/é")
	f.Add("\xff", "/%zz")
	f.Fuzz(func(t *testing.T, detail, instance string) {
		p := BadRequest.New(detail)
		p.Instance, p.Parameter, p.RequestID = instance, detail, instance
		p.Errors = []FieldError{{instance, detail}}
		p.Allowed = []string{detail}
		b, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		d := json.NewDecoder(bytes.NewReader(b))
		if err := d.Decode(&members); err != nil || d.More() {
			t.Fatalf("not one JSON object: %s: %v", b, err)
		}
		for _, name := range []string{"type", "title", "status", "detail", "instance"} {
			if _, ok := members[name]; !ok {
				t.Errorf("%s is missing: %s", name, b)
			}
		}
		if want := strings.ToValidUTF8(detail, "\ufffd"); want == detail && detail != "" && members["detail"] != want {
			t.Errorf("detail is %q, want %q", members["detail"], want)
		}
	})
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func BenchmarkWrite(b *testing.B) {
	p := NotFound.New("There is no such task in this account.")
	r := httptest.NewRequest("GET", "/tasks/7", nil)
	w := discard{make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		Write(w, r, p)
	}
}

func TestRequestID(t *testing.T) {
	own := NotFound.New("")
	own.RequestID = "own"
	for _, test := range []struct {
		why    string
		p      *Problem
		header string
		want   string
	}{
		{"that of the response", NotFound.New(""), "r-1", `"request_id":"r-1"}`},
		{"its own comes first", own, "r-1", `"request_id":"own"}`},
		{"none", NotFound.New(""), "", `"instance":"/"}`},
	} {
		w := httptest.NewRecorder()
		if test.header != "" {
			w.Header().Set("X-Request-Id", test.header)
		}
		Write(w, httptest.NewRequest("GET", "/", nil), test.p)
		if !strings.HasSuffix(w.Body.String(), test.want) {
			t.Errorf("%s: %s, want it to end in %s", test.why, w.Body, test.want)
		}
	}
}
