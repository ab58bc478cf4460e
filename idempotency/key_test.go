package idempotency

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

func request(values ...string) *http.Request {
	r := &http.Request{Method: http.MethodPost, Header: http.Header{}}
	for _, v := range values {
		r.Header.Add(Header, v)
	}
	return r
}

func TestKey(t *testing.T) {
	long := strings.Repeat("k", MaxKey)
	for _, c := range []struct {
		why   string
		lines []string
		want  string
	}{
		{"no header is no key", nil, ""},
		{"a bare token is the common form", []string{"8e03978e-40d5-43dd-bc93-6894a57f9324"}, "8e03978e-40d5-43dd-bc93-6894a57f9324"},
		{"the quoted form is the same key", []string{`"abc"`}, "abc"},
		{"one character is enough", []string{"k"}, "k"},
		{"the first and the last visible character count", []string{"!~"}, "!~"},
		{"255 characters are allowed", []string{long}, long},
		{"255 characters inside quotes are allowed", []string{`"` + long + `"`}, long},
		{"escapes stand for themselves", []string{`"a\"b\\c"`}, `a"b\c`},
		{"a backslash in a bare key is a character like any other", []string{`a\b`}, `a\b`},
		{"a quote inside a bare key is a character like any other", []string{`a"b`}, `a"b`},
		{"a trailing quote alone does not make a quoted string", []string{`ab"`}, `ab"`},
	} {
		got, err := Key(request(c.lines...))
		if got != c.want || err != nil {
			t.Errorf("%s: Key(%q) = %q, %v; want %q", c.why, c.lines, got, err, c.want)
		}
	}
}

func TestKeyRefused(t *testing.T) {
	for _, c := range []struct {
		why   string
		lines []string
	}{
		{"two lines name two keys", []string{"a", "b"}},
		{"two equal lines are still two", []string{"a", "a"}},
		{"an empty value is a mistake, not an absence", []string{""}},
		{"an empty string in quotes is no key", []string{`""`}},
		{"256 characters are too long", []string{strings.Repeat("k", MaxKey+1)}},
		{"256 characters inside quotes are too long", []string{`"` + strings.Repeat("k", MaxKey+1) + `"`}},
		{"a space is not visible", []string{"a b"}},
		{"a space inside quotes is not visible", []string{`"a b"`}},
		{"lines that a proxy merged are two keys", []string{`a, b`}},
		{"a control character is not visible", []string{"a\tb"}},
		{"DEL is not visible", []string{"a\x7f"}},
		{"a letter outside ASCII", []string{"schlüssel"}},
		{"a quote that is not closed", []string{`"abc`}},
		{"a lone quote", []string{`"`}},
		{"a closing quote that is escaped", []string{`"abc\"`}},
		{"text after the closing quote", []string{`"abc"def"`}},
		{"an escape that RFC 9651 does not know", []string{`"a\nb"`}},
		{"parameters are not part of the draft's key", []string{`"abc";p=1`}},
	} {
		got, err := Key(request(c.lines...))
		p, ok := errors.AsType[*problem.Problem](err)
		if got != "" || !ok || p.Kind != problem.BadRequest || p.Parameter != Header {
			t.Errorf("%s: Key(%q) = %q, %v; want a bad-request problem of %s", c.why, c.lines, got, err, Header)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, s := range []string{"abc", `"abc"`, `"a\"b\\"`, `"`, `""`, "a b", "\x00", strings.Repeat("x", 256)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := Key(request(s))
		if err != nil {
			if key != "" {
				t.Fatalf("an error with the key %q", key)
			}
			return
		}
		if len(key) < 1 || len(key) > MaxKey || !visible(key) {
			t.Fatalf("key %q is outside the rules", key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := Key(request(quoted)); again != key || err != nil {
			t.Fatalf("quoted form %q gives %q, %v; want %q", quoted, again, err, key)
		}
	})
}

func BenchmarkKey(b *testing.B) {
	r := request("8e03978e-40d5-43dd-bc93-6894a57f9324")
	b.ReportAllocs()
	for b.Loop() {
		Key(r)
	}
}
