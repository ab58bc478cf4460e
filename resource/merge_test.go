package resource

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A merged is a resource with the members of the examples in appendix A of
// RFC 7396, as far as a typed resource can have them.
type merged struct {
	A *string  `json:"a,omitzero"`
	B *string  `json:"b,omitzero"`
	C []string `json:"c,omitempty"`
	O *pair    `json:"o,omitzero"`
	L []single `json:"l,omitempty"`
}

type pair struct {
	B *string `json:"b,omitzero"`
	C *string `json:"c,omitzero"`
	O *pairIn `json:"o,omitzero"`
}

type pairIn struct {
	B *string `json:"b,omitzero"`
}

type single struct {
	B string `json:"b"`
}

var mergedPlan = planOf(reflect.TypeFor[merged]())

// merge applies a patch to a stored document.
func merge(t *testing.T, p *plan, original, patch string) (string, error) {
	t.Helper()
	v := reflect.New(p.typ).Elem()
	if err := p.decode([]byte(original), v, modeStored); err != nil {
		t.Fatalf("%s: %v", original, err)
	}
	err := p.decode([]byte(patch), v, modeMerge)
	return string(p.append(nil, v, true)), err
}

func TestMergeAppendixA(t *testing.T) {
	for _, test := range []struct{ why, original, patch, want string }{
		{"a member is replaced", `{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{"a member is added", `{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{"null removes", `{"a":"b"}`, `{"a":null}`, `{}`},
		{"null removes one of two", `{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{"null of what is absent does nothing", `{}`, `{"a":null}`, `{}`},
		{"a list is replaced", `{"c":["b"]}`, `{"c":["c","d"]}`, `{"c":["c","d"]}`},
		{"an object is merged, null inside removes", `{"o":{"b":"c"}}`, `{"o":{"b":"d","c":null}}`, `{"o":{"b":"d"}}`},
		{"a list of objects is replaced, not merged", `{"l":[{"b":"c"}]}`, `{"l":[{"b":"d"},{"b":"e"}]}`, `{"l":[{"b":"d"},{"b":"e"}]}`},
		{"an empty object changes nothing", `{"a":"b","o":{"c":"x"}}`, `{}`, `{"a":"b","o":{"c":"x"}}`},
		{"an object two levels down", `{"o":{"b":"1","o":{"b":"2"}}}`, `{"o":{"o":{"b":"3"}}}`, `{"o":{"b":"1","o":{"b":"3"}}}`},
		{"objects are made of nothing, their nulls dropped", `{}`, `{"o":{"o":{"b":null}}}`, `{"o":{"o":{}}}`},
		{"null removes a whole object", `{"o":{"b":"c"}}`, `{"o":null}`, `{}`},
	} {
		got, err := merge(t, mergedPlan, test.original, test.patch)
		if err != nil || got != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.why, got, err, test.want)
		}
	}
}

func TestMerge(t *testing.T) {
	const row = `{"title":"t","count":1,"ratio":0.5,"flag":true,"when":"2026-11-01T00:00:00.000000Z","tags":["x"],"items":[{"name":"n","quantity":1,"note":null}],` +
		`"home":{"street":"s","city":"c","geo":{"lat":1,"lon":2,"src":null}},"work":{"street":"w","city":"","geo":null},"any":{"k":1},"owner":7,"fixed":"f","sum":3,"secret":"z"}`
	base, err := read(row, sample{}, modeStored)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		why, patch string
		want       func(v *sample)
		err        string
	}{
		{"nothing", `{}`, func(*sample) {}, ""},
		{"what is absent stays", `{"title":"u"}`, func(v *sample) { v.Title = "u" }, ""},
		{"null resets a number", `{"count":null}`, func(v *sample) { v.Count = 0 }, ""},
		{"null resets a truth value", `{"flag":null}`, func(v *sample) { v.Flag = false }, ""},
		{"null resets a list", `{"tags":null}`, func(v *sample) { v.Tags = nil }, ""},
		{"null resets a time", `{"when":null}`, func(v *sample) { v.When = time.Time{} }, ""},
		{"null resets any JSON", `{"any":null}`, func(v *sample) { v.Any = nil }, ""},
		{"null resets an object", `{"home":null}`, func(v *sample) { v.Home = place{} }, ""},
		{"null for what may be null", `{"work":null,"owner":null}`, func(v *sample) { v.Work, v.Owner = nil, nil }, ""},
		{"a reference alone, which was null before", `{"due":"2026-11-01T00:00:00Z"}`, func(v *sample) { v.Due = &base.When }, ""},
		{"null for what is required", `{"title":null}`, nil, "422 [/title is required]"},
		{"a nested member", `{"home":{"city":"d"}}`, func(v *sample) { v.Home.City = "d" }, ""},
		{"null resets a nested member", `{"home":{"city":null}}`, func(v *sample) { v.Home.City = "" }, ""},
		{"two levels down", `{"home":{"geo":{"lon":3}}}`, func(v *sample) { v.Home.Geo = &geo{Lat: 1, Lon: 3} }, ""},
		{"null of what is required two levels down", `{"home":{"geo":{"lat":null}}}`, nil, "422 [/home/geo/lat is required]"},
		{"an object made of nothing has what it requires", `{"work":{"geo":{"lon":3}}}`, nil, "422 [/work/geo/lat is required]"},
		{"so have those in it", `{"work":{"geo":{"lat":1,"src":{"year":1}}}}`, nil, "422 [/work/geo/src/name is required]"},
		{"and in one that was there", `{"home":{"geo":{"src":{"year":1}}}}`, nil, "422 [/home/geo/src/name is required]"},
		{"which asks nothing of the objects around it", `{"home":{"geo":{"src":{"name":"x"}}}}`, func(v *sample) { v.Home.Geo = &geo{Lat: 1, Lon: 2, Src: &source{Name: "x"}} }, ""},
		{"an object of null members is an object", `{"work":{"geo":{"lat":5,"lon":null}}}`, func(v *sample) { v.Work = &place{Street: "w", Geo: &geo{Lat: 5}} }, ""},
		{"elements of a list are whole", `{"items":[{"quantity":2}]}`, nil, "422 [/items/0/name is required]"},
		{"and replace all", `{"items":[{"name":"m"}]}`, func(v *sample) { v.Items = []part{{Name: "m"}} }, ""},
		{"null in a list is an element", `{"tags":[null]}`, nil, "422 [/tags/0 must be a string]"},
		{"any JSON is replaced: its members are not ours to merge", `{"any":{"l":2}}`, func(v *sample) { v.Any = []byte(`{"l":2}`) }, ""},
		{"a rule holds", `{"count":6}`, nil, "422 [/count must be at most 5]"},
		{"read-only", `{"sum":3}`, nil, "422 [/sum is read-only]"},
		{"read-only, by null", `{"sum":null}`, nil, "422 [/sum is read-only]"},
		{"hidden", `{"secret":null}`, nil, "422 [/secret is not a member of this resource]"},
		{"unknown, by null", `{"x":null}`, nil, "422 [/x is not a member of this resource]"},
		{"fixed, to what it is", `{"fixed":"f"}`, func(*sample) {}, ""},
		{"fixed, to another", `{"fixed":"g"}`, nil, "422 [/fixed cannot be changed]"},
		{"fixed, to nothing", `{"fixed":null}`, nil, "422 [/fixed cannot be changed]"},
		{"not an object", `"x"`, nil, "422 [ must be an object]"},
	} {
		before, err := read(row, sample{}, modeStored)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(test.patch, before, modeMerge)
		if summary(err) != test.err {
			t.Errorf("%s: got %q, want %q", test.why, summary(err), test.err)
		}
		if test.want != nil {
			want := base
			test.want(&want)
			if a, b := written(got), written(want); a != b {
				t.Errorf("%s:\n got %s\nwant %s", test.why, a, b)
			}
		}
		// The value before is compared with the next one and may be shared.
		if a, b := written(before), written(base); a != b {
			t.Errorf("%s: the value before changed:\n got %s\nwant %s", test.why, a, b)
		}
	}
}

func TestReplaceResets(t *testing.T) {
	was, err := read(`{"title":"t","count":1,"tags":["x"],"work":{"street":"w"},"owner":7}`, sample{}, modeStored)
	if err != nil {
		t.Fatal(err)
	}
	// A replacement is read over a fresh value that holds what a client cannot
	// set; see Room.overwrite.
	fixed := "f"
	got, err := read(`{"title":"u"}`, sample{Fixed: &fixed, Sum: 3, Secret: "z"}, modeReplace)
	if err != nil {
		t.Fatal(err)
	}
	want := sample{Title: "u", Fixed: &fixed, Sum: 3, Secret: "z"}
	if a, b := written(got), written(want); a != b {
		t.Errorf("got %s, want %s", a, b)
	}
	if got, err := read(`{"title":"u","fixed":"g"}`, sample{Fixed: &fixed}, modeReplace); summary(err) != "422 [/fixed cannot be changed]" || fixed != "f" {
		t.Errorf("got %v, %s, want a refusal and the value before as it was", got, summary(err))
	}
	if got, err := read(`{"title":"u","fixed":"g"}`, was, modeCreate); err != nil || *got.Fixed != "g" {
		t.Errorf("got %v, %v, want what is fixed to be given on create", got, err)
	}
}

func TestStateIsNotGivenOnCreate(t *testing.T) {
	type old struct {
		Name string `json:"name"`
		Done bool   `json:"done" parley:"state"`
	}
	p := planOf(reflect.TypeFor[old]())
	for _, test := range []struct {
		why  string
		m    mode
		body string
		want string
	}{
		{"on create", modeCreate, `{"done":false}`, "422 [/done cannot be set on create]"},
		{"in a replacement", modeReplace, `{"done":true}`, ""},
		{"in a patch", modeMerge, `{"done":true}`, ""},
		{"to nothing", modeMerge, `{"done":null}`, "422 [/done is required]"},
	} {
		if err := p.decode([]byte(test.body), reflect.New(p.typ).Elem(), test.m); summary(err) != test.want {
			t.Errorf("%s: got %s, want %s", test.why, summary(err), test.want)
		}
	}
}

// modelMerge is MergePatch of RFC 7396, section 2, on JSON as it comes.
func modelMerge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, ok := target.(map[string]any)
	if !ok {
		out = make(map[string]any)
	}
	for name, value := range p {
		if value == nil {
			delete(out, name)
		} else {
			out[name] = modelMerge(out[name], value)
		}
	}
	return out
}

// The typed merge agrees with the algorithm of the RFC on known members.
func TestMergeAgainstModel(t *testing.T) {
	text := rapid.SampledFrom([]string{`"x"`, `"y"`, `null`})
	object := func(members map[string]*rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			b := []byte{'{'}
			for _, name := range []string{"a", "b", "c", "o", "l"} {
				if g, ok := members[name]; ok && rapid.Bool().Draw(t, name) {
					if len(b) > 1 {
						b = append(b, ',')
					}
					b = append(append(b, '"'), name...)
					b = append(append(b, `":`...), g.Draw(t, name)...)
				}
			}
			return string(append(b, '}'))
		})
	}
	type members = map[string]*rapid.Generator[string]
	innermost := rapid.OneOf(object(members{"b": text}), rapid.Just("null"))
	inner := rapid.OneOf(object(members{"b": text, "c": text, "o": innermost}), rapid.Just("null"))
	body := object(members{
		"a": text, "b": text, "o": inner,
		"c": rapid.SampledFrom([]string{`["p"]`, `["p","q"]`, `null`}),
		"l": rapid.SampledFrom([]string{`[{"b":"p"}]`, `[{"b":"q"},{"b":"p"}]`, `null`}),
	})
	rapid.Check(t, func(r *rapid.T) {
		original, patch := body.Draw(r, "original"), body.Draw(r, "patch")
		start, _ := merge(t, mergedPlan, "{}", original) // without its nulls
		got, err := merge(t, mergedPlan, start, patch)
		if err != nil {
			r.Fatalf("%s over %s: %v", patch, start, err)
		}
		want, err := json.Marshal(modelMerge(parseTree([]byte(start)), parseTree([]byte(patch))))
		if err != nil {
			r.Fatal(err)
		}
		if !equal(parseTree([]byte(got)), parseTree(bytes.TrimSpace(want))) {
			r.Errorf("%s over %s: got %s, want %s", patch, start, got, want)
		}
	})
}
