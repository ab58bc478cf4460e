package ratelimit

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		why, s string
		want   Policy
	}{
		{"the default of the service, burst left out", "6000/1m", Default()},
		{"the same in full", "6000/1m burst=1000", Default()},
		{"space around does no harm", "  6000/1m \t burst=1000\n", Default()},
		{"a minute can be said in seconds", "6000/60s", Default()},
		{"a second", "100/1s", Policy{"default", 100, time.Second, 16}},
		{"a burst of the whole quota", "100/1s burst=100", Policy{"default", 100, time.Second, 100}},
		{"the default burst is never 0", "5/1h", Policy{"default", 5, time.Hour, 1}},
		{"a quota of one", "1/24h", Policy{"default", 1, 24 * time.Hour, 1}},
		{"the fastest", "1000000/1s", Policy{"default", 1_000_000, time.Second, 166_666}},
		{"no limit", "off", Policy{}},
	} {
		got, err := Parse(c.s)
		if got != c.want || err != nil {
			t.Errorf("%s: Parse(%q) = %+v, %v; want %+v", c.why, c.s, got, err, c.want)
		}
		if again, err := Parse(got.String()); again != got || err != nil {
			t.Errorf("%s: Parse(%q) = %+v, %v; want %+v", c.why, got.String(), again, err, got)
		}
	}
}

func TestParseRefused(t *testing.T) {
	for _, c := range []struct{ why, s, says string }{
		{"nothing", "", `"off"`},
		{"another word", "on", `"off"`},
		{"a number alone", "6000", `"6000/1m"`},
		{"too many words", "6000/1m burst=1 burst=2", `"6000/1m burst=1000"`},
		{"an unknown setting", "6000/1m cost=2", `"6000/1m burst=1000"`},
		{"a burst without its name", "6000/1m 1000", `"6000/1m burst=1000"`},
		{"off with more", "off burst=1", `"off"`},
		{"a quota of nothing", "0/1m", "at least 1"},
		{"a negative quota", "-5/1m", "at least 1"},
		{"a sign", "+5/1m", "at least 1"},
		{"a quota with a point", "1.5/1m", "at least 1"},
		{"a quota too large for a number", "99999999999999999999/1m", "at least 1"},
		{"no quota", "/1m", "at least 1"},
		{"a quota that is too fast", "1000001/1s", "from 1 to 1000000 "},
		{"a quota that is too fast for its window", "60000001/1m", "from 1 to 60000000 "},
		{"no window", "6000/", "with its unit"},
		{"a window without a unit", "6000/60", "with its unit"},
		{"a unit without a number", "6000/m", "with its unit"},
		{"a window of nothing", "6000/0s", "from 1s to 24h"},
		{"a negative window", "6000/-1m", "from 1s to 24h"},
		{"a window that the header cannot say", "6000/1500ms", "whole number of seconds"},
		{"a window that is too long", "6000/25h", "from 1s to 24h"},
		{"a burst of nothing", "6000/1m burst=0", "at least 1"},
		{"a burst that is no number", "6000/1m burst=many", "at least 1"},
		{"a burst above the quota", "6000/1m burst=6001", "from 1 to the quota, 6000"},
	} {
		got, err := Parse(c.s)
		if err == nil || got != (Policy{}) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Parse(%q) = %+v, %v; want an error that says %s", c.why, c.s, got, err, c.says)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		why string
		p   Policy
		ok  bool
	}{
		{"the zero policy is no limit", Policy{}, true},
		{"the default", Default(), true},
		{"name and burst may be left out", Policy{Quota: 1, Window: time.Second}, true},
		{"a name with a space", Policy{Name: "per key", Quota: 1, Window: time.Second}, true},
		{"a name that ends the quoted string", Policy{Name: `a"`, Quota: 1, Window: time.Second}, false},
		{"a name that escapes", Policy{Name: `a\`, Quota: 1, Window: time.Second}, false},
		{"a name that ends the line", Policy{Name: "a\r\nX: y", Quota: 1, Window: time.Second}, false},
		{"a name outside ASCII", Policy{Name: "é", Quota: 1, Window: time.Second}, false},
		{"a name that is too long", Policy{Name: strings.Repeat("n", 65), Quota: 1, Window: time.Second}, false},
		{"a name alone is no policy", Policy{Name: "default"}, false},
		{"a quota without a window", Policy{Quota: 1}, false},
		{"a window without a quota", Policy{Window: time.Second}, false},
		{"a negative quota", Policy{Quota: -1, Window: time.Second}, false},
		{"a negative burst", Policy{Quota: 1, Window: time.Second, Burst: -1}, false},
	} {
		if err := c.p.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.why, err)
		}
		panicked := func() (p bool) {
			defer func() { p = recover() != nil }()
			New(c.p, nil)
			return
		}()
		if panicked == c.ok {
			t.Errorf("%s: New panicked: %v", c.why, panicked)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"6000/1m", "6000/1m burst=1000", "off", "100/1s", "1/24h", "0/0", "1000000/1s burst=9", "/ burst=", "9223372036854775807/24h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			if p != (Policy{}) {
				t.Fatalf("an error with the policy %+v", p)
			}
			return
		}
		if again, err := Parse(p.String()); again != p || err != nil {
			t.Fatalf("%+v is written %q and read as %+v, %v", p, p.String(), again, err)
		}
		l := New(p, nil) // must not panic
		if l == nil {
			return
		}
		if d := l.Take("k"); !d.Allowed || d.Left != p.Burst-1 || l.step < 1000 || l.full < l.step {
			t.Fatalf("%+v: the first request gets %+v (step %d, full %d)", p, d, l.step, l.full)
		}
	})
}
