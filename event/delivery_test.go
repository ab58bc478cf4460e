package event

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var (
	deliveryForm = regexp.MustCompile(`^msg_[0-9a-v]{26}$`)
	letterForm   = regexp.MustCompile(`^dl_[0-9a-v]{26}$`)
)

func TestDeliveryID(t *testing.T) {
	for _, test := range []struct {
		why           string
		seq, endpoint int64
		want          string
	}{
		{"the first: 128 bits in 26 digits of 5 leave two bits of zero at the end", 1, 1, "00000000000020000000000004"},
		{"endpoints tell deliveries of one event apart", 1, 2, "00000000000020000000000008"},
		{"the largest", math.MaxInt64, math.MaxInt64, "fvvvvvvvvvvvuvvvvvvvvvvvvs"},
	} {
		d := Delivery{Seq: test.seq, Endpoint: test.endpoint}
		if got := d.ID(); got != "msg_"+test.want {
			t.Errorf("%s: the id is %s, want msg_%s", test.why, got, test.want)
		}
		if got := DeadLetterID(test.seq, test.endpoint); got != "dl_"+test.want {
			t.Errorf("%s: the dead letter's id is %s, want dl_%s", test.why, got, test.want)
		}
	}
}

func TestDeliveryIDRoundTrip(t *testing.T) {
	all := samples()
	for i, seq := range all {
		endpoint := all[(i*7919+1)%len(all)]
		id, letter := DeliveryID(seq, endpoint), DeadLetterID(seq, endpoint)
		if !deliveryForm.MatchString(id) || !letterForm.MatchString(letter) {
			t.Errorf("the ids %s and %s of %d and %d have another form", id, letter, seq, endpoint)
		}
		if a, b, ok := ParseDeliveryID(id); a != seq || b != endpoint || !ok {
			t.Errorf("ParseDeliveryID(%s) is %d, %d, %v, want %d, %d", id, a, b, ok, seq, endpoint)
		}
		if a, b, ok := ParseDeadLetterID(letter); a != seq || b != endpoint || !ok {
			t.Errorf("ParseDeadLetterID(%s) is %d, %d, %v, want %d, %d", letter, a, b, ok, seq, endpoint)
		}
	}
}

// Ids sort by event and then by endpoint, as lists of deliveries do.
func TestDeliveryIDKeepsOrder(t *testing.T) {
	all := samples()
	for i := 1; i < len(all); i++ {
		if a, b := DeliveryID(all[i-1], math.MaxInt64), DeliveryID(all[i], 1); a >= b {
			t.Errorf("event %d is before %d and %s is not before %s", all[i-1], all[i], a, b)
		}
		if a, b := DeliveryID(5, all[i-1]), DeliveryID(5, all[i]); a >= b {
			t.Errorf("endpoint %d is before %d and %s is not before %s", all[i-1], all[i], a, b)
		}
	}
}

// refusedPairs are texts behind a prefix that are no id.
var refusedPairs = []struct{ why, rest string }{
	{"nothing", ""},
	{"a digit too few", "0000000000002000000000004"},
	{"a digit too many", "000000000000200000000000040"},
	{"digits in capitals: one delivery has one id", "fvvvvvvvvvvvuvvvvvvvvvvvvS"},
	{"a letter that is no digit", "0000000000002000000000000w"},
	{"a bit at the end set", "00000000000020000000000005"},
	{"the other bit at the end set", "00000000000020000000000006"},
	{"no event", "00000000000000000000000004"},
	{"no endpoint", "00000000000020000000000000"},
	{"a negative event", "vvvvvvvvvvvvvvvvvvvvvvvvvs"},
	{"a negative endpoint", "0000000000003vvvvvvvvvvvvs"},
	{"a line feed, which base32 would skip", "0000000000002000000000000\n"},
	{"padding", "000000000000200000000000=="},
	{"a space", " 0000000000020000000000004"},
	{"letters beyond ASCII whose capitals are digits", "000000000000200000000000ſ"},
	{"not UTF-8", "0000000000002000000000000\xff"},
	{"an event's digits", "0000000000002"},
}

