package openapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/parley-api/parley/version"
)

func TestYAML(t *testing.T) {
	for _, c := range []struct{ text, want, why string }{
		{`{"b":1,"a":{"d":true,"c":null}}`, "b: 1\na:\n  d: true\n  c: null\n", "members keep their order"},
		{`{"version":"2026-11-01"}`, "version: \"2026-11-01\"\n", "a date that is a text stays one"},
		{`{"200":{"a":[]}}`, "\"200\":\n  a: []\n", "a name that looks like a number stays a text"},
		{`["true","null","1","1e3","~","yes","0x1","<<","=","---","...","? x",".inf","0o7","2026-11-01T12:00:00Z"]`, "", "so do values"},
		{`["#x","a: b","- c","*d","&e","@f","!g","%h","{i","[j","'k","\"l","| m","> n"," o","p ",""]`, "", "characters that mean something at the start"},
		{`["a\nb","a\n","\n","\n\na\n\n","a\tb","a\rb","\u0000","\u0085","\u2028","\ufeff","\ud83d\ude00"]`, "", "line ends and characters that cannot be printed"},
		{`[0,-1,1.5,9223372036854775807,1e3]`, "", "numbers"},
		{`{}`, "{}\n", "an empty object"},
		{`"x"`, "x\n", "a text alone"},
	} {
		got, err := YAML([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v (%s)", c.text, err, c.why)
			continue
		}
		if c.want != "" && string(got) != c.want {
			t.Errorf("%s: got %q, want %q (%s)", c.text, got, c.want, c.why)
		}
		same(t, []byte(c.text), got)
	}
}

// same fails unless the YAML reads as the JSON does.
func same(t *testing.T, text, y []byte) {
	t.Helper()
	var want, got any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(y, &got); err != nil {
		t.Errorf("%s: %q is no YAML: %v", text, y, err)
		return
	}
	if got = floats(got); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %q reads as %#v", text, y, got)
	}
}

// floats turns all numbers into those of encoding/json.
func floats(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = floats(v[name])
		}
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	case int:
		return float64(v)
	}
	return value
}

func TestYAMLRefuses(t *testing.T) {
	for _, text := range []string{"", "{", "{}{}", "a: b", `{"a":}`, `{"? x":1}`, `{"a\nb":1}`, `{"a":1,"a":2}`, `1e999`} {
		if _, err := YAML([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestYAMLOfADocument(t *testing.T) {
	each(t, func(t *testing.T, v *version.Version) {
		text := build(t, v)
		y, err := YAML(text)
		if err != nil {
			t.Fatal(err)
		}
		same(t, text, y)
		if i, j := bytes.Index(y, []byte("\npaths:")), bytes.Index(y, []byte("\ncomponents:")); i < 0 || j < i {
			t.Error("the members are not in their order")
		}
	})
}

func FuzzYAML(f *testing.F) {
	f.Add(`{"a":[1,-2.5e3,"x",null,true,{"b":{}}],"":"- "}`)
	f.Add(`"2026-11-01"`)
	f.Add(`["a\nb\n\n","\ttab"," #c",": d"]`)
	f.Add(`{"a":1,"a":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		y, err := YAML([]byte(text))
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q was taken", text)
		}
		same(t, []byte(text), y)
	})
}
