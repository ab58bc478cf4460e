package byterange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

const testTag = `"7-bytes"`

var testTime = time.Date(2026, time.November, 1, 12, 0, 0, 999, time.UTC)

// pattern returns bytes that tell where they are.
func pattern(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

func writeFile(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bytes")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// sources are the ways to give the same bytes to Serve.
var sources = []string{"file", "reader", "section"}

// content returns bytes as one of the sources. The name is of a file that
// holds them; it is opened, and must be closed.
func content(t testing.TB, source, name string, b []byte) Content {
	t.Helper()
	c := Content{Size: int64(len(b)), ETag: testTag, Modified: testTime}
	switch source {
	case "file":
		f, err := os.Open(name)
		if err != nil {
			t.Error(err)
		}
		c.File = f
	case "reader":
		c.ReaderAt = bytes.NewReader(b)
	case "section":
		c.Section = func(_ context.Context, offset, length int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(b[offset : offset+length])), nil
		}
	}
	return c
}

// serving starts a server, set up as the service is, whose query names the source and the profile.
func serving(t testing.TB, b []byte) *httptest.Server {
	t.Helper()
	name := writeFile(t, b)
	s := httptest.NewUnstartedServer(problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		o := &Options{}
		if r.FormValue("profile") == "rfc" {
			o.Profile = RFC
		}
		c := content(t, r.FormValue("source"), name, b)
		if c.File != nil {
			defer c.File.Close()
		}
		return Serve(w, r, c, o)
	}))
	s.Config.ConnContext = ConnContext
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// An answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	length int64 // of Content-Length
	body   []byte
}

func ask(t testing.TB, method, url string, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, resp.Header, resp.ContentLength, body}
}

func fields(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// check compares an answer with what the ranges of the whole should give. No
// range means the whole.
func (a answer) check(whole []byte, ranges []Range) error {
	status := http.StatusPartialContent
	if len(ranges) == 0 {
		status, ranges = http.StatusOK, []Range{{0, int64(len(whole))}}
	}
	if a.status != status || a.header.Get("Accept-Ranges") != "bytes" || a.length != int64(len(a.body)) {
		return fmt.Errorf("got %d, Accept-Ranges %q, Content-Length %d, a body of %d bytes, want %d", a.status, a.header.Get("Accept-Ranges"), a.length, len(a.body), status)
	}
	if len(ranges) > 1 {
		return a.checkParts(whole, ranges)
	}
	want := ""
	if status == http.StatusPartialContent {
		want = ranges[0].ContentRange(int64(len(whole)))
	}
	if got := a.header.Get("Content-Range"); got != want {
		return fmt.Errorf("got Content-Range %q, want %q", got, want)
	}
	if got := a.header.Get("Content-Type"); got != "application/octet-stream" {
		return fmt.Errorf("got Content-Type %q", got)
	}
	r := ranges[0]
	if !bytes.Equal(a.body, whole[r.Start:r.Start+r.Length]) {
		return fmt.Errorf("the bytes of %v differ", r)
	}
	return nil
}

func (a answer) checkParts(whole []byte, ranges []Range) error {
	if got := a.header.Get("Content-Range"); got != "" {
		return fmt.Errorf("several parts have Content-Range %q, want none (RFC 9110, 15.3.7.2)", got)
	}
	mediaType, params, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/byteranges" {
		return fmt.Errorf("got Content-Type %q", a.header.Get("Content-Type"))
	}
	parts := multipart.NewReader(bytes.NewReader(a.body), params["boundary"])
	for i, r := range ranges {
		p, err := parts.NextRawPart()
		if err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		if got, want := p.Header.Get("Content-Range"), r.ContentRange(int64(len(whole))); got != want {
			return fmt.Errorf("part %d: got Content-Range %q, want %q", i, got, want)
		}
		if got := p.Header.Get("Content-Type"); got != "application/octet-stream" {
			return fmt.Errorf("part %d: got Content-Type %q", i, got)
		}
		if !bytes.Equal(body, whole[r.Start:r.Start+r.Length]) {
			return fmt.Errorf("part %d: the bytes differ", i)
		}
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		return fmt.Errorf("after the last part: got error %v, want the end", err)
	}
	return nil
}

