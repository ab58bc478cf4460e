package console

import (
	"strings"
	"testing"
)

func TestGzipped(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  bool
		why   string
	}{
		{nil, false, "no header: plain is always understood"},
		{[]string{""}, false, "an empty header"},
		{[]string{"gzip, deflate, br, zstd"}, true, "a browser"},
		{[]string{"br", "gzip"}, true, "on a second line"},
		{[]string{"GZIP"}, true, "codings are case-insensitive"},
		{[]string{"x-gzip"}, true, "the old name"},
		{[]string{"gzip;q=0.5"}, true, "a weight"},
		{[]string{"gzip ; q=1.000"}, true, "spaces"},
		{[]string{"gzip;q=0"}, false, "refused"},
		{[]string{"gzip;q=0.000, br"}, false, "refused at length"},
		{[]string{"*"}, true, "anything"},
		{[]string{"*;q=0"}, false, "nothing"},
		{[]string{"*, gzip;q=0"}, false, "anything but"},
		{[]string{"gzip, *;q=0"}, true, "nothing but"},
		{[]string{"gzip;q=x"}, false, "a weight that is none"},
		{[]string{"gzip;q=NaN"}, false, "nor is this"},
		{[]string{"gzip;q=-1"}, false, "nor this"},
		{[]string{"gzip;level=9"}, false, "a parameter that does not exist"},
		{[]string{"identity"}, false, "plain only"},
		{[]string{"gzipped"}, false, "another coding"},
	} {
		if got := gzipped(tt.lines); got != tt.want {
			t.Errorf("gzipped(%q) is %v, want %v: %s", tt.lines, got, tt.want, tt.why)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  bool
		why   string
	}{
		{nil, false, "no header"},
		{[]string{`"a"`}, true, "the tag"},
		{[]string{`W/"a"`}, true, "the comparison is weak"},
		{[]string{`"b", "a"`}, true, "one of several"},
		{[]string{`"b"`, `"a"`}, true, "on a second line"},
		{[]string{`*`}, true, "any"},
		{[]string{`"b"`}, false, "another"},
		{[]string{`a`}, false, "without quotes it is no tag"},
		{[]string{`""`}, false, "the empty tag"},
	} {
		if got := matches(tt.lines, `"a"`); got != tt.want {
			t.Errorf("matches(%q) is %v, want %v: %s", tt.lines, got, tt.want, tt.why)
		}
	}
}

// A coding that nobody named is never used.
func FuzzGzipped(f *testing.F) {
	for _, s := range []string{"", "gzip", "gzip;q=0, *", "br;q=1.0, *;q=0.1", ";;,,=", "GZIP;Q=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if gzipped([]string{line}) && !strings.Contains(strings.ToLower(line), "gzip") && !strings.Contains(line, "*") {
			t.Errorf("gzipped(%q) is true", line)
		}
		if gzipped([]string{line, "gzip;q=0"}) {
			t.Errorf("gzipped(%q) is true in spite of a refusal", line)
		}
	})
}

func FuzzMatches(f *testing.F) {
	for _, s := range []string{"", `"a"`, `W/"a", "b"`, "*", `,,"a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if matches([]string{line}, `"a"`) && !strings.Contains(line, `"a"`) && !strings.Contains(line, "*") {
			t.Errorf("matches(%q) is true", line)
		}
	})
}
