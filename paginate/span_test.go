package paginate

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

func TestRange(t *testing.T) {
	tests := []struct {
		header string
		total  int64
		want   string
		why    string
	}{
		{"tasks=0-9", 42, "tasks 0-9/42", "a closed range"},
		{"tasks=0-0", 1, "tasks 0-0/1", "one row"},
		{"tasks=40-49", 42, "tasks 40-41/42", "the end is cut to what exists"},
		{"tasks=5-", 42, "tasks 5-41/42", "an open range"},
		{"tasks=-5", 42, "tasks 37-41/42", "the last five"},
		{"tasks=-5", 3, "tasks 0-2/3", "the last five of three"},
		{"tasks=0-99", 1000, "tasks 0-99/1000", "the maximum itself"},
		{"tasks=-100", 1000, "tasks 900-999/1000", "the maximum itself"},
		{"tasks=900-", 1000, "tasks 900-999/1000", "the maximum itself"},
		{"Tasks=0-9", 42, "tasks 0-9/42", "units are case-insensitive: RFC 9110, section 14.1"},
		{"tasks= 0-9 ,", 42, "tasks 0-9/42", "blanks and an empty element: RFC 9110, section 5.6.1"},
		{"tasks=007-008", 42, "tasks 7-8/42", "leading zeros are digits"},
	}
	for _, test := range tests {
		plan, err := tasks.Parse("status=done", []string{test.header})
		if err != nil || plan.Style != Ranged {
			t.Errorf("%s: Parse(%q) = %+v, %v", test.why, test.header, plan, err)
			continue
		}
		span, err := plan.Resolve(test.total)
		if err != nil || span.ContentRange() != test.want {
			t.Errorf("%s: %q of %d = %q, %v, want %q", test.why, test.header, test.total, span.ContentRange(), err, test.want)
		}
	}
}

func TestRangeRefused(t *testing.T) {
	tests := []struct {
		query   string
		headers []string
		kind    *problem.Kind
		why     string
	}{
		{"", []string{""}, problem.MalformedRange, "empty"},
		{"", []string{"tasks"}, problem.MalformedRange, "no ranges"},
		{"", []string{"tasks="}, problem.MalformedRange, "no ranges"},
		{"", []string{"tasks=,"}, problem.MalformedRange, "no ranges"},
		{"", []string{"=0-9"}, problem.MalformedRange, "no unit"},
		{"", []string{"0-9"}, problem.MalformedRange, "no unit"},
		{"", []string{"my tasks=0-9"}, problem.MalformedRange, "a unit is a token"},
		{"", []string{"tasks=-"}, problem.MalformedRange, "neither first nor last"},
		{"", []string{"tasks=5"}, problem.MalformedRange, "no dash"},
		{"", []string{"tasks=a-b"}, problem.MalformedRange, "not numbers"},
		{"", []string{"tasks=+1-2"}, problem.MalformedRange, "a sign"},
		{"", []string{"tasks=1--2"}, problem.MalformedRange, "a sign"},
		{"", []string{"tasks=0 - 9"}, problem.MalformedRange, "blanks inside"},
		{"", []string{"tasks=0-9\x00"}, problem.MalformedRange, "a control character"},
		{"", []string{"tasks=9-0"}, problem.MalformedRange, "last before first"},
		{"", []string{"tasks=99999999999999999999-99999999999999999998"}, problem.MalformedRange, "last before first, beyond 64 bits"},
		{"", []string{"tasks=0-1,5-6"}, problem.MalformedRange, "several ranges"},
		{"", []string{"tasks=0-1", "tasks=5-6"}, problem.MalformedRange, "several headers"},
		{"", []string{"tasks=0-100"}, problem.InvalidPageSize, "101 rows"},
		{"", []string{"tasks=-101"}, problem.InvalidPageSize, "101 rows"},
		{"", []string{"tasks=0-9223372036854775807"}, problem.InvalidPageSize, "2^63 rows must not wrap around"},
		{"", []string{"tasks=0-99999999999999999999"}, problem.InvalidPageSize, "more than 64 bits"},
		{"page=1", []string{"tasks=0-9"}, problem.InvalidParameter, "with a pagination parameter"},
		{"limit=1", []string{"tasks=0-9"}, problem.InvalidParameter, "with a pagination parameter"},
		{"page_token=x", []string{"tasks=0-9"}, problem.InvalidParameter, "with a pagination parameter"},
		{"include_total=true", []string{"tasks=0-9"}, problem.InvalidParameter, "Content-Range has the total already"},
		{"limit=1", []string{"bytes=0-9"}, problem.InvalidParameter, "with a pagination parameter, in any unit"},
	}
	for _, test := range tests {
		_, err := tasks.Parse(test.query, test.headers)
		if p := problem.From(err); p.Kind != test.kind {
			t.Errorf("%s: Parse(%q, %q) = %v, want %s", test.why, test.query, test.headers, err, test.kind.Name)
		} else if p.Kind == problem.InvalidPageSize && (p.Maximum != 100 || !strings.Contains(p.Detail, "100")) {
			t.Errorf("%s: maximum %d, detail %q, want both to name 100", test.why, p.Maximum, p.Detail)
		}
	}
}

