package resource

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAppend(t *testing.T) {
	three, text := int64(3), "t"
	due := time.Date(2026, 11, 1, 12, 0, 0, 1000, time.UTC)
	v := sample{
		Title: "<a> & \"b\" \u2028 é\n", Count: -1, Big: math.MinInt64, Ratio: 0.1, Flag: true, Due: &due, Tags: []string{"x"},
		Items: []part{{"n", 1, nil}}, Marks: []*int64{nil, &three}, Work: &place{Geo: &geo{Lat: 1e21, Lon: -2}}, Any: []byte(` [ 1 , "a" ] `),
		Owner: &three, Sum: 9, Secret: "z", Maybe: &text, Colour: "red", Ignore: "no",
	}
	const want = `{"title":"<a> & \"b\" ` + "\u2028" + ` é\n","count":-1,"big":-9223372036854775808,"ratio":0.1,"flag":true,` +
		`"when":"0001-01-01T00:00:00.000000Z","due":"2026-11-01T12:00:00.000001Z","colour":"red","text":"","tags":["x"],` +
		`"items":[{"name":"n","quantity":1,"note":null}],"grid":[],"marks":[null,3],"home":{"street":"","city":"","geo":null},` +
		`"work":{"street":"","city":"","geo":{"lat":1e+21,"lon":-2,"src":null}},"any":[1,"a"],"owner":3,"fixed":null,"sum":9,"secret":"z","maybe":"t"}`
	if got := written(v); got != want {
		t.Errorf("the whole:\n got %s\nwant %s", got, want)
	}
	got := string(samplePlan.append([]byte("before "), reflect.ValueOf(&v).Elem(), false))
	if want := "before " + strings.Replace(want, `"secret":"z",`, "", 1); got != want {
		t.Errorf("what a client sees:\n got %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(want)) {
		t.Error("not JSON")
	}
}

func TestAppendOmits(t *testing.T) {
	type bare struct {
		A string  `json:"a,omitempty"`
		B *int64  `json:"b,omitzero"`
		C []int64 `json:"c,omitzero"`
		D string  `json:"d" parley:"hidden"`
	}
	p := planOf(reflect.TypeFor[bare]())
	zero := int64(0)
	for _, test := range []struct {
		why  string
		v    bare
		all  bool
		want string
	}{
		{"nothing is left", bare{}, false, `{}`},
		{"but what is hidden", bare{}, true, `{"d":""}`},
		{"a pointer to zero is not zero", bare{B: &zero}, false, `{"b":0}`},
		{"nor is an empty list that is there", bare{C: []int64{}}, false, `{"c":[]}`},
		{"no comma before the first", bare{C: []int64{1}}, true, `{"c":[1],"d":""}`},
	} {
		if got := string(p.append(nil, reflect.ValueOf(test.v), test.all)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.why, got, test.want)
		}
	}
}

