package console_test

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-api/parley/console"
	"github.com/parley-api/parley/problem"
)

func TestProblem(t *testing.T) {
	for _, k := range problem.Kinds() {
		page := console.Problem(k)
		has(t, page,
			"<h1>"+html.EscapeString(k.Title)+"</h1>", html.EscapeString(k.Type()),
			"When it happens", html.EscapeString(k.About), "What to do", html.EscapeString(k.Remedy))
		head, body := example(t, page)
		if !strings.HasPrefix(head, "HTTP/1.1 ") || !strings.Contains(head, "Content-Type: application/problem+json\n") {
			t.Errorf("%s: the example begins with %q", k.Name, head)
		}
		var got struct {
			Type, Title, Detail, Instance string
			Status                        int
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s: the example is not JSON: %v\n%s", k.Name, err, body)
		}
		if got.Type != k.Type() || got.Title != k.Title || got.Status != k.Status || got.Instance == "" {
			t.Errorf("%s: the example is %+v", k.Name, got)
		}
		if got.Detail == k.Title {
			t.Errorf("%s: the example has no detail of its own", k.Name)
		}
	}
}

var tag = regexp.MustCompile(`<[^>]*>`)

// example returns the example answer on a page as a reader would copy it.
func example(t *testing.T, page console.Page) (head, body string) {
	t.Helper()
	_, rest, _ := bytes.Cut(page.HTML, []byte("<pre"))
	rest, _, _ = bytes.Cut(rest, []byte("</pre>"))
	text := html.UnescapeString(tag.ReplaceAllString("<pre"+string(rest), ""))
	head, body, found := strings.Cut(text, "\n\n")
	if !found {
		t.Fatalf("the example has no empty line: %q", text)
	}
	return head + "\n", body
}

func TestProblemExamples(t *testing.T) {
	for _, tt := range []struct {
		kind *problem.Kind
		want string
		why  string
	}{
		{problem.Unauthorized, "WWW-Authenticate: Bearer\n", "401 names the scheme"},
		{problem.MethodNotAllowed, "Allow: ", "405 always has Allow"},
		{problem.VersionRetired, `rel="successor-version"`, "410 points at the successor"},
		{problem.RangeUnsatisfied, "Content-Range: */1024\n", "416 gives the total"},
		{problem.RangeUnsatisfied, "416 Range Not Satisfiable\n", "the name of RFC 9110"},
		{problem.RateLimited, "Retry-After: 12\n", "429 says when"},
		{problem.ContentTooLarge, "413 Content Too Large\n", "the name of RFC 9110"},
		{problem.ValidationFailed, "422 Unprocessable Content\n", "the name of RFC 9110"},
	} {
		if head, _ := example(t, console.Problem(tt.kind)); !strings.Contains(head, tt.want) {
			t.Errorf("%s: the example is %q, want it to have %q: %s", tt.kind.Name, head, tt.want, tt.why)
		}
	}
	own := &problem.Kind{Name: "out-of-ink", Title: "Out of ink", Status: 503, About: "The pen is empty.", Remedy: "Dip it."}
	if _, body := example(t, console.Problem(own)); !strings.Contains(body, `"detail": "The pen is empty."`) {
		t.Errorf("the example of a kind of one's own is %s", body)
	}
}

func TestProblems(t *testing.T) {
	kinds := []*problem.Kind{problem.NotFound, problem.Internal, problem.MalformedJSON, problem.BadRequest}
	page := console.Problems(kinds)
	has(t, page, `href="#status-400"`, `href="#status-404"`, `href="#status-500"`,
		`<h2 id="status-400">400 Bad Request</h2>`, `href="/problems/malformed-json"`, `href="/problems/bad-request"`,
		`<h2 id="status-404">404 Not Found</h2>`, `href="/problems/not-found"`,
		`<h2 id="status-500">500 Internal Server Error</h2>`, `href="/problems/internal-error"`)
	if kinds[0] != problem.NotFound {
		t.Error("the caller's slice was sorted")
	}
	has(t, console.Problems(nil), "There are none.")
}
