package resource

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"
)

func TestInteger(t *testing.T) {
	for _, test := range []struct {
		why, raw string
		want     int64
		ok       bool
	}{
		{"zero", "0", 0, true},
		{"minus zero", "-0", 0, true},
		{"zero with a fraction", "-0.000", 0, true},
		{"zero with an exponent", "0e5", 0, true},
		{"the largest", "9223372036854775807", math.MaxInt64, true},
		{"one more", "9223372036854775808", 0, false},
		{"the smallest", "-9223372036854775808", math.MinInt64, true},
		{"one less", "-9223372036854775809", 0, false},
		{"a fraction of nothing", "1.0", 1, true},
		{"an exponent", "1e2", 100, true},
		{"a capital one with a sign", "1E+2", 100, true},
		{"one that undoes the fraction", "12.5e1", 125, true},
		{"one that undoes the zeros", "1200e-2", 12, true},
		{"the largest power of ten", "1e18", 1_000_000_000_000_000_000, true},
		{"one beyond", "1e19", 0, false},
		{"a fraction", "1.5", 0, false},
		{"a fraction by its exponent", "15e-1", 0, false},
		{"beyond what a float holds, exactly", "9007199254740993.0", 9007199254740993, true},
		{"the largest, with a fraction of nothing", "9223372036854775807.0", math.MaxInt64, true},
		{"nearly one", "0.99999999999999999999999999", 0, false},
		{"hardly more than one", "1.00000000000000000000000001", 0, false},
		{"hardly more than nothing", "1e-400", 0, false},
		{"an absurd exponent", "1e999999999", 0, false},
		{"an exponent beyond numbers", "1e99999999999999999999", 0, false},
		{"downwards", "1e-99999999999999999999", 0, false},
	} {
		if got, ok := integer([]byte(test.raw)); ok != test.ok || ok && got != test.want {
			t.Errorf("%s: integer(%s) is %d, %v, want %d, %v", test.why, test.raw, got, ok, test.want, test.ok)
		}
	}
}

// FuzzInteger compares with exact arithmetic.
func FuzzInteger(f *testing.F) {
	for _, raw := range []string{"0", "-0.0", "1e2", "12.50e1", "9223372036854775807.0", "1e-5", "-1.5E3", "100e-2"} {
		f.Add(raw, "1.0")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok := rational(a)
		if !ok {
			return
		}
		n, whole := integer([]byte(a))
		if want := x.IsInt() && x.Num().IsInt64(); whole != want || whole && x.Num().Int64() != n {
			t.Errorf("integer(%s) is %d, %v, and it is %v", a, n, whole, x)
		}
		if y, ok := rational(b); ok && equal(json.Number(a), json.Number(b)) != (x.Cmp(y) == 0) {
			t.Errorf("%s and %s: equal says %v, want %v", a, b, x.Cmp(y) != 0, x.Cmp(y) == 0)
		}
	})
}

// rational reads a JSON number that is not absurdly long.
func rational(raw string) (*big.Rat, bool) {
	d, ok := parseDecimal(raw)
	var number json.Number
	if json.Unmarshal([]byte(raw), &number) != nil || string(number) != raw || !ok || d.exponent < -999 || d.exponent > 999 {
		return nil, false
	}
	return new(big.Rat).SetString(raw)
}
