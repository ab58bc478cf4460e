package resource

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-api/parley/problem"
)

// MaxDepth is how deeply a request body may be nested.
const MaxDepth = 64

// maxErrors bounds what one answer lists.
const maxErrors = 32

// A mode says what the members of a body mean.
type mode uint8

const (
	modeCreate  mode = iota // a new resource
	modeReplace             // the whole resource: what is absent is reset
	modeMerge               // RFC 7396: what is absent stays, null resets
	modeStored              // our own document: no rules
)

// A reader reads one JSON text into a struct and gathers what is wrong with it.
type reader struct {
	buf   bytes.Buffer
	dec   jsontext.Decoder
	mode  mode
	fresh bool // in modeMerge: inside an object that was null before
	path  []byte
	errs  []problem.FieldError
}

var readers = sync.Pool{New: func() any { return new(reader) }}

var (
	errNotJSON = errors.New("not one JSON text")
	errStored  = errors.New("a member has a value of another type")
)

// decode reads body into v, an addressable struct of the plan's type. A text
// that is not JSON gives a MalformedJSON problem, one that breaks the rules a
// ValidationFailed problem; in modeStored either is an error of ours and no
// problem. In modeReplace and modeCreate v holds the values
// of members that a client cannot set.
func (p *plan) decode(body []byte, v reflect.Value, m mode) error {
	if m != modeStored && tooDeep(body) {
		return problem.MalformedJSON.Newf("The body is nested more than %d levels deep.", MaxDepth)
	}
	rd := readers.Get().(*reader)
	defer readers.Put(rd)
	rd.buf = *bytes.NewBuffer(body)
	rd.dec.Reset(&rd.buf)
	rd.mode, rd.fresh, rd.path, rd.errs = m, false, rd.path[:0], nil
	err := rd.whole(p, v)
	switch {
	case m == modeStored && (err != nil || len(rd.errs) > 0):
		return fmt.Errorf("reading a stored %v: %w", p.typ, cmp.Or(err, errStored))
	case err != nil:
		return malformed(err)
	case len(rd.errs) > 0:
		return Invalid(rd.errs...)
	}
	return nil
}

// Invalid returns the 422 problem for these errors, of which it lists 32 at most.
func Invalid(errs ...problem.FieldError) *problem.Problem {
	p := problem.ValidationFailed.New("The body is well-formed and not valid: see errors.")
	p.Errors = errs[:min(len(errs), maxErrors)]
	return p
}

// malformed explains a syntax error without repeating what was sent.
func malformed(err error) *problem.Problem {
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return problem.MalformedJSON.Newf("A member name is repeated, at byte %d of the body.", syn.ByteOffset)
		}
		return problem.MalformedJSON.Newf("The body is not well-formed JSON, at byte %d.", syn.ByteOffset)
	}
	return problem.MalformedJSON.New("The body is not one complete JSON text.")
}

// CheckJSON reports whether body is one well-formed JSON text within the limits.
// The error is a problem.
func CheckJSON(body []byte) error {
	if tooDeep(body) {
		return problem.MalformedJSON.Newf("The body is nested more than %d levels deep.", MaxDepth)
	}
	rd := readers.Get().(*reader)
	defer readers.Put(rd)
	rd.buf = *bytes.NewBuffer(body)
	rd.dec.Reset(&rd.buf)
	if err := rd.dec.SkipValue(); err != nil {
		return malformed(err)
	}
	if err := rd.end(); err != nil {
		return malformed(err)
	}
	return nil
}

// tooDeep counts brackets outside strings.
func tooDeep(body []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// whole reads the object and makes sure nothing follows it.
func (rd *reader) whole(p *plan, v reflect.Value) error {
	if rd.dec.PeekKind() != '{' {
		if err := rd.dec.SkipValue(); err != nil {
			return err
		}
		rd.fail("must be an object")
	} else if err := rd.object(p, v); err != nil {
		return err
	}
	return rd.end()
}

// end makes sure that the text is over.
func (rd *reader) end() error {
	switch _, err := rd.dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errNotJSON
	default:
		return err
	}
}

func (rd *reader) fail(detail string) {
	if len(rd.errs) < maxErrors {
		rd.errs = append(rd.errs, problem.FieldError{Pointer: string(rd.path), Detail: detail})
	}
}