// TestServe asks for every form, of every source, in both profiles, over a
// socket.
func TestServe(t *testing.T) {
	servers := map[int64]*httptest.Server{0: serving(t, nil), 100: serving(t, pattern(100))}
	for _, tt := range forms {
		for _, source := range sources {
			for _, profile := range []Profile{Spec, RFC} {
				want := tt.status
				if profile == RFC && tt.rfc != 0 {
					want = tt.rfc
				}
				url := servers[tt.size].URL + "?source=" + source + "&profile=" + profile.String()
				a := ask(t, "GET", url, fields("Range", tt.header))
				if err := a.checkForm(want, pattern(tt.size), tt.ranges, profile); err != nil {
					t.Errorf("%s: %.60q of %d bytes from a %s by %s: %v", tt.why, tt.header, tt.size, source, profile, err)
				}
			}
		}
	}
}

func (a answer) checkForm(status int, whole []byte, ranges []Range, profile Profile) error {
	if status < 400 {
		return a.check(whole, ranges)
	}
	want := ""
	if status == 416 {
		if want = "*/" + strconv.Itoa(len(whole)); profile == RFC {
			want = "bytes " + want
		}
	}
	if got := a.header.Get("Content-Range"); a.status != status || got != want {
		return fmt.Errorf("got %d with Content-Range %q, want %d with %q", a.status, got, status, want)
	}
	if got := a.header.Get("Content-Type"); got != problem.ContentType || !strings.Contains(string(a.body), fmt.Sprintf(`"status":%d`, status)) {
		return fmt.Errorf("got %s %s, want a problem", got, a.body)
	}
	return nil
}

// TestServeSizes serves parts of every size around those at which the way of
// the bytes changes.
func TestServeSizes(t *testing.T) {
	whole := pattern(3*Buffer + 5)
	s := serving(t, whole)
	sizes := []int64{1, 100, kernel - 1, kernel, kernel + 1, Buffer - 1, Buffer, Buffer + 1, 2 * Buffer, 3*Buffer + 4}
	for _, source := range sources {
		for _, n := range sizes {
			for _, start := range []int64{0, 1} {
				r := Range{start, n}
				header := fmt.Sprintf("bytes=%d-%d", start, start+n-1)
				a := ask(t, "GET", s.URL+"?source="+source, fields("Range", header))
				if err := a.check(whole, []Range{r}); err != nil {
					t.Errorf("%s of a %s: %v", header, source, err)
				}
				if r.Length > 3*Buffer {
					continue
				}
				header = fmt.Sprintf("bytes=%d-,%d-%d", len(whole)-2, start, start+n-1)
				a = ask(t, "GET", s.URL+"?source="+source, fields("Range", header))
				if err := a.check(whole, []Range{{int64(len(whole)) - 2, 2}, r}); err != nil {
					t.Errorf("%s of a %s: %v", header, source, err)
				}
			}
		}
		a := ask(t, "GET", s.URL+"?source="+source, nil)
		if err := a.check(whole, nil); err != nil {
			t.Errorf("all of a %s: %v", source, err)
		}
	}
}

