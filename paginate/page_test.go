package paginate

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
)

func rows(n int) Page {
	return Page{Rows: n, Item: func(dst []byte, i int) []byte {
		dst = append(dst, `{"id":`...)
		dst = strconv.AppendInt(dst, int64(i+1), 10)
		return append(dst, `,"title":"Write the minutes","status":"pending"}`...)
	}}
}

// render gives the body with both cursors replaced, and the Link header.
func render(t *testing.T, query string, page Page) (body, header string) {
	t.Helper()
	plan, err := tasks.Parse(query, nil)
	if err != nil {
		t.Fatal(err)
	}
	links, err := plan.Links("/v1/tasks", page, testKeys(t), home, now)
	if err != nil {
		t.Fatal(err)
	}
	body = string(plan.Append([]byte("<"), page, links))
	if !strings.HasPrefix(body, "<") || !json.Valid([]byte(body[1:])) {
		t.Fatalf("body %s: want valid JSON after what was in the buffer", body)
	}
	body, header = body[1:], links.Header()
	for cursor, name := range map[string]string{links.NextCursor: "NEXT", links.PrevCursor: "PREV"} {
		if cursor != "" {
			body, header = strings.ReplaceAll(body, cursor, name), strings.ReplaceAll(header, cursor, name)
		}
	}
	return body, header
}

func TestEnvelope(t *testing.T) {
	one := Page{Rows: 1, Item: func(dst []byte, i int) []byte { return append(dst, '1') }}
	both := one
	both.HasNext, both.HasPrev, both.Total = true, true, 41
	next := one
	next.HasNext = true
	tests := []struct {
		query        string
		page         Page
		body, header string
		why          string
	}{
		{"", Page{},
			`{"data":[],"pagination":{"limit":20,"next_cursor":null,"prev_cursor":null,"has_more":false},"_links":{"self":"/v1/tasks"}}`, "",
			"an empty list, no parameter"},
		{"", next,
			`{"data":[1],"pagination":{"limit":20,"next_cursor":"NEXT","prev_cursor":null,"has_more":true},"_links":{"self":"/v1/tasks","next":"/v1/tasks?cursor=NEXT"}}`,
			`</v1/tasks?cursor=NEXT>; rel="next"`,
			"the first page"},
		{"status=done&cursor=x&limit=5&include_total=true", both,
			`{"data":[1],"pagination":{"limit":5,"next_cursor":"NEXT","prev_cursor":"PREV","has_more":true,"total":41},"_links":{"self":"/v1/tasks?status=done&cursor=x&limit=5&include_total=true","next":"/v1/tasks?status=done&cursor=NEXT&limit=5&include_total=true"}}`,
			`</v1/tasks?status=done&cursor=NEXT&limit=5&include_total=true>; rel="next", </v1/tasks?status=done&cursor=PREV&limit=5&include_total=true>; rel="prev"`,
			"a page in the middle keeps the other parameters"},
		{"page=1", next,
			`{"data":[1],"pagination":{"page":1,"size":20},"_links":{"self":"/v1/tasks?page=1","first":"/v1/tasks?page=1","next":"/v1/tasks?page=2"}}`,
			`</v1/tasks?page=2>; rel="next", </v1/tasks?page=1>; rel="first"`,
			"offset without the total"},
		{"size=20&sort=-id&include_total=true", both,
			`{"data":[1],"pagination":{"page":1,"size":20,"total":41,"total_pages":3},"_links":{"self":"/v1/tasks?size=20&sort=-id&include_total=true","first":"/v1/tasks?size=20&sort=-id&include_total=true&page=1","next":"/v1/tasks?size=20&sort=-id&include_total=true&page=2","last":"/v1/tasks?size=20&sort=-id&include_total=true&page=3"}}`,
			`</v1/tasks?size=20&sort=-id&include_total=true&page=2>; rel="next", </v1/tasks?size=20&sort=-id&include_total=true&page=1>; rel="first", </v1/tasks?size=20&sort=-id&include_total=true&page=3>; rel="last"`,
			"offset with the total; the first page has no prev whatever HasPrev says"},
		{"page=3", one,
			`{"data":[1],"pagination":{"page":3,"size":20},"_links":{"self":"/v1/tasks?page=3","first":"/v1/tasks?page=1","prev":"/v1/tasks?page=2"}}`,
			`</v1/tasks?page=2>; rel="prev", </v1/tasks?page=1>; rel="first"`,
			"the last page in offset style"},
		{"page=9&include_total=true", Page{Total: 41},
			`{"data":[],"pagination":{"page":9,"size":20,"total":41,"total_pages":3},"_links":{"self":"/v1/tasks?page=9&include_total=true","first":"/v1/tasks?page=1&include_total=true","prev":"/v1/tasks?page=3&include_total=true","last":"/v1/tasks?page=3&include_total=true"}}`,
			`</v1/tasks?page=3&include_total=true>; rel="prev", </v1/tasks?page=1&include_total=true>; rel="first", </v1/tasks?page=3&include_total=true>; rel="last"`,
			"past the end: empty, and prev is the last page there is"},
		{"page=1&include_total=true", Page{},
			`{"data":[],"pagination":{"page":1,"size":20,"total":0,"total_pages":0},"_links":{"self":"/v1/tasks?page=1&include_total=true","first":"/v1/tasks?page=1&include_total=true","last":"/v1/tasks?page=1&include_total=true"}}`,
			`</v1/tasks?page=1&include_total=true>; rel="first", </v1/tasks?page=1&include_total=true>; rel="last"`,
			"an empty list has no pages; its first page still answers"},
		{"page_size=5", next,
			`{"tasks":[1],"next_page_token":"NEXT"}`,
			`</v1/tasks?page_size=5&page_token=NEXT>; rel="next"`,
			"token style names the array after the collection"},
		{"page_size=5&include_total=true", Page{Rows: 1, Item: one.Item, Total: 1},
			`{"tasks":[1],"total":1}`, "",
			"no token at the end"},
		{"page_size=5&include_total=true", Page{Total: -1},
			`{"tasks":[]}`, "",
			"a total that is not known"},
	}
	for _, test := range tests {
		body, header := render(t, test.query, test.page)
		if body != test.body {
			t.Errorf("%s: %q gives\n%s\nwant\n%s", test.why, test.query, body, test.body)
		}
		if header != test.header {
			t.Errorf("%s: %q gives Link\n%s\nwant\n%s", test.why, test.query, header, test.header)
		}
	}
}