// object reads members into v. The error is one of syntax.
func (rd *reader) object(p *plan, v reflect.Value) error {
	if _, err := rd.dec.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	at := len(rd.path)
	for rd.dec.PeekKind() != '}' {
		raw, err := rd.dec.ReadValue()
		if err != nil {
			return err
		}
		f := p.find(raw)
		if f == nil || rd.mode != modeStored {
			rd.path = appendPointer(rd.path[:at], f, raw)
		}
		if f == nil || f.hidden && f.readonly && rd.mode != modeStored {
			if rd.mode != modeStored {
				rd.fail("is not a member of this resource")
			}
			err = rd.dec.SkipValue()
		} else {
			seen |= 1 << slices.Index(p.fields, f)
			err = rd.member(f, v.Field(f.index))
		}
		if err != nil {
			return err
		}
		rd.path = rd.path[:at]
	}
	if _, err := rd.dec.ReadToken(); err != nil {
		return err
	}
	if rd.mode == modeCreate || rd.mode == modeReplace || rd.fresh {
		for i, f := range p.fields {
			if f.required && seen&(1<<i) == 0 {
				rd.path = appendPointer(rd.path, f, nil)
				rd.fail("is required")
				rd.path = rd.path[:at]
			}
		}
	}
	return nil
}

// find looks a raw name up.
func (p *plan) find(raw jsontext.Value) *field {
	if name := raw[1 : len(raw)-1]; bytes.IndexByte(name, '\\') < 0 {
		return p.byName[string(name)]
	}
	name, _ := jsontext.AppendUnquote(nil, raw)
	return p.byName[string(name)]
}

// appendPointer appends /name, escaped as RFC 6901 says and cut short.
func appendPointer(path []byte, f *field, raw jsontext.Value) []byte {
	if f != nil {
		return append(append(path, '/'), f.name...)
	}
	name, _ := jsontext.AppendUnquote(nil, raw)
	if len(name) > 64 {
		name = bytes.ToValidUTF8(name[:64], nil)
	}
	path = append(path, '/')
	for _, c := range name {
		switch c {
		case '~':
			path = append(path, "~0"...)
		case '/':
			path = append(path, "~1"...)
		default:
			path = append(path, c)
		}
	}
	return path
}

// member reads the value of a member, with the rules on who may set it.
func (rd *reader) member(f *field, v reflect.Value) error {
	if rd.mode == modeStored {
		return rd.value(f, v)
	}
	switch {
	case f.readonly:
		rd.fail("is read-only")
		return rd.dec.SkipValue()
	case f.state && rd.mode == modeCreate:
		rd.fail("cannot be set on create")
		return rd.dec.SkipValue()
	case f.immutable && rd.mode != modeCreate:
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		if err := rd.value(f, v); err != nil {
			return err
		}
		if !reflect.DeepEqual(before.Interface(), v.Interface()) {
			rd.fail("cannot be changed")
		}
		return nil
	}
	if rd.dec.PeekKind() == 'n' && rd.mode == modeMerge && !f.nullable {
		if f.required || f.state {
			rd.fail("is required")
		}
		v.SetZero()
		return rd.dec.SkipValue()
	}
	return rd.value(f, v)
}

// value reads any value of the field's kind.
func (rd *reader) value(f *field, v reflect.Value) error {
	peek := rd.dec.PeekKind()
	if peek == 'n' && (f.nullable || rd.mode == modeStored) {
		if f.required && rd.mode != modeStored {
			rd.fail("is required")
		}
		v.SetZero()
		return rd.dec.SkipValue()
	}
	made := false // of nothing, by a merge
	if f.nullable {
		if v.IsNil() || rd.mode != modeMerge {
			made = rd.mode == modeMerge
			v.Set(reflect.New(v.Type().Elem()))
		} else { // a copy: the value before may be shared
			fresh := reflect.New(v.Type().Elem())
			fresh.Elem().Set(v.Elem())
			v.Set(fresh)
		}
		v = v.Elem()
	}
	switch f.kind {
	case kindObject:
		if peek == '{' {
			outer := rd.fresh
			rd.fresh = outer || made
			err := rd.object(f.plan, v)
			rd.fresh = outer
			return err
		}
		return rd.wrong("must be an object")
	case kindList:
		if peek == '[' {
			return rd.list(f, v)
		}
		return rd.wrong("must be an array")
	}
	raw, err := rd.dec.ReadValue()
	if err != nil {
		return err
	}
	if detail := f.scalar(peek, raw, v); detail != "" {
		rd.fail(detail)
	} else if rd.mode != modeStored {
		if detail := f.check(v); detail != "" {
			rd.fail(detail)
		}
	}
	return nil
}

func (rd *reader) wrong(detail string) error {
	rd.fail(detail)
	return rd.dec.SkipValue()
}