func TestRangeUnsatisfied(t *testing.T) {
	tests := []struct {
		header string
		total  int64
		kind   *problem.Kind
		want   string
		why    string
	}{
		{"bytes=0-9", 42, problem.RangeUnsatisfied, "*/42", "another unit"},
		{"rows=whatever", 0, problem.RangeUnsatisfied, "*/0", "another unit, with a grammar of its own"},
		{"tasks=42-", 42, problem.RangeUnsatisfied, "*/42", "after the end"},
		{"tasks=42-50", 42, problem.RangeUnsatisfied, "*/42", "after the end"},
		{"tasks=99999999999999999999-", 42, problem.RangeUnsatisfied, "*/42", "after any end"},
		{"tasks=0-0", 0, problem.RangeUnsatisfied, "*/0", "an empty list"},
		{"tasks=-5", 0, problem.RangeUnsatisfied, "*/0", "an empty list"},
		{"tasks=-0", 42, problem.RangeUnsatisfied, "*/42", "no rows asked for"},
		{"tasks=0-", 101, problem.InvalidPageSize, "", "an open range over more than the maximum"},
		{"tasks=1-", math.MaxInt64, problem.InvalidPageSize, "", "an open range over everything"},
	}
	for _, test := range tests {
		plan, err := tasks.Parse("", []string{test.header})
		if err != nil {
			t.Errorf("%s: Parse(%q) = %v", test.why, test.header, err)
			continue
		}
		_, err = plan.Resolve(test.total)
		p := problem.From(err)
		if p.Kind != test.kind || p.Header.Get("Content-Range") != test.want {
			t.Errorf("%s: %q of %d = %v with Content-Range %q, want %s with %q", test.why, test.header, test.total, err, p.Header.Get("Content-Range"), test.kind.Name, test.want)
		}
	}
}

func TestRangeByRFC(t *testing.T) {
	list := &List{Collection: "tasks", RFC: true}
	if plan, err := list.Parse("limit=3", []string{"bytes=0-9"}); err != nil || plan.Style != Cursor || plan.Size != 3 {
		t.Errorf("another unit: %+v, %v, want the plan of the query alone", plan, err)
	}
	plan, err := list.Parse("", []string{"tasks=9-"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Resolve(9)
	if got, want := problem.From(err).Header.Get("Content-Range"), "tasks */9"; got != want {
		t.Errorf("Content-Range = %q, want %q: RFC 9110, section 14.4", got, want)
	}
}

// FuzzRange checks that whatever comes out of a header lies inside the list
// and within the maximum, and that errors have the right status.
func FuzzRange(f *testing.F) {
	for _, seed := range []string{"tasks=0-9", "tasks=5-", "tasks=-5", "bytes=0-9", "tasks=9-0", "tasks=0-1,2-3", "tasks=,", "=", "tasks=0-99999999999999999999"} {
		f.Add(seed, int64(42))
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, header string, total int64) {
		plan, err := tasks.Parse("", []string{header})
		if err != nil {
			if status := problem.From(err).Kind.Status; status != http.StatusBadRequest {
				t.Fatalf("Parse(%q): status %d, want 400", header, status)
			}
			return
		}
		span, err := plan.Resolve(total)
		if err != nil {
			if status := problem.From(err).Kind.Status; status != http.StatusBadRequest && status != http.StatusRequestedRangeNotSatisfiable {
				t.Fatalf("Resolve(%q, %d): status %d, want 400 or 416", header, total, status)
			}
			return
		}
		if span.Offset < 0 || span.Count < 1 || span.Count > 100 || span.Offset > total-int64(span.Count) {
			t.Fatalf("%q of %d: %+v lies outside", header, total, span)
		}
	})
}