func TestParseDeliveryIDRefuses(t *testing.T) {
	for _, test := range refusedPairs {
		if a, b, ok := ParseDeliveryID("msg_" + test.rest); ok {
			t.Errorf("%s: ParseDeliveryID(msg_%q) is %d, %d, want a refusal", test.why, test.rest, a, b)
		}
		if a, b, ok := ParseDeadLetterID("dl_" + test.rest); ok {
			t.Errorf("%s: ParseDeadLetterID(dl_%q) is %d, %d, want a refusal", test.why, test.rest, a, b)
		}
	}
	id, letter := DeliveryID(1, 1), DeadLetterID(1, 1)
	for _, test := range []struct{ why, id string }{
		{"a dead letter's id", letter}, {"no prefix", id[4:]}, {"the prefix in capitals", "MSG_" + id[4:]}, {"an event's id", ID(1)}, {"the prefix twice", "msg_" + id},
	} {
		if _, _, ok := ParseDeliveryID(test.id); ok {
			t.Errorf("%s: ParseDeliveryID accepts %s", test.why, test.id)
		}
	}
	for _, test := range []struct{ why, id string }{{"a delivery's id", id}, {"no prefix", letter[3:]}, {"an event's id", ID(1)}} {
		if _, _, ok := ParseDeadLetterID(test.id); ok {
			t.Errorf("%s: ParseDeadLetterID accepts %s", test.why, test.id)
		}
	}
}

// FuzzParseDeliveryID accepts nothing but what DeliveryID gives, and likewise
// for dead letters.
func FuzzParseDeliveryID(f *testing.F) {
	for _, test := range refusedPairs {
		f.Add("msg_" + test.rest)
		f.Add("dl_" + test.rest)
	}
	for _, n := range []int64{1, 16, 1 << 40, math.MaxInt64} {
		f.Add(DeliveryID(n, 3))
		f.Add(DeliveryID(3, n))
		f.Add(DeadLetterID(n, n))
	}
	f.Fuzz(func(t *testing.T, id string) {
		seq, endpoint, ok := ParseDeliveryID(id)
		if ok && (seq <= 0 || endpoint <= 0 || DeliveryID(seq, endpoint) != id || !deliveryForm.MatchString(id)) {
			t.Errorf("ParseDeliveryID(%q) is %d, %d, whose id is %q", id, seq, endpoint, DeliveryID(seq, endpoint))
		}
		letterSeq, letterEndpoint, letter := ParseDeadLetterID(id)
		if letter && (letterSeq <= 0 || letterEndpoint <= 0 || DeadLetterID(letterSeq, letterEndpoint) != id || !letterForm.MatchString(id)) {
			t.Errorf("ParseDeadLetterID(%q) is %d, %d", id, letterSeq, letterEndpoint)
		}
		if ok && letter {
			t.Errorf("%q is the id of a delivery and of a dead letter", id)
		}
	})
}

func TestState(t *testing.T) {
	for state, name := range map[State]string{Pending: "pending", Retrying: "retrying", Delivered: "delivered", Dead: "dead"} {
		if got := state.String(); got != name {
			t.Errorf("state %d is called %s, want %s", state, got, name)
		}
		if got, ok := ParseState(name); got != state || !ok {
			t.Errorf("ParseState(%s) is %v, %v", name, got, ok)
		}
	}
	for _, test := range []struct{ why, name string }{
		{"nothing", ""}, {"capitals", "Dead"}, {"a number", "3"}, {"a space", "dead "}, {"another word", "failed"},
	} {
		if got, ok := ParseState(test.name); ok {
			t.Errorf("%s: ParseState(%q) is %v, want a refusal", test.why, test.name, got)
		}
	}
	// The store keeps the numbers and selects by them.
	if Pending != 0 || Retrying != 1 || Delivered != 2 || Dead != 3 {
		t.Error("the states have other numbers than the rows that are stored")
	}
	if got := State(9).String(); got != "State(9)" {
		t.Errorf("a state that is none is called %s", got)
	}
}

// shown is an attempt as a client reads it.
type shown struct {
	Number     int      `json:"number"`
	StartedAt  string   `json:"started_at"`
	DurationMS *float64 `json:"duration_ms"`
	StatusCode *int     `json:"status_code"`
	Error      *string  `json:"error"`
	Response   *string  `json:"response"`
}

