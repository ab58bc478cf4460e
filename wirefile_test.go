package parley_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A wireFile is one file of testdata/wire: exchanges that a client has with a
// fresh service, one after the other. testdata/wire/README.md tells how they
// are written.
type wireFile struct {
	name      string
	orders    []order // for the whole file
	exchanges []*exchange
}

// An order is a line "#! verb argument": something that no client can say.
type order struct{ verb, argument string }

// An exchange is a request and what must come back.
type exchange struct {
	title  string
	line   int // where it begins in the file
	notes  int // lines that say what it shows
	orders []order

	head string // the request line and the header lines, as written
	body string // as written

	status  int
	reason  string
	headers []headerRule
	answer  string // the pattern of the body; "" means that there is none
}

// A headerRule is a line "Name: pattern", or "!Name" for one that must not be.
type headerRule struct {
	name, pattern string
	absent        bool
}

// has reports whether the exchange has an order.
func (x *exchange) has(verb string) bool {
	return slices.ContainsFunc(x.orders, func(o order) bool { return o.verb == verb })
}

// readWireFiles reads every file of testdata/wire.
func readWireFiles(t testing.TB) []*wireFile {
	t.Helper()
	paths, err := filepath.Glob("testdata/wire/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in testdata/wire (error %v)", err)
	}
	var all []*wireFile
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parseWireFile(string(text))
		if err != nil {
			t.Fatalf("%s:%v", path, err)
		}
		f.name = strings.TrimSuffix(filepath.Base(path), ".txt")
		all = append(all, f)
	}
	return all
}

// parseWireFile reads the text of a file. The error begins with the line.
func parseWireFile(text string) (*wireFile, error) {
	f := &wireFile{}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	begin := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "=== ") })
	if begin < 0 {
		return nil, errors.New("1: no exchange: a line that begins with === is missing")
	}
	for i, line := range lines[:begin] {
		if o, ok := parseOrder(line); ok {
			f.orders = append(f.orders, o)
		} else if line != "" && line[0] != '#' {
			return nil, fmt.Errorf("%d: text before the first exchange must be a comment", i+1)
		}
	}
	for begin < len(lines) {
		end := begin + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "=== ") {
			end++
		}
		x, err := parseExchange(lines[begin:end])
		if err != nil {
			return nil, fmt.Errorf("%d: %w", begin+1, err)
		}
		x.line = begin + 1
		f.exchanges = append(f.exchanges, x)
		begin = end
	}
	return f, nil
}

func parseOrder(line string) (order, bool) {
	rest, ok := strings.CutPrefix(line, "#! ")
	if !ok {
		return order{}, false
	}
	verb, argument, _ := strings.Cut(rest, " ")
	return order{verb, argument}, true
}

// parseExchange reads the lines from === to the next one.
func parseExchange(lines []string) (*exchange, error) {
	x := &exchange{title: strings.TrimPrefix(lines[0], "=== ")}
	lines = lines[1:]
	for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		if o, ok := parseOrder(lines[0]); ok {
			x.orders = append(x.orders, o)
		} else {
			x.notes++
		}
		lines = lines[1:]
	}
	ruler := slices.Index(lines, "---")
	switch {
	case x.notes == 0:
		return nil, errors.New("no comment that says what the exchange shows")
	case ruler < 1:
		return nil, errors.New("no request, or no line --- after it")
	}
	x.head, x.body = split(lines[:ruler])
	head, answer := split(lines[ruler+1:])
	x.answer = answer
	return x, x.parseHead(strings.Split(head, "\n"))
}

// split separates the header from the body, at the first empty line. Empty
// lines at the end of the body are for the eye.
func split(lines []string) (head, body string) {
	blank := slices.Index(lines, "")
	if blank < 0 {
		return strings.Join(lines, "\n"), ""
	}
	return strings.Join(lines[:blank], "\n"), strings.TrimRight(strings.Join(lines[blank+1:], "\n"), "\n")
}

// parseHead reads the expected status line and header lines.
func (x *exchange) parseHead(lines []string) error {
	rest, ok := strings.CutPrefix(lines[0], "HTTP/1.1 ")
	code, reason, _ := strings.Cut(rest, " ")
	var err error
	if x.status, err = strconv.Atoi(code); err != nil || !ok {
		return fmt.Errorf("%q is not a status line", lines[0])
	}
	x.reason = reason
	for _, line := range lines[1:] {
		if name, ok := strings.CutPrefix(line, "!"); ok {
			x.headers = append(x.headers, headerRule{name: name, absent: true})
			continue
		}
		name, pattern, ok := strings.Cut(line, ": ")
		if !ok {
			return fmt.Errorf("%q is not a header line", line)
		}
		x.headers = append(x.headers, headerRule{name: name, pattern: pattern})
	}
	return nil
}

