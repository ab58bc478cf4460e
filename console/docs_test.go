package console_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-api/parley/console"
	"github.com/parley-api/parley/problem"
)

func ask(h http.Handler, method, path string, header ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func read(t *testing.T, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func TestDocsPage(t *testing.T) {
	docs := console.Docs("Notes <1>", "/openapi?version=1&x")
	res := ask(docs, "GET", "/docs")
	body := read(t, res.Body)
	h := res.Header
	equal(t, "status", res.Status, "200 OK")
	equal(t, "Content-Type", h.Get("Content-Type"), console.ContentType)
	equal(t, "Cache-Control", h.Get("Cache-Control"), "no-cache")
	equal(t, "X-Content-Type-Options", h.Get("X-Content-Type-Options"), "nosniff")
	equal(t, "Content-Length", h.Get("Content-Length"), strconv.Itoa(len(body)))
	equal(t, "Server", h.Get("Server"), "")
	for _, bad := range []string{"unsafe", "http", "*"} {
		if csp := h.Get("Content-Security-Policy"); csp == "" || strings.Contains(csp, bad) {
			t.Errorf("Content-Security-Policy is %q, want it without %q", csp, bad)
		}
	}
	for _, want := range []string{"Notes &lt;1&gt;", `data-openapi="/openapi?version=1&amp;x"`, "<noscript>"} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	equal(t, "status of the same again", ask(docs, "GET", "/docs", "If-None-Match", h.Get("ETag")).Status, "304 Not Modified")
	equal(t, "status on another mount", ask(docs, "GET", "/api/v1/docs").Status, "200 OK")

	head := ask(docs, "HEAD", "/docs")
	equal(t, "status of HEAD", head.Status, "200 OK")
	equal(t, "Content-Length of HEAD", head.Header.Get("Content-Length"), h.Get("Content-Length"))
	equal(t, "body of HEAD", string(read(t, head.Body)), "")
}

// assets returns the paths of what the page of the reference loads.
func assets(t *testing.T, docs http.Handler) []string {
	t.Helper()
	var paths []string
	for _, e := range parse(t, read(t, ask(docs, "GET", "/docs").Body)) {
		switch {
		case e.name == "script":
			paths = append(paths, e.attr["src"])
		case e.name == "link" && e.attr["rel"] == "stylesheet":
			paths = append(paths, e.attr["href"])
		}
	}
	if len(paths) != 4 {
		t.Fatalf("the page loads %q, want two styles and two scripts", paths)
	}
	return paths
}

func TestDocsAssets(t *testing.T) {
	docs := console.Docs("Notes", "/openapi")
	for _, path := range assets(t, docs) {
		if !strings.HasPrefix(path, "/docs/") || strings.Contains(path, ".") {
			t.Errorf("%s is not a path below /docs without an extension", path)
		}
		zipped := ask(docs, "GET", path, "Accept-Encoding", "gzip, br")
		plain := ask(docs, "GET", path)
		equal(t, "Content-Encoding", zipped.Header.Get("Content-Encoding"), "gzip")
		equal(t, "Content-Encoding without", plain.Header.Get("Content-Encoding"), "")
		for _, res := range []*http.Response{zipped, plain} {
			equal(t, "status", res.Status, "200 OK")
			equal(t, "X-Content-Type-Options", res.Header.Get("X-Content-Type-Options"), "nosniff")
			equal(t, "Cache-Control", res.Header.Get("Cache-Control"), "public, max-age=31536000, immutable")
			equal(t, "Vary", res.Header.Get("Vary"), "Accept-Encoding")
			if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/") {
				t.Errorf("%s: Content-Type is %q", path, res.Header.Get("Content-Type"))
			}
		}
		if zipped.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("%s: two codings share the tag %s", path, plain.Header.Get("ETag"))
		}
		short, long := read(t, zipped.Body), read(t, plain.Body)
		equal(t, "Content-Length", zipped.Header.Get("Content-Length"), strconv.Itoa(len(short)))
		equal(t, "Content-Length without", plain.Header.Get("Content-Length"), strconv.Itoa(len(long)))
		unzip, err := gzip.NewReader(bytes.NewReader(short))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, unzip), long) {
			t.Errorf("%s: the codings differ in content", path)
		}
		equal(t, "status of the same again", ask(docs, "GET", path, "If-None-Match", plain.Header.Get("ETag")).Status, "304 Not Modified")
		equal(t, "body of HEAD", string(read(t, ask(docs, "HEAD", path).Body)), "")
	}
}

func TestDocsProblems(t *testing.T) {
	docs := console.Docs("Notes", "/openapi")
	asset := assets(t, docs)[0]
	for _, tt := range []struct {
		method, path string
		want         *problem.Kind
		why          string
	}{
		{"GET", "/docs/", problem.NotFound, "a trailing slash"},
		{"GET", "/docs/swagger-ui.css", problem.NotFound, "a name without its hash"},
		{"GET", asset + "/x", problem.NotFound, "below a file"},
		{"GET", "/docs/../docs.go", problem.NotFound, "out of the folder"},
		{"GET", "/elsewhere", problem.NotFound, "not ours"},
		{"POST", "/docs/nothing", problem.NotFound, "what does not exist has no methods"},
		{"POST", "/docs", problem.MethodNotAllowed, "the page"},
		{"DELETE", asset, problem.MethodNotAllowed, "a file"},
		{"HEAD", "/docs/nothing", problem.NotFound, "HEAD as GET"},
	} {
		res := ask(docs, tt.method, tt.path)
		h := res.Header
		equal(t, tt.why+": status", strconv.Itoa(res.StatusCode), strconv.Itoa(tt.want.Status))
		equal(t, tt.why+": Content-Type", h.Get("Content-Type"), problem.ContentType)
		equal(t, tt.why+": Cache-Control", h.Get("Cache-Control"), "no-store")
		equal(t, tt.why+": X-Content-Type-Options", h.Get("X-Content-Type-Options"), "nosniff")
		if tt.want == problem.MethodNotAllowed {
			equal(t, tt.why+": Allow", h.Get("Allow"), "GET, HEAD")
		}
		if tt.method == "HEAD" {
			continue
		}
		var body struct{ Type string }
		if err := json.Unmarshal(read(t, res.Body), &body); err != nil || body.Type != tt.want.Type() {
			t.Errorf("%s: the body has type %q (%v), want %q", tt.why, body.Type, err, tt.want.Type())
		}
	}
}
