package parley_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/version"
)

// A rule holds for every answer of the service.
type rule struct {
	why   string // the rule, and where it is written
	check func(w *wire, s *sent, a *answer) error
}

// rules are what the contract says of the whole interface.
var rules = []rule{
	{"spec, What the service does: responses must declare whether they are cacheable", cacheability},
	{"decisions, Bodies: Vary is complete", varies},
	{"decisions, Bodies: no answer is sniffed for another type", func(_ *wire, _ *sent, a *answer) error {
		return want(a, "X-Content-Type-Options", "nosniff")
	}},
	{"an answer and its log line are found by one id", func(_ *wire, s *sent, a *answer) error {
		if given := s.header.Get("X-Request-Id"); harmless.MatchString(given) {
			return want(a, "X-Request-Id", given)
		}
		if got := a.header.Get("X-Request-Id"); !harmless.MatchString(got) {
			return fmt.Errorf("got X-Request-Id: %q", got)
		}
		return nil
	}},
	{"decisions, Paths, mounts and versions: API-Version on every response, and the headers of a deprecated version on its own only", announced},
	{"the software is nobody's business", func(w *wire, _ *sent, a *answer) error {
		if w.proxy && proxyOwns["Server"] != "" {
			return want(a, "Server", "nginx") // and no version
		}
		return errors.Join(absent(a, "Server"), absent(a, "X-Powered-By"))
	}},
	{"RFC 9110, 6.6.1: a server with a clock sends Date", func(_ *wire, _ *sent, a *answer) error {
		_, err := http.ParseTime(a.header.Get("Date"))
		return err
	}},
	{"decisions, Who may do what: the quota is on every answer", func(_ *wire, _ *sent, a *answer) error {
		return errors.Join(present(a, "RateLimit"), present(a, "RateLimit-Policy"))
	}},
	{"RFC 9110, 6.4.1, 15.3.5 and 15.4.5: HEAD, 204 and 304 have no body", bodiless},
	{"spec, Errors: errors are problem details, and nothing else is", problems},
	{"RFC 9110, 15: what a status must bring along", companions},
	{"decisions, Who may do what: keys and secrets never appear", secretive},
	{"decisions, Bodies: a value that a client sent is never echoed back in an error", noEcho},
	{"decisions, Running it: no web origin may read an answer unless configured", func(w *wire, _ *sent, a *answer) error {
		if w.cors {
			return nil
		}
		return absent(a, "Access-Control-Allow-Origin")
	}},
}

// harmless is an id that may stand in a log.
var harmless = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// judge checks an answer against everything that holds for all.
func (w *wire) judge(s *sent, a *answer) {
	w.Helper()
	for _, r := range rules {
		if err := r.check(w, s, a); err != nil {
			w.Errorf("%s: %v (%s)", s.line, err, r.why)
		}
	}
	if err := w.docs.check(w, s, a); err != nil {
		w.Errorf("%s: %d is not as the service's own description says: %v", s.line, a.status, err)
	}
	kind := ""
	if a.is(problem.ContentType) && s.method != "HEAD" {
		kind = a.problem().Type
	}
	w.seen.add(a.status, kind)
}

func want(a *answer, name, value string) error {
	if got := a.header.Get(name); got != value {
		return fmt.Errorf("got %s: %q, want %q", name, got, value)
	}
	return nil
}

func present(a *answer, name string) error {
	if a.header.Get(name) == "" {
		return fmt.Errorf("got no %s, want one", name)
	}
	return nil
}

func absent(a *answer, name string) error {
	if v := a.header.Get(name); v != "" {
		return fmt.Errorf("got %s: %s, want none", name, v)
	}
	return nil
}

// cacheability: errors and what has no ETag are not stored; the rest is
// checked before it is used again, or names its own lifetime and is public.
func cacheability(_ *wire, _ *sent, a *answer) error {
	got := a.header.Get("Cache-Control")
	switch {
	case a.status >= 400:
		return want(a, "Cache-Control", "no-store")
	case got == "no-store":
		return nil
	case got != "private, no-cache" && got != "no-cache" && got != "public, max-age=31536000, immutable":
		return fmt.Errorf("got Cache-Control: %q", got)
	}
	return present(a, "ETag")
}

