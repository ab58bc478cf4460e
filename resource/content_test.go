package resource_test

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/parley-api/parley/idempotency"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// A scroll is bytes of at most 100, that must not begin with a curse.
type scroll struct {
	Name   string `json:"name" parley:"required,max=20"`
	Size   int64  `json:"size" parley:"readonly"`
	Digest string `json:"digest" parley:"readonly"`
}

var scrolls = resource.Define("scroll", "scrolls", resource.Rules[scroll]{
	Content: &resource.Content[scroll]{
		Types: []string{"text/x-scroll"}, Digest: "digest", Size: "size", Limit: 100,
		Type: func(head []byte, declared string) (string, error) {
			if bytes.HasPrefix(head, []byte("curse")) {
				return "", problem.Forbidden.New("No curses.")
			}
			return declared, nil
		},
		Take: func(s *scroll, up resource.Upload) {
			s.Size, s.Digest = up.Size, up.Digest
			if s.Name = up.Name; s.Name == "" {
				s.Name = "nameless"
			}
		},
		Give: func(s *scroll) resource.Bytes {
			return resource.Bytes{Digest: s.Digest, Type: "text/x-scroll", Name: s.Name, Inline: true}
		},
	},
})

func TestContent(t *testing.T) {
	h := newHouse(t, scrolls)
	w := h.ask("POST", "/scrolls", "once upon a time", "Content-Disposition", `attachment; filename="tale"`)
	h.want("an upload", w, 201, `"name":"tale","size":16,"digest":"sha-256=:`)
	if got := h.emitted(); got != "scroll.created" {
		t.Errorf("events %q", got)
	}
	get := h.ask("GET", "/scrolls/1", "")
	if got := get.Body.String(); got != "once upon a time" || get.Header().Get("Content-Type") != "text/x-scroll" {
		t.Errorf("got %q, %v", got, get.Header())
	}
	if got := get.Header().Get("Content-Disposition"); got != `inline; filename="tale"` {
		t.Errorf("got Content-Disposition %s", got)
	}
	tag, described := get.Header().Get("Etag"), w.Header().Get("Etag")
	h.want("a replacement by another tag", h.ask("PUT", "/scrolls/1", "x", "If-Match", `"x"`), 412)
	h.want("a replacement unless it is these bytes", h.ask("PUT", "/scrolls/1", "x", "If-None-Match", tag), 412)
	h.want("a replacement unless it is this description", h.ask("PUT", "/scrolls/1", "x", "If-None-Match", described), 412)
	h.want("a replacement by the tag of the description", h.ask("PUT", "/scrolls/1", "second", "If-Match", described), 200, `"name":"nameless","size":6`)
	h.want("a replacement by an old tag of the bytes", h.ask("PUT", "/scrolls/1", "x", "If-Match", tag), 412)
	h.want("the same bytes again", h.ask("PUT", "/scrolls/1", "second"), 200)
	if got := h.emitted(); got != "scroll.updated" {
		t.Errorf("events %q, want one: the same bytes change nothing", got)
	}
	h.want("a deletion by an old tag", h.ask("DELETE", "/scrolls/1", "", "If-Match", tag), 412)
	h.meddle = func() { h.ask("PATCH", "/scrolls/1", `{"name":"meddled"}`, "Content-Type", resource.TypeMerge) }
	h.want("a replacement while it is renamed", h.ask("PUT", "/scrolls/1?name=third", "third"), 200, `"name":"third","size":5`)
}

// TestContentRenamed asks for many items again and again while they change:
// what is remembered of one document is never said of another.
func TestContentRenamed(t *testing.T) {
	h := newHouse(t, scrolls)
	const many = 300 // more than are remembered
	for i := range many {
		h.want("an upload", h.ask("POST", "/scrolls", fmt.Sprint(i), "Content-Disposition", fmt.Sprintf(`attachment; filename="n%d"`, i)), 201)
	}
	for _, form := range []string{"n%d", "m%d"} {
		for range 2 {
			for i := range many {
				w := h.ask("GET", fmt.Sprintf("/scrolls/%d", i+1), "")
				want := fmt.Sprintf(`inline; filename="`+form+`"`, i)
				if got := w.Header().Get("Content-Disposition"); got != want || w.Body.String() != fmt.Sprint(i) {
					t.Fatalf("item %d: got %s, %q, want %s", i+1, got, w.Body, want)
				}
			}
		}
		for i := range many {
			h.want("a renaming", h.ask("PATCH", fmt.Sprintf("/scrolls/%d", i+1), fmt.Sprintf(`{"name":"m%d"}`, i), "Content-Type", resource.TypeMerge), 200)
		}
	}
}

func TestContentRefused(t *testing.T) {
	h := newHouse(t, scrolls)
	long := strings.Repeat("x", 101)
	form := func(body string) (string, string) {
		var b strings.Builder
		m := multipart.NewWriter(&b)
		part, _ := m.CreateFormFile("f", "name")
		io.WriteString(part, body)
		m.Close()
		return b.String(), m.FormDataContentType()
	}
	formed, boundary := form(long)
	fits, boundaryFits := form(long[1:])
	cursed, boundaryCursed := form("curse you")
	for _, c := range []struct {
		why, body, contentType string
		chunked                bool
		status                 int
	}{
		{"as much as there may be", long[1:], "", false, 201},
		{"a byte more", long, "", false, 413},
		{"a byte more, of unknown length", long, "", true, 413},
		{"a byte more in a form", formed, boundary, true, 413},
		{"as much in a form", fits, boundaryFits, true, 201},
		{"what Type refuses", "curse you", "", false, 403},
		{"what Type refuses in a form", cursed, boundaryCursed, false, 403},
		{"a form that ends early", fits[:len(fits)-20], boundaryFits, true, 400},
	} {
		r := httptest.NewRequest("POST", "/scrolls", strings.NewReader(c.body))
		if c.chunked {
			r.ContentLength = -1
		}
		if c.contentType != "" {
			r.Header.Set("Content-Type", c.contentType)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if h.want(c.why, w, c.status); c.status == 413 && !strings.Contains(w.Body.String(), `"maximum":100`) {
			t.Errorf("%s: the limit is not named: %s", c.why, w.Body)
		}
	}
	r := httptest.NewRequest("POST", "/scrolls", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(problem.RequestTimeout.New("Stalled."))))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	h.want("a body that stalls", w, 408)
}