// variables are what was captured so far, by name.
type variables map[string]string

var reference = regexp.MustCompile(`\{\{([^{}]+)\}\}`)

// expand replaces {{name}} by the variable, {{repeat 3 text}} by texttexttext
// and {{bytes ff fe}} by those octets.
func (v variables) expand(text string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(text, func(s string) string {
		words := strings.SplitN(s[2:len(s)-2], " ", 3)
		switch {
		case words[0] == "repeat" && len(words) == 3:
			n, err := strconv.Atoi(words[1])
			if err != nil || n < 0 || n > 4<<20 {
				failed = fmt.Errorf("%s repeats too much or nothing", s)
				return ""
			}
			return strings.Repeat(words[2], n)
		case words[0] == "bytes":
			b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(words[1:], ""), " ", ""))
			if err != nil {
				failed = err
			}
			return string(b)
		}
		value, ok := v[words[0]]
		if !ok {
			failed = fmt.Errorf("nothing is called %s yet", s)
		}
		return value
	})
	return out, failed
}

// A matcher compares what came with a pattern. Captures are kept in vars once
// the whole exchange matched.
type matcher struct {
	vars  variables
	fresh variables
	order bool // members must stand in the order of the pattern
}

// commit keeps what was captured.
func (m *matcher) commit() {
	for name, value := range m.fresh {
		m.vars[name] = value
	}
}

func (m *matcher) known(name string) (string, bool) {
	if v, ok := m.fresh[name]; ok {
		return v, true
	}
	v, ok := m.vars[name]
	return v, ok
}

// placeholder is <*>, <time>, <name>, <name:time>, <name:word> or <?expression>.
var placeholder = regexp.MustCompile(`<(\*|\?[^>]+|[a-z][a-z0-9_]*(:time|:word)?)>`)

// plain finds the placeholders that stand in text that is not JSON, where
// <name> may be a tag.
var plain = regexp.MustCompile(`<(\*|\?[^>]+|[a-z][a-z0-9_]*:(time|word))>`)

// kinds are the expressions of what is captured.
var kinds = map[string]string{"": `.+?`, "time": timePattern, "word": `[A-Za-z0-9_.-]+`}

const timePattern = `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z`

// text compares a text with a pattern whose placeholders are found by marks.
func (m *matcher) text(pattern, got string, marks *regexp.Regexp) error {
	var b strings.Builder
	var names []string
	b.WriteString(`(?s)\A`)
	at := 0
	for _, loc := range marks.FindAllStringIndex(pattern, -1) {
		b.WriteString(regexp.QuoteMeta(pattern[at:loc[0]]))
		at = loc[1]
		name, kind, _ := strings.Cut(pattern[loc[0]+1:loc[1]-1], ":")
		value, known := m.known(name)
		switch {
		case name == "*":
			b.WriteString(`.*?`)
		case name == "time":
			b.WriteString(timePattern)
		case name[0] == '?':
			b.WriteString("(?:" + pattern[loc[0]+2:loc[1]-1] + ")")
		case known:
			b.WriteString(regexp.QuoteMeta(value))
		default:
			names = append(names, name)
			b.WriteString("(?P<" + name + ">" + kinds[kind] + ")")
		}
	}
	b.WriteString(regexp.QuoteMeta(pattern[at:]) + `\z`)
	expr, err := regexp.Compile(b.String())
	if err != nil {
		return err
	}
	found := expr.FindStringSubmatch(got)
	if found == nil {
		return fmt.Errorf("got %s, want %s", clip(got), clip(pattern))
	}
	for _, name := range names {
		m.fresh[name] = found[expr.SubexpIndex(name)]
	}
	return nil
}

func clip(s string) string {
	if len(s) > 400 {
		s = s[:400] + "…"
	}
	return strconv.Quote(s)
}

// json compares a JSON text with a pattern: JSON in which a value may be an
// unquoted placeholder, a string may hold placeholders, and ... stands for
// further members or elements.
func (m *matcher) json(pattern string, got []byte) error {
	p := &patternReader{text: pattern}
	want, err := p.value()
	if p.space(); err == nil && p.at < len(p.text) {
		err = p.fail("text after the end")
	}
	if err != nil {
		return fmt.Errorf("the pattern of the body: %w", err)
	}
	if !jsontext.Value(got).IsValid() {
		return fmt.Errorf("the body is not JSON: %s", clip(string(got)))
	}
	return m.value("", want, got)
}

