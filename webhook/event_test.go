package webhook

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseEvent(t *testing.T) {
	at := time.Date(2026, 11, 15, 8, 0, 0, 123000000, time.UTC)
	for _, test := range []struct {
		why, body string
		want      Event
	}{
		{"all members", `{"webhook-id":"msg_1","type":"task.created","timestamp":"2026-11-15T08:00:00.123Z","sequence":3,"data":{"id":1}}`,
			Event{"msg_1", "task.created", at, 3, json.RawMessage(`{"id":1}`)}},
		{"as other senders have it: no id, no sequence", `{"type":"a.b","timestamp":"2026-11-15T08:00:00.123Z","data":{}}`,
			Event{"", "a.b", at, 0, json.RawMessage(`{}`)}},
		{"another offset is another way to write UTC", `{"type":"a.b","timestamp":"2026-11-15T09:00:00.123+01:00","data":{}}`,
			Event{"", "a.b", at, 0, json.RawMessage(`{}`)}},
		{"members to come are ignored, and white space", " {\n\"new\":[1,{}],\"type\":\"a-b.c_d.E1\",\"timestamp\":\"2026-11-15T08:00:00.123Z\",\"data\": {\"a\" : 1}\n} ",
			Event{"", "a-b.c_d.E1", at, 0, json.RawMessage(`{"a" : 1}`)}},
		{"a name that differs by case is another", `{"Type":7,"type":"a.b","timestamp":"2026-11-15T08:00:00.123Z","data":{}}`,
			Event{"", "a.b", at, 0, json.RawMessage(`{}`)}},
	} {
		got, err := ParseEvent([]byte(test.body))
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: got %+v, %v; want %+v", test.why, got, err, test.want)
		}
	}
}

var refusedEvents = []struct{ why, body, want string }{
	{"nothing", ``, "well-formed"},
	{"no object", `[]`, "well-formed"},
	{"a string", `"a.b"`, "well-formed"},
	{"null", `null`, "well-formed"},
	{"cut off", `{"type":"a.b"`, "well-formed"},
	{"cut off after a comma", `{"type":"a.b",`, "well-formed"},
	{"a comma too many", `{"type":"a.b",}`, "well-formed"},
	{"data after the end", `{"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}} {}`, "well-formed"},
	{"a brace after the end", `{"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}}`, "well-formed"},
	{"not UTF-8", "{\"type\":\"a.b\xff\"}", "UTF-8"},
	{"a member twice", `{"type":"a.b","type":"a.c","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "twice"},
	{"a member twice, once in escapes", `{"type":"a.b","\u0074ype":"a.c","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "twice"},
	{"no type", `{"timestamp":"2026-11-15T08:00:00Z","data":{}}`, "type is missing"},
	{"a type without action", `{"type":"task","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "resource.action"},
	{"a type with an empty name", `{"type":"task.","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "resource.action"},
	{"a type with a space", `{"type":"task. created","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "resource.action"},
	{"a type that is a number", `{"type":1,"timestamp":"2026-11-15T08:00:00Z","data":{}}`, "resource.action"},
	{"no timestamp", `{"type":"a.b","data":{}}`, "timestamp is missing"},
	{"a timestamp of Unix seconds", `{"type":"a.b","timestamp":1700000000,"data":{}}`, "ISO 8601"},
	{"a timestamp without offset", `{"type":"a.b","timestamp":"2026-11-15T08:00:00","data":{}}`, "ISO 8601"},
	{"no data", `{"type":"a.b","timestamp":"2026-11-15T08:00:00Z"}`, "data is missing"},
	{"data of null", `{"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":null}`, "not an object"},
	{"data of a list", `{"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":[]}`, "not an object"},
	{"an empty id", `{"webhook-id":"","type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "webhook-id"},
	{"an id of null", `{"webhook-id":null,"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "webhook-id"},
	{"a negative sequence", `{"sequence":-1,"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "sequence"},
	{"a sequence with a fraction", `{"sequence":1.5,"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "sequence"},
	{"too many members", `{` + manyMembers() + `"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}`, "too many"},
}

func manyMembers() string {
	var b strings.Builder
	for i := range maxMembers {
		b.WriteString(`"` + strings.Repeat("m", i+1) + `":0,`)
	}
	return b.String()
}

func TestParseEventRefuses(t *testing.T) {
	for _, test := range refusedEvents {
		e, err := ParseEvent([]byte(test.body))
		if !errors.Is(err, ErrEvent) || e != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %+v, %v; want %q", test.why, e, err, test.want)
		}
	}
}

func TestDeliveryEvent(t *testing.T) {
	const rest = `"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}`
	for _, test := range []struct {
		why, body string
		ok        bool
	}{
		{"the same id", `{"webhook-id":"msg_1",` + rest, true},
		{"no id in the envelope", `{` + rest, true},
		{"another id", `{"webhook-id":"msg_2",` + rest, false},
		{"no event", `{}`, false},
	} {
		e, err := (&Delivery{ID: "msg_1", Body: []byte(test.body)}).Event()
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrEvent) || err == nil && e.ID != "msg_1" {
			t.Errorf("%s: got %+v, %v", test.why, e, err)
		}
	}
}

func TestEventHref(t *testing.T) {
	for _, test := range []struct{ why, data, want string }{
		{"a reference", `{"href":"https://api.example.com/events/evt_1?version=2026-11-01"}`, "https://api.example.com/events/evt_1?version=2026-11-01"},
		{"a resource that has a link beside other members", `{"href":"/x","id":1}`, ""},
		{"another member", `{"link":"/x"}`, ""},
		{"no text", `{"href":1}`, ""},
		{"empty", `{"href":""}`, ""},
		{"nothing", `{}`, ""},
		{"an event that was never read", ``, ""},
	} {
		got, ok := (&Event{Data: json.RawMessage(test.data)}).Href()
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%s: got %q, %v; want %q", test.why, got, ok, test.want)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, test := range refusedEvents {
		f.Add([]byte(test.body))
	}
	f.Add([]byte(`{"webhook-id":"msg_1","type":"task.created","timestamp":"2026-11-15T08:00:00.123Z","sequence":3,"data":{"href":"x"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseEvent(body)
		if err != nil {
			return
		}
		if !json.Valid(body) || !json.Valid(e.Data) {
			t.Fatal("accepted what is not JSON")
		}
		e.Href()
		if y := e.Timestamp.Year(); y < 0 || y > 9999 {
			return // an offset at the end of time: it has no text
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseEvent(text)
		if err != nil || again.ID != e.ID || again.Type != e.Type || !again.Timestamp.Equal(e.Timestamp) || again.Sequence != e.Sequence {
			t.Fatalf("got %+v, %v; want %+v", again, err, e)
		}
	})
}
