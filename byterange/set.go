package byterange

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-api/parley/problem"
)

// Unit is the range unit that the package serves.
const Unit = "bytes"

// A Range is a run of bytes of a representation.
type Range struct {
	Start  int64 // offset of the first byte
	Length int64 // at least 1
}

// ContentRange returns the value of the Content-Range header for this part of
// a representation of that size.
func (r Range) ContentRange(size int64) string {
	return string(r.append(make([]byte, 0, 64), size))
}

func (r Range) append(b []byte, size int64) []byte {
	b = append(b, Unit+" "...)
	b = strconv.AppendInt(b, r.Start, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, r.Start+r.Length-1, 10)
	b = append(b, '/')
	return strconv.AppendInt(b, size, 10)
}

// Parse reads the value of a Range header for a representation of size bytes
// and returns what to send: at least one range, no two of which overlap or
// touch, in the order of their first appearance. No range and no error means
// that the header is to be ignored, which only the profile [RFC] has.
//
// The error is a [problem.MalformedRange], or a [problem.RangeUnsatisfied]
// that carries its Content-Range. A header of n bytes costs O(n log n) time;
// memory grows with the ranges that do not merge, at most eight bytes for each
// byte of the header.
func Parse(header string, size int64, o *Options) ([]Range, error) {
	return appendRanges(nil, header, size, o)
}

// A piece is a range while it is merged.
type piece struct {
	first, last int64
	place       int // in the header, of the first that became part of it
}

// join makes p a part of the piece, if they overlap or touch.
func (at *piece) join(p piece) bool {
	if p.first > at.last+1 || at.first > p.last+1 {
		return false
	}
	at.first, at.last, at.place = min(at.first, p.first), max(at.last, p.last), min(at.place, p.place)
	return true
}

// few is how many pieces are gathered before they are first merged.
const few = 128

func appendRanges(dst []Range, header string, size int64, o *Options) ([]Range, error) {
	unit, list, found := strings.Cut(strings.Trim(header, " \t"), "=")
	if !found || !token(unit) {
		return nil, malformed("The Range header is not of the form unit=ranges.")
	}
	if !strings.EqualFold(unit, Unit) {
		return nil, foreign(list, size, o)
	}
	var room [DefaultMaxRanges]piece
	pieces, count, limit := room[:0], 0, few
	for e := range elements(list) {
		p, ok := parsePiece(e, size)
		if !ok {
			return nil, malformed("The Range header has a range that is not of the form first-last, first- or -count.")
		}
		if count++; p.first > p.last {
			continue // no byte is in it
		}
		p.place = count
		if len(pieces) > 0 && pieces[len(pieces)-1].join(p) {
			continue
		}
		if len(pieces) == limit {
			pieces = merge(pieces)
			limit = max(few, 2*len(pieces))
			pieces = slices.Grow(pieces, limit-len(pieces))
		}
		pieces = append(pieces, p)
	}
	if count == 0 {
		return nil, malformed("The Range header names no range.")
	}
	return settle(dst, pieces, size, o)
}

// settle merges what was gathered and puts it in order.
func settle(dst []Range, pieces []piece, size int64, o *Options) ([]Range, error) {
	if len(pieces) > 1 {
		pieces = merge(pieces)
		slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.place, b.place) })
	}
	switch most := o.maxRanges(); {
	case len(pieces) == 0:
		return nil, unsatisfied("No byte is in the range.", size, o)
	case len(pieces) > most:
		p := unsatisfied("The Range header names more separate parts than are sent at once.", size, o)
		p.Maximum = int64(most)
		return nil, p
	}
	dst = slices.Grow(dst, len(pieces))
	for _, p := range pieces {
		dst = append(dst, Range{Start: p.first, Length: p.last - p.first + 1})
	}
	return dst, nil
}

// merge joins the pieces that overlap or touch, in place. They come back in
// the order of their bytes.
func merge(pieces []piece) []piece {
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	n := 0
	for _, p := range pieces[1:] {
		if !pieces[n].join(p) {
			n++
			pieces[n] = p
		}
	}
	return pieces[:n+1]
}

// foreign is what a unit that is not ours gives: nil to ignore the header.
func foreign(list string, size int64, o *Options) error {
	count := 0
	for e := range elements(list) {
		if !visible(e) {
			return malformed("The Range header has a range with a byte that no range may have.")
		}
		count++
	}
	switch {
	case count == 0:
		return malformed("The Range header names no range.")
	case o.profile() == RFC:
		return nil
	}
	return unsatisfied("The unit of the range is not supported; Accept-Ranges names the one that is.", size, o)
}

func malformed(detail string) *problem.Problem {
	p := problem.MalformedRange.New(detail)
	p.Parameter = "Range"
	return p
}

func unsatisfied(detail string, size int64, o *Options) *problem.Problem {
	total := "*/" + strconv.FormatInt(size, 10)
	if o.profile() == RFC {
		total = Unit + " " + total
	}
	p := problem.RangeUnsatisfied.New(detail)
	p.Parameter = "Range"
	return p.Set("Content-Range", total).Set("Accept-Ranges", Unit)
}
