package byterange

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	modelHeader = regexp.MustCompile("^([!#$%&'*+\\-.^_`|~0-9A-Za-z]+)=(.*)$")
	modelSpec   = regexp.MustCompile(`^(?:([0-9]+)-([0-9]*)|-([0-9]+))$`)
	modelOther  = regexp.MustCompile(`^[!-+\--~]+$`)
	modelComma  = regexp.MustCompile(`[ \t]*,[ \t]*`)
)

// model is the package again, slow and obvious: regular expressions for the
// grammar, integers without end, and one mark for every byte. The number in a
// mark is the place of the first range that asked for it.
func model(header string, size int64, o *Options) verdict {
	m := modelHeader.FindStringSubmatch(strings.Trim(header, " \t"))
	if m == nil {
		return verdict{status: 400}
	}
	specs := slices.DeleteFunc(modelComma.Split(m[2], -1), func(s string) bool { return s == "" })
	if len(specs) == 0 {
		return verdict{status: 400}
	}
	ours := strings.ToLower(m[1]) == "bytes"
	marks := make([]int, size)
	for i, spec := range specs {
		switch {
		case !ours && !modelOther.MatchString(spec), ours && !modelMark(marks, spec, i+1):
			return verdict{status: 400}
		}
	}
	if !ours && o.Profile == RFC {
		return verdict{status: 200}
	}
	type run struct {
		Range
		place int
	}
	var runs []run
	for at, place := range marks {
		switch {
		case place == 0:
		case at > 0 && marks[at-1] > 0:
			last := &runs[len(runs)-1]
			last.Length++
			last.place = min(last.place, place)
		default:
			runs = append(runs, run{Range{int64(at), 1}, place})
		}
	}
	if !ours || len(runs) == 0 || len(runs) > o.maxRanges() {
		return verdict{status: 416}
	}
	slices.SortFunc(runs, func(a, b run) int { return a.place - b.place })
	v := verdict{status: 206}
	for _, r := range runs {
		v.ranges = append(v.ranges, r.Range)
	}
	return v
}

// modelMark marks the bytes of one range. It returns false where that is
// malformed.
func modelMark(marks []int, spec string, place int) bool {
	m := modelSpec.FindStringSubmatch(spec)
	if m == nil {
		return false
	}
	number := func(s string) *big.Int {
		n, _ := new(big.Int).SetString(s, 10)
		return n
	}
	size := big.NewInt(int64(len(marks)))
	first, last := new(big.Int), new(big.Int).Sub(size, big.NewInt(1))
	switch {
	case m[3] != "":
		first.Sub(size, number(m[3]))
	case m[2] != "":
		first, last = number(m[1]), number(m[2])
		if first.Cmp(last) > 0 {
			return false
		}
	default:
		first = number(m[1])
	}
	for at := range marks {
		n := big.NewInt(int64(at))
		if first.Cmp(n) <= 0 && n.Cmp(last) <= 0 && (marks[at] == 0 || place < marks[at]) {
			marks[at] = place
		}
	}
	return true
}

func TestModel(t *testing.T) {
	for _, tt := range forms {
		for _, profile := range []Profile{Spec, RFC} {
			want := verdict{tt.status, tt.ranges}
			if profile == RFC && tt.rfc != 0 {
				want.status = tt.rfc
			}
			if got := model(tt.header, tt.size, &Options{Profile: profile}); !got.equal(want) {
				t.Errorf("%s: the model of %.60q, %d by %s is %v, want %v", tt.why, tt.header, tt.size, profile, got, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range forms {
		f.Add(tt.header, uint8(tt.size), false, uint8(0))
		f.Add(tt.header, uint8(tt.size), true, uint8(3))
	}
	f.Fuzz(func(t *testing.T, header string, size uint8, rfc bool, most uint8) {
		o := &Options{MaxRanges: int(most)}
		if rfc {
			o.Profile = RFC
		}
		got, want := judged(Parse(header, int64(size), o)), model(header, int64(size), o)
		if !got.equal(want) {
			t.Errorf("Parse(%q, %d, %+v) = %v, want %v", header, size, *o, got, want)
		}
	})
}

// TestParseRandom is the fuzz target over headers that are likely to mean
// something, and over many ranges, which merge more than once on their way.
func TestParseRandom(t *testing.T) {
	for seed := range uint64(500) {
		header, size := randomHeader(seed)
		for _, o := range []*Options{{}, {MaxRanges: 60}} {
			got, want := judged(Parse(header, size, o)), model(header, size, o)
			if !got.equal(want) {
				t.Fatalf("seed %d: Parse(%q, %d, %+v) = %v, want %v", seed, header, size, *o, got, want)
			}
		}
	}
}