// A shape is a pattern of a JSON value.
type shape struct {
	kind    byte   // { [ " for a string, 0 for another scalar, < for a placeholder
	text    string // of a scalar or placeholder; a string's is unquoted
	names   []string
	parts   []*shape
	partial bool // ... was there
}

// value compares one value. Where is a JSON pointer.
func (m *matcher) value(where string, want *shape, got jsontext.Value) error {
	at := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s: %w", cmp.Or(where, "the body"), err)
	}
	switch want.kind {
	case '{':
		return m.object(where, want, got)
	case '[':
		return m.array(where, want, got)
	case '<':
		return at(m.text(want.text, string(compact(got)), placeholder))
	case '"':
		if got.Kind() != '"' {
			return at(fmt.Errorf("got %s, want a string", clip(string(got))))
		}
		s, err := jsontext.AppendUnquote(nil, got)
		if err != nil {
			return at(err)
		}
		return at(m.text(want.text, string(s), placeholder))
	}
	if string(got) != want.text {
		return at(fmt.Errorf("got %s, want %s", clip(string(got)), want.text))
	}
	return nil
}

func compact(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	v.Compact()
	return v
}

func (m *matcher) object(where string, want *shape, got jsontext.Value) error {
	if got.Kind() != '{' {
		return fmt.Errorf("%s: got %s, want an object", cmp.Or(where, "the body"), clip(string(got)))
	}
	names, values, err := elements(got)
	if err != nil {
		return err
	}
	last := -1
	for i, name := range want.names {
		found := slices.Index(names, name)
		if found < 0 {
			return fmt.Errorf("%s/%s is missing in %s", where, name, clip(string(got)))
		}
		if m.order && found < last {
			return fmt.Errorf("%s/%s does not stand where the file has it", where, name)
		}
		last = found
		if err := m.value(where+"/"+name, want.parts[i], values[found]); err != nil {
			return err
		}
	}
	for i, name := range names {
		if !want.partial && !slices.Contains(want.names, name) {
			return fmt.Errorf("%s/%s is not in the file: %s", where, name, clip(string(values[i])))
		}
	}
	return nil
}

