package precond

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

const (
	tag    = `"7-1-json"`
	before = "Sun, 06 Nov 1994 08:49:36 GMT"
	at     = "Sun, 06 Nov 1994 08:49:37 GMT"
	after  = "Sun, 06 Nov 1994 08:49:38 GMT"
)

// modified is not a whole second, as times of a database are not.
var modified = time.Date(1994, time.November, 6, 8, 49, 37, 987_654_000, time.UTC)

// header makes a header of names and values in turn; equal names are lines.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for pair := range slices.Chunk(pairs, 2) {
		h.Add(pair[0], pair[1])
	}
	return h
}

var checks = []struct {
	why      string
	method   string
	header   http.Header
	etag     string
	modified time.Time
	want     string // of outcome
}{
	{"no condition", "GET", header(), tag, modified, "proceed"},
	{"no condition and nothing there", "PUT", header(), "", time.Time{}, "proceed"},

	{"the tag it has", "PUT", header("If-Match", tag), tag, modified, "proceed"},
	{"a tag it had", "PUT", header("If-Match", `"6-1-json"`), tag, modified, "412"},
	{"one of several", "PUT", header("If-Match", `"a", `+tag+`,"b"`), tag, modified, "proceed"},
	{"none of several", "PUT", header("If-Match", `"a","b"`), tag, modified, "412"},
	{"in the second line", "PUT", header("If-Match", `"a"`, "If-Match", tag), tag, modified, "proceed"},
	{"anything, and there is something", "DELETE", header("If-Match", "*"), tag, modified, "proceed"},
	{"anything, and there is nothing", "PUT", header("If-Match", "*"), "", time.Time{}, "412"},
	{"a tag, and there is nothing", "PUT", header("If-Match", tag), "", time.Time{}, "412"},
	{"an empty tag is not the absence of one", "PUT", header("If-Match", `""`), "", time.Time{}, "412"},
	{"an empty tag is a tag", "PUT", header("If-Match", `""`), `""`, time.Time{}, "proceed"},
	{"strong comparison: the client's is weak", "PUT", header("If-Match", "W/"+tag), tag, modified, "412"},
	{"strong comparison: the resource's is weak", "PUT", header("If-Match", tag), "W/" + tag, modified, "412"},
	{"strong comparison: both are weak", "PUT", header("If-Match", "W/"+tag), "W/" + tag, modified, "412"},
	{"anything includes what has a weak tag", "PUT", header("If-Match", "*"), "W/" + tag, modified, "proceed"},
	{"tags are case-sensitive", "PUT", header("If-Match", `"A"`), `"a"`, modified, "412"},
	{"a list of no tags matches none", "PUT", header("If-Match", ""), tag, modified, "412"},
	{"it holds for GET as well", "GET", header("If-Match", `"a"`), tag, modified, "412"},
	{"a method that selects nothing ignores it (13.2.1)", "OPTIONS", header("If-Match", `"a"`), tag, modified, "proceed"},
	{"TRACE likewise", "TRACE", header("If-None-Match", "@"), tag, modified, "proceed"},

	{"unmodified since the very second", "PUT", header("If-Unmodified-Since", at), tag, modified, "proceed"},
	{"unmodified since later", "PUT", header("If-Unmodified-Since", after), tag, modified, "proceed"},
	{"modified since", "PUT", header("If-Unmodified-Since", before), tag, modified, "412"},
	{"If-Match makes If-Unmodified-Since void", "PUT", header("If-Match", tag, "If-Unmodified-Since", before), tag, modified, "proceed"},
	{"and is not helped by it", "PUT", header("If-Match", `"a"`, "If-Unmodified-Since", after), tag, modified, "412"},
	{"an invalid date is ignored (13.1.4)", "PUT", header("If-Unmodified-Since", "yesterday"), tag, modified, "proceed"},
	{"so are two dates", "PUT", header("If-Unmodified-Since", before, "If-Unmodified-Since", before), tag, modified, "proceed"},
	{"so is a date where none is known", "PUT", header("If-Unmodified-Since", before), tag, time.Time{}, "proceed"},

	{"the client has it", "GET", header("If-None-Match", tag), tag, modified, "not modified"},
	{"HEAD as GET", "HEAD", header("If-None-Match", tag), tag, modified, "not modified"},
	{"the client has another", "GET", header("If-None-Match", `"6-1-json"`), tag, modified, "proceed"},
	{"one of several that the client has", "GET", header("If-None-Match", `"a"`, "If-None-Match", `"b", `+tag), tag, modified, "not modified"},
	{"weak comparison: the client's is weak", "GET", header("If-None-Match", "W/"+tag), tag, modified, "not modified"},
	{"weak comparison: the resource's is weak", "GET", header("If-None-Match", tag), "W/" + tag, modified, "not modified"},
	{"weak comparison: both are weak", "GET", header("If-None-Match", "W/"+tag), "W/" + tag, modified, "not modified"},
	{"anything, and there is something to read", "GET", header("If-None-Match", "*"), tag, modified, "not modified"},
	{"anything, and there is something to overwrite", "PUT", header("If-None-Match", "*"), tag, modified, "412"},
	{"anything, and there is nothing to overwrite", "PUT", header("If-None-Match", "*"), "", time.Time{}, "proceed"},
	{"a tag, and there is nothing to overwrite", "PUT", header("If-None-Match", tag), "", time.Time{}, "proceed"},
	{"a write unless it is in that state", "PATCH", header("If-None-Match", tag), tag, modified, "412"},
	{"a write unless it is in another state", "PATCH", header("If-None-Match", `"a"`), tag, modified, "proceed"},
	{"a list of no tags excludes none", "GET", header("If-None-Match", ""), tag, modified, "proceed"},

	{"not modified since the very second", "GET", header("If-Modified-Since", at), tag, modified, "not modified"},
	{"not modified since a second after", "HEAD", header("If-Modified-Since", after), tag, modified, "not modified"},
	{"modified since a second before", "GET", header("If-Modified-Since", before), tag, modified, "proceed"},
	{"If-None-Match makes If-Modified-Since void", "GET", header("If-None-Match", `"a"`, "If-Modified-Since", at), tag, modified, "proceed"},
	{"whichever way it goes", "GET", header("If-None-Match", tag, "If-Modified-Since", before), tag, modified, "not modified"},
	{"it is for GET and HEAD only", "PUT", header("If-Modified-Since", at), tag, modified, "proceed"},
	{"an invalid date is ignored (13.1.3)", "GET", header("If-Modified-Since", "0"), tag, modified, "proceed"},
	{"two dates are", "GET", header("If-Modified-Since", at, "If-Modified-Since", at), tag, modified, "proceed"},
	{"a date is where none is known", "GET", header("If-Modified-Since", at), tag, time.Time{}, "proceed"},

	{"If-Match holds, and then If-None-Match is looked at", "GET", header("If-Match", tag, "If-None-Match", tag), tag, modified, "not modified"},
	{"If-Match fails, and that is the answer", "GET", header("If-Match", `"a"`, "If-None-Match", tag), tag, modified, "412"},
	{"If-Unmodified-Since holds, and then the others", "GET", header("If-Unmodified-Since", at, "If-Modified-Since", at), tag, modified, "not modified"},

	{"a comma inside a tag", "GET", header("If-None-Match", `"a,b"`), `"a,b"`, modified, "not modified"},
	{"a comma inside a tag parts nothing", "GET", header("If-None-Match", `"a,b"`), `"a"`, modified, "proceed"},
	{"a backslash is itself", "GET", header("If-None-Match", `"a\b"`), `"a\b"`, modified, "not modified"},
	{"a backslash escapes nothing", "GET", header("If-None-Match", `"a\", "b"`), `"b"`, modified, "not modified"},
	{"bytes above ASCII", "GET", header("If-None-Match", "\"\x80\xff\""), "\"\x80\xff\"", modified, "not modified"},
	{"white space and empty elements", "GET", header("If-None-Match", " ,\t"+tag+" , ,"), tag, modified, "not modified"},
	{"100 tags are allowed", "GET", header("If-None-Match", strings.Repeat(`"a",`, 99)+tag), tag, modified, "not modified"},
	{"101 are not", "GET", header("If-None-Match", strings.Repeat(`"a",`, 100)+tag), tag, modified, "400 If-None-Match"},

	{"no quotes", "PUT", header("If-Match", "7-1-json"), tag, modified, "400 If-Match"},
	{"no closing quote", "PUT", header("If-Match", `"7-1-json`), tag, modified, "400 If-Match"},
	{"a lone quote", "GET", header("If-None-Match", `"`), tag, modified, "400 If-None-Match"},
	{"a mark of weakness alone", "GET", header("If-None-Match", "W/"), tag, modified, "400 If-None-Match"},
	{"W is a capital letter", "GET", header("If-None-Match", "w/"+tag), tag, modified, "400 If-None-Match"},
	{"no space after W/", "GET", header("If-None-Match", "W/ "+tag), tag, modified, "400 If-None-Match"},
	{"a space in a tag", "GET", header("If-None-Match", `"a b"`), tag, modified, "400 If-None-Match"},
	{"a control character in a tag", "GET", header("If-None-Match", "\"a\x7f\""), tag, modified, "400 If-None-Match"},
	{"a space in place of a comma", "GET", header("If-None-Match", `"a" "b"`), tag, modified, "400 If-None-Match"},
	{"a match does not excuse the rest", "GET", header("If-None-Match", tag+", b"), tag, modified, "400 If-None-Match"},
	{"a star and a tag", "GET", header("If-None-Match", "*, "+tag), tag, modified, "400 If-None-Match"},
	{"a tag and a star", "GET", header("If-None-Match", tag+", *"), tag, modified, "400 If-None-Match"},
	{"two stars", "PUT", header("If-Match", "*", "If-Match", "*"), tag, modified, "400 If-Match"},
	{"a star with a tail", "PUT", header("If-Match", "*a"), tag, modified, "400 If-Match"},
}