func TestRangedBody(t *testing.T) {
	plan, err := tasks.Parse("", []string{"tasks=0-1"})
	if err != nil {
		t.Fatal(err)
	}
	page := rows(2)
	page.HasNext = true
	links, err := plan.Links("/tasks", page, nil, home, now)
	if err != nil || links != (Links{}) {
		t.Errorf("links = %+v, %v, want none: a URL cannot carry a range", links, err)
	}
	got := string(plan.Append(nil, page, links))
	if want := `{"data":[{"id":1,"title":"Write the minutes","status":"pending"},{"id":2,"title":"Write the minutes","status":"pending"}]}`; got != want {
		t.Errorf("body = %s, want %s", got, want)
	}
}

func TestLinksEscape(t *testing.T) {
	plan, err := tasks.Parse(`status="><a>\ä%22&limit=1&&sort=a+b`, nil)
	if err != nil {
		t.Fatal(err)
	}
	links, err := plan.Links(`/t"?s`, Page{}, nil, home, now)
	want := `/t%22%3Fs?status=%22%3E%3Ca%3E%5C%C3%A4%22&limit=1&sort=a+b`
	if err != nil || links.Self != want {
		t.Errorf("self = %s, %v, want %s", links.Self, err, want)
	}
}

func TestLinksDirection(t *testing.T) {
	plan, _ := tasks.Parse("", nil)
	keys := testKeys(t)
	links, err := plan.Links("/tasks", Page{HasNext: true, HasPrev: true, Next: spot, Prev: spot}, keys, home, now)
	if err != nil {
		t.Fatal(err)
	}
	for cursor, back := range map[string]bool{links.NextCursor: false, links.PrevCursor: true} {
		plan, err := tasks.Parse("cursor="+cursor, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := spot
		want.Back = back
		if got, err := plan.Resume(keys, home, now); err != nil || got != want {
			t.Errorf("resumed at %+v, %v, want %+v", got, err, want)
		}
		if _, err := plan.Resume(keys, home, later); problem.From(err).Kind != problem.ExpiredCursor {
			t.Errorf("after %v: %v, want expired-cursor", Lifetime, err)
		}
	}
	if _, err := plan.Links("/tasks", Page{HasNext: true, Next: Position{Text: strings.Repeat("x", MaxText+1)}}, keys, home, now); err == nil {
		t.Error("a position that does not fit was linked to, want an error")
	}
}

func BenchmarkAppend(b *testing.B) {
	keys := testKeys(b)
	page := rows(100)
	page.HasNext, page.HasPrev, page.Next, page.Prev = true, true, spot, spot
	for name, query := range map[string]string{"cursor": "limit=100", "offset": "page=2&size=100", "token": "page_size=100"} {
		b.Run(name, func(b *testing.B) {
			plan, err := tasks.Parse(query, nil)
			if err != nil {
				b.Fatal(err)
			}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				links, _ := plan.Links("/v1/tasks", page, keys, home, now)
				buf = plan.Append(buf[:0], page, links)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkLinks(b *testing.B) {
	keys := testKeys(b)
	plan, _ := tasks.Parse("limit=20&status=done", nil)
	page := Page{HasNext: true, HasPrev: true, Next: spot, Prev: spot}
	b.ReportAllocs()
	for b.Loop() {
		links, _ := plan.Links("/v1/tasks", page, keys, home, now)
		_ = links.Header()
	}
}
