package resource

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

type card struct {
	Title string  `json:"title"`
	Level int64   `json:"level"`
	Open  bool    `json:"open"`
	Note  *string `json:"note"`
	Owner *int64  `json:"owner"`
	Sure  *bool   `json:"sure"`
	Salt  string  `json:"salt" parley:"hidden"`
	Extra string  `json:"extra,omitempty"`
}

// oldCard has members of the same types under other names, one that is gone
// and one of a type that is not plain.
type oldCard struct {
	Name  string   `json:"name"`
	Level int64    `json:"level"`
	Shut  bool     `json:"shut"`
	Note  *string  `json:"note"`
	Owner *int64   `json:"owner"`
	Sure  *bool    `json:"sure"`
	Salt  string   `json:"salt" parley:"hidden"`
	Extra string   `json:"extra,omitempty"`
	Words []string `json:"words"`
}

type olderCard struct {
	Label string `json:"label"`
	Level int64  `json:"level"`
}

var cardSteps = []version.Step{
	version.Between("2025-11-01", "2026-11-01", version.Change[oldCard, card]{
		Down: func(c card) oldCard {
			return oldCard{c.Title, c.Level, !c.Open, c.Note, c.Owner, c.Sure, c.Salt, c.Extra, []string{c.Title, "x"}}
		},
		Up: func(o oldCard, _ *card) (card, error) {
			return card{o.Name, o.Level, !o.Shut, o.Note, o.Owner, o.Sure, o.Salt, o.Extra}, nil
		},
	}),
	version.Between("2024-11-01", "2025-11-01", version.Change[olderCard, oldCard]{
		Down: func(o oldCard) olderCard { return olderCard{o.Name, o.Level} },
		Up: func(o olderCard, was *oldCard) (oldCard, error) {
			return oldCard{Name: o.Label, Level: o.Level}, nil
		},
	}),
}

func cards() *Room {
	d := Define("card", "cards", Rules[card]{Changes: cardSteps})
	return d.Open(Options{Calendar: version.BuiltIn()})
}

// lowered shows a document in a version, without the comma at the end.
func lowered(t testing.TB, rm *Room, v *version.Version, doc string) string {
	t.Helper()
	b, err := rm.appendLowered([]byte("{"), v, []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return string(append(b[:len(b)-1], '}'))
}

// The quick way down shows what decoding, lowering and encoding shows, for
// whatever is in a row.
func TestLowered(t *testing.T) {
	rm := cards()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z "\\<\n]{0,8}`))
	rapid.Check(t, func(t *rapid.T) {
		c := card{
			Title: text.Draw(t, "title"), Level: rapid.Int64().Draw(t, "level"), Open: rapid.Bool().Draw(t, "open"),
			Note: rapid.Ptr(text, true).Draw(t, "note"), Owner: rapid.Ptr(rapid.Int64(), true).Draw(t, "owner"),
			Sure: rapid.Ptr(rapid.Bool(), true).Draw(t, "sure"), Salt: "s", Extra: text.Draw(t, "extra"),
		}
		doc := rm.plan.append(nil, reflect.ValueOf(c), true)
		for _, name := range []string{"2025-11-01", "2024-11-01"} {
			v := rm.Calendar.Find(name)
			want := rm.plans[v.Index()].append(nil, reflect.ValueOf(rm.chain.Down(v, c)), false)
			got, err := rm.appendLowered([]byte("{"), v, doc)
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got[:len(got)-1], '}'); string(got) != string(want) {
				t.Fatalf("%s in %s: got %s, want %s", doc, name, got, want)
			}
		}
	})
}

// Documents that the plan did not write that way are read by the decoder.
func TestLoweredOdd(t *testing.T) {
	rm := cards()
	v := rm.Calendar.Find("2024-11-01")
	for _, tt := range []struct{ why, doc, want string }{
		{"as it was written", `{"title":"a","level":1,"open":true,"note":null,"owner":7,"sure":null,"salt":"s"}`, `{"label":"a","level":1}`},
		{"somebody formatted it", `{ "title": "a", "level": 2 }`, `{"label":"a","level":2}`},
		{"in another order", `{"level":3,"title":"a"}`, `{"label":"a","level":3}`},
		{"with members of another time", `{"colour":"red","title":"a","level":4,"size":{"x":[1]}}`, `{"label":"a","level":4}`},
		{"without what was added since", `{"title":"a"}`, `{"label":"a","level":0}`},
		{"with an escape", `{"title":"\u0041\"","level":5}`, `{"label":"A\"","level":5}`},
		{"with null where none belongs", `{"title":null,"level":6}`, `{"label":"","level":6}`},
		{"a number with an exponent", `{"title":"a","level":7e0}`, `{"label":"a","level":7}`},
		{"of nothing", `{}`, `{"label":"","level":0}`},
	} {
		if got := lowered(t, rm, v, tt.doc); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.why, got, tt.want)
		}
	}
	for _, doc := range []string{"", "{", `{"title":`, `{"title":"a`, `{"title":"a"`, `{"title":"a",`, `{"title":"a"}}`, `{"level":"a"}`, `[1]`} {
		if got, err := rm.appendLowered(nil, v, []byte(doc)); err == nil {
			t.Errorf("%s: got %s, want an error", doc, got)
		}
	}
}

// FuzzLowered reads any text as a document: the quick way and the decoder
// agree on what it means.
func FuzzLowered(f *testing.F) {
	for _, doc := range []string{`{"title":"a","level":1,"open":true,"note":"n","owner":null}`, `{"title":"\n"}`, `{"title":"a","title":"b"}`, `{"level":-0}`, `{}`, `{"open":tru}`} {
		f.Add([]byte(doc))
	}
	rm := cards()
	v := rm.Calendar.Find("2025-11-01")
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !json.Valid(doc) {
			return // of documents of our own that much is certain
		}
		got, quick := rm.appendLowered([]byte("{"), v, doc)
		value, err := rm.value(doc)
		if err != nil {
			return // the quick way need not find what is wrong
		}
		if quick != nil {
			t.Fatalf("%q: got the error %v, want none", doc, quick)
		}
		want := rm.plans[v.Index()].append(nil, reflect.ValueOf(rm.chain.Down(v, value.Interface())), false)
		if got = append(got[:len(got)-1], '}'); string(got) != string(want) {
			t.Fatalf("%q: got %s, want %s", doc, got, want)
		}
	})
}

// A row keeps its text while others are shown: nothing that was given out
// changes.
func TestLoweredKeeps(t *testing.T) {
	rm := cards()
	l := rm.lowerings[1].Get().(*lowering)
	first := l.keep([]byte(`{"title":"first"}`))
	for range 1000 {
		l.keep([]byte(`{"title":"another of about the same length"}`))
	}
	if first != `{"title":"first"}` {
		t.Errorf("got %s, want what was kept", first)
	}
}

// BenchmarkLowered is what a client of an older version costs for each row.
func BenchmarkLowered(b *testing.B) {
	rm := cards()
	v := rm.Calendar.Find("2024-11-01")
	row := &store.Row{ID: 1, Created: time.Now().UnixMicro(), Doc: []byte(`{"title":"Read the contract","level":1,"open":true,"note":null,"owner":7,"sure":null,"salt":"s"}`)}
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rm.appendLowered(dst, v, row.Doc); err != nil {
			b.Fatal(err)
		}
	}
}
