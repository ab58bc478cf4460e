package byterange

import (
	"iter"
	"math"
	"strings"
)

// elements yields the elements of a list that are not empty. White space
// around a comma belongs to the comma (RFC 9110, section 5.6.1.2); elsewhere
// it stays, for the reader of the element to refuse.
func elements(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for first, more := true, true; more; first = false {
			var e string
			e, list, more = strings.Cut(list, ",")
			if !first {
				e = strings.TrimLeft(e, " \t")
			}
			if more {
				e = strings.TrimRight(e, " \t")
			}
			if e != "" && !yield(e) {
				return
			}
		}
	}
}

// parsePiece reads one range of a representation of size bytes. The piece
// ends before it begins where no byte is in it.
func parsePiece(e string, size int64) (p piece, ok bool) {
	from, to, found := strings.Cut(e, "-")
	if !found || !digits(from) || !digits(to) || from == "" && to == "" {
		return piece{}, false
	}
	if from == "" {
		return piece{first: max(size-number(to), 0), last: size - 1}, true
	}
	if to != "" && over(from, to) {
		return piece{}, false
	}
	p = piece{first: number(from), last: size - 1}
	if to != "" {
		p.last = min(number(to), p.last)
	}
	return p, true
}

// digits reports whether s has nothing but digits, if anything.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// number reads digits. What an int64 cannot hold is read as the largest.
func number(s string) int64 {
	var n int64
	for i := range len(s) {
		d := int64(s[i] - '0')
		if n > (math.MaxInt64-d)/10 {
			return math.MaxInt64
		}
		n = 10*n + d
	}
	return n
}

// over reports whether the numeral a is larger than b, at any length.
func over(a, b string) bool {
	if n, m := number(a), number(b); n != m || n < math.MaxInt64 {
		return n > m
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

// token reports whether s is a token of RFC 9110, section 5.6.2.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// visible reports whether s can be a range of some unit: visible ASCII.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
