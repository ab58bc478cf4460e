package resource

import (
	"strconv"
	"strings"
)

// A decimal is the value of a JSON number as digits and a power of ten, with no
// zeros at either end: 10, 10.0 and 1e1 are the same decimal. The zero value
// is 0.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// parseDecimal reads a JSON number. It refuses an exponent beyond 32 bits.
func parseDecimal(raw string) (decimal, bool) {
	var d decimal
	mantissa := raw
	if i := strings.IndexAny(raw, "eE"); i >= 0 {
		n, err := strconv.ParseInt(raw[i+1:], 10, 32)
		if err != nil {
			return d, false
		}
		mantissa, d.exponent = raw[:i], n
	}
	mantissa, d.negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	d.exponent += int64(len(digits) - len(d.digits) - len(fraction))
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

// integer reads a JSON number that is a whole number of 64 bits, in any
// notation: 1.0 and 1e2 are whole. It never rounds.
func integer(raw []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	d, ok := parseDecimal(string(raw))
	if !ok || d.exponent < 0 || int64(len(d.digits))+d.exponent > 19 {
		return 0, false
	}
	text := d.digits + strings.Repeat("0", int(d.exponent))
	if d.negative {
		text = "-" + text
	}
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
