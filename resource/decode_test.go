package resource

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

func TestDecodeMalformed(t *testing.T) {
	nested := func(n int) string {
		return `{"title":"a","any":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	for _, test := range []struct{ why, body, want string }{
		{"a body", `{"title":"a"}`, ""},
		{"white space around it", " \t\r\n{ \"title\" : \"a\" } \n", ""},
		{"nothing", ``, "400"},
		{"white space alone", ` `, "400"},
		{"a byte order mark", "\ufeff" + `{"title":"a"}`, "400"},
		{"not JSON", `title=a`, "400"},
		{"cut short in a name", `{"title`, "400"},
		{"cut short after a name", `{"title"`, "400"},
		{"cut short in a value", `{"title":"a`, "400"},
		{"cut short after a value", `{"title":"a"`, "400"},
		{"cut short in a list", `{"title":"a","tags":["x"`, "400"},
		{"a member twice", `{"title":"a","title":"b"}`, "400"},
		{"twice, once escaped", `{"title":"a","titl\u0065":"b"}`, "400"},
		{"an unknown member twice", `{"title":"a","x":1,"x":2}`, "400"},
		{"twice in an unknown member", `{"title":"a","x":{"y":1,"y":2}}`, "400"},
		{"twice in a member of any JSON", `{"title":"a","any":{"y":1,"y":2}}`, "400"},
		{"twice in a nested object", `{"title":"a","home":{"city":"x","city":"y"}}`, "400"},
		{"twice in an object of a list", `{"title":"a","items":[{"name":"x","name":"x"}]}`, "400"},
		{"twice in a member of the wrong type", `{"title":{"y":1,"y":2}}`, "400"},
		{"twice in a read-only member", `{"title":"a","sum":{"y":1,"y":2}}`, "400"},
		{"names differ by case", `{"title":"a","x":1,"X":2}`, "422 [/x is not a member of this resource] [/X is not a member of this resource]"},
		{"data after the end", `{"title":"a"}{"title":"b"}`, "400"},
		{"a word after the end", `{"title":"a"} x`, "400"},
		{"a bracket after the end", `{"title":"a"}}`, "400"},
		{"a comma after the end", `{"title":"a"},`, "400"},
		{"a NUL after the end", "{\"title\":\"a\"}\x00", "400"},
		{"bytes that are no UTF-8", "{\"title\":\"\xff\"}", "400"},
		{"in a name", "{\"\xff\":1,\"title\":\"a\"}", "400"},
		{"in a skipped value", "{\"title\":\"a\",\"x\":[\"\xc3\x28\"]}", "400"},
		{"a surrogate in UTF-8", "{\"title\":\"\xed\xa0\x80\"}", "400"},
		{"an overlong form", "{\"title\":\"\xc0\xaf\"}", "400"},
		{"half a surrogate pair", `{"title":"\ud800"}`, "400"},
		{"the halves the wrong way round", `{"title":"\udc00\ud800"}`, "400"},
		{"half a pair and a letter", `{"title":"\ud800a"}`, "400"},
		{"half a pair in a name", `{"title":"a","\ud800":1}`, "400"},
		{"a whole pair", `{"title":"\ud83d\ude00"}`, ""},
		{"64 levels", nested(64), ""},
		{"65 levels", nested(65), "400"},
		{"65 levels in an unknown member", strings.Replace(nested(65), "any", "unknown", 1), "400"},
		{"brackets in text are no levels", `{"title":"a","text":"` + strings.Repeat("[", 200) + `"}`, ""},
		{"nor after an escaped quote", `{"title":"a","text":"\"` + strings.Repeat("{", 200) + `\\"}`, ""},
		{"a million brackets", strings.Repeat("[", 1<<20), "400"},
		{"a comment", `{"title":"a" /* b */}`, "400"},
		{"a comma at the end", `{"title":"a",}`, "400"},
		{"quotes of the other kind", `{'title':'a'}`, "400"},
		{"a control character in text", "{\"title\":\"a\nb\"}", "400"},
		{"UTF-16", "{\x00\"\x00t\x00", "400"},
	} {
		for _, m := range []mode{modeCreate, modeReplace, modeMerge} {
			if _, err := read(test.body, sample{}, m); summary(err) != test.want {
				t.Errorf("%s, mode %d: got %s, want %s", test.why, m, summary(err), test.want)
			}
		}
	}
}

// What a client sent is not repeated to it, and where it went wrong is told.
func TestMalformedTellsWhere(t *testing.T) {
	for _, test := range []struct{ why, body, want string }{
		{"syntax", `{"title":"secret" "x"}`, "The body is not well-formed JSON, at byte 18."},
		{"a repeated name", `{"secret":1,"secret":2}`, "A member name is repeated, at byte 12 of the body."},
		{"nothing", ``, "The body is not one complete JSON text."},
		{"more than one", `{"title":"secret"}{}`, "The body is not one complete JSON text."},
		{"too deep", strings.Repeat("[", 65), "The body is nested more than 64 levels deep."},
	} {
		_, err := read(test.body, sample{}, modeCreate)
		if got := problem.From(err).Detail; got != test.want {
			t.Errorf("%s: got %q, want %q", test.why, got, test.want)
		}
	}
}

func TestDecodeTypes(t *testing.T) {
	for _, test := range []struct{ why, body, want string }{
		{"not an object", `[]`, "422 [ must be an object]"},
		{"null", `null`, "422 [ must be an object]"},
		{"a number", `1`, "422 [ must be an object]"},
		{"nothing that is required", `{}`, "422 [/title is required]"},
		{"text", `{"title":1}`, "422 [/title must be a string]"},
		{"null is no text", `{"title":null}`, "422 [/title must be a string]"},
		{"a whole number", `{"title":"a","count":"1"}`, "422 [/count must be a whole number]"},
		{"a fraction", `{"title":"a","count":1.5}`, "422 [/count must be a whole number]"},
		{"a number that is whole, with a fraction", `{"title":"a","count":1.0}`, ""},
		{"a number that is whole, with an exponent", `{"title":"a","count":0.1e1}`, ""},
		{"too large", `{"title":"a","big":9223372036854775808}`, "422 [/big must be a whole number]"},
		{"a number", `{"title":"a","ratio":"1"}`, "422 [/ratio must be a number]"},
		{"a number beyond 64 bits", `{"title":"a","ratio":1e400}`, "422 [/ratio must be a number]"},
		{"a truth value", `{"title":"a","flag":"true"}`, "422 [/flag must be true or false]"},
		{"not a number of them", `{"title":"a","flag":1}`, "422 [/flag must be true or false]"},
		{"a list", `{"title":"a","tags":"x"}`, "422 [/tags must be an array]"},
		{"null is no list", `{"title":"a","tags":null}`, "422 [/tags must be an array]"},
		{"a list of text", `{"title":"a","tags":["x",1,null]}`, "422 [/tags/1 must be a string] [/tags/2 must be a string]"},
		{"a list of lists", `{"title":"a","grid":[[1],[2,"x"],3]}`, "422 [/grid/1/1 must be a whole number] [/grid/2 must be an array]"},
		{"a list of what may be null", `{"title":"a","marks":[1,null]}`, ""},
		{"an object", `{"title":"a","home":[]}`, "422 [/home must be an object]"},
		{"null is no object", `{"title":"a","home":null}`, "422 [/home must be an object]"},
		{"unless it may be", `{"title":"a","work":null,"due":null,"owner":null,"fixed":null}`, ""},
		{"any JSON is any JSON", `{"title":"a","any":[null,{"x":"\u0000"}]}`, ""},

		{"in a nested object", `{"title":"a","home":{"city":1}}`, "422 [/home/city must be a string]"},
		{"two levels down", `{"title":"a","work":{"geo":{"lat":"x"}}}`, "422 [/work/geo/lat must be a number]"},
		{"required two levels down", `{"title":"a","work":{"geo":{}}}`, "422 [/work/geo/lat is required]"},
		{"required in an object of a list", `{"title":"a","items":[{"name":"x"},{"quantity":1}]}`, "422 [/items/1/name is required]"},
		{"a rule in an object of a list", `{"title":"a","items":[{"name":"toolong","quantity":100}]}`, "422 [/items/0/name must be at most 5 characters long] [/items/0/quantity must be at most 99]"},
		{"unknown in an object of a list", `{"title":"a","items":[{"name":"x","y":1}]}`, "422 [/items/0/y is not a member of this resource]"},
		{"an element that is no object", `{"title":"a","items":[7]}`, "422 [/items/0 must be an object]"},

		{"an unknown member", `{"title":"a","x":{"y":[1]}}`, "422 [/x is not a member of this resource]"},
		{"a name in other letters is another member", `{"Title":"a"}`, "422 [/Title is not a member of this resource] [/title is required]"},
		{"a Go name is no name", `{"title":"a","Ignore":"x"}`, "422 [/Ignore is not a member of this resource]"},
		{"nor is a dash", `{"title":"a","-":"x"}`, "422 [/- is not a member of this resource]"},
		{"an escaped name is the name", `{"\u0074itle":"a"}`, ""},
		{"a slash and a tilde in a pointer", `{"title":"a","a/b~c":1}`, "422 [/a~1b~0c is not a member of this resource]"},
		{"escaped in JSON too", `{"title":"a","\u007e\/":1}`, "422 [/~0~1 is not a member of this resource]"},
		{"an empty name", `{"title":"a","":1}`, "422 [/ is not a member of this resource]"},
		{"a long name is cut, at a whole character", `{"title":"a","` + strings.Repeat("x", 63) + `éééé":1}`, "422 [/" + strings.Repeat("x", 63) + " is not a member of this resource]"},
		{"the service's own members are not the client's", `{"title":"a","id":1,"created_at":"x","_links":{}}`, "422 [/id is not a member of this resource] [/created_at is not a member of this resource] [/_links is not a member of this resource]"},
		{"a hidden member does not exist", `{"title":"a","secret":"x"}`, "422 [/secret is not a member of this resource]"},
		{"a read-only one does", `{"title":"a","sum":0}`, "422 [/sum is read-only]"},
		{"several, in the order of the body, what is missing last", `{"x":1,"count":"1","tags":[1]}`, "422 [/x is not a member of this resource] [/count must be a whole number] [/tags/0 must be a string] [/title is required]"},
	} {
		for _, m := range []mode{modeCreate, modeReplace} {
			if _, err := read(test.body, sample{}, m); summary(err) != test.want {
				t.Errorf("%s, mode %d:\n got %s\nwant %s", test.why, m, summary(err), test.want)
			}
		}
	}
}

func TestDecodeRules(t *testing.T) {
	for _, test := range []struct{ why, member, want string }{
		{"required text is not empty", `"title":""`, "[/title must not be empty]"},
		{"the longest, counted in characters", `"title":"` + strings.Repeat("é", 10) + `"`, ""},
		{"longer", `"title":"` + strings.Repeat("é", 11) + `"`, "[/title must be at most 10 characters long]"},
		{"a line", `"title":"a\nb"`, "[/title must not contain control characters]"},
		{"delete is a control character", `"title":"a\u007fb"`, "[/title must not contain control characters]"},
		{"so is next line", `"title":"a\u0085b"`, "[/title must not contain control characters]"},
		{"text of more lines", `"title":"a","text":"a\nb\tc"`, ""},
		{"a NUL, which databases cannot keep", `"title":"a","text":"a\u0000b"`, "[/text must not contain the character U+0000]"},
		{"a NUL in a list", `"title":"a","tags":["\u0000"]`, "[/tags/0 must not contain the character U+0000]"},
		{"the least number", `"title":"a","count":-5`, ""},
		{"less", `"title":"a","count":-6`, "[/count must be at least -5]"},
		{"the greatest number", `"title":"a","count":5`, ""},
		{"greater", `"title":"a","count":6`, "[/count must be at most 5]"},
		{"the least fraction", `"title":"a","ratio":0`, ""},
		{"less than it", `"title":"a","ratio":-0.001`, "[/ratio must be at least 0]"},
		{"more than the greatest", `"title":"a","ratio":1.001`, "[/ratio must be at most 1]"},
		{"one of an enumeration", `"title":"a","colour":"green"`, ""},
		{"none of it", `"title":"a","colour":"blue"`, "[/colour must be one of: red, green]"},
		{"nor in other letters", `"title":"a","colour":"Red"`, "[/colour must be one of: red, green]"},
		{"as many as a list holds", `"title":"a","tags":["x","y","z"]`, ""},
		{"more", `"title":"a","tags":["x","y","z","u"]`, "[/tags must have at most 3 elements]"},
		{"far more", `"title":"a","tags":["x"` + strings.Repeat(`,"x"`, 1000) + `]`, "[/tags must have at most 3 elements]"},
		{"an id", `"title":"a","owner":1`, ""},
		{"not an id", `"title":"a","owner":0`, "[/owner must be at least 1]"},
		{"a timestamp", `"title":"a","when":"2026-11-01T12:00:00Z"`, ""},
		{"with another offset", `"title":"a","when":"2026-11-01T12:00:00.5+01:00"`, ""},
		{"a date alone", `"title":"a","when":"2026-11-01"`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"without an offset", `"title":"a","when":"2026-11-01T12:00:00"`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"an hour of one digit", `"title":"a","when":"2026-11-01T1:00:00Z"`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"a comma before the fraction", `"title":"a","when":"2026-11-01T12:00:00,5Z"`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"a number of seconds", `"title":"a","when":1793534400`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"a day that does not exist", `"title":"a","when":"2026-02-30T12:00:00Z"`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"the first year", `"title":"a","when":"0000-01-01T00:00:00Z"`, ""},
		{"a year before it, in UTC", `"title":"a","when":"0000-01-01T00:00:00+01:00"`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"a year of five digits, in UTC", `"title":"a","when":"9999-12-31T23:59:59-01:00"`, "[/when must be a timestamp in the form 2006-01-02T15:04:05Z]"},
		{"an address", `"title":"a","mail":"a.b+c@example.com"`, ""},
		{"not an address", `"title":"a","mail":"a.example.com"`, "[/mail must be an e-mail address]"},
	} {
		want := test.want
		if want != "" {
			want = "422 " + want
		}
		for _, m := range []mode{modeCreate, modeReplace, modeMerge} {
			if _, err := read("{"+test.member+"}", sample{}, m); summary(err) != want {
				t.Errorf("%s, mode %d: got %s, want %s", test.why, m, summary(err), want)
			}
		}
	}
}

func TestListMinimum(t *testing.T) {
	type short struct {
		Tags []string `json:"tags" parley:"required,min=2"`
		Code string   `json:"code" parley:"min=3"`
	}
	p := planOf(reflect.TypeFor[short]())
	for _, test := range []struct{ why, body, want string }{
		{"enough", `{"tags":["a","b"]}`, ""},
		{"too few", `{"tags":["a"]}`, "422 [/tags must have at least 2 elements]"},
		{"none", `{"tags":[]}`, "422 [/tags must have at least 2 elements]"},
		{"missing", `{}`, "422 [/tags is required]"},
		{"text that is too short", `{"tags":["a","b"],"code":"ab"}`, "422 [/code must be at least 3 characters long]"},
	} {
		if err := p.decode([]byte(test.body), reflect.New(p.typ).Elem(), modeCreate); summary(err) != test.want {
			t.Errorf("%s: got %s, want %s", test.why, summary(err), test.want)
		}
	}
}

func TestIsEmail(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, test := range []struct {
		why, text string
		want      bool
	}{
		{"plain", "a@example.com", true},
		{"a host without a dot", "a@localhost", true},
		{"letters beyond ASCII", "ä@exämple.com", true},
		{"the longest local part", long + "@example.com", true},
		{"a longer one", long + "a@example.com", false},
		{"longer than any address", "a@" + strings.Repeat("a.", 130) + "com", false},
		{"no at", "a.example.com", false},
		{"no local part", "@example.com", false},
		{"no domain", "a@", false},
		{"two at", "a@b@c", false},
		{"a space", "a b@example.com", false},
		{"a space in the domain", "a@exam ple.com", false},
		{"a line feed: no header may be smuggled in", "a@example.com\nBcc: b@example.com", false},
		{"a dot first", "a@.com", false},
		{"a dot last", "a@example.", false},
		{"two dots", "a@example..com", false},
		{"nothing", "", false},
	} {
		if got := isEmail(test.text); got != test.want {
			t.Errorf("%s: isEmail(%q) is %v, want %v", test.why, test.text, got, test.want)
		}
	}
}

// One answer does not list more than 32 errors, however wrong the body is.
func TestErrorsAreBounded(t *testing.T) {
	var members, elements []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"x%d":1`, i))
		elements = append(elements, "1")
	}
	for _, test := range []struct{ why, body string }{
		{"unknown members", "{" + strings.Join(members, ",") + "}"},
		{"elements of the wrong type", `{"items":[` + strings.Join(elements, ",") + "]}"},
	} {
		_, err := read(test.body, sample{}, modeCreate)
		if got := len(problem.From(err).Errors); got != 32 {
			t.Errorf("%s: %d errors, want 32", test.why, got)
		}
	}
	if got := len(Invalid(make([]problem.FieldError, 100)...).Errors); got != 32 {
		t.Errorf("Invalid lists %d errors, want 32", got)
	}
}

func TestDecodeValues(t *testing.T) {
	got, err := read(`{"title":"a\u0062","count":-3,"big":9223372036854775807,"ratio":0.25,"flag":true,`+
		`"when":"2026-11-01T12:00:00.1234567+02:00","due":"1969-12-31T23:59:59.9999999Z","colour":"red","tags":["x","\u00e9"],`+
		`"items":[{"name":"n","quantity":2,"note":"m"},{"name":"o"}],"grid":[[1,2],[]],"marks":[null,3],`+
		`"home":{"street":"s"},"work":{"city":"c","geo":{"lat":1}},"any": {"b" : 1, "a":"\u0041"},"owner":7,"fixed":"f","maybe":"m"}`, sample{}, modeCreate)
	if err != nil {
		t.Fatal(summary(err))
	}
	due := time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	note, owner, fixed, maybe, three := "m", int64(7), "f", "m", int64(3)
	want := sample{
		Title: "ab", Count: -3, Big: math.MaxInt64, Ratio: 0.25, Flag: true,
		When: time.Date(2026, 11, 1, 10, 0, 0, 123_456_000, time.UTC), Due: &due, Colour: "red", Tags: []string{"x", "é"},
		Items: []part{{"n", 2, &note}, {"o", 0, nil}}, Grid: [][]int64{{1, 2}, {}}, Marks: []*int64{nil, &three},
		Home: place{Street: "s"}, Work: &place{City: "c", Geo: &geo{Lat: 1}}, Any: got.Any, Owner: &owner, Fixed: &fixed, Maybe: &maybe,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if doc := written(got); !strings.Contains(doc, `"any":{"b":1,"a":"A"},`) {
		t.Errorf("any JSON is kept, in its order and without white space: %s", doc)
	}
}

// A decoded value owns its memory: the body's buffer is used again.
func TestDecodeOwnsItsMemory(t *testing.T) {
	body := []byte(`{"title":"abc","text":"d\u0065f","any":{"x":"y"},"tags":["ghi"]}`)
	var v sample
	if err := samplePlan.decode(body, reflect.ValueOf(&v).Elem(), modeCreate); err != nil {
		t.Fatal(err)
	}
	before := written(v)
	copy(body, bytes.Repeat([]byte("#"), len(body)))
	if _, err := read(`{"title":"other","any":[1,2,3,4,5,6,7,8,9]}`, sample{}, modeCreate); err != nil {
		t.Fatal(err)
	}
	if after := written(v); after != before {
		t.Errorf("the value changed with the buffer:\n got %s\nwant %s", after, before)
	}
}

// The rules of the first reading do not cling to a pooled reader.
func TestDecodeAfterFailure(t *testing.T) {
	for _, body := range []string{`{"items":[{`, `{"work":{"geo":{"src":{`, `{"x":1,"tags":[1`, `{"home":{"y":1`} {
		for _, m := range []mode{modeCreate, modeMerge, modeReplace} {
			if _, err := read(body, sample{}, m); summary(err) != "400" {
				t.Fatalf("%s: %v", body, err)
			}
			if _, err := read(`{"title":"a","home":{"city":"toolong"}}`, sample{}, modeMerge); summary(err) != "422 [/home/city must be at most 5 characters long]" {
				t.Errorf("after %s in mode %d: %s", body, m, summary(err))
			}
			if _, err := read(`{"owner":1}`, sample{}, modeMerge); err != nil {
				t.Errorf("after %s in mode %d: %s", body, m, summary(err))
			}
		}
	}
}

// A stored document is read without rules; one that cannot be read is no
// fault of the client.
func TestDecodeStored(t *testing.T) {
	for _, test := range []struct {
		why, doc string
		ok       bool
	}{
		{"without what is required", `{}`, true},
		{"against the rules of today", `{"title":"far longer than ten","count":99,"colour":"blue","tags":["1","2","3","4"]}`, true},
		{"with members that are no more", `{"title":"a","gone":{"x":[1]}}`, true},
		{"null for what came later", `{"title":null,"home":null,"tags":null,"any":null}`, true},
		{"what a client cannot set", `{"title":"a","sum":7,"secret":"s","fixed":"f"}`, true},
		{"deeper than a request may be", `{"any":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, true},
		{"a member of another type", `{"title":7}`, false},
		{"not an object", `[]`, false},
		{"cut short", `{"title":"a"`, false},
		{"two documents", `{}{}`, false},
	} {
		_, err := read(test.doc, sample{}, modeStored)
		if (err == nil) != test.ok {
			t.Errorf("%s: got %v, want success %v", test.why, err, test.ok)
		}
		if p, ok := errors.AsType[*problem.Problem](err); ok {
			t.Errorf("%s: the error is the problem %v, want one that becomes a 500", test.why, p)
		}
	}
	v, err := read(`{"sum":7,"secret":"s"}`, sample{}, modeStored)
	if err != nil || v.Sum != 7 || v.Secret != "s" {
		t.Errorf("got %+v, %v, want sum and secret", v, err)
	}
}

func TestCheckJSON(t *testing.T) {
	for _, test := range []struct{ why, body, want string }{
		{"any value", `[1]`, ""},
		{"white space around it", " 1 \n", ""},
		{"nothing", ``, "400"},
		{"white space alone", ` `, "400"},
		{"two values", `[] []`, "400"},
		{"a word after it", `[] x`, "400"},
		{"a word close behind it", `[]x`, "400"},
		{"a byte that is no UTF-8 behind it", "[]\xff", "400"},
		{"a NUL behind it", "[]\x00", "400"},
		{"a member twice", `[{"a":1,"a":2}]`, "400"},
		{"64 levels", strings.Repeat("[", 64) + strings.Repeat("]", 64), ""},
		{"65 levels", strings.Repeat("[", 65) + strings.Repeat("]", 65), "400"},
		{"cut short", `[1`, "400"},
		{"a byte order mark", "\ufeff[]", "400"},
	} {
		if got := summary(CheckJSON([]byte(test.body))); got != test.want {
			t.Errorf("%s: got %q, want %q", test.why, got, test.want)
		}
	}
}

// task is the resource of the contract, to measure with.
type task struct {
	Title      string `json:"title" parley:"required,max=500,line"`
	AssigneeID *int64 `json:"assignee_id" parley:"ref=users"`
	Status     string `json:"status"`
}

func BenchmarkDecode(b *testing.B) {
	p := planOf(reflect.TypeFor[task]())
	for _, bench := range []struct {
		name, body string
		m          mode
	}{
		{"create", `{"title":"Write the benchmark","assignee_id":7}`, modeCreate},
		{"stored", `{"title":"Write the benchmark","assignee_id":7,"status":"pending"}`, modeStored},
		{"merge", `{"status":"done"}`, modeMerge},
	} {
		b.Run(bench.name, func(b *testing.B) {
			body, v := []byte(bench.body), reflect.New(p.typ).Elem()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				v.SetZero()
				if err := p.decode(body, v, bench.m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	p := planOf(reflect.TypeFor[task]())
	owner := int64(7)
	v := reflect.ValueOf(&task{Title: "Write the benchmark", AssigneeID: &owner, Status: "pending"}).Elem()
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		p.append(buf, v, true)
	}
}