func TestServeConditions(t *testing.T) {
	whole := pattern(100)
	s := serving(t, whole)
	part, date := []Range{{0, 10}}, testTime.Format(http.TimeFormat)
	for _, tt := range []struct {
		why    string
		header http.Header
		ranges []Range // none means the whole
	}{
		{"no condition", fields("Range", "bytes=0-9"), part},
		{"the tag it has", fields("Range", "bytes=0-9", "If-Range", testTag), part},
		{"another tag", fields("Range", "bytes=0-9", "If-Range", `"8"`), nil},
		{"the tag made weak", fields("Range", "bytes=0-9", "If-Range", "W/"+testTag), nil},
		{"no quotes", fields("Range", "bytes=0-9", "If-Range", "7-bytes"), nil},
		{"a star", fields("Range", "bytes=0-9", "If-Range", "*"), nil},
		{"a list", fields("Range", "bytes=0-9", "If-Range", testTag+", "+testTag), nil},
		{"two lines", fields("Range", "bytes=0-9", "If-Range", testTag, "If-Range", testTag), nil},
		{"empty", fields("Range", "bytes=0-9", "If-Range", ""), nil},
		{"the date it has", fields("Range", "bytes=0-9", "If-Range", date), part},
		{"its first obsolete form", fields("Range", "bytes=0-9", "If-Range", testTime.Format(rfc850)), part},
		{"its second", fields("Range", "bytes=0-9", "If-Range", testTime.Format(time.ANSIC)), part},
		{"an earlier date", fields("Range", "bytes=0-9", "If-Range", testTime.Add(-time.Second).Format(http.TimeFormat)), nil},
		{"a later date", fields("Range", "bytes=0-9", "If-Range", testTime.Add(time.Second).Format(http.TimeFormat)), nil},
		{"a malformed range that does not count", fields("Range", "bytes=x", "If-Range", `"8"`), nil},
		{"an unsatisfiable range that does not count", fields("Range", "bytes=100-", "If-Range", `"8"`), nil},
		{"a condition and no range", fields("If-Range", testTag), nil},
	} {
		a := ask(t, "GET", s.URL+"?source=reader", tt.header)
		if err := a.check(whole, tt.ranges); err != nil {
			t.Errorf("%s: %v", tt.why, err)
		}
		if a.header.Get("ETag") != testTag || a.header.Get("Last-Modified") != date {
			t.Errorf("%s: got ETag %q, Last-Modified %q", tt.why, a.header.Get("ETag"), a.header.Get("Last-Modified"))
		}
	}
	for _, tt := range []struct {
		why, etag string
		modified  time.Time
		value     string
	}{
		{"a weak tag never matches, not even itself", `W/"7"`, testTime, `W/"7"`},
		{"no tag is known", "", testTime, testTag},
		{"no date is known", testTag, time.Time{}, date},
		{"the date that stands for none", testTag, time.Time{}, time.Time{}.Format(http.TimeFormat)},
		{"a lone quote", `"`, testTime, `"`},
		{"a quote within", `"a"b"`, testTime, `"a"b"`},
	} {
		if heeded([]string{tt.value}, tt.etag, tt.modified) {
			t.Errorf("%s: If-Range %q counts", tt.why, tt.value)
		}
	}
}

func TestServeMethods(t *testing.T) {
	whole := pattern(100)
	s := serving(t, whole)
	for _, tt := range []struct {
		why    string
		header http.Header
	}{
		{"no range", nil},
		{"a range", fields("Range", "bytes=0-9")},
		{"a malformed one", fields("Range", "bytes=x")},
		{"an unsatisfiable one", fields("Range", "bytes=100-")},
	} {
		a := ask(t, "HEAD", s.URL+"?source=section", tt.header)
		if a.status != 200 || a.length != 100 || len(a.body) != 0 || a.header.Get("Content-Range") != "" || a.header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("HEAD with %s: got %+v", tt.why, a)
		}
	}
	a := ask(t, "POST", s.URL+"?source=reader", fields("Range", "bytes=0-9"))
	if err := a.check(whole, nil); err != nil {
		t.Errorf("POST: %v", err)
	}
	a = ask(t, "GET", s.URL+"?source=reader", fields("Range", "bytes=0-9", "Range", "bytes=20-29"))
	if a.status != 400 {
		t.Errorf("two Range headers: got %d, want 400", a.status)
	}
}

// TestServeErrors makes sure that nothing was written when an error comes
// back, and that an Interruption comes back where something was.
func TestServeErrors(t *testing.T) {
	broken := errors.New("broken")
	short := writeFile(t, pattern(10))
	shorter := func() *os.File {
		f, err := os.Open(short)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	section := func(opens int) func(context.Context, int64, int64) (io.ReadCloser, error) {
		return func(_ context.Context, _, length int64) (io.ReadCloser, error) {
			if opens--; opens < 0 {
				return nil, broken
			}
			return io.NopCloser(bytes.NewReader(make([]byte, length))), nil
		}
	}
	for _, tt := range []struct {
		why   string
		c     Content
		begun bool
		want  error // nil means any
	}{
		{"no source", Content{Size: 10}, false, nil},
		{"two sources", Content{Size: 10, ReaderAt: bytes.NewReader(nil), Section: section(9)}, false, nil},
		{"a size below zero", Content{Size: -1, ReaderAt: bytes.NewReader(nil)}, false, nil},
		{"a type that would be two header fields", Content{Size: 10, Type: "a/b\r\nX: y", ReaderAt: bytes.NewReader(nil)}, false, nil},
		{"a section that does not open", Content{Size: 1 << 20, Section: section(0)}, false, broken},
		{"a source that ends too early, at once", Content{Size: 1 << 20, ReaderAt: bytes.NewReader(make([]byte, 10))}, false, io.ErrUnexpectedEOF},
		{"the same later", Content{Size: 1 << 20, ReaderAt: bytes.NewReader(make([]byte, Buffer+10))}, true, io.ErrUnexpectedEOF},
		{"a second section that does not open", Content{Size: 1 << 20, Section: section(1)}, true, broken},
		{"a file that ends too early", Content{Size: 1 << 20, File: shorter()}, false, io.ErrUnexpectedEOF},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Range", "bytes=0-99999,200000-")
		err := Serve(w, r, tt.c, nil)
		cut, begun := errors.AsType[*Interruption](err)
		if err == nil || begun != tt.begun || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got error %v, want %v, begun %v", tt.why, err, tt.want, tt.begun)
		}
		if begun && (!cut.Source || cut.Sent != int64(w.Body.Len())) {
			t.Errorf("%s: got %+v after %d bytes", tt.why, cut, w.Body.Len())
		}
		if !begun && (w.Body.Len() > 0 || len(w.Header()) > 0) {
			t.Errorf("%s: %d bytes and header %v were written", tt.why, w.Body.Len(), w.Header())
		}
	}
}

