package paginate

import (
	"encoding/base64"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

var (
	now   = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	later = now.Add(Lifetime)
	home  = Scope{Collection: "tasks", Account: 7, Filters: "status=done", Sort: "-id"}
	spot  = Position{Mark: 900, Key: 1_763_208_000_000_000, ID: 42}
)

func key(id byte) Key {
	k := Key{ID: id}
	for i := range k.Secret {
		k.Secret[i] = id ^ byte(i*7+1)
	}
	return k
}

func testKeys(t testing.TB) *Keys {
	t.Helper()
	keys, err := NewKeys(key(1))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func seal(t testing.TB, keys *Keys, scope Scope, style Style, at Position) string {
	t.Helper()
	s, err := keys.Seal(scope, style, at, later)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealOpen(t *testing.T) {
	keys := testKeys(t)
	tests := []struct {
		at  Position
		why string
	}{
		{Position{}, "the zero position"},
		{spot, "an ordinary one"},
		{Position{Mark: math.MaxInt64, Key: math.MinInt64, ID: -1, Back: true}, "the bounds, backwards"},
		{Position{Text: "a\x00ü", ID: 3}, "text of any bytes"},
		{Position{Text: strings.Repeat("x", MaxText), ID: math.MaxInt64}, "the longest text"},
	}
	for _, test := range tests {
		for _, style := range []Style{Cursor, Token} {
			s := seal(t, keys, home, style, test.at)
			if len(s) > MaxCursor || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
				t.Errorf("%s: cursor of %d bytes %q, want base64url of at most %d", test.why, len(s), s, MaxCursor)
			}
			got, err := keys.Open(s, home, style, now)
			if err != nil || got != test.at {
				t.Errorf("%s: opened %+v, %v, want %+v", test.why, got, err, test.at)
			}
		}
	}
	if _, err := keys.Seal(home, Cursor, Position{Text: strings.Repeat("x", MaxText+1)}, later); err == nil {
		t.Error("a text longer than MaxText was sealed, want an error")
	}
}

func TestOpenForeign(t *testing.T) {
	keys := testKeys(t)
	s := seal(t, keys, home, Cursor, spot)
	foreign := func(change func(*Scope)) Scope {
		scope := home
		change(&scope)
		return scope
	}
	tests := []struct {
		scope Scope
		style Style
		why   string
	}{
		{foreign(func(s *Scope) { s.Account = 8 }), Cursor, "another account"},
		{foreign(func(s *Scope) { s.Collection = "orders" }), Cursor, "another list"},
		{foreign(func(s *Scope) { s.Filters = "status=pending" }), Cursor, "another filter"},
		{foreign(func(s *Scope) { s.Filters = "" }), Cursor, "no filter"},
		{foreign(func(s *Scope) { s.Sort = "id" }), Cursor, "another order"},
		{foreign(func(s *Scope) { s.Collection, s.Filters = "tasksstatus=done", "" }), Cursor, "the same characters, divided otherwise"},
		{foreign(func(s *Scope) { s.Filters, s.Sort = "status=done-", "id" }), Cursor, "the same characters, divided otherwise"},
		{home, Token, "another style"},
		{Scope{}, Cursor, "no scope at all"},
	}
	for _, test := range tests {
		_, err := keys.Open(s, test.scope, test.style, now)
		want := "cursor"
		if test.style == Token {
			want = "page_token"
		}
		if p := problem.From(err); p.Kind != problem.InvalidCursor || p.Parameter != want {
			t.Errorf("%s: Open = %v of %q, want invalid-cursor of %q", test.why, err, p.Parameter, want)
		}
	}
}

func TestOpenExpired(t *testing.T) {
	keys := testKeys(t)
	s := seal(t, keys, home, Token, spot)
	tests := []struct {
		at   time.Time
		kind *problem.Kind
		why  string
	}{
		{now, nil, "fresh"},
		{later.Add(-time.Second), nil, "the last second"},
		{later, problem.ExpiredCursor, "72 hours"},
		{later.AddDate(1, 0, 0), problem.ExpiredCursor, "a year later"},
	}
	for _, test := range tests {
		_, err := keys.Open(s, home, Token, test.at)
		if test.kind == nil && err == nil {
			continue
		}
		if p := problem.From(err); p.Kind != test.kind || p.Parameter != "page_token" {
			t.Errorf("%s: Open = %v, want kind %v", test.why, err, test.kind)
		}
	}
	// Expiry must not be told to someone who could not have opened it.
	if _, err := keys.Open(s, Scope{}, Token, later); !errors.Is(err, problem.InvalidCursor.New("")) {
		t.Errorf("an expired foreign cursor: %v, want invalid-cursor", err)
	}
}

func TestRotation(t *testing.T) {
	before, _ := NewKeys(key(1))
	during, _ := NewKeys(key(2), key(1))
	after, _ := NewKeys(key(2))
	old := seal(t, before, home, Cursor, spot)
	fresh := seal(t, during, home, Cursor, spot)
	tests := []struct {
		keys *Keys
		s    string
		ok   bool
		why  string
	}{
		{during, old, true, "the older key still opens"},
		{after, old, false, "a dropped key does not"},
		{after, fresh, true, "the new key seals"},
		{before, fresh, false, "a node that was not told cannot open"},
	}
	for _, test := range tests {
		if _, err := test.keys.Open(test.s, home, Cursor, now); (err == nil) != test.ok {
			t.Errorf("%s: Open = %v, want success %v", test.why, err, test.ok)
		}
	}
}

func TestRestart(t *testing.T) {
	s := seal(t, testKeys(t), home, Cursor, spot)
	if got, err := testKeys(t).Open(s, home, Cursor, now); err != nil || got != spot {
		t.Errorf("another process with the same secret opened %+v, %v, want %+v", got, err, spot)
	}
}

func TestNewKeysRefuses(t *testing.T) {
	if _, err := NewKeys(Key{ID: 1}); err == nil {
		t.Error("a secret of zeros was accepted")
	}
	if _, err := NewKeys(key(1), key(2), key(1)); err == nil {
		t.Error("two keys of one id were accepted")
	}
}

// TestTampering alters cursors at random in the ways a client could: 100,000
// bit flips of the sealed bytes, flips of the text, and splices of two cursors.
func TestTampering(t *testing.T) {
	keys, err := NewKeys(key(1), key(0), key(3)) // ids one bit apart
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "ab", "abc", strings.Repeat("long ", 60)}
	sample := func() string {
		at := Position{Mark: random.Int64(), Key: random.Int64(), ID: random.Int64(), Back: random.IntN(2) == 0, Text: texts[random.IntN(len(texts))]}
		return seal(t, keys, home, Cursor, at)
	}
	for n := range 100_000 {
		s, other := sample(), sample()
		bad := s
		switch n % 3 {
		case 0:
			raw, _ := base64.RawURLEncoding.DecodeString(s)
			for range 1 + random.IntN(3) {
				raw[random.IntN(len(raw))] ^= 1 << random.IntN(8)
			}
			bad = base64.RawURLEncoding.EncodeToString(raw)
		case 1:
			b := []byte(s)
			b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			bad = string(b)
		case 2:
			cut := 1 + random.IntN(min(len(s), len(other))-1)
			bad = s[:cut] + other[cut:]
		}
		if bad == s || bad == other {
			continue // flipped back, or cut inside the part both share: not altered
		}
		if _, err := keys.Open(bad, home, Cursor, now); !errors.Is(err, problem.InvalidCursor.New("")) {
			t.Fatalf("altered cursor %d: %q from %q: Open = %v, want invalid-cursor", n, bad, s, err)
		}
	}
}

// TestTamperingTime measures how long altered cursors take to be refused: none
// longer than twice a good one. Each batch is timed many times, in turn with
// the good one, and the fastest counts, so that what else the machine does is
// not what is measured.
func TestTamperingTime(t *testing.T) {
	keys := testKeys(t)
	good, other := seal(t, keys, home, Cursor, spot), seal(t, keys, home, Cursor, Position{ID: 7})
	flip := func(i int) string {
		raw, _ := base64.RawURLEncoding.DecodeString(good)
		raw[i] ^= 1
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	bad := map[string]string{
		"the key's id":     flip(0),
		"the nonce":        flip(5),
		"the first byte":   flip(1 + nonceSize),
		"the last byte":    flip(overhead + fixed - tagSize - 1),
		"the tag's first":  flip(overhead + fixed - tagSize),
		"the tag's last":   flip(overhead + fixed - 1),
		"spliced early":    good[:20] + other[20:],
		"spliced late":     good[:70] + other[70:],
		"not base64":       good[:40] + "*" + good[41:],
		"cut":              good[:60],
		"one character":    "A",
		"as long as it is": strings.Repeat("A", len(good)),
		"too long":         strings.Repeat("A", MaxCursor+1),
	}
	const batch, rounds = 200, 60
	measure := func(s string) time.Duration {
		start := time.Now()
		for range batch {
			keys.Open(s, home, Cursor, now)
		}
		return time.Since(start)
	}
	for why, s := range bad {
		fastest, slowest := time.Hour, time.Hour
		for range rounds {
			fastest, slowest = min(fastest, measure(good)), min(slowest, measure(s))
		}
		if slowest > 2*fastest {
			t.Errorf("%s: %v each, want at most twice the %v of a good one", why, slowest/batch, fastest/batch)
		}
	}
}

func TestOneSpelling(t *testing.T) {
	keys := testKeys(t)
	s := seal(t, keys, home, Cursor, spot) // 62 bytes: the last character has two spare bits
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, s[len(s)-1])
	std := strings.NewReplacer("-", "+", "_", "/").Replace(s)
	tests := map[string]string{
		"spare bits of the last character": s[:len(s)-1] + alphabet[last^1:][:1],
		"a line feed inside":               s[:9] + "\n" + s[9:],
		"a carriage return at the end":     s + "\r",
		"a blank at the end":               s + " ",
		"padding":                          s + "=",
		"one character more":               s + "A",
		"one character less":               s[:len(s)-1],
		"twice":                            s + s,
		"empty":                            "",
		"longer than any cursor":           strings.Repeat("A", MaxCursor+1),
		"as long as any cursor":            strings.Repeat("A", MaxCursor),
		"a raw id":                         "42",
	}
	if std != s {
		tests["the other base64 alphabet"] = std
	}
	for why, bad := range tests {
		if _, err := keys.Open(bad, home, Cursor, now); !errors.Is(err, problem.InvalidCursor.New("")) {
			t.Errorf("%s: Open = %v, want invalid-cursor", why, err)
		}
	}
}

func TestNonceIsNeverUsedTwice(t *testing.T) {
	seen := make(map[string]bool)
	var mu sync.Mutex
	var wg sync.WaitGroup
	one, two := testKeys(t), testKeys(t) // one secret, two processes
	for _, keys := range []*Keys{one, one, two, two} {
		wg.Go(func() {
			for range 2000 {
				s := seal(t, keys, home, Cursor, spot)
				raw, _ := base64.RawURLEncoding.DecodeString(s)
				mu.Lock()
				if nonce := string(raw[1 : 1+nonceSize]); seen[nonce] {
					t.Error("a nonce was used twice")
				} else {
					seen[nonce] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestCursorDoesNotAllocate(t *testing.T) {
	keys := testKeys(t)
	s := seal(t, keys, home, Cursor, spot)
	if n := testing.AllocsPerRun(1000, func() { keys.Open(s, home, Cursor, now) }); n != 0 {
		t.Errorf("Open allocates %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(1000, func() { keys.Seal(home, Cursor, spot, later) }); n > 1 {
		t.Errorf("Seal allocates %v times, want 1, the cursor", n)
	}
}

func FuzzOpen(f *testing.F) {
	keys := testKeys(f)
	stranger, err := NewKeys(Key{ID: 1, Secret: [32]byte{9}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add("42")
	f.Add(strings.Repeat("A", 83))
	f.Add(strings.Repeat("_", MaxCursor))
	f.Add(seal(f, stranger, home, Cursor, spot))
	f.Fuzz(func(t *testing.T, s string) {
		if at, err := keys.Open(s, home, Cursor, now); !errors.Is(err, problem.InvalidCursor.New("")) {
			t.Fatalf("Open(%q) = %+v, %v, want invalid-cursor", s, at, err)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	keys := testKeys(b)
	b.ReportAllocs()
	for b.Loop() {
		keys.Seal(home, Cursor, spot, later)
	}
}

func BenchmarkOpenAltered(b *testing.B) {
	keys := testKeys(b)
	s := seal(b, keys, home, Cursor, spot)
	s = s[:40] + string(s[40]^1) + s[41:]
	b.ReportAllocs()
	for b.Loop() {
		keys.Open(s, home, Cursor, now)
	}
}

func BenchmarkOpen(b *testing.B) {
	keys := testKeys(b)
	s := seal(b, keys, home, Cursor, spot)
	b.ReportAllocs()
	for b.Loop() {
		keys.Open(s, home, Cursor, now)
	}
}