// Text that is no UTF-8 can come from Go code only; it must not break a
// document.
func TestAppendStringReplacesBadUTF8(t *testing.T) {
	if got, want := string(appendString(nil, "a\xffb")), `"a`+"\ufffd"+`b"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendTime(t *testing.T) {
	const layout = "2006-01-02T15:04:05.000000Z"
	check := func(micros int64) bool {
		return string(AppendTime([]byte("x"), micros)) == "x"+time.UnixMicro(micros).UTC().Format(layout)
	}
	for _, test := range []struct{ why, text string }{
		{"the beginning", "1970-01-01T00:00:00.000000Z"},
		{"a microsecond before", "1969-12-31T23:59:59.999999Z"},
		{"every field of one digit", "2001-02-03T04:05:06.000007Z"},
		{"a leap day", "2024-02-29T23:59:59.999999Z"},
		{"a year of three digits", "0999-12-31T00:00:00.100000Z"},
		{"the first year", "0000-01-01T00:00:00.000000Z"},
		{"the last", "9999-12-31T23:59:59.999999Z"},
	} {
		at, err := time.Parse(layout, test.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendTime(nil, at.UnixMicro())); got != test.text {
			t.Errorf("%s: got %s, want %s", test.why, got, test.text)
		}
	}
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(first.UnixMicro(), last.UnixMicro()).Draw(t, "micros")
		if !check(micros) {
			t.Errorf("%d is written %s", micros, AppendTime(nil, micros))
		}
	})
	if n := testing.AllocsPerRun(100, func() { AppendTime(make([]byte, 0, 32), 1793534400123456) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// drawn generates samples that keep every rule.
func drawn() *rapid.Generator[sample] {
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	moment := rapid.Map(rapid.Int64Range(first.UnixMicro(), last.UnixMicro()), func(n int64) time.Time { return time.UnixMicro(n).UTC() })
	char := rapid.Rune().Filter(func(r rune) bool { return r != 0 })
	text := rapid.StringOf(char)
	short := rapid.StringOfN(char, 1, 5, -1)
	line := rapid.StringOfN(rapid.RuneFrom([]rune("ab \"\\/<é😀\u2028")), 1, 10, -1)
	float := rapid.Float64Range(-90, 90)
	spot := rapid.Custom(func(t *rapid.T) geo {
		var from *source
		if rapid.Bool().Draw(t, "source") {
			from = &source{short.Draw(t, "name"), rapid.Int64().Draw(t, "year")}
		}
		return geo{float.Draw(t, "lat"), rapid.Float64().Draw(t, "lon"), from}
	})
	somewhere := rapid.Custom(func(t *rapid.T) place {
		return place{text.Draw(t, "street"), short.Draw(t, "city"), rapid.Ptr(spot, true).Draw(t, "geo")}
	})
	piece := rapid.Custom(func(t *rapid.T) part {
		return part{short.Draw(t, "name"), rapid.Int64Range(0, 99).Draw(t, "quantity"), rapid.Ptr(text, true).Draw(t, "note")}
	})
	return rapid.Custom(func(t *rapid.T) sample {
		anything, err := json.Marshal(map[string]any{"k": text.Draw(t, "any"), "n": rapid.Float64().Draw(t, "n"), "l": []any{nil, true, rapid.Int64().Draw(t, "i")}})
		if err != nil {
			t.Fatal(err)
		}
		return sample{
			Title: line.Draw(t, "title"), Count: rapid.Int64Range(-5, 5).Draw(t, "count"), Big: rapid.Int64().Draw(t, "big"),
			Ratio: rapid.Float64Range(0, 1).Draw(t, "ratio"), Flag: rapid.Bool().Draw(t, "flag"),
			When: moment.Draw(t, "when"), Due: rapid.Ptr(moment, true).Draw(t, "due"),
			Colour: rapid.SampledFrom([]string{"", "red", "green"}).Draw(t, "colour"),
			Mail:   rapid.SampledFrom([]string{"", "a@b", "é@example.com"}).Draw(t, "mail"),
			Text:   text.Draw(t, "text"), Tags: rapid.SliceOfN(text, 0, 3).Draw(t, "tags"), Items: rapid.SliceOfN(piece, 0, 4).Draw(t, "items"),
			Grid:  rapid.SliceOfN(rapid.SliceOfN(rapid.Int64(), 0, 3), 0, 3).Draw(t, "grid"),
			Marks: rapid.SliceOfN(rapid.Ptr(rapid.Int64(), true), 0, 3).Draw(t, "marks"),
			Home:  somewhere.Draw(t, "home"), Work: rapid.Ptr(somewhere, true).Draw(t, "work"), Any: anything,
			Owner: rapid.Ptr(rapid.Int64Min(1), true).Draw(t, "owner"), Fixed: rapid.Ptr(text, true).Draw(t, "fixed"),
			Maybe: rapid.Ptr(text, true).Draw(t, "maybe"), Sum: rapid.Int64().Draw(t, "sum"), Secret: text.Draw(t, "secret"),
		}
	})
}

// settled gives a value the form that decoding gives it: its any JSON without
// needless escapes, lists empty rather than nil.
func settled(v sample) sample {
	var again sample
	if err := samplePlan.decode([]byte(written(v)), reflect.ValueOf(&again).Elem(), modeStored); err != nil {
		panic(err)
	}
	again.Ignore, again.inner = v.Ignore, v.inner
	return again
}

// What is stored is read back as it was; what a client reads it may send again.
func TestRoundTrip(t *testing.T) {
	values := drawn()
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		doc := written(v)
		if !json.Valid([]byte(doc)) {
			t.Fatalf("not JSON: %s", doc)
		}
		stored, err := read(doc, sample{}, modeStored)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if again := written(stored); again != doc {
			t.Fatalf("stored and read:\n got %s\nwant %s", again, doc)
		}
		// But for the form of any JSON it is the same value.
		stored.Any = v.Any
		if !reflect.DeepEqual(stored, v) {
			t.Fatalf("stored and read:\n got %+v\nwant %+v", stored, v)
		}
		seen := samplePlan.append(nil, reflect.ValueOf(&v).Elem(), false)
		body, err := strip(parseTree(seen), seen, []string{"sum"})
		if err != nil {
			t.Fatal(summary(err))
		}
		for _, m := range []mode{modeCreate, modeReplace, modeMerge} {
			was := sample{Sum: v.Sum, Secret: v.Secret}
			if m != modeCreate {
				was.Fixed = v.Fixed
			}
			sent, err := read(string(body), was, m)
			if err != nil {
				t.Fatalf("mode %d: %s: %s", m, body, summary(err))
			}
			if again := written(sent); again != doc {
				t.Fatalf("mode %d: sent back:\n got %s\nwant %s", m, again, doc)
			}
		}
	})
}

// A merge of one value over another gives the one, and leaves the other alone.
func TestMergeLeavesTheValueBefore(t *testing.T) {
	values := drawn()
	rapid.Check(t, func(t *rapid.T) {
		was, next := settled(values.Draw(t, "was")), values.Draw(t, "next")
		next.Fixed, next.Sum, next.Secret = was.Fixed, was.Sum, was.Secret
		before := written(was)
		seen := samplePlan.append(nil, reflect.ValueOf(&next).Elem(), false)
		body, err := strip(parseTree(seen), seen, []string{"sum"})
		if err != nil {
			t.Fatal(summary(err))
		}
		if _, err := read(string(body), was, modeMerge); err != nil {
			t.Fatal(summary(err))
		}
		if after := written(was); after != before {
			t.Fatalf("the value before changed:\n got %s\nwant %s", after, before)
		}
	})
}

// FuzzDecode wants no panic, a problem for whatever is refused, and of whatever
// is accepted a document that is accepted again and means the same.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"title":"a"}`, `{"title":"a","count":1e0,"when":"2026-11-01T12:00:00Z","tags":["x"],"work":{"geo":{"lat":1}}}`,
		`{"title":"a","items":[{"name":"x","note":null}],"any":{"a":[1,{}]},"owner":7}`, `{"title":null,"home":null,"marks":[null]}`,
		`{"when":"9999-12-31T23:59:59-01:00"}`, `{"\u0074itle":"\ud83d\ude00"}`, `[`, `{"a":1,"a":2}`, `{"title":"a","any":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`,
	} {
		for m := range uint8(3) {
			f.Add([]byte(body), m)
		}
	}
	for _, c := range corpus {
		f.Add([]byte(c.doc), uint8(0))
		f.Add([]byte(`{"title":"a","any":`+c.doc+`}`), uint8(0))
	}
	fixed := "f"
	was := settled(sample{Title: "t", Work: &place{Street: "w"}, Fixed: &fixed, Sum: 3, Secret: "z"})
	before := written(was)
	f.Fuzz(func(t *testing.T, body []byte, number uint8) {
		m := mode(number % 3)
		start := was
		if m != modeMerge {
			start = sample{Sum: 3, Secret: "z"}
		}
		v, err := read(string(body), start, m)
		if written(was) != before {
			t.Fatalf("the value before changed: %s", body)
		}
		if (CheckJSON(body) != nil) != (summary(err) == "400") {
			t.Errorf("%s: %s, and checkJSON says %v", body, summary(err), CheckJSON(body))
		}
		if err != nil {
			if s := summary(err); s != "400" && !strings.HasPrefix(s, "422 ") {
				t.Errorf("%s: %s", body, s)
			}
			return
		}
		doc := written(v)
		again, err := read(doc, sample{}, modeStored)
		if err != nil || written(again) != doc {
			t.Fatalf("%s became %s and then %s, %v", body, doc, written(again), err)
		}
		seen := samplePlan.append(nil, reflect.ValueOf(&v).Elem(), false)
		sendable, err := strip(parseTree(seen), seen, []string{"sum"})
		if err != nil {
			t.Fatal(summary(err))
		}
		start = sample{Sum: 3, Secret: "z", Fixed: v.Fixed}
		sent, err := read(string(sendable), start, modeReplace)
		if m == modeMerge && err != nil {
			return // null may have reset a member that a rule forbids to be sent empty
		}
		if err != nil || written(sent) != doc {
			t.Errorf("%s became %s and then %s, %s", body, doc, written(sent), summary(err))
		}
	})
}

