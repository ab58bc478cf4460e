package byterange

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

// A verdict is what a header comes down to: a status, 200 for "ignored".
type verdict struct {
	status int
	ranges []Range
}

func judged(ranges []Range, err error) verdict {
	switch p, ok := errors.AsType[*problem.Problem](err); {
	case ok:
		return verdict{status: p.Kind.Status}
	case err != nil:
		return verdict{status: 500}
	case len(ranges) == 0:
		return verdict{status: 200}
	}
	return verdict{206, ranges}
}

func (v verdict) equal(to verdict) bool {
	return v.status == to.status && slices.Equal(v.ranges, to.ranges)
}

// forms are headers on 100 bytes, or on none, and what they come down to.
var forms = []struct {
	why    string
	header string
	size   int64
	status int // in the profile Spec
	ranges []Range
	rfc    int // in the profile RFC; 0 means the same status
}{
	{"a closed range", "bytes=0-9", 100, 206, []Range{{0, 10}}, 0},
	{"one byte", "bytes=0-0", 100, 206, []Range{{0, 1}}, 0},
	{"the last byte", "bytes=99-99", 100, 206, []Range{{99, 1}}, 0},
	{"from the middle to the end", "bytes=50-", 100, 206, []Range{{50, 50}}, 0},
	{"all of it, which is a part still", "bytes=0-", 100, 206, []Range{{0, 100}}, 0},
	{"the last bytes", "bytes=-10", 100, 206, []Range{{90, 10}}, 0},
	{"the last bytes are all bytes", "bytes=-100", 100, 206, []Range{{0, 100}}, 0},
	{"more last bytes than there are", "bytes=-101", 100, 206, []Range{{0, 100}}, 0},
	{"an end beyond the end is the end", "bytes=90-100", 100, 206, []Range{{90, 10}}, 0},
	{"leading zeros", "bytes=0000-0009", 100, 206, []Range{{0, 10}}, 0},
	{"the unit is of any case (RFC 9110, 14.1)", "Bytes=0-9", 100, 206, []Range{{0, 10}}, 0},
	{"a field may have white space around it (5.5)", " \tbytes=0-9\t ", 100, 206, []Range{{0, 10}}, 0},
	{"an end of 2^63", "bytes=0-9223372036854775808", 100, 206, []Range{{0, 100}}, 0},
	{"an end that no integer holds", "bytes=0-" + strings.Repeat("9", 100), 100, 206, []Range{{0, 100}}, 0},
	{"a count that no integer holds", "bytes=-" + strings.Repeat("9", 100), 100, 206, []Range{{0, 100}}, 0},

	{"two parts", "bytes=0-9,20-29", 100, 206, []Range{{0, 10}, {20, 10}}, 0},
	{"white space around commas", "bytes=0-9 ,\t20-29 , 40-49", 100, 206, []Range{{0, 10}, {20, 10}, {40, 10}}, 0},
	{"parts keep the order asked for (15.3.7.2)", "bytes=20-29,0-9,-1", 100, 206, []Range{{20, 10}, {0, 10}, {99, 1}}, 0},
	{"ranges that touch are one", "bytes=0-9,10-19", 100, 206, []Range{{0, 20}}, 0},
	{"in any order", "bytes=10-19,0-9", 100, 206, []Range{{0, 20}}, 0},
	{"ranges that overlap are one", "bytes=0-9,5-14", 100, 206, []Range{{0, 15}}, 0},
	{"a range within another", "bytes=0-49,10-19", 100, 206, []Range{{0, 50}}, 0},
	{"the same twice", "bytes=0-9,0-9", 100, 206, []Range{{0, 10}}, 0},
	{"one byte between them keeps them apart", "bytes=0-9,11-19", 100, 206, []Range{{0, 10}, {11, 9}}, 0},
	{"a merged part stands where its first member did", "bytes=50-59,0-9,60-69", 100, 206, []Range{{50, 20}, {0, 10}}, 0},
	{"a late range joins two early ones", "bytes=0-9,80-89,20-29,5-25", 100, 206, []Range{{0, 30}, {80, 10}}, 0},
	{"what has no byte is left out", "bytes=200-300,0-9,-0", 100, 206, []Range{{0, 10}}, 0},
	{"empty elements are passed over (5.6.1.2)", "bytes=,0-9,, ,20-29,", 100, 206, []Range{{0, 10}, {20, 10}}, 0},
	{"an empty element with white space first", "bytes= ,0-9", 100, 206, []Range{{0, 10}}, 0},
	{"sixteen parts", separate(16), 100, 206, evens(16), 0},
	{"seventeen parts", separate(17), 100, 416, nil, 0},
	{"seventeen ranges that make sixteen parts", separate(16) + ",1-1", 100, 206, append([]Range{{0, 3}}, evens(16)[2:]...), 0},
	{"a thousand ranges that make one part", "bytes=" + strings.Repeat("0-9,", 1000) + "5-10", 100, 206, []Range{{0, 11}}, 0},

	{"beyond the end", "bytes=100-", 100, 416, nil, 0},
	{"far beyond the end", "bytes=100-200", 100, 416, nil, 0},
	{"a start of 2^63", "bytes=9223372036854775808-", 100, 416, nil, 0},
	{"a start that no integer holds", "bytes=" + strings.Repeat("9", 100) + "-", 100, 416, nil, 0},
	{"both so long, in order", "bytes=1" + strings.Repeat("0", 50) + "-2" + strings.Repeat("0", 50), 100, 416, nil, 0},
	{"no last bytes", "bytes=-0", 100, 416, nil, 0},
	{"nothing but what has no byte", "bytes=100-,-0,200-300", 100, 416, nil, 0},
	{"an empty file has no first byte", "bytes=0-0", 0, 416, nil, 0},
	{"nor all bytes", "bytes=0-", 0, 416, nil, 0},
	{"nor last bytes", "bytes=-1", 0, 416, nil, 0},

	{"another unit", "lines=0-9", 100, 416, nil, 200},
	{"another unit with ranges of its own sort", "lines=a,b;c", 100, 416, nil, 200},
	{"another unit on an empty file", "tasks=0-9", 0, 416, nil, 200},
	{"a unit that begins like ours", "bytess=0-9", 100, 416, nil, 200},
	{"a unit with every sign that a token has", "!#$%&'*+-.^_`|~9aZ=0-9", 100, 416, nil, 200},

	{"empty", "", 100, 400, nil, 0},
	{"a unit alone", "bytes", 100, 400, nil, 0},
	{"no range", "bytes=", 100, 400, nil, 0},
	{"no range but commas", "bytes=, ,", 100, 400, nil, 0},
	{"no unit", "=0-9", 100, 400, nil, 0},
	{"neither unit nor sign", "0-9", 100, 400, nil, 0},
	{"a unit that is no token", "by(tes=0-9", 100, 400, nil, 0},
	{"white space after the unit", "bytes =0-9", 100, 400, nil, 0},
	{"white space after the sign", "bytes= 0-9", 100, 400, nil, 0},
	{"white space within a range", "bytes=0 -9", 100, 400, nil, 0},
	{"white space within a range, after", "bytes=0- 9", 100, 400, nil, 0},
	{"a dash alone", "bytes=-", 100, 400, nil, 0},
	{"a number alone", "bytes=5", 100, 400, nil, 0},
	{"it ends before it begins", "bytes=9-0", 100, 400, nil, 0},
	{"so it does beyond the end", "bytes=300-200", 100, 400, nil, 0},
	{"and beyond all integers", "bytes=2" + strings.Repeat("0", 50) + "-1" + strings.Repeat("0", 50), 100, 400, nil, 0},
	{"longer beats larger", "bytes=1" + strings.Repeat("0", 51) + "-2" + strings.Repeat("0", 50), 100, 400, nil, 0},
	{"a sign", "bytes=+1-2", 100, 400, nil, 0},
	{"a negative end", "bytes=0--1", 100, 400, nil, 0},
	{"three numbers", "bytes=0-1-2", 100, 400, nil, 0},
	{"hexadecimal", "bytes=0x0-0x9", 100, 400, nil, 0},
	{"letters", "bytes=a-b", 100, 400, nil, 0},
	{"digits of another script", "bytes=٠-٩", 100, 400, nil, 0},
	{"a semicolon for a comma", "bytes=0-9;20-29", 100, 400, nil, 0},
	{"one bad range spoils the rest", "bytes=0-9,x", 100, 400, nil, 0},
	{"malformed beats unsatisfiable", "bytes=200-,x", 100, 400, nil, 0},
	{"the unit again", "bytes=0-9,bytes=20-29", 100, 400, nil, 0},
	{"a range of another unit must be there", "lines=", 100, 400, nil, 0},
	{"and be visible", "lines=0 9", 100, 400, nil, 0},
	{"and ASCII", "lines=ä", 100, 400, nil, 0},
	{"a malformed range on an empty file", "bytes=x", 0, 400, nil, 0},
}

