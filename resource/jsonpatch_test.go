package resource

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

// patched applies a JSON Patch to a document and returns the result as text.
func patched(doc, patch string) (string, error) {
	ops, err := parsePatch([]byte(patch))
	if err != nil {
		return "", err
	}
	after, err := applyPatch(ops, []byte(doc))
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(after)
	return string(b), err
}

// TestPatchRFC6902 follows appendix A.
func TestPatchRFC6902(t *testing.T) {
	const bad = "422 [/0/path cannot be applied to the resource]"
	for _, test := range []struct{ why, doc, patch, want string }{
		{"A.1 adding a member", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`},
		{"A.2 adding an element", `{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{"A.3 removing a member", `{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{"A.4 removing an element", `{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{"A.5 replacing a value", `{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{"A.6 moving a value", `{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`, `{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{"A.7 moving an element", `{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{"A.8 testing: success", `{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{"A.9 testing: error", `{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, "409"},
		{"A.10 adding an object", `{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"child":{"grandchild":{}},"foo":"bar"}`},
		{"A.11 members that are not known are ignored", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"baz":"qux","foo":"bar"}`},
		{"A.12 adding to what is not there", `{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, bad},
		{"A.13 an operation with a member twice", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","op":"remove"}]`, "400"},
		{"A.14 escaping a tilde", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{"A.15 text is not a number", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, "409"},
		{"A.16 adding a list to a list", `{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
	} {
		got, err := patched(test.doc, test.patch)
		if err != nil {
			got = summary(err)
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.why, got, test.want)
		}
	}
}

func TestPatch(t *testing.T) {
	const doc = `{"a":"x","b":null,"l":[1,2,3],"m":[[1],[null]],"o":{"p":{"q":1}},"":0}`
	const bad = "422 [/0/path cannot be applied to the resource]"
	for _, test := range []struct{ why, patch, want string }{
		{"no operations", `[]`, doc},
		{"add over what is there replaces", `[{"op":"add","path":"/a","value":1}]`, strings.Replace(doc, `"x"`, "1", 1)},
		{"add null", `[{"op":"add","path":"/a","value":null}]`, strings.Replace(doc, `"x"`, "null", 1)},
		{"replace what is null", `[{"op":"replace","path":"/b","value":1}]`, strings.Replace(doc, `"b":null`, `"b":1`, 1)},
		{"replace what is absent", `[{"op":"replace","path":"/c","value":1}]`, bad},
		{"remove what is absent", `[{"op":"remove","path":"/c"}]`, bad},
		{"remove what is null", `[{"op":"remove","path":"/b"}]`, strings.Replace(doc, `"b":null,`, "", 1)},
		{"the member with an empty name", `[{"op":"replace","path":"/","value":1}]`, strings.Replace(doc, `"":0`, `"":1`, 1)},
		{"a member of what has none", `[{"op":"add","path":"/a/b","value":1}]`, bad},
		{"a member of null", `[{"op":"add","path":"/b/c","value":1}]`, bad},

		{"an element", `[{"op":"replace","path":"/l/2","value":4}]`, strings.Replace(doc, "[1,2,3]", "[1,2,4]", 1)},
		{"add first", `[{"op":"add","path":"/l/0","value":0}]`, strings.Replace(doc, "[1,2,3]", "[0,1,2,3]", 1)},
		{"add last, by number", `[{"op":"add","path":"/l/3","value":4}]`, strings.Replace(doc, "[1,2,3]", "[1,2,3,4]", 1)},
		{"add last, by dash", `[{"op":"add","path":"/l/-","value":4}]`, strings.Replace(doc, "[1,2,3]", "[1,2,3,4]", 1)},
		{"in a list in a list", `[{"op":"add","path":"/m/1/0","value":4}]`, strings.Replace(doc, "[[1],[null]]", "[[1],[4,null]]", 1)},
		{"remove from a list in a list", `[{"op":"remove","path":"/m/1/0"}]`, strings.Replace(doc, "[[1],[null]]", "[[1],[]]", 1)},
		{"past the end", `[{"op":"add","path":"/l/4","value":4}]`, bad},
		{"replace behind the last", `[{"op":"replace","path":"/l/3","value":4}]`, bad},
		{"replace what a dash names, which never exists", `[{"op":"replace","path":"/l/-","value":4}]`, bad},
		{"remove it", `[{"op":"remove","path":"/l/-"}]`, bad},
		{"remove behind the last", `[{"op":"remove","path":"/l/3"}]`, bad},
		{"from the end", `[{"op":"replace","path":"/l/-1","value":4}]`, bad},
		{"remove from the end", `[{"op":"remove","path":"/l/-1"}]`, bad},
		{"add from the end", `[{"op":"add","path":"/l/-1","value":4}]`, bad},
		{"copy from the end", `[{"op":"copy","from":"/l/-1","path":"/c"}]`, bad},
		{"a zero before an index", `[{"op":"replace","path":"/l/01","value":4}]`, bad},
		{"a plus before it", `[{"op":"replace","path":"/l/+1","value":4}]`, bad},
		{"a name for an index", `[{"op":"replace","path":"/l/x","value":4}]`, bad},
		{"no index", `[{"op":"replace","path":"/l/","value":4}]`, bad},
		{"an index beyond numbers", `[{"op":"replace","path":"/l/99999999999999999999","value":4}]`, bad},

		{"move to where it is", `[{"op":"move","from":"/a","path":"/a"}]`, doc},
		{"move an element to the end", `[{"op":"move","from":"/l/0","path":"/l/-"}]`, strings.Replace(doc, "[1,2,3]", "[2,3,1]", 1)},
		{"move over another", `[{"op":"move","from":"/a","path":"/b"}]`, `{"":0,"b":"x","l":[1,2,3],"m":[[1],[null]],"o":{"p":{"q":1}}}`},
		{"move into itself", `[{"op":"move","from":"/o","path":"/o/p/r"}]`, bad},
		{"move an element into what comes after it", `[{"op":"move","from":"/m/0","path":"/m/0/0"}]`, bad},
		{"move to what looks like a child", `[{"op":"move","from":"/o","path":"/ob"}]`, strings.Replace(doc, `"o":`, `"ob":`, 1)},
		{"move what is absent", `[{"op":"move","from":"/c","path":"/d"}]`, bad},
		{"move to nowhere", `[{"op":"move","from":"/a","path":"/c/d"}]`, bad},
		{"move everything", `[{"op":"move","from":"","path":"/c"}]`, bad},
		{"copy", `[{"op":"copy","from":"/o/p","path":"/b"}]`, strings.Replace(doc, `"b":null`, `"b":{"q":1}`, 1)},
		{"copy null", `[{"op":"copy","from":"/b","path":"/a"}]`, strings.Replace(doc, `"x"`, "null", 1)},
		{"copy into itself", `[{"op":"copy","from":"/o","path":"/o/r"}]`, strings.Replace(doc, `{"p":{"q":1}}`, `{"p":{"q":1},"r":{"p":{"q":1}}}`, 1)},
		{"a copy is its own", `[{"op":"copy","from":"/l","path":"/a"},{"op":"add","path":"/a/-","value":4},{"op":"replace","path":"/l/0","value":0}]`,
			`{"":0,"a":[1,2,3,4],"b":null,"l":[0,2,3],"m":[[1],[null]],"o":{"p":{"q":1}}}`},
		{"copy what is absent", `[{"op":"copy","from":"/c","path":"/d"}]`, bad},

		{"replace everything", `[{"op":"replace","path":"","value":{"a":1}}]`, `{"a":1}`},
		{"add everything", `[{"op":"add","path":"","value":[]}]`, `[]`},
		{"remove everything", `[{"op":"remove","path":""}]`, bad},

		{"test everything", `[{"op":"test","path":"","value":{"":0,"o":{"p":{"q":1}},"m":[[1],[null]],"l":[1,2,3],"b":null,"a":"x"}}]`, doc},
		{"test a number by its value", `[{"op":"test","path":"/l/0","value":1.0},{"op":"test","path":"/l","value":[10e-1,2,3.00]}]`, doc},
		{"test text by its characters", `[{"op":"test","path":"/a","value":"\u0078"}]`, doc},
		{"test null", `[{"op":"test","path":"/b","value":null}]`, doc},
		{"test null in a list", `[{"op":"test","path":"/m/1","value":[null]}]`, doc},
		{"what is absent is not null", `[{"op":"test","path":"/c","value":null}]`, "409"},
		{"null is not false", `[{"op":"test","path":"/b","value":false}]`, "409"},
		{"a list of null is no list of numbers", `[{"op":"test","path":"/m/0","value":[null]}]`, "409"},
		{"nor the other way round", `[{"op":"test","path":"/m/1","value":[1]}]`, "409"},
		{"a list is in order", `[{"op":"test","path":"/l","value":[3,2,1]}]`, "409"},
		{"a longer list", `[{"op":"test","path":"/l","value":[1,2,3,4]}]`, "409"},
		{"an object with more", `[{"op":"test","path":"/o","value":{"p":{"q":1},"r":null}}]`, "409"},
		{"an object is no list", `[{"op":"test","path":"/o","value":[]}]`, "409"},
		{"text is no object", `[{"op":"test","path":"/a","value":{}}]`, "409"},
		{"a path that leads nowhere", `[{"op":"test","path":"/a/b/c","value":1}]`, "409"},

		{"the second operation", `[{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}]`, "422 [/1/path cannot be applied to the resource]"},
		{"a test after a change sees it", `[{"op":"remove","path":"/a"},{"op":"test","path":"/a","value":"x"}]`, "409"},
	} {
		got, err := patched(doc, test.patch)
		if err != nil {
			got = summary(err)
		}
		if want := test.want; got != want && (want[0] != '{' || !equal(parseTree([]byte(got)), parseTree([]byte(want)))) {
			t.Errorf("%s:\n got %s\nwant %s", test.why, got, want)
		}
	}
}

func TestParsePatchRefuses(t *testing.T) {
	for _, test := range []struct{ why, patch, want string }{
		{"not JSON", `[{]`, "400"},
		{"data after it", `[] x`, "400"},
		{"two patches", `[][]`, "400"},
		{"nothing", ``, "400"},
		{"half a surrogate pair", `[{"op":"add","path":"/a","value":"\ud800"}]`, "400"},
		{"a member of a value twice", `[{"op":"add","path":"/a","value":{"x":1,"x":2}}]`, "400"},
		{"an object", `{"op":"add"}`, "422 [ must be an array of operations, each with op and path]"},
		{"null", `null`, "422 [ must be an array of operations, each with op and path]"},
		{"an operation that is none", `["add",null]`, "422 [/0 must be an object] [/1 must be an object]"},
		{"no op", `[{"path":"/a","value":1}]`, "422 [/0/op is required]"},
		{"op in capitals", `[{"OP":"add","path":"/a","value":1}]`, "422 [/0/op is required]"},
		{"an op that is no text", `[{"op":1,"path":"/a","value":1}]`, "422 [/0/op is required]"},
		{"an unknown op", `[{"op":"merge","path":"/a","value":1}]`, "422 [/0/op must be one of: add, remove, replace, move, copy, test]"},
		{"no path", `[{"op":"remove"}]`, "422 [/0/path must be a JSON Pointer]"},
		{"path null", `[{"op":"remove","path":null}]`, "422 [/0/path must be a JSON Pointer]"},
		{"a path without a slash", `[{"op":"remove","path":"a"}]`, "422 [/0/path must be a JSON Pointer]"},
		{"a path in a URI fragment", `[{"op":"remove","path":"#/a"}]`, "422 [/0/path must be a JSON Pointer]"},
		{"a tilde that escapes nothing", `[{"op":"remove","path":"/a~"}]`, "422 [/0/path must be a JSON Pointer]"},
		{"a tilde that escapes something else", `[{"op":"remove","path":"/a~2"}]`, "422 [/0/path must be a JSON Pointer]"},
		{"two tildes", `[{"op":"remove","path":"/~~0"}]`, "422 [/0/path must be a JSON Pointer]"},
		{"no value", `[{"op":"add","path":"/a"}]`, "422 [/0/value is required]"},
		{"value in capitals", `[{"op":"replace","path":"/a","Value":1}]`, "422 [/0/value is required]"},
		{"nothing to test", `[{"op":"test","path":"/a"}]`, "422 [/0/value is required]"},
		{"no from", `[{"op":"move","path":"/a"}]`, "422 [/0/from must be a JSON Pointer]"},
		{"a from that is no pointer", `[{"op":"copy","path":"/a","from":"b"}]`, "422 [/0/from must be a JSON Pointer]"},
		{"several wrong, each told", `[{"op":"add"},{"op":"remove","path":"/a"},{}]`, "422 [/0/path must be a JSON Pointer] [/2/op is required]"},
		{"more operations than a patch may have", "[" + strings.Repeat(`{"op":"remove","path":"/a"},`, 100) + `{"op":"remove","path":"/a"}]`, "422 [ must have at most 100 operations]"},
		{"as many as it may", "[" + strings.Repeat(`{"op":"remove","path":"/a"},`, 99) + `{"op":"remove","path":"/a"}]`, ""},
	} {
		if _, err := parsePatch([]byte(test.patch)); summary(err) != test.want {
			t.Errorf("%s: got %s, want %s", test.why, summary(err), test.want)
		}
	}
	_, err := parsePatch([]byte("[" + strings.Repeat("{},", 50) + "{}]"))
	if got := len(problem.From(err).Errors); got != 32 {
		t.Errorf("%d errors, want 32", got)
	}
}

// A short patch must not make a huge document, nor a deep one.
func TestPatchIsBounded(t *testing.T) {
	var double, deeper []string
	for i := range 90 {
		double = append(double, fmt.Sprintf(`{"op":"copy","from":"","path":"/x%d"}`, i))
		deeper = append(deeper, `{"op":"copy","from":"/a","path":"/a/x"}`)
	}
	long := strings.Repeat("/a", 70)
	for _, test := range []struct{ why, doc, patch string }{
		{"ninety doublings", `{"a":{"b":"0123456789"}}`, "[" + strings.Join(double, ",") + "]"},
		{"copies into itself", `{"a":{"b":"0123456789"}}`, "[" + strings.Join(deeper, ",") + "]"},
		{"ninety copies of half a limit", `{"a":"` + strings.Repeat("x", maxCopied/2) + `"}`, "[" + strings.Join(double, ",") + "]"},
		{"a path that is longer than any", `{"a":{}}`, `[{"op":"add","path":"` + long + `","value":1}]`},
		{"a deep value deep down", `{"a":{"a":{}}}`, `[{"op":"add","path":"/a/a/x","value":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}]`},
		{"a deep value moved deeper", `{"a":{"a":{}},"b":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}`, `[{"op":"move","from":"/b","path":"/a/a/x"}]`},
	} {
		got, err := patched(test.doc, test.patch)
		if s := summary(err); !strings.HasPrefix(s, "422") || !strings.HasSuffix(s, "cannot be applied to the resource]") {
			t.Errorf("%s: got %s and %d bytes, want a refusal", test.why, s, len(got))
		}
	}
	if _, err := patched(`{"a":{}}`, `[{"op":"add","path":"/a/x","value":`+strings.Repeat("[", 62)+strings.Repeat("]", 62)+`}]`); err != nil {
		t.Errorf("64 levels in all: %s", summary(err))
	}
}

// A patch runs again where the row moved on: it must not have changed.
func TestPatchIsPure(t *testing.T) {
	ops, err := parsePatch([]byte(`[{"op":"add","path":"/l","value":[1]},{"op":"add","path":"/l/-","value":2},{"op":"add","path":"/o","value":{}},{"op":"add","path":"/o/x","value":1}]`))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		after, err := applyPatch(ops, []byte(`{}`))
		if got, _ := json.Marshal(after); err != nil || string(got) != `{"l":[1,2],"o":{"x":1}}` {
			t.Fatalf("got %s, %v", got, err)
		}
	}
}

func TestStrip(t *testing.T) {
	const doc = `{"id":1,"at":"<\u2028>","sum":{"a":1,"b":2},"title":"x"}`
	names := []string{"sum", "id", "at"}
	for _, test := range []struct{ why, after, want string }{
		{"as it was", doc, `{"title":"x"}`},
		{"written in another way", `{"title":"y","sum":{"b":2.0,"a":1},"at":"\u003c\u2028\u003e","id":1}`, `{"title":"y"}`},
		{"one was changed", `{"id":2,"at":"<\u2028>","sum":{"a":1,"b":2}}`, "422 [/id is read-only]"},
		{"one was removed, another became null", `{"at":null,"sum":{"a":1,"b":2}}`, "422 [/id is read-only] [/at is read-only]"},
		{"a member of one was changed", `{"id":1,"at":"<\u2028>","sum":{"a":1,"b":3}}`, "422 [/sum is read-only]"},
		{"not an object any more", `[]`, "422 [ must be an object]"},
		{"nothing any more", `null`, "422 [ must be an object]"},
	} {
		got, err := strip(parseTree([]byte(test.after)), []byte(doc), names)
		text := string(got)
		if err != nil {
			text = summary(err)
		}
		if text != test.want {
			t.Errorf("%s: got %s, want %s", test.why, text, test.want)
		}
	}
	if got, err := strip(parseTree([]byte(`{"x":{"a":1,"b":2}}`)), []byte(`{"x":{"b":2,"a":1}}`), nil); err != nil || string(got) != `{"x":{"b":2,"a":1}}` {
		t.Errorf("what a patch left alone is %s, %v, want it in its order", got, err)
	}
	if _, err := strip(parseTree([]byte(`{"new":1}`)), []byte(`{}`), []string{"new"}); summary(err) != "422 [/new is read-only]" {
		t.Errorf("a read-only member was added: %s", summary(err))
	}
}

// FuzzPatch wants no panic, a document within its bounds, and the same outcome
// when the patch runs again.
func FuzzPatch(f *testing.F) {
	for _, patch := range []string{
		`[{"op":"add","path":"/a","value":1}]`, `[{"op":"move","from":"/l/0","path":"/l/-"}]`,
		`[{"op":"copy","from":"","path":"/a"},{"op":"test","path":"/a/l/1","value":2e0}]`,
		`[{"op":"remove","path":"/l/0"},{"op":"replace","path":"","value":null}]`,
		`[{"op":"test","path":"/l","value":[null]}]`, `[{"op":"add","path":"/~01~1","value":[]}]`,
	} {
		f.Add([]byte(`{"a":{"b":null},"l":[1,2,null]}`), []byte(patch))
	}
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		if CheckJSON(doc) != nil {
			return
		}
		ops, err := parsePatch(patch)
		if err != nil {
			if s := summary(err); !strings.HasPrefix(s, "4") {
				t.Errorf("%s: %s", patch, s)
			}
			return
		}
		after, err := applyPatch(ops, doc)
		again, err2 := applyPatch(ops, doc)
		if summary(err) != summary(err2) || !equal(after, again) {
			t.Errorf("%s: %v, %v, then %v, %v", patch, after, err, again, err2)
		}
		if s := summary(err); err != nil && s != "409" && !strings.HasPrefix(s, "422") {
			t.Errorf("%s: %s", patch, s)
		}
		if err == nil && depth(after) > MaxDepth {
			t.Errorf("%s: %d levels deep", patch, depth(after))
		}
	})
}
