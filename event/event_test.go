package event

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var form = regexp.MustCompile(`^evt_[0-9a-v]{13}$`)

// samples are sequence numbers around every power of two, and random ones.
func samples() []int64 {
	var all []int64
	for shift := range 63 {
		for _, n := range []int64{1<<shift - 1, 1 << shift, 1<<shift + 1} {
			if n > 0 {
				all = append(all, n)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		all = append(all, r.Int64N(math.MaxInt64)+1)
	}
	all = append(all, math.MaxInt64)
	slices.Sort(all)
	return slices.Compact(all)
}

func TestID(t *testing.T) {
	for _, test := range []struct {
		why  string
		seq  int64
		want string
	}{
		{"the first: 64 bits in 13 digits of 5 leave one bit of zero at the end", 1, "evt_0000000000002"},
		{"the last of one digit", 15, "evt_000000000000u"},
		{"a carry", 16, "evt_0000000000010"},
		{"a large one", 1_000_000, "evt_000000001t140"},
		{"the largest", math.MaxInt64, "evt_fvvvvvvvvvvvu"},
	} {
		e := Event{Seq: test.seq}
		if got := e.ID(); got != test.want {
			t.Errorf("%s: the id of %d is %s, want %s", test.why, test.seq, got, test.want)
		}
	}
}

// An id is the number's 64 bits, shifted by one, in base 32.
func TestIDIsBase32(t *testing.T) {
	for _, seq := range samples() {
		digits := strconv.FormatUint(uint64(seq)<<1, 32)
		if got, want := ID(seq), "evt_"+strings.Repeat("0", 13-len(digits))+digits; got != want {
			t.Errorf("the id of %d is %s, want %s", seq, got, want)
		}
	}
}

func TestIDRoundTrip(t *testing.T) {
	for _, seq := range samples() {
		id := ID(seq)
		if !form.MatchString(id) {
			t.Errorf("the id %s of %d is not evt_ and 13 characters", id, seq)
		}
		if got, ok := ParseID(id); got != seq || !ok {
			t.Errorf("ParseID(%s) is %d, %v, want %d", id, got, ok, seq)
		}
	}
}

// Ids sort as events happened, so that a poller can compare them as text.
func TestIDKeepsOrder(t *testing.T) {
	all := samples()
	for i := 1; i < len(all); i++ {
		if a, b := ID(all[i-1]), ID(all[i]); a >= b {
			t.Errorf("%d is before %d and %s is not before %s", all[i-1], all[i], a, b)
		}
	}
}

var refused = []struct{ why, id string }{
	{"nothing", ""},
	{"the prefix alone", "evt_"},
	{"no prefix", "0000000000002"},
	{"another prefix", "msg_0000000000002"},
	{"the prefix in capitals", "EVT_0000000000002"},
	{"digits in capitals: one event has one id", "evt_000000000000U"},
	{"a digit too few", "evt_000000000002"},
	{"a digit too many", "evt_00000000000020"},
	{"a letter that is no digit", "evt_000000000000w"},
	{"the bit at the end set", "evt_0000000000003"},
	{"zero, which is no event", "evt_0000000000000"},
	{"a negative number", ID(-1)},
	{"the smallest number", ID(math.MinInt64)},
	{"a line feed, which base32 would skip", "evt_00000000000\n2"},
	{"a carriage return at the end", "evt_000000000002\r"},
	{"padding", "evt_000000000002="},
	{"a space before it", " evt_0000000000002"},
	{"a number", "1"},
	{"letters beyond ASCII whose capitals are digits", "evt_00000000000ſ"},
	{"not UTF-8", "evt_000000000000\xff"},
}

func TestParseIDRefuses(t *testing.T) {
	for _, test := range refused {
		if seq, ok := ParseID(test.id); ok {
			t.Errorf("%s: ParseID(%q) is %d, want a refusal", test.why, test.id, seq)
		}
	}
}

// FuzzParseID accepts nothing but what ID gives.
func FuzzParseID(f *testing.F) {
	for _, test := range refused {
		f.Add(test.id)
	}
	for _, seq := range []int64{1, 16, 1 << 40, math.MaxInt64} {
		f.Add(ID(seq))
	}
	f.Fuzz(func(t *testing.T, id string) {
		seq, ok := ParseID(id)
		if ok && (seq <= 0 || ID(seq) != id || !form.MatchString(id)) {
			t.Errorf("ParseID(%q) is %d, whose id is %q", id, seq, ID(seq))
		}
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && n > 0 {
			if got, ok := ParseID(ID(n)); !ok || got != n {
				t.Errorf("%d becomes %s and then %d, %v", n, ID(n), got, ok)
			}
		}
	})
}

func BenchmarkID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ID(123456789)
	}
}

func BenchmarkParseID(b *testing.B) {
	id := ID(123456789)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := ParseID(id); !ok {
			b.Fatal("refused")
		}
	}
}
