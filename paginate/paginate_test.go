package paginate

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-api/parley/problem"
)

var tasks = &List{Collection: "tasks", Parameters: []string{"status", "sort", "api-version"}}

func TestParse(t *testing.T) {
	tests := []struct {
		query, why string
		want       Plan
	}{
		{"", "no parameter: cursor style", Plan{Style: Cursor, Size: 20}},
		{"&&", "empty pairs are no parameters", Plan{Style: Cursor, Size: 20}},
		{"limit=5", "a size alone chooses the style", Plan{Style: Cursor, Size: 5}},
		{"cursor=abc", "a cursor without a size", Plan{Style: Cursor, Size: 20, Cursor: "abc"}},
		{"cursor=abc&limit=100", "the maximum itself is accepted", Plan{Style: Cursor, Size: 100, Cursor: "abc"}},
		{"page=1", "a page without a size", Plan{Style: Offset, Size: 20, Page: 1}},
		{"size=1", "no page means the first", Plan{Style: Offset, Size: 1, Page: 1}},
		{"page=3&size=10", "both", Plan{Style: Offset, Size: 10, Page: 3, Offset: 20}},
		{"size=10&page=3", "order does not matter", Plan{Style: Offset, Size: 10, Page: 3, Offset: 20}},
		{"p%61ge=%33", "escaped names and values are decoded", Plan{Style: Offset, Size: 20, Page: 3, Offset: 40}},
		{"page=007", "leading zeros are digits", Plan{Style: Offset, Size: 20, Page: 7, Offset: 120}},
		{"page=9223372036854775806&size=1", "the last page that can be counted", Plan{Style: Offset, Size: 1, Page: math.MaxInt64 - 1, Offset: math.MaxInt64 - 2}},
		{"page_size=7", "a size alone chooses the style", Plan{Style: Token, Size: 7}},
		{"page_token=x&page_size=7", "both", Plan{Style: Token, Size: 7, Cursor: "x"}},
		{"include_total=true", "the total does not choose a style", Plan{Style: Cursor, Size: 20, IncludeTotal: true}},
		{"include_total=false&page=1", "false is said aloud", Plan{Style: Offset, Size: 20, Page: 1}},
		{"page_size=1&include_total=true", "the total in token style", Plan{Style: Token, Size: 1, IncludeTotal: true}},
		{"status=done&sort=-id&api-version=1", "further parameters", Plan{Style: Cursor, Size: 20}},
	}
	for _, test := range tests {
		got, err := tasks.Parse(test.query, nil)
		test.want.list, test.want.query = tasks, test.query
		if err != nil || got != test.want {
			t.Errorf("%s: Parse(%q) = %+v, %v, want %+v", test.why, test.query, got, err, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	size, parameter := problem.InvalidPageSize, problem.InvalidParameter
	tests := []struct {
		query     string
		kind      *problem.Kind
		parameter string
		why       string
	}{
		{"limit=0", size, "limit", "zero"},
		{"size=0", size, "size", "zero"},
		{"page_size=0", size, "page_size", "zero"},
		{"limit=-1", size, "limit", "negative"},
		{"size=-1", size, "size", "negative"},
		{"page_size=-1", size, "page_size", "negative"},
		{"limit=101", size, "limit", "over the maximum"},
		{"size=101", size, "size", "over the maximum"},
		{"page_size=101", size, "page_size", "over the maximum"},
		{"limit=9223372036854775808", size, "limit", "2^63"},
		{"size=9223372036854775808", size, "size", "2^63"},
		{"page_size=9223372036854775808", size, "page_size", "2^63"},
		{"size=18446744073709551617", size, "size", "2^64 + 1 must not wrap around to 1"},
		{"limit=ten", size, "limit", "not a number"},
		{"limit=1.5", size, "limit", "not a whole number"},
		{"limit=1e1", size, "limit", "an exponent is not digits"},
		{"limit=0x10", size, "limit", "hexadecimal is not digits"},
		{"limit=%2B5", size, "limit", "a sign is not a digit"},
		{"limit=+5", size, "limit", "a plus is a blank"},
		{"limit=%D9%A3", size, "limit", "digits of another script"},

		{"page=0", parameter, "page", "pages count from 1"},
		{"page=-1", parameter, "page", "negative"},
		{"page=two", parameter, "page", "not a number"},
		{"page=9223372036854775808", parameter, "page", "2^63"},
		{"page=9223372036854775807&size=1", parameter, "page", "the page after it could not be counted"},
		{"page=461168601842738791&size=20", parameter, "page", "page times size overflows"},

		{"page=1&limit=5", parameter, "limit", "offset and cursor mixed"},
		{"limit=5&page=1", parameter, "page", "cursor and offset mixed"},
		{"size=5&cursor=x", parameter, "cursor", "offset and cursor mixed"},
		{"page=1&page_size=5", parameter, "page_size", "offset and token mixed"},
		{"cursor=x&page_token=y", parameter, "page_token", "cursor and token mixed"},
		{"page_token=x&limit=5", parameter, "limit", "token and cursor mixed"},
		{"page_size=5&size=5", parameter, "size", "token and offset mixed"},
		{"page=1&cursor=x&page_token=y", parameter, "cursor", "all three mixed"},

		{"limit=5&limit=5", parameter, "limit", "repeated, though equal"},
		{"page=1&p%61ge=2", parameter, "page", "repeated behind an escape"},
		{"cursor=x&cursor=y", parameter, "cursor", "repeated"},
		{"include_total=true&include_total=true", parameter, "include_total", "repeated"},
		{"status=done&status=pending", parameter, "status", "a further parameter repeated"},
		{"limit=", parameter, "limit", "empty"},
		{"limit", parameter, "limit", "empty, without the equals sign"},
		{"cursor=", parameter, "cursor", "empty"},
		{"page=", parameter, "page", "empty"},
		{"page_token=", parameter, "page_token", "empty"},
		{"include_total=", parameter, "include_total", "empty"},
		{"status=", parameter, "status", "a further parameter empty"},

		{"include_total=1", parameter, "include_total", "true and false only"},
		{"include_total=TRUE", parameter, "include_total", "true and false only, in lower case"},
		{"color=red", parameter, "color", "unknown"},
		{"Page=1", parameter, "Page", "names are case-sensitive"},
		{"=1", parameter, "", "a parameter without a name"},
		{"limit=5;page=1", parameter, "limit", "a semicolon separates for some and not for others"},
		{"status=%zz", parameter, "status", "a broken escape in a value"},
		{"%zz=1", parameter, "", "a broken escape in a name"},
	}
	for _, test := range tests {
		_, err := tasks.Parse(test.query, nil)
		p, ok := errors.AsType[*problem.Problem](err)
		if !ok || p.Kind != test.kind || p.Parameter != test.parameter {
			t.Errorf("%s: Parse(%q) = %+v, want %s of parameter %q", test.why, test.query, err, test.kind.Name, test.parameter)
			continue
		}
		if p.Kind == size && (p.Maximum != 100 || !strings.Contains(p.Detail, "100")) {
			t.Errorf("%s: Parse(%q): maximum %d, detail %q, want both to name 100", test.why, test.query, p.Maximum, p.Detail)
		}
	}
}

func TestParseUnknownParameter(t *testing.T) {
	want := []string{"api-version", "cursor", "include_total", "limit", "page", "page_size", "page_token", "size", "sort", "status"}
	_, err := tasks.Parse("color=red", nil)
	p := problem.From(err)
	if !slices.Equal(p.Allowed, want) {
		t.Errorf("allowed = %q, want all names, sorted: %q", p.Allowed, want)
	}
	_, err = tasks.Parse(url.QueryEscape("\x00\n\u202e"+strings.Repeat("ä", 200))+"=v", nil)
	p = problem.From(err)
	if want := strings.Repeat("ä", 64); p.Parameter != want {
		t.Errorf("parameter = %q, want 64 printable characters", p.Parameter)
	}
	if strings.Contains(p.Detail, "ä") {
		t.Errorf("detail = %q, want nothing that the client sent", p.Detail)
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		limits     Limits
		over, good string
		why        string
		want       int
	}{
		{Limits{}, "limit=101", "limit=100", "zero means 20 and 100", 20},
		{Limits{Maximum: 10}, "limit=11", "limit=10", "the default is never above the maximum", 10},
		{Limits{Default: 50, Maximum: 1000}, "limit=1001", "limit=1000", "both set", 50},
		{Limits{Default: 500}, "limit=101", "limit=100", "a default above the maximum", 100},
		{Limits{Default: -1, Maximum: -1}, "limit=101", "limit=100", "negative is as zero", 20},
	}
	for _, test := range tests {
		list := &List{Collection: "tasks", Limits: test.limits}
		if p, err := list.Parse("", nil); err != nil || p.Size != test.want {
			t.Errorf("%s: size = %d, %v, want %d", test.why, p.Size, err, test.want)
		}
		if _, err := list.Parse(test.over, nil); !errors.Is(err, problem.InvalidPageSize.New("")) {
			t.Errorf("%s: Parse(%q) = %v, want invalid-page-size", test.why, test.over, err)
		}
		if _, err := list.Parse(test.good, nil); err != nil {
			t.Errorf("%s: Parse(%q) = %v, want no error", test.why, test.good, err)
		}
	}
}

func TestValue(t *testing.T) {
	plan, err := tasks.Parse("limit=5&st%61tus=in%5Fprogress&sort=a+b", nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, want string
		ok         bool
		why        string
	}{
		{"status", "in_progress", true, "name and value are decoded"},
		{"sort", "a b", true, "a plus is a blank"},
		{"limit", "5", true, "the convention's own can be asked for too"},
		{"api-version", "", false, "absent"},
	}
	for _, test := range tests {
		if got, ok := plan.Value(test.name); got != test.want || ok != test.ok {
			t.Errorf("%s: Value(%q) = %q, %v, want %q, %v", test.why, test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	for query, why := range map[string]string{
		"":                            "the fast path",
		"page=2&size=50&status=done":  "nothing escaped",
		"limit=50&include_total=true": "nothing escaped",
	} {
		if n := testing.AllocsPerRun(100, func() { tasks.Parse(query, nil) }); n != 0 {
			t.Errorf("%s: Parse(%q) allocates %v times, want 0", why, query, n)
		}
	}
}

// FuzzParse checks that what Parse refuses is a 400 and that what it accepts
// survives the way through a link: the next page's URL parses to the next
// page with the same parameters.
func FuzzParse(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"page=2&size=10&status=done", ""}, {"limit=5&sort=-id", ""}, {"page_token=x", ""},
		{"page=1&cursor=2", ""}, {"size=9223372036854775808", ""}, {"p%61ge=1&st%61tus=%22%3E&&", ""},
		{"status=a\"b<c>ä", ""}, {"include_total=true&page=1", ""}, {"", "tasks=0-9"}, {"limit=1", "tasks=0-9"}, {"", "bytes=0-9"},
	} {
		f.Add(seed[0], seed[1])
	}
	keys := testKeys(f)
	f.Fuzz(func(t *testing.T, query, header string) {
		var ranges []string
		if header != "" {
			ranges = []string{header}
		}
		plan, err := tasks.Parse(query, ranges)
		if err != nil {
			p := problem.From(err)
			if p.Kind.Status != http.StatusBadRequest || !utf8.ValidString(p.Parameter) {
				t.Fatalf("Parse(%q) = %v, want a 400", query, err)
			}
			return
		}
		if plan.Style == Ranged {
			return
		}
		if plan.Size < 1 || plan.Size > 100 || plan.Offset < 0 {
			t.Fatalf("Parse(%q) = %+v: out of bounds", query, plan)
		}
		links, err := plan.Links("/tasks", Page{HasNext: true, HasPrev: true}, keys, Scope{}, now)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(links.Next)
		if err != nil || u.Path != "/tasks" || strings.ContainsAny(links.Next, "\"\\<> \r\n") {
			t.Fatalf("next link %q of %q: %v", links.Next, query, err)
		}
		next, err := tasks.Parse(u.RawQuery, nil)
		if err != nil {
			if plan.Style == Offset && plan.Offset > math.MaxInt64/2 {
				return // the page after the last that can be counted
			}
			t.Fatalf("the next link %q of %q does not parse: %v", links.Next, query, err)
		}
		if next.Style != plan.Style || next.Size != plan.Size || next.IncludeTotal != plan.IncludeTotal ||
			next.Cursor != links.NextCursor || plan.Style == Offset && next.Page != plan.Page+1 {
			t.Fatalf("%q: next plan %+v after %+v", query, next, plan)
		}
		for _, name := range tasks.Parameters {
			got, ok := next.Value(name)
			want, had := plan.Value(name)
			if got != want || ok != had {
				t.Fatalf("%q: %s = %q in the next link, want %q", query, name, got, want)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, query := range map[string]string{
		"none":   "",
		"offset": "page=2&size=50",
		"cursor": "cursor=" + strings.Repeat("x", 83) + "&limit=50&status=done&sort=-id",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tasks.Parse(query, nil)
			}
		})
	}
}