func varies(w *wire, _ *sent, a *answer) error {
	names := []string{"Accept", "API-Version", "Authorization"}
	if w.cors {
		names = append(names, "Origin")
	}
	got := strings.ToLower(strings.Join(a.header.Values("Vary"), ","))
	for _, name := range names {
		if !slices.ContainsFunc(strings.Split(got, ","), func(s string) bool { return strings.TrimSpace(s) == strings.ToLower(name) }) {
			return fmt.Errorf("got Vary: %s, want %s in it", got, name)
		}
	}
	return nil
}

func announced(w *wire, _ *sent, a *answer) error {
	v := version.BuiltIn().Find(a.header.Get("API-Version"))
	if v == nil || v.Name != a.header.Get("API-Version") {
		return fmt.Errorf("got API-Version: %q, want the name of a version", a.header.Get("API-Version"))
	}
	links := strings.Join(a.header.Values("Link"), ", ")
	if v.Deprecated.IsZero() || w.clock.now().Before(v.Deprecated) {
		if strings.Contains(links, "successor-version") {
			return fmt.Errorf("got Link: %s, want none to a successor", links)
		}
		return errors.Join(absent(a, "Deprecation"), absent(a, "Sunset"))
	}
	for _, rel := range []string{`<https://api.example.com/v`, `>; rel="successor-version"`, `/versions/` + v.Name + `>; rel="deprecation"`} {
		if !strings.Contains(links, rel) {
			return fmt.Errorf("got Link: %s, want %s in it", links, rel)
		}
	}
	return errors.Join(present(a, "Deprecation"), want(a, "Sunset", v.Sunset.Format(http.TimeFormat)))
}

func bodiless(_ *wire, s *sent, a *answer) error {
	none := s.method == "HEAD" || a.status == 204 || a.status == 304
	if none && len(a.body) > 0 {
		return fmt.Errorf("got a body of %d bytes, want none", len(a.body))
	}
	if !none && len(a.body) == 0 && !(a.header.Get("Repr-Digest") != "" && a.header.Get("Content-Length") == "0") { // an empty file
		return errors.New("got no body, want one")
	}
	if a.status == 204 {
		return errors.Join(absent(a, "Content-Length"), absent(a, "Content-Type"))
	}
	return nil
}

// A problemBody is a problem detail as a client reads it.
type problemBody struct {
	Type, Title, Detail, Instance string
	Status                        int
	RequestID                     string `json:"request_id"`
	RetryAfter                    int    `json:"retry_after"`
}

func (a *answer) problem() (p problemBody) {
	json.Unmarshal(a.body, &p)
	return p
}

// plainError reports whether it is an error of version 2024-11-01, which had
// one text in a JSON object; file past.txt shows them.
func (a *answer) plainError() bool {
	return a.status >= 400 && a.status != 410 && a.header.Get("API-Version") == "2024-11-01" && a.is("application/json")
}

// extensions are the members a problem may have besides its five: decisions,
// Names on the wire.
var extensions = []string{"errors", "parameter", "maximum", "allowed", "retry_after", "request_id"}

func problems(_ *wire, s *sent, a *answer) error {
	if a.plainError() {
		return nil
	}
	if failed := a.status >= 400; failed != a.is(problem.ContentType) {
		return fmt.Errorf("got Content-Type: %s with status %d", a.header.Get("Content-Type"), a.status)
	}
	if a.status < 400 || s.method == "HEAD" {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &members); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(members))
	for _, name := range []string{"type", "title", "status", "detail", "instance"} {
		if members[name] == nil {
			return fmt.Errorf("the member %s is missing: %s", name, a.body)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	}
	for _, name := range names {
		if !slices.Contains(extensions, name) {
			return fmt.Errorf("the member %s is not registered: %s", name, a.body)
		}
	}
	p := a.problem()
	i := slices.IndexFunc(problem.Kinds(), func(k *problem.Kind) bool { return k.Type() == p.Type })
	if i < 0 {
		return fmt.Errorf("the type %s is not registered", p.Type)
	}
	kind := problem.Kinds()[i]
	switch {
	case p.Status != a.status || kind.Status != a.status:
		return fmt.Errorf("got the status %d in the body of a %d", p.Status, a.status)
	case p.Title != kind.Title || p.Detail == "":
		return fmt.Errorf("got the title %q and the detail %q", p.Title, p.Detail)
	case p.Instance != s.path():
		return fmt.Errorf("got the instance %q, want the path of the request target, %q", p.Instance, s.path())
	case p.RequestID != a.header.Get("X-Request-Id"):
		return fmt.Errorf("got the request_id %q, want that of the header, %q", p.RequestID, a.header.Get("X-Request-Id"))
	case p.RetryAfter > 0 && a.header.Get("Retry-After") != strconv.Itoa(p.RetryAfter):
		return fmt.Errorf("got retry_after %d and Retry-After %q", p.RetryAfter, a.header.Get("Retry-After"))
	}
	return nil
}