// FuzzMember looks members up in documents of our own form, as encoding/json
// finds them.
func FuzzMember(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":"x,\"}]","c":{"a":[2,"}"]},"d":[{"b":3}],"e":null}`), "b")
	f.Add([]byte(`{}`), "a")
	f.Add([]byte(`{"a":"\\","b":"\\\"","c":true}`), "c")
	f.Add([]byte(`{"ab":1,"a":2}`), "a")
	f.Add([]byte(`{"a":{"b":1}}`), "b")
	f.Fuzz(func(t *testing.T, doc []byte, name string) {
		member(doc, `"`+name+`":`) // whatever comes: no panic
		var all map[string]json.RawMessage
		var compact bytes.Buffer
		if CheckJSON(doc) != nil || json.Unmarshal(doc, &all) != nil || all == nil || json.Compact(&compact, doc) != nil {
			return
		}
		for key := range all {
			// Names of ours need no escapes, and are as they are written.
			if strings.ContainsAny(key, "\"\\\ufffd") || !strings.Contains(compact.String(), `"`+key+`":`) {
				return
			}
		}
		for key, want := range all {
			var tight bytes.Buffer
			json.Compact(&tight, want)
			if got := member(compact.Bytes(), `"`+key+`":`); !bytes.Equal(got, tight.Bytes()) {
				t.Errorf("%s of %s: got %s, want %s", key, compact.Bytes(), got, tight.Bytes())
			}
		}
		if _, there := all[name]; !there && !strings.ContainsAny(name, "\"\\") {
			if got := member(compact.Bytes(), `"`+name+`":`); got != nil {
				t.Errorf("%q is not in %s: got %s", name, compact.Bytes(), got)
			}
		}
	})
}

func TestMember(t *testing.T) {
	const doc = `{"a":1,"ab":"x,\"}]\\","c":{"z":[2,"}"]},"d":[{"z":3}],"e":null,"f":true}`
	for _, test := range []struct{ why, name, want string }{
		{"the first", "a", "1"},
		{"one whose name begins with another's", "ab", `"x,\"}]\\"`},
		{"an object", "c", `{"z":[2,"}"]}`},
		{"a list", "d", `[{"z":3}]`},
		{"null", "e", "null"},
		{"the last", "f", "true"},
		{"one of a nested object only", "z", ""},
		{"none", "g", ""},
		{"a beginning of a name", "", ""},
	} {
		if got := string(member([]byte(doc), `"`+test.name+`":`)); got != test.want {
			t.Errorf("%s: %q is %s, want %s", test.why, test.name, got, test.want)
		}
	}
	if got := member([]byte(`{}`), `"a":`); got != nil {
		t.Errorf("an empty document has %s", got)
	}
}