// separate names n single bytes that do not touch.
func separate(n int) string {
	var b strings.Builder
	for _, r := range evens(n) {
		b.WriteString(",")
		b.WriteString(strings.TrimSuffix(strings.TrimPrefix(r.ContentRange(100), "bytes "), "/100"))
	}
	return "bytes=" + b.String()[1:]
}

func evens(n int) (list []Range) {
	for i := range n {
		list = append(list, Range{Start: int64(2 * i), Length: 1})
	}
	return list
}

func TestParse(t *testing.T) {
	for _, tt := range forms {
		for _, profile := range []Profile{Spec, RFC} {
			want := verdict{tt.status, tt.ranges}
			if profile == RFC && tt.rfc != 0 {
				want.status = tt.rfc
			}
			got := judged(Parse(tt.header, tt.size, &Options{Profile: profile}))
			if !got.equal(want) {
				t.Errorf("%s: Parse(%.60q, %d) by %s = %v, want %v", tt.why, tt.header, tt.size, profile, got, want)
			}
		}
	}
}

func TestParseProblem(t *testing.T) {
	for _, tt := range []struct {
		why, header  string
		profile      Profile
		kind         *problem.Kind
		contentRange string
		maximum      int64
	}{
		{"the contract leaves the unit out", "bytes=100-", Spec, problem.RangeUnsatisfied, "*/100", 0},
		{"the RFC has it", "bytes=100-", RFC, problem.RangeUnsatisfied, "bytes */100", 0},
		{"an unknown unit", "lines=0-9", Spec, problem.RangeUnsatisfied, "*/100", 0},
		{"too many parts name the limit", separate(17), Spec, problem.RangeUnsatisfied, "*/100", 16},
		{"malformed", "bytes=x", Spec, problem.MalformedRange, "", 0},
	} {
		_, err := Parse(tt.header, 100, &Options{Profile: tt.profile})
		p := problem.From(err)
		if p.Kind != tt.kind || p.Header.Get("Content-Range") != tt.contentRange || p.Maximum != tt.maximum || p.Parameter != "Range" {
			t.Errorf("%s: got %v with Content-Range %q, maximum %d, parameter %q", tt.why, p, p.Header.Get("Content-Range"), p.Maximum, p.Parameter)
		}
	}
}

func TestMaxRanges(t *testing.T) {
	for _, tt := range []struct {
		why    string
		max, n int
		want   int
	}{
		{"zero means the default", 0, 16, 206},
		{"and no more", 0, 17, 416},
		{"fewer", 1, 2, 416},
		{"more", 40, 40, 206},
	} {
		got := judged(Parse(separate(tt.n), 100, &Options{MaxRanges: tt.max}))
		if got.status != tt.want {
			t.Errorf("%s: %d ranges with MaxRanges %d: got %d, want %d", tt.why, tt.n, tt.max, got.status, tt.want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, header string }{
		{"one", "bytes=1000-1999"},
		{"ten", "bytes=0-9,20-29,40-49,60-69,80-89,100-109,120-129,140-149,160-169,180-189"},
		{"thousand", "bytes=" + strings.Repeat("0-9,", 1000) + "5-10"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(bb.header, 1<<20, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