// companions are the headers that a status asks for.
func companions(_ *wire, s *sent, a *answer) error {
	switch a.status {
	case 201:
		return present(a, "Location")
	case 206:
		if a.is("multipart/byteranges") { // each part has its own
			return errors.Join(absent(a, "Content-Range"), present(a, "Accept-Ranges"))
		}
		return errors.Join(present(a, "Content-Range"), present(a, "Accept-Ranges"))
	case 304:
		return errors.Join(present(a, "ETag"), absent(a, "Content-Type"))
	case 401:
		return present(a, "WWW-Authenticate")
	case 405:
		return present(a, "Allow")
	case 415:
		for _, name := range []string{"Accept-Post", "Accept-Patch", "Accept", "Accept-Encoding"} {
			if a.header.Get(name) != "" {
				return nil
			}
		}
		return errors.New("got no header that says what is accepted")
	case 416:
		if got := a.header.Get("Content-Range"); !regexp.MustCompile(`^([a-z-]+ )?\*/[0-9]+$`).MatchString(got) {
			return fmt.Errorf("got Content-Range: %q, want */<total>", got)
		}
	case 429, 503:
		return present(a, "Retry-After")
	}
	return nil
}

// secrets are the keys that the conversation has seen so far.
func (w *wire) secrets() []string {
	var all []string
	for name, value := range w.vars {
		if name == "admin" || strings.HasPrefix(name, "key") || strings.HasPrefix(name, "secret") {
			all = append(all, value)
		}
	}
	return all
}

// secretive is judged before the captures of the exchange are kept, so that
// the one answer that shows a key may.
func secretive(w *wire, s *sent, a *answer) error {
	all := w.secrets()
	if _, token, ok := strings.Cut(s.header.Get("Authorization"), " "); ok && len(token) > 8 {
		all = append(all, token)
	}
	for _, secret := range append(all, blown) {
		if bytes.Contains(a.raw, []byte(secret)) {
			return errors.New("the answer shows a key, or the cause of a failure")
		}
	}
	return nil
}

// vocabulary are values that the service would name by itself.
var vocabulary = []string{
	"pending", "in_progress", "done", "true", "false", "null", "close", "tasks", "admin", "range", "bearer", "test", "replace", "remove", "move",
	"application/json", "application/merge-patch+json", "application/json-patch+json", "text/html",
	"2024-11-01", "2025-11-01", "2026-11-01", "identity",
}

// noEcho looks for values of the request in a problem. The path is excused, as
// instance; so are names, which a pointer or the member parameter repeats, and
// pointers themselves.
func noEcho(_ *wire, s *sent, a *answer) error {
	if a.status < 400 || a.plainError() || s.method == "HEAD" {
		return nil
	}
	var p map[string]any
	if err := json.Unmarshal(a.body, &p); err != nil {
		return err
	}
	delete(p, "instance")
	delete(p, "request_id")
	said := []byte(strings.Join(texts(p), "\n"))
	for _, value := range s.values() {
		if len(value) < 4 || value[0] == '/' || slices.Contains(vocabulary, strings.ToLower(value)) {
			continue
		}
		if bytes.Contains(said, []byte(value)) {
			return fmt.Errorf("the problem repeats %q: %s", value, a.body)
		}
	}
	return nil
}

// values are those of the query, the header and the body.
func (s *sent) values() []string {
	var all []string
	_, query, _ := strings.Cut(s.target, "?")
	parsed, _ := url.ParseQuery(query)
	for _, v := range parsed {
		all = append(all, v...)
	}
	for name, v := range s.header {
		if name != "X-Request-Id" && name != "Host" {
			all = append(all, v...)
		}
	}
	var body any
	if json.Unmarshal([]byte(s.text), &body) == nil {
		all = append(all, texts(body)...)
	} else if s.text != "" {
		all = append(all, s.text)
	}
	return all
}

