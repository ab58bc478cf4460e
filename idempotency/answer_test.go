package idempotency

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
)

func TestAnswerWrite(t *testing.T) {
	for _, c := range []struct {
		why    string
		answer Answer
		want   http.Header
	}{
		{
			"fields come again, and the length is the body's",
			Answer{201, []Field{{"Location", "/tasks/7"}, {"Content-Type", "application/json"}}, []byte(`{"id":7}`)},
			http.Header{"Location": {"/tasks/7"}, "Content-Type": {"application/json"}, "Content-Length": {"8"}, "Vary": {"Origin"}, Replayed: {"true"}},
		},
		{
			"a repeated name replaces what was there, then adds, whatever its case",
			Answer{200, []Field{{"Vary", "Accept"}, {"ETag", `"1"`}, {"vary", "API-Version"}}, nil},
			http.Header{"Vary": {"Accept", "API-Version"}, "Etag": {`"1"`}, "Content-Length": {"0"}, Replayed: {"true"}},
		},
		{
			"204 has no length",
			Answer{204, nil, nil},
			http.Header{"Vary": {"Origin"}, Replayed: {"true"}},
		},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Vary", "Origin")
		c.answer.Write(w)
		if w.Code != c.answer.Status {
			t.Errorf("%s: status %d, want %d", c.why, w.Code, c.answer.Status)
		}
		if got := w.Header(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: header\n got %v\nwant %v", c.why, got, c.want)
		}
		if got := w.Body.Bytes(); !bytes.Equal(got, c.answer.Body) {
			t.Errorf("%s: body %q, want %q", c.why, got, c.answer.Body)
		}
	}
}

// seeds are stored answers of every shape.
func seeds() [][]byte {
	return [][]byte{
		(&Answer{Status: 204}).AppendAnswer(nil),
		(&Answer{Status: 200, Body: []byte("x")}).AppendAnswer(nil),
		(&Answer{201, []Field{{"Location", "/tasks/7"}, {"Vary", ""}, {"Vary", "Accept"}}, bytes.Repeat([]byte("ab"), 200)}).AppendAnswer(nil),
	}
}

func TestAnswerStored(t *testing.T) {
	for _, want := range []*Answer{
		{Status: 204},
		{Status: 200, Body: []byte("x")},
		{Status: 201, Header: []Field{{"Location", "/tasks/7"}, {"Vary", ""}}, Body: bytes.Repeat([]byte{0, 255}, 300)},
	} {
		b := want.AppendAnswer([]byte("before"))
		if !bytes.HasPrefix(b, []byte("before")) {
			t.Fatal("AppendAnswer does not append")
		}
		b = b[len("before"):]
		got, err := ParseAnswer(b)
		clear(b) // the answer must not live in the caller's buffer
		if err != nil || got.Status != want.Status || !reflect.DeepEqual(got.Header, want.Header) || !bytes.Equal(got.Body, want.Body) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	whole := seeds()[2]
	for n := range whole {
		if a, err := ParseAnswer(whole[:n]); err == nil {
			t.Errorf("the first %d of %d octets give %+v", n, len(whole), a)
		}
	}
	for _, c := range []struct {
		why string
		b   []byte
	}{
		{"data after the end", append(bytes.Clone(whole), 0)},
		{"a later form", append([]byte{2}, whole[1:]...)},
		{"an interim status cannot be sent as an answer", (&Answer{Status: 100}).AppendAnswer(nil)},
		{"a status of four digits makes net/http panic", (&Answer{Status: 1000}).AppendAnswer(nil)},
		{"a number of fields that cannot fit must not be allocated", []byte{form, 200, 1, 255, 255, 255, 255, 15, 0}},
		{"a length beyond the end", []byte{form, 200, 1, 0, 9, 'x'}},
		{"a number written longer than needed", []byte{form, 200, 1, 0x80, 0, 0}},
		{"a number of more than 64 bits", bytes.Repeat([]byte{form, 255}, 8)},
	} {
		if a, err := ParseAnswer(c.b); err == nil {
			t.Errorf("%s: got %+v", c.why, a)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Add([]byte{form, 200, 1, 255, 255, 255, 255, 15, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAnswer(b)
		if err != nil {
			return
		}
		if again := a.AppendAnswer(nil); !bytes.Equal(again, b) {
			t.Fatalf("stored %x, read and stored again %x", b, again)
		}
		a.Write(httptest.NewRecorder()) // must not panic
	})
}

func BenchmarkAppendAnswer(b *testing.B) {
	a, _ := ParseAnswer(seeds()[2])
	room := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		a.AppendAnswer(room)
	}
}

func BenchmarkParseAnswer(b *testing.B) {
	s := seeds()[2]
	b.ReportAllocs()
	for b.Loop() {
		ParseAnswer(s)
	}
}