// The print of an idempotent upload is that of its bytes and what they are
// called, however they came.
func TestContentPrint(t *testing.T) {
	print := func(target, body string, header ...string) idempotency.Print {
		t.Helper()
		h := newHouse(t, scrolls)
		h.replay = &resource.Replay{Key: "k"}
		h.want(target, h.ask("POST", target, body, header...), 201)
		return h.replay.Print
	}
	base := print("/scrolls?name=a", "tale", "Content-Type", "text/plain")
	form := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\nContent-Type: text/plain\r\n\r\ntale\r\n--b--\r\n"
	for _, c := range []struct {
		why  string
		got  idempotency.Print
		same bool
	}{
		{"the same", print("/scrolls?name=a", "tale", "Content-Type", "text/plain"), true},
		{"by another way", print("/scrolls", form, "Content-Type", "multipart/form-data; boundary=b"), true},
		{"other bytes", print("/scrolls?name=a", "told", "Content-Type", "text/plain"), false},
		{"another name", print("/scrolls?name=b", "tale", "Content-Type", "text/plain"), false},
		{"another type", print("/scrolls?name=a", "tale", "Content-Type", "text/html"), false},
	} {
		if (c.got == base) != c.same {
			t.Errorf("%s: same print %v, want %v", c.why, c.got == base, c.same)
		}
	}
}

func TestContentDefinition(t *testing.T) {
	for _, c := range []struct {
		why    string
		define func()
	}{
		{"no such member", func() { define(resource.Content[scroll]{Types: []string{"a/b"}, Digest: "sum", Size: "size"}) }},
		{"a member that a client can set", func() { define(resource.Content[scroll]{Types: []string{"a/b"}, Digest: "name", Size: "size"}) }},
		{"no types", func() { define(resource.Content[scroll]{Digest: "digest", Size: "size"}) }},
		{"no size", func() { define(resource.Content[scroll]{Types: []string{"a/b"}, Digest: "digest"}) }},
		{"nowhere to keep bytes", func() { scrolls.Open(resource.Options{Calendar: newHouse(t).calendar}) }},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "resource: scrolls: ") {
					t.Errorf("%s: got %v, want a panic", c.why, p)
				}
			}()
			c.define()
		}()
	}
}

func define(c resource.Content[scroll]) {
	resource.Define("scroll", "scrolls", resource.Rules[scroll]{Content: &c})
}

// FuzzForm sends anything as a form: it is taken or it is a problem, and what
// is taken is what a slow reader of forms finds in it.
func FuzzForm(f *testing.F) {
	f.Add("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\ntale\r\n--b--\r\n")
	f.Add("--b\nContent-Disposition: form-data; name=\"name\"\n\nn\n--b\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\n\ntale\n--b--")
	f.Add("--b--")
	h := newHouse(f, scrolls)
	f.Fuzz(func(t *testing.T, body string) {
		w := h.ask("POST", "/scrolls", body, "Content-Type", "multipart/form-data; boundary=b")
		if w.Code >= 500 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		if w.Code != 201 {
			return
		}
		parsed, err := multipart.NewReader(strings.NewReader(body), "b").ReadForm(1 << 20)
		if err != nil {
			t.Fatalf("taken, and not a form: %v", err)
		}
		want := ""
		for _, files := range parsed.File {
			file, err := files[0].Open()
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(file)
			want += string(b)
		}
		if got := h.ask("GET", w.Header().Get("Location"), "").Body.String(); got != want && !strings.Contains(strings.ToLower(body), "quoted-printable") {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// FuzzDisposition names a file anything: the header that comes back is one
// line, parses, and never holds a path.
func FuzzDisposition(f *testing.F) {
	for _, name := range []string{"tale.txt", `a"b`, `..\..\x`, "/etc/passwd", "na\u00efve \u65e5\u672c", "a%41", "\u202egpj.exe", "semi;colon", "'"} {
		f.Add(name)
	}
	h := newHouse(f, scrolls)
	f.Fuzz(func(t *testing.T, name string) {
		w := h.ask("POST", "/scrolls", "x", "Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		if w.Code != 201 {
			if w.Code >= 500 {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
			return
		}
		got := h.ask("GET", w.Header().Get("Location"), "").Header().Get("Content-Disposition")
		_, parameters, err := mime.ParseMediaType(got)
		if err != nil || strings.ContainsAny(got, "\r\n\x00") {
			t.Fatalf("%q: got %q, %v", name, got, err)
		}
		if saved := parameters["filename"]; strings.ContainsAny(saved, `/\`) || saved == "" {
			t.Errorf("%q: got %q, which is saved as %q", name, got, saved)
		}
	})
}

func BenchmarkContent(b *testing.B) {
	h := newHouse(b, scrolls)
	h.ask("POST", "/scrolls", strings.Repeat("x", 100))
	r := httptest.NewRequest("GET", "/scrolls/1", nil)
	r.Header.Set("Range", "bytes=10-19")
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 206 {
			b.Fatal(w.Code)
		}
	}
}