// texts are the strings and numbers in a JSON value, without its names.
func texts(v any) []string {
	var all []string
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case float64:
		all = append(all, strconv.FormatFloat(v, 'f', -1, 64))
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	}
	return all
}

// probe asks what the file does not: HEAD after GET, the Location of what was
// created, and the page of a problem.
func (w *wire) probe(s *sent, a *answer) {
	w.Helper()
	if s.method == "GET" && s.header["Range"] == nil { // which HEAD ignores: RFC 9110, 14.2
		w.probeHead(s, a)
	}
	if a.status == 201 {
		line := "GET " + a.header.Get("Location") + " HTTP/1.1"
		got := w.ask(line, "Authorization: "+s.header.Get("Authorization"), "API-Version: "+a.header.Get("API-Version"))
		if got != nil && got.status != 200 && got.status != 403 { // a key may write and not read
			w.Errorf("%s: the Location of a 201 answers %d, want 200", line, got.status)
		}
	}
	if a.is(problem.ContentType) && s.method != "HEAD" {
		p := a.problem()
		if w.pages[p.Type] {
			return
		}
		w.pages[p.Type] = true
		got := w.ask("GET "+p.Type+" HTTP/1.1", "Accept: application/json")
		if got != nil && (got.status != 200 || got.problem().Type != p.Type || got.problem().Status != p.Status) {
			w.Errorf("the page of the problem %s answers %d %s", p.Type, got.status, got.body)
		}
	}
}

// ask sends a request of the test's own and judges the answer.
func (w *wire) ask(line string, lines ...string) *answer {
	w.Helper()
	s := newSent(strings.Join(append([]string{line}, lines...), "\n"), "")
	a, err := converse(w.addr, s)
	if err != nil {
		w.Error(err)
		return nil
	}
	w.judge(s, a)
	return a
}

var sealed = regexp.MustCompile(`(cursor|page_token)=[A-Za-z0-9_-]+`)

// probeHead compares HEAD with GET: RFC 9110, 9.3.2.
func (w *wire) probeHead(s *sent, a *answer) {
	w.Helper()
	var lines []string
	if s.header["X-Request-Id"] == nil { // one id, one length of the body
		lines = append(lines, "X-Request-Id: "+a.header.Get("X-Request-Id"))
	}
	head := s.with("HEAD", lines...)
	got, err := converse(w.addr, head)
	if err != nil {
		w.Error(err)
		return
	}
	w.judge(head, got)
	if got.status != a.status {
		w.Errorf("HEAD %s: got %d, want %d as GET", s.target, got.status, a.status)
	}
	for _, h := range []http.Header{a.header, got.header} {
		for _, name := range []string{"Date", "Ratelimit"} { // they tell the time
			h.Del(name)
		}
		for i, v := range h["Link"] { // a cursor is sealed anew each time
			h["Link"][i] = sealed.ReplaceAllString(v, "$1=")
		}
	}
	for name := range a.header {
		if !slices.Equal(a.header[name], got.header[name]) {
			w.Errorf("HEAD %s: got %s: %q, want %q as GET", s.target, name, got.header[name], a.header[name])
		}
	}
	for name := range got.header {
		if a.header[name] == nil {
			w.Errorf("HEAD %s: got %s: %q, which GET does not have", s.target, name, got.header[name])
		}
	}
}

// checkLog reads what the service logged: no key, and for every failure of its
// own a line with the request's id and the cause.
func (w *wire) checkLog() {
	w.Helper()
	log := w.log.String()
	for _, secret := range w.secrets() {
		if strings.Contains(log, secret) {
			w.Error("the log shows a key")
		}
	}
	if slices.Contains(w.file.orders, order{"room", "fuses"}) && !strings.Contains(log, blown) {
		w.Error("the log does not tell what went wrong")
	}
	for line := range strings.Lines(log) {
		var entry struct {
			ID, Level, Error string
			Status           int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			w.Errorf("the log line %q: %v", line, err)
		}
		if entry.Status >= 500 && (entry.ID == "" || entry.Error == "" || entry.Level != "ERROR") {
			w.Errorf("the log line of a %d names no id or no cause: %s", entry.Status, line)
		}
	}
}