func TestAttemptJSON(t *testing.T) {
	for _, test := range []struct {
		why     string
		attempt Attempt
		want    string
	}{
		{"an answer", Attempt{Number: 1, Started: 1_750_000_000_000_001, Duration: 12_345, Status: 200, Response: []byte("ok")},
			`{"number":1,"started_at":"2025-06-15T15:06:40.000001Z","duration_ms":12.345,"status_code":200,"error":null,"response":"ok"}`},
		{"no answer", Attempt{Number: 2, Started: 1_750_000_000_000_000, Duration: 15_000_000, Error: "timeout"},
			`{"number":2,"started_at":"2025-06-15T15:06:40.000000Z","duration_ms":15000,"status_code":null,"error":"timeout","response":""}`},
		{"what a page could mistake for markup", Attempt{Number: 3, Status: 500, Response: []byte("<b>\"\\\n\x00\u2028")},
			`{"number":3,"started_at":"1970-01-01T00:00:00.000000Z","duration_ms":0,"status_code":500,"error":null,"response":"\u003cb\u003e\"\\\n\u0000\u2028"}`},
		{"bytes that are no text", Attempt{Number: 4, Status: 200, Response: []byte("a\xff\xc3")},
			`{"number":4,"started_at":"1970-01-01T00:00:00.000000Z","duration_ms":0,"status_code":200,"error":null,"response":"a\ufffd\ufffd"}`},
	} {
		got := string(test.attempt.AppendJSON([]byte("[")))
		if got != "["+test.want {
			t.Errorf("%s:\n got %s\nwant [%s", test.why, got, test.want)
		}
	}
}

// FuzzAttemptJSON proves that an attempt is one JSON object in one form,
// whatever a consumer has answered.
func FuzzAttemptJSON(f *testing.F) {
	f.Add(1, int64(1_750_000_000_000_000), int64(1000), 200, "", []byte("ok"))
	f.Add(0, int64(0), int64(0), 0, "timeout", []byte(nil))
	f.Add(-3, int64(-1), int64(-5), -1, "\xff\x00", []byte("\xed\xa0\x80\"}],"))
	f.Add(5, int64(math.MaxInt64), int64(math.MaxInt64), 999, "</script>", bytes.Repeat([]byte{0}, 1024))
	f.Fuzz(func(t *testing.T, number int, started, duration int64, status int, class string, response []byte) {
		a := Attempt{Number: number, Started: started, Duration: duration, Status: status, Error: class, Response: response}
		got := a.AppendJSON(nil)
		var s shown
		d := json.NewDecoder(bytes.NewReader(got))
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil || d.More() {
			t.Fatalf("%s: %v", got, err)
		}
		if !utf8.Valid(got) || bytes.IndexByte(got, 0) >= 0 || bytes.IndexByte(got, '\n') >= 0 {
			t.Errorf("%q is not text of one line", got)
		}
		if s.Number != number || s.DurationMS == nil || s.Response == nil {
			t.Errorf("%s does not show %+v", got, a)
		}
		if (s.StatusCode == nil) != (status == 0) || s.StatusCode != nil && *s.StatusCode != status {
			t.Errorf("%s has another status than %d", got, status)
		}
		if (s.Error == nil) != (class == "") || s.Error != nil && utf8.ValidString(class) && *s.Error != class {
			t.Errorf("%s has another error than %q", got, class)
		}
		if utf8.Valid(response) && *s.Response != string(response) {
			t.Errorf("%s has another response than %q", got, response)
		}
		if at, err := time.Parse(time.RFC3339Nano, s.StartedAt); year(started) && (err != nil || at.UnixMicro() != started) {
			t.Errorf("%s started at %v, %v, want %d", got, at, err, started)
		}
	})
}

// year reports whether a time has a year of four digits, which RFC 3339 needs.
func year(us int64) bool {
	y := time.UnixMicro(us).UTC().Year()
	return y >= 0 && y <= 9999
}

func BenchmarkDeliveryID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		DeliveryID(123456789, 42)
	}
}

func BenchmarkParseDeliveryID(b *testing.B) {
	id := DeliveryID(123456789, 42)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := ParseDeliveryID(id); !ok {
			b.Fatal("refused")
		}
	}
}

func BenchmarkAttemptJSON(b *testing.B) {
	a := Attempt{Number: 1, Started: 1_750_000_000_000_000, Duration: 12_345, Status: 500, Response: []byte(strings.Repeat("x", 1024))}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = a.AppendJSON(buf[:0])
	}
}