// outcome is the word the tables use for what Check returns.
func outcome(t *testing.T, result Result, err error) string {
	t.Helper()
	if err == nil {
		return result.String()
	}
	p, ok := err.(*problem.Problem)
	switch {
	case !ok:
		t.Fatalf("error is a %T, want a *problem.Problem", err)
	case p.Kind == problem.PreconditionFail:
		return "412"
	case p.Kind == problem.BadRequest:
		return "400 " + p.Parameter
	}
	return err.Error()
}

func request(method string, h http.Header) *http.Request {
	return &http.Request{Method: method, Header: h}
}

func TestCheck(t *testing.T) {
	for _, c := range checks {
		result, err := Check(request(c.method, c.header), c.etag, c.modified)
		if got := outcome(t, result, err); got != c.want {
			t.Errorf("%s: Check(%s %q) of %s = %s, want %s", c.why, c.method, c.header, c.etag, got, c.want)
		}
	}
}

func TestCheckEchoesNothing(t *testing.T) {
	for _, value := range []string{`secret`, `"secret"`, strings.Repeat(`"secret",`, 101)} {
		_, err := Check(request("PUT", header("If-Match", value)), tag, modified)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Check(If-Match: %.20s…) = %v, want an error without the value", value, err)
		}
	}
}

func TestHasMatch(t *testing.T) {
	for _, c := range []struct {
		why    string
		header http.Header
		want   bool
	}{
		{"no condition", header(), false},
		{"a tag", header("If-Match", tag), true},
		{"anything counts, for the row may be gone", header("If-Match", "*"), true},
		{"no tag is a condition nothing can meet", header("If-Match", ""), true},
		{"a date", header("If-Unmodified-Since", at), true},
		{"a date that Check ignores", header("If-Unmodified-Since", "yesterday"), false},
		{"If-None-Match names a state not wanted, not one seen", header("If-None-Match", tag), false},
	} {
		if got := HasMatch(request("PATCH", c.header)); got != c.want {
			t.Errorf("%s: HasMatch(%q) = %v, want %v", c.why, c.header, got, c.want)
		}
	}
}

