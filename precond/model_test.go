package precond

import (
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The model of Check: the grammar as regular expressions, and section 13.2.2
// step by step.

const tagRE = `(?:W/)?"[^\x00-\x20"\x7f]*"`

var (
	tagModel  = regexp.MustCompile(tagRE)
	listModel = regexp.MustCompile(`^[ \t]*(?:` + tagRE + `)?(?:[ \t]*,[ \t]*(?:` + tagRE + `)?)*[ \t]*$`)
	starModel = regexp.MustCompile(`^[ \t,]*\*[ \t,]*$`)
	dayModel  = regexp.MustCompile(`^[ \t]*(?:[A-Za-z]{3}, \d\d [A-Za-z]{3} \d{4} \d\d:\d\d:\d\d GMT|` +
		`[A-Za-z]{6,9}, \d\d-[A-Za-z]{3}-\d\d \d\d:\d\d:\d\d GMT|` +
		`[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d\d:\d\d:\d\d \d{4})[ \t]*$`)
)

// modelList returns the tags of a header; star where it is "*".
func modelList(lines []string) (tags []string, star, ok bool) {
	whole := strings.Join(lines, ", ")
	if starModel.MatchString(whole) {
		return nil, true, true
	}
	tags = tagModel.FindAllString(whole, -1)
	return tags, false, listModel.MatchString(whole) && len(tags) <= 100
}

func modelDate(lines []string) (time.Time, bool) {
	if len(lines) != 1 || !dayModel.MatchString(lines[0]) {
		return time.Time{}, false
	}
	t, err := http.ParseTime(strings.Trim(lines[0], " \t"))
	return t, err == nil
}

func model(method string, h http.Header, etag string, modified time.Time) string {
	reads := slices.Contains([]string{"GET", "HEAD"}, method)
	if slices.Contains([]string{"OPTIONS", "TRACE", "CONNECT"}, method) {
		return "proceed"
	}
	if lines, present := h["If-Match"]; present { // step 1
		tags, star, ok := modelList(lines)
		if !ok {
			return "400 If-Match"
		}
		holds := star && etag != ""
		for _, tag := range tags {
			holds = holds || tag == etag && !strings.HasPrefix(tag, "W/")
		}
		if !holds {
			return "412"
		}
	} else if t, ok := modelDate(h["If-Unmodified-Since"]); ok && !modified.IsZero() { // step 2
		if modified.Unix() > t.Unix() {
			return "412"
		}
	}
	if lines, present := h["If-None-Match"]; present { // step 3
		tags, star, ok := modelList(lines)
		if !ok {
			return "400 If-None-Match"
		}
		found := star && etag != ""
		for _, tag := range tags {
			found = found || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/")
		}
		if found && reads {
			return "not modified"
		} else if found {
			return "412"
		}
	} else if t, ok := modelDate(h["If-Modified-Since"]); ok && reads && !modified.IsZero() { // step 4
		if modified.Unix() <= t.Unix() {
			return "not modified"
		}
	}
	return "proceed"
}

func compare(t *testing.T, method string, h http.Header, etag string, modified time.Time) {
	t.Helper()
	result, err := Check(request(method, h), etag, modified)
	got := outcome(t, result, err)
	if want := model(method, h, etag, modified); got != want {
		t.Errorf("Check(%s %q) of %s modified %v = %s, want %s", method, h, etag, modified, got, want)
	}
	if result == NotModified && method != "GET" && method != "HEAD" {
		t.Errorf("Check(%s %q) = not modified, which is for GET and HEAD", method, h)
	}
}

func TestModel(t *testing.T) {
	for _, c := range checks {
		if got := model(c.method, c.header, c.etag, c.modified); got != c.want {
			t.Errorf("%s: the model says %s, want %s", c.why, got, c.want)
		}
	}
}

// TestCheckLikeModel tries all sorts of headers together.
func TestCheckLikeModel(t *testing.T) {
	methods := []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"}
	tags := []string{`"a"`, `W/"a"`, `"b"`, `"a,b"`, `""`, "*", "a", " ", ""}
	dates := []string{before, at, after, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "never", ""}
	current := []string{`"a"`, `W/"a"`, `"a,b"`, ""}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	for range 20_000 {
		h := http.Header{}
		for _, name := range []string{"If-Match", "If-None-Match"} {
			for range random.IntN(3) {
				h.Add(name, strings.Join([]string{pick(tags), pick(tags)}[:1+random.IntN(2)], ","))
			}
		}
		for _, name := range []string{"If-Unmodified-Since", "If-Modified-Since"} {
			for range random.IntN(2) * (1 + random.IntN(5)/4) {
				h.Add(name, pick(dates))
			}
		}
		changed := modified
		if random.IntN(4) == 0 {
			changed = time.Time{}
		}
		compare(t, pick(methods), h, pick(current), changed)
	}
}

func FuzzCheck(f *testing.F) {
	for _, c := range checks {
		since := append(c.header["If-Unmodified-Since"], c.header["If-Modified-Since"]...)
		f.Add(c.method, strings.Join(c.header["If-Match"], "\n"), strings.Join(c.header["If-None-Match"], "\n"), strings.Join(since, "\n"), c.etag)
	}
	f.Fuzz(func(t *testing.T, method, match, none, since, etag string) {
		if _, rest, ok := cut(etag + " "); etag != "" && (!ok || rest != " " || etag == "*") {
			return // the caller's duty
		}
		h := http.Header{}
		for name, value := range map[string]string{"If-Match": match, "If-None-Match": none, "If-Unmodified-Since": since, "If-Modified-Since": since} {
			if value != "" {
				h[name] = strings.Split(value, "\n")
			}
		}
		compare(t, method, h, etag, modified)
		Range(request(method, http.Header{"If-Range": {match}}), etag, modified) // must not panic
		if _, ok := modelDate([]string{since}); ok != HasMatch(request(method, http.Header{"If-Unmodified-Since": {since}})) {
			t.Errorf("HasMatch disagrees that %q is a date: %v", since, ok)
		}
	})
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{tag, "W/" + tag, at, before, "Sunday, 06-Nov-94 08:49:37 GMT", "*", `"`, "", " " + tag} {
		f.Add(s, tag)
	}
	f.Fuzz(func(t *testing.T, value, etag string) {
		got := Range(request("GET", http.Header{"If-Range": {value}}), etag, modified)
		bare := strings.Trim(value, " \t")
		strong := regexp.MustCompile(`^"[^\x00-\x20"\x7f]*"$`).MatchString(bare) && bare == etag
		day, ok := modelDate([]string{value})
		if want := strong || ok && day.Unix() == modified.Unix(); got != want {
			t.Errorf("Range(%q) of %q = %v, want %v", value, etag, got, want)
		}
	})
}