func (m *matcher) array(where string, want *shape, got jsontext.Value) error {
	if got.Kind() != '[' {
		return fmt.Errorf("%s: got %s, want an array", cmp.Or(where, "the body"), clip(string(got)))
	}
	_, values, err := elements(got)
	if err != nil {
		return err
	}
	if len(values) < len(want.parts) || len(values) > len(want.parts) && !want.partial {
		return fmt.Errorf("%s: got %d elements, want %d: %s", cmp.Or(where, "the body"), len(values), len(want.parts), clip(string(got)))
	}
	for i, part := range want.parts {
		if err := m.value(where+"/"+strconv.Itoa(i), part, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// elements takes an object or array apart.
func elements(v jsontext.Value) (names []string, values []jsontext.Value, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	open, err := d.ReadToken()
	for err == nil && d.PeekKind() != '}' && d.PeekKind() != ']' {
		if open.Kind() == '{' {
			var name jsontext.Token
			if name, err = d.ReadToken(); err != nil {
				break
			}
			names = append(names, name.String())
		}
		var value jsontext.Value
		value, err = d.ReadValue()
		values = append(values, value.Clone())
	}
	return names, values, err
}

// A patternReader reads the pattern of a body.
type patternReader struct {
	text string
	at   int
}

func (p *patternReader) fail(what string) error {
	return fmt.Errorf("%s at %s", what, clip(p.text[min(p.at, len(p.text)):]))
}

func (p *patternReader) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take skips space and then s, if it is there.
func (p *patternReader) take(s string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

var scalar = regexp.MustCompile(`\A(true|false|null|-?[0-9][0-9.eE+-]*)`)

func (p *patternReader) value() (*shape, error) {
	p.space()
	rest := p.text[p.at:]
	switch {
	case rest == "":
		return nil, p.fail("the pattern ends early")
	case p.take("{"):
		return p.list('{', "}")
	case p.take("["):
		return p.list('[', "]")
	case rest[0] == '"':
		s, err := p.quoted()
		return &shape{kind: '"', text: s}, err
	}
	if loc := placeholder.FindStringIndex(rest); loc != nil && loc[0] == 0 {
		p.at += loc[1]
		return &shape{kind: '<', text: rest[:loc[1]]}, nil
	}
	if s := scalar.FindString(rest); s != "" {
		p.at += len(s)
		return &shape{text: s}, nil
	}
	return nil, p.fail("no value")
}

func (p *patternReader) quoted() (string, error) {
	p.space()
	end := p.at + 1
	for end < len(p.text) && p.text[end] != '"' {
		if p.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.text) || p.text[p.at] != '"' {
		return "", p.fail("no string")
	}
	b, err := jsontext.AppendUnquote(nil, []byte(p.text[p.at:end+1]))
	if err != nil {
		return "", p.fail(err.Error())
	}
	p.at = end + 1
	return string(b), nil
}

// list reads what stands between brackets.
func (p *patternReader) list(kind byte, end string) (*shape, error) {
	s := &shape{kind: kind}
	for first := true; !p.take(end); first = false {
		if !first && !p.take(",") {
			return nil, p.fail("no comma")
		}
		if p.take("...") {
			s.partial = true
			continue
		}
		if kind == '{' {
			name, err := p.quoted()
			if err != nil {
				return nil, err
			}
			if !p.take(":") {
				return nil, p.fail("no colon")
			}
			s.names = append(s.names, name)
		}
		part, err := p.value()
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, part)
	}
	return s, nil
}

// TestMatcher makes sure that the files can fail.
func TestMatcher(t *testing.T) {
	tests := []struct {
		why, pattern, got string
		order, want       bool
	}{
		{"the same", `{"a": 1, "b": [true, null]}`, `{"b":[true,null],"a":1}`, false, true},
		{"another number", `{"a": 1}`, `{"a":2}`, false, false},
		{"a number is not a string", `{"a": "1"}`, `{"a":1}`, false, false},
		{"a member too many", `{"a": 1}`, `{"a":1,"b":2}`, false, false},
		{"a member too few", `{"a": 1, "b": 2}`, `{"a":1}`, false, false},
		{"further members allowed", `{"a": 1, ...}`, `{"b":2,"a":1}`, false, true},
		{"an element too many", `[1]`, `[1,2]`, false, false},
		{"further elements allowed", `[1, ...]`, `[1,2]`, false, true},
		{"members in order", `{"a": 1, "b": 2}`, `{"a":1,"b":2}`, true, true},
		{"members out of order", `{"a": 1, "b": 2}`, `{"b":2,"a":1}`, true, false},
		{"a capture used twice with one value", `{"a": <x>, "b": <x>}`, `{"a":1,"b":1}`, false, true},
		{"a capture used twice with two values", `{"a": <x>, "b": <x>}`, `{"a":1,"b":2}`, false, false},
		{"a capture inside a text", `{"a": <x>, "b": "/tasks/<x>"}`, `{"a":17,"b":"/tasks/17"}`, false, true},
		{"a capture inside a text that differs", `{"a": <x>, "b": "/tasks/<x>"}`, `{"a":17,"b":"/tasks/1"}`, false, false},
		{"known before", `"<known>"`, `"yes"`, false, true},
		{"known before and different", `"<known>"`, `"no"`, false, false},
		{"any value", `{"a": <*>}`, `{"a":{"b":[1]}}`, false, true},
		{"any text is not any value", `{"a": "<*>"}`, `{"a":{"b":[1]}}`, false, false},
		{"a time", `"<time>"`, `"2026-11-15T12:00:00.123456Z"`, false, true},
		{"a time in another zone", `"<time>"`, `"2026-11-15T12:00:00+01:00"`, false, false},
		{"an expression", `"<?[a-z]+>-1"`, `"abc-1"`, false, true},
		{"an expression that does not fit", `"<?[a-z]+>-1"`, `"ABC-1"`, false, false},
		{"not JSON", `<*>`, `{`, false, false},
		{"a pattern that is none", `{"a" 1}`, `{"a":1}`, false, false},
	}
	for _, tt := range tests {
		m := &matcher{vars: variables{"known": "yes"}, fresh: variables{}, order: tt.order}
		if err := m.json(tt.pattern, []byte(tt.got)); (err == nil) != tt.want {
			t.Errorf("%s: pattern %s, body %s: got error %v, want match %v", tt.why, tt.pattern, tt.got, err, tt.want)
		}
	}
}

// FuzzWireFile feeds the parser of files and patterns with anything.
func FuzzWireFile(f *testing.F) {
	f.Add("# about\n\n=== one\n# why\nGET / HTTP/1.1\n\n---\nHTTP/1.1 200 OK\n\n{\"a\": <x>, ...}\n")
	f.Add("=== x\n# y\n---\nHTTP/1.1 200 OK")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parseWireFile(text)
		if err != nil {
			return
		}
		for _, x := range file.exchanges {
			m := &matcher{vars: variables{}, fresh: variables{}}
			m.json(x.answer, []byte(`{"a":1,"b":["c"]}`))
			m.vars.expand(x.body)
		}
	})
}