func TestWriteNotModified(t *testing.T) {
	w := httptest.NewRecorder()
	h := w.Header()
	keep := []string{"Etag", "Cache-Control", "Vary", "Expires", "Last-Modified", "Content-Location", "Api-Version"}
	for _, name := range append([]string{"Content-Type", "Content-Length", "Content-Encoding", "Content-Range"}, keep...) {
		h.Set(name, "x")
	}
	WriteNotModified(w)
	if w.Code != 304 {
		t.Errorf("status %d, want 304", w.Code)
	}
	var got []string
	for name := range w.Result().Header {
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(keep)
	if !slices.Equal(got, keep) {
		t.Errorf("sent header fields %q, want %q", got, keep)
	}
}

func TestCheckAllocates(t *testing.T) {
	for _, c := range []struct {
		why    string
		header http.Header
	}{
		{"no condition", header("Accept", "*/*")},
		{"a cache that asks again", header("If-None-Match", tag)},
		{"a browser that asks again", header("If-None-Match", `W/"1", `+tag, "If-Modified-Since", at)},
		{"a date", header("If-Modified-Since", at)},
	} {
		r := request("GET", c.header)
		if got := testing.AllocsPerRun(100, func() { Check(r, tag, modified) }); got != 0 {
			t.Errorf("%s: Check allocates %v times, want 0", c.why, got)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name   string
		header http.Header
	}{
		{"none", header("Accept", "*/*")},
		{"etag", header("If-None-Match", tag)},
		{"date", header("If-Modified-Since", at)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			r := request("GET", c.header)
			for b.Loop() {
				if _, err := Check(r, tag, modified); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
