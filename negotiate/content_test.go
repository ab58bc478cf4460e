package negotiate

import (
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

var accepted = []string{"application/merge-patch+json", "application/json"}

func request(method, body string, header http.Header) *http.Request {
	r := httptest.NewRequest(method, "/tasks", strings.NewReader(body))
	if header != nil {
		r.Header = header
	}
	return r
}

func TestContent(t *testing.T) {
	one := func(v string) http.Header { return http.Header{"Content-Type": {v}} }
	coded := func(v ...string) http.Header {
		return http.Header{"Content-Type": {"application/json"}, "Content-Encoding": v}
	}
	for _, c := range []struct {
		why    string
		header http.Header
		body   string
		want   string // the type, or "415" or "400"
	}{
		{"plain JSON", one("application/json"), "{}", "application/json"},
		{"the other accepted type", one("application/merge-patch+json"), "{}", "application/merge-patch+json"},
		{"in any case", one("Application/JSON"), "{}", "application/json"},
		{"with the charset it has anyway", one("application/json; charset=utf-8"), "{}", "application/json"},
		{"charset in any case and quoted", one(`application/json;Charset="UTF-8"`), "{}", "application/json"},
		{"parameters of no importance", one(`application/json; v=1; note="a;charset=latin1"`), "{}", "application/json"},
		{"q is a parameter like another here", one("application/json;q=high"), "{}", "application/json"},
		{"an empty parameter", one("application/json;"), "{}", "application/json"},
		{"white space around", one(" application/json\t"), "{}", "application/json"},

		{"another type", one("text/plain"), "{}", "415"},
		{"what HTML forms and curl send", one("application/x-www-form-urlencoded"), "a=b", "415"},
		{"a longer name", one("application/jsonp"), "{}", "415"},
		{"a wildcard is no type", one("*/*"), "{}", "415"},
		{"another charset", one("application/json; charset=iso-8859-1"), "{}", "415"},
		{"the second charset counts too", one("application/json; charset=utf-8; charset=utf-16"), "{}", "415"},
		{"an empty charset", one(`application/json; charset=""`), "{}", "415"},
		{"malformed", one("json"), "{}", "415"},
		{"a parameter without a value", one("application/json; charset"), "{}", "415"},
		{"a list is no type", one("application/json, application/json"), "{}", "415"},

		{"a body of no type", http.Header{}, "{}", "415"},
		{"a body of an empty type", one(""), "{}", "415"},
		{"neither body nor type", http.Header{}, "", ""},
		{"a type and no body", one("application/json"), "", "application/json"},
		{"a wrong type and no body", one("text/plain"), "", "415"},

		{"compressed", coded("gzip"), "{}", "415"},
		{"compressed in a second step", coded("identity, br"), "{}", "415"},
		{"compressed in a second line", coded("identity", "br"), "{}", "415"},
		{"identity is no coding", coded("Identity"), "{}", "application/json"},
		{"an empty coding is none", coded(""), "{}", "application/json"},

		{"two types", http.Header{"Content-Type": {"application/json", "text/plain"}}, "{}", "400"},
		{"the same type twice", http.Header{"Content-Type": {"application/json", "application/json"}}, "{}", "400"},
	} {
		got, err := Content(request("POST", c.body, c.header), accepted...)
		if err != nil {
			got = status(t, err)
		}
		if got != c.want {
			t.Errorf("%s: Content(%q) = %q, want %q", c.why, c.header, got, c.want)
		}
	}
}

func TestContentUnknownLength(t *testing.T) {
	r := httptest.NewRequest("POST", "/tasks", io.MultiReader(strings.NewReader("{}")))
	_, err := Content(r, accepted...)
	if err == nil || status(t, err) != "415" {
		t.Errorf("a chunked body of no type gave %v, want a 415", err)
	}
}

func TestContentProblems(t *testing.T) {
	const list = "application/merge-patch+json, application/json"
	plain := http.Header{"Content-Type": {"text/secret"}}
	for _, c := range []struct {
		why, method  string
		header       http.Header
		field, value string
		allowed      []string
	}{
		{"POST has a field of its own", "POST", plain, "Accept-Post", list, accepted},
		{"so has PATCH (RFC 5789)", "PATCH", plain, "Accept-Patch", list, accepted},
		{"PUT has not, and uses Accept", "PUT", plain, "Accept", list, accepted},
		{"a missing type is answered the same", "POST", http.Header{}, "Accept-Post", list, accepted},
		{"a coding is no question of media types (RFC 9110, 12.5.3)", "POST", http.Header{
			"Content-Type": {"application/json"}, "Content-Encoding": {"secret"}}, "Accept-Encoding", "identity", []string{"identity"}},
	} {
		_, err := Content(request(c.method, "{}", c.header), accepted...)
		p := problem.From(err)
		if p.Kind != problem.UnsupportedMedia {
			t.Errorf("%s: got %v, want a 415", c.why, err)
			continue
		}
		if got := p.Header.Get(c.field); got != c.value || len(p.Header) != 1 {
			t.Errorf("%s: header %v, want only %s: %s", c.why, p.Header, c.field, c.value)
		}
		if !slices.Equal(p.Allowed, c.allowed) {
			t.Errorf("%s: allows %q, want %q", c.why, p.Allowed, c.allowed)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v echoes what the client sent", c.why, err)
		}
	}
	_, err := Content(request("POST", "{}", http.Header{"Content-Type": {"a/b", "c/d"}}), accepted...)
	if got, want := problem.From(err).Parameter, "Content-Type"; got != want {
		t.Errorf("400 names parameter %q, want %q", got, want)
	}
}

func TestContentAllocates(t *testing.T) {
	for _, c := range []struct{ why, value string }{
		{"what most clients send", "application/json"},
		{"what many others send", "application/json; charset=utf-8"},
	} {
		r := request("POST", "{}", http.Header{"Content-Type": {c.value}})
		got := testing.AllocsPerRun(100, func() { Content(r, "application/merge-patch+json", "application/json") })
		if got != 0 {
			t.Errorf("%s: Content allocates %v times, want 0", c.why, got)
		}
	}
}

// FuzzContent compares with the standard library's parser, which is looser in
// what it takes for a type, and so is asked only about what Content lets in.
func FuzzContent(f *testing.F) {
	for _, s := range []string{"application/json", "application/json; charset=utf-8", `Application/JSON;a="b\"c"`,
		"application/json;charset=latin1", "text/plain", "json", "application/json; a=b; a=c", "application/json;;", `a/b;c="`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Content(request("POST", "{}", http.Header{"Content-Type": {s}}), accepted...)
		if err != nil {
			status(t, err)
			return
		}
		if !slices.Contains(accepted, got) {
			t.Fatalf("Content(%q) = %q, which is not accepted", s, got)
		}
		want, params, err := mime.ParseMediaType(s)
		if err != nil {
			return // an empty or repeated parameter, or one of RFC 2231, which HTTP does not have
		}
		if got != want {
			t.Errorf("Content(%q) = %q, want %q", s, got, want)
		}
		if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") && !strings.Contains(strings.ToLower(s), "charset*") {
			t.Errorf("Content(%q) let in charset %q", s, cs)
		}
	})
}

func BenchmarkContent(b *testing.B) {
	for _, c := range []struct{ name, value string }{
		{"exact", "application/json"},
		{"charset", "application/json; charset=utf-8"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			r := request("POST", "{}", http.Header{"Content-Type": {c.value}})
			for b.Loop() {
				if _, err := Content(r, "application/json"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