// list reads an array; its elements are whole values in every mode.
func (rd *reader) list(f *field, v reflect.Value) error {
	if _, err := rd.dec.ReadToken(); err != nil {
		return err
	}
	outer, at := rd.mode, len(rd.path)
	if rd.mode == modeMerge {
		rd.mode = modeReplace
	}
	out := reflect.MakeSlice(v.Type(), 0, 4)
	for i := 0; rd.dec.PeekKind() != ']'; i++ {
		rd.path = strconv.AppendInt(append(rd.path[:at], '/'), int64(i), 10)
		one := reflect.New(v.Type().Elem()).Elem()
		if err := rd.value(f.elem, one); err != nil {
			return err
		}
		if !f.hasMax || int64(i) <= f.max {
			out = reflect.Append(out, one)
		}
	}
	rd.mode, rd.path = outer, rd.path[:at]
	v.Set(out)
	if rd.mode != modeStored {
		switch n := int64(out.Len()); {
		case f.hasMax && n > f.max:
			rd.fail("must have at most " + strconv.FormatInt(f.max, 10) + " elements")
		case f.hasMin && n < f.min && f.min == 1:
			rd.fail("must not be empty")
		case f.hasMin && n < f.min:
			rd.fail("must have at least " + strconv.FormatInt(f.min, 10) + " elements")
		}
	}
	_, err := rd.dec.ReadToken()
	return err
}

// scalar sets v from raw and returns what is wrong, or "".
func (f *field) scalar(peek jsontext.Kind, raw jsontext.Value, v reflect.Value) string {
	switch f.kind {
	case kindString:
		if peek != '"' {
			return "must be a string"
		}
		v.SetString(unquote(raw))
	case kindBool:
		if peek != 't' && peek != 'f' {
			return "must be true or false"
		}
		v.SetBool(peek == 't')
	case kindInt:
		if peek != '0' {
			return "must be a whole number"
		}
		n, ok := integer(raw)
		if !ok {
			return "must be a whole number"
		}
		v.SetInt(n)
	case kindFloat:
		n, err := strconv.ParseFloat(string(raw), 64)
		if peek != '0' || err != nil {
			return "must be a number"
		}
		v.SetFloat(n)
	case kindTime:
		t, ok := timestamp(peek, raw)
		if !ok {
			return "must be a timestamp in the form 2006-01-02T15:04:05Z"
		}
		v.Set(reflect.ValueOf(t))
	case kindJSON:
		v.SetBytes(slices.Clone(raw))
	}
	return ""
}

// timestamp reads a quoted RFC 3339 time, to the letter, as what is kept of it:
// microseconds in UTC, in a year of four digits.
func timestamp(peek jsontext.Kind, raw jsontext.Value) (time.Time, bool) {
	if peek != '"' {
		return time.Time{}, false
	}
	text := unquote(raw)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || text[13] != ':' || text[19] == ',' { // which Parse lets pass
		return t, false
	}
	t = time.UnixMicro(t.UnixMicro()).UTC()
	return t, t.Year() >= 0 && t.Year() <= 9999
}

func unquote(raw jsontext.Value) string {
	if in := raw[1 : len(raw)-1]; bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	s, _ := jsontext.AppendUnquote(nil, raw)
	return string(s)
}

// check applies the rules of a tag to a value and returns what is wrong.
func (f *field) check(v reflect.Value) string {
	switch f.kind {
	case kindString:
		return f.checkString(v.String())
	case kindInt:
		switch n := v.Int(); {
		case f.hasMin && n < f.min:
			return "must be at least " + strconv.FormatInt(f.min, 10)
		case f.hasMax && n > f.max:
			return "must be at most " + strconv.FormatInt(f.max, 10)
		}
	case kindFloat:
		switch n := v.Float(); {
		case f.hasMin && n < float64(f.min):
			return "must be at least " + strconv.FormatInt(f.min, 10)
		case f.hasMax && n > float64(f.max):
			return "must be at most " + strconv.FormatInt(f.max, 10)
		}
	}
	return ""
}

func (f *field) checkString(s string) string {
	n := int64(utf8.RuneCountInString(s))
	switch {
	case f.enum != nil && !slices.Contains(f.enum, s):
		return "must be one of: " + strings.Join(f.enum, ", ")
	case f.hasMin && n < f.min && f.min == 1:
		return "must not be empty"
	case f.hasMin && n < f.min:
		return "must be at least " + strconv.FormatInt(f.min, 10) + " characters long"
	case f.hasMax && n > f.max:
		return "must be at most " + strconv.FormatInt(f.max, 10) + " characters long"
	case f.line && strings.ContainsFunc(s, unicode.IsControl):
		return "must not contain control characters"
	case strings.ContainsRune(s, 0):
		return "must not contain the character U+0000"
	case f.format == "email" && !isEmail(s):
		return "must be an e-mail address"
	}
	return ""
}

// isEmail accepts what looks like one address: no more can be known here.
func isEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	return ok && local != "" && len(local) <= 64 && len(s) <= 254 && domain != "" &&
		!strings.ContainsAny(domain, "@ ") && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) &&
		!strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".") && !strings.Contains(domain, "..")
}
