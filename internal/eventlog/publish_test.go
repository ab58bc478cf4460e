package eventlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

// TestCheck holds data against schemas: every mistake has its pointer, and none
// repeats what was sent.
func TestCheck(t *testing.T) {
	tests := []struct {
		why, schema, data string
		want              []string // pointers
	}{
		{"an empty schema takes anything", `{}`, `{"a": 1}`, nil},
		{"true takes anything", `true`, `{"a": 1}`, nil},
		{"false takes nothing", `false`, `{"a": 1}`, []string{"/data"}},
		{"a member of another type", `{"properties": {"a": {"type": "integer"}}}`, `{"a": "sesame"}`, []string{"/data/a"}},
		{"a member that is missing is told of its object", `{"required": ["a"]}`, `{}`, []string{"/data"}},
		{"several mistakes", `{"properties": {"a": {"type": "integer"}, "b": {"maxLength": 1}}}`, `{"a": "sesame", "b": "sesame"}`, []string{"/data/a", "/data/b"}},
		{"inside arrays", `{"properties": {"a": {"items": {"minimum": 3}}}}`, `{"a": [3, 2]}`, []string{"/data/a/1"}},
		{"names are escaped as RFC 6901 says", `{"additionalProperties": {"type": "null"}}`, `{"a/b~c": 1}`, []string{"/data/a~1b~0c"}},
		{"large numbers are exact", `{"properties": {"a": {"const": 9007199254740993}}}`, `{"a": 9007199254740992}`, []string{"/data/a"}},
		{"references within itself", `{"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}`, `{"a": "sesame"}`, []string{"/data/a"}},
		{"an enumeration", `{"properties": {"a": {"enum": ["open"]}}}`, `{"a": "sesame"}`, []string{"/data/a"}},
		{"a pattern", `{"properties": {"a": {"pattern": "^x"}}}`, `{"a": "sesame"}`, []string{"/data/a"}},
	}
	for _, test := range tests {
		schema, err := compile([]byte(test.schema))
		if err != nil {
			t.Fatalf("%s: %v", test.why, err)
		}
		var got []string
		for _, e := range check(schema, []byte(test.data), "/data") {
			got = append(got, e.Pointer)
			if strings.Contains(e.Detail, "sesame") || e.Detail == "" {
				t.Errorf("%s: the detail is %q, want one without what was sent", test.why, e.Detail)
			}
		}
		seen := make(map[string]bool)
		for _, p := range got {
			seen[p] = true
		}
		for _, p := range test.want {
			if !seen[p] {
				t.Errorf("%s: got %q, want %q", test.why, got, test.want)
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: got %q, want %q", test.why, got, test.want)
		}
	}
}

// TestCompileRefuses looks at what is no schema, or reaches outside.
func TestCompileRefuses(t *testing.T) {
	for _, test := range []struct{ why, schema string }{
		{"a number", `1`}, {"a list", `[]`}, {"null", `null`}, {"nothing", ``}, {"not JSON", `{`},
		{"a type that does not exist", `{"type": "money"}`},
		{"another host", `{"$ref": "https://schemas.example.com/a"}`},
		{"a file", `{"$ref": "file:///etc/passwd"}`},
		{"another document beside it", `{"$ref": "other.json"}`},
		{"a definition that is not there", `{"$ref": "#/$defs/none"}`},
		{"an expression that does not end", `{"pattern": "("}`},
		{"another dialect from afar", `{"$schema": "https://schemas.example.com/mine"}`},
	} {
		if _, err := compile([]byte(test.schema)); err == nil {
			t.Errorf("%s: %s is taken for a schema", test.why, test.schema)
		}
	}
}

// FuzzSplit finds the events in anything: what it finds is JSON, and there is as
// much as in the array.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{`{"type":"a.b","data":{}}`, `[{"type":"a.b","data":{}},{}]`, `[]`, `[1`, ` [ 1 , [2] ] `, `[1] x`, "\xff", `[{"a":1,"a":2}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		parts, many, err := split(body)
		if err != nil {
			if _, ok := errors.AsType[*problem.Problem](err); !ok {
				t.Errorf("got %v, want a problem", err)
			}
			return
		}
		if !many {
			if len(parts) != 1 || string(parts[0]) != string(body) {
				t.Errorf("got %q, want the body itself", parts)
			}
			return
		}
		var whole []json.RawMessage
		if err := json.Unmarshal(body, &whole); err != nil || len(whole) != len(parts) {
			t.Errorf("got %d events of %q, want %d (%v)", len(parts), body, len(whole), err)
		}
		for _, p := range parts {
			if !json.Valid(p) {
				t.Errorf("got %q, which is not JSON", p)
			}
		}
	})
}

// FuzzCheck holds anything against anything that compiles: it may find mistakes,
// and must not panic.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`), []byte(`{"a":"b"}`))
	f.Add([]byte(`{"$ref":"#"}`), []byte(`{}`))
	f.Add([]byte(`{"not":{}}`), []byte(`[1,{"a":null}]`))
	f.Fuzz(func(t *testing.T, schema, data []byte) {
		s, err := compile(schema)
		if err != nil || len(data) > 1<<12 {
			return
		}
		for _, e := range check(s, data, "/data") {
			if !strings.HasPrefix(e.Pointer, "/data") || e.Detail == "" {
				t.Errorf("got %+v", e)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	schema, err := compile([]byte(`{"type":"object","properties":{"number":{"type":"integer"},"text":{"type":"string"}},"required":["number"]}`))
	if err != nil {
		b.Fatal(err)
	}
	data := fmt.Appendf(nil, `{"number":7,"text":"%s"}`, strings.Repeat("a", 1000))
	b.ReportAllocs()
	for b.Loop() {
		if errs := check(schema, data, "/data"); errs != nil {
			b.Fatal(errs)
		}
	}
}
