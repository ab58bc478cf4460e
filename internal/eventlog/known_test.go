package eventlog

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestKnown(t *testing.T) {
	var k known
	key, schema, now := kindKey{1, "a.b"}, new(jsonschema.Schema), time.Unix(1000, 0)
	k.put(k.begin(), key, schema, now)
	for _, tt := range []struct {
		why  string
		key  kindKey
		at   time.Time
		want *jsonschema.Schema
	}{
		{"just kept", key, now, schema},
		{"a moment later", key, now.Add(knownFor - 1), schema},
		{"too old", key, now.Add(knownFor), nil},
		{"another account", kindKey{2, "a.b"}, now, nil},
		{"another name", kindKey{1, "a.c"}, now, nil},
	} {
		if got := k.get(tt.key, tt.at); got != tt.want {
			t.Errorf("%s: got %p, want %p", tt.why, got, tt.want)
		}
	}
	epoch := k.begin()
	k.forget()
	k.put(epoch, key, schema, now)
	if got := k.get(key, now); got != nil {
		t.Error("what was read before a change is kept after it")
	}
}

func FuzzTree(f *testing.F) {
	for _, text := range []string{`{}`, `[]`, `null`, `{"a":[1,2.50,1e400,-0],"b":{"c":"d\n\u00e9"},"":true}`, `[[[]],{"x":false}]`, `"x"`, `{"a":1`, `[1,`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := tree([]byte(text))
		want, wrong := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil || wrong != nil || !json.Valid([]byte(text)) || strings.ContainsRune(text, '\uFFFD') {
			return // what is not JSON never comes so far
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", text, got, want)
		}
	})
}