// TestServeHeader looks at fields that the caller has set.
func TestServeHeader(t *testing.T) {
	for _, tt := range []struct {
		why, header string
		digest      string
	}{
		{"the whole keeps its digest", "", "sha-256=:whole:"},
		{"a part has another", "bytes=0-9", ""},
		{"so have parts", "bytes=0-9,20-29", ""},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		if tt.header != "" {
			r.Header.Set("Range", tt.header)
		}
		for _, name := range []string{"Content-Digest", "Repr-Digest"} {
			w.Header().Set(name, "sha-256=:whole:")
		}
		if err := Serve(w, r, Content{Size: 100, Type: "image/png", ReaderAt: bytes.NewReader(pattern(100))}, nil); err != nil {
			t.Fatal(err)
		}
		if got := w.Header().Get("Content-Digest"); got != tt.digest {
			t.Errorf("%s: got Content-Digest %q, want %q", tt.why, got, tt.digest)
		}
		if got := w.Header().Get("Repr-Digest"); got == "" {
			t.Errorf("%s: Repr-Digest is gone", tt.why)
		}
		if w.Header().Get("ETag") != "" || w.Header().Get("Last-Modified") != "" {
			t.Errorf("%s: got validators that the content does not have: %v", tt.why, w.Header())
		}
		if !strings.Contains(w.Header().Get("Content-Type")+w.Body.String(), "image/png") {
			t.Errorf("%s: its type is nowhere", tt.why)
		}
	}
}

func FuzzServe(f *testing.F) {
	for _, tt := range forms {
		f.Add(tt.header, uint8(tt.size), "GET", "", false)
	}
	f.Add("bytes=0-9", uint8(100), "GET", testTag, true)
	f.Add("bytes=0-9", uint8(100), "GET", `"8"`, true)
	f.Add("bytes=0-9", uint8(100), "HEAD", "", true)
	f.Fuzz(func(t *testing.T, header string, size uint8, method, ifRange string, rfc bool) {
		whole, o := pattern(int64(size)), &Options{}
		if rfc {
			o.Profile = RFC
		}
		want := verdict{status: 200}
		date := testTime.Format(http.TimeFormat)
		trimmed := strings.Trim(ifRange, " \t")
		if method == "GET" && (ifRange == "" || trimmed == testTag || trimmed == date || trimmed == testTime.Format(rfc850) || trimmed == testTime.Format(time.ANSIC)) {
			want = model(header, int64(size), o)
		}
		r := &http.Request{Method: method, Header: http.Header{"Range": {header}}}
		if ifRange != "" {
			r.Header["If-Range"] = []string{ifRange}
		}
		w := httptest.NewRecorder()
		err := Serve(w, r, content(t, "reader", "", whole), o)
		if err != nil {
			if got := judged(nil, err); got.status != want.status || w.Body.Len() > 0 {
				t.Errorf("Range %q of %d bytes: got %v, want %v", header, size, err, want)
			}
			return
		}
		a := answer{w.Code, w.Header(), int64(w.Body.Len()), w.Body.Bytes()}
		length, _ := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
		if method == "HEAD" {
			if a.body = whole; w.Body.Len() > 0 {
				t.Errorf("HEAD has a body")
			}
		}
		a.length = length
		if want.status >= 400 {
			t.Fatalf("Range %q of %d bytes: got %d, want %d", header, size, w.Code, want.status)
		}
		if err := a.check(whole, want.ranges); err != nil {
			t.Errorf("Range %q of %d bytes, If-Range %q: %v", header, size, ifRange, err)
		}
	})
}
