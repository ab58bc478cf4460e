package resource

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/parley-api/parley/version"
)

// A lowering is what it takes to show rows to a client of an older version,
// kept from row to row: a value of the latest shape, and one of each shape on
// the way down. The members of both ends are found once, and not by
// reflection for every row.
type lowering struct {
	latest  any           // a pointer
	value   reflect.Value // what it points to
	members []slot        // of latest; nil where scan cannot read one of them
	shapes  []any         // of version.Chain.Shapes
	shown   []slot        // of the last of them
	text    strings.Builder
}

// A slot is where a member of a struct lies: one of the pointers, or for other
// types the value. One that may be null lies where its pointer to a pointer
// points.
type slot struct {
	*field
	text   *string
	number *int64
	truth  *bool
	value  reflect.Value

	nullText   **string
	nullNumber **int64
	nullTruth  **bool
}

// slots finds the members of a struct. It reports whether each is of a type
// that scan reads.
func (p *plan) slots(v reflect.Value) ([]slot, bool) {
	all, plain := make([]slot, len(p.fields)), true
	for i, f := range p.fields {
		s := slot{field: f, value: v.Field(f.index)}
		switch at := s.value.Addr().Interface().(type) {
		case *string:
			s.text = at
		case *int64:
			s.number = at
		case *bool:
			s.truth = at
		case **string:
			s.text, s.nullText = new(string), at
		case **int64:
			s.number, s.nullNumber = new(int64), at
		case **bool:
			s.truth, s.nullTruth = new(bool), at
		default:
			plain = false
		}
		all[i] = s
	}
	return all, plain
}

// newLowerings returns a pool for a version of another shape than the latest.
func (rm *Room) newLowerings(v *version.Version, p *plan) *sync.Pool {
	return &sync.Pool{New: func() any {
		latest := reflect.New(rm.plan.typ)
		l := &lowering{latest: latest.Interface(), value: latest.Elem(), shapes: rm.chain.Shapes(v)}
		if members, plain := rm.plan.slots(l.value); plain {
			l.members = members
		}
		l.shown, _ = p.slots(reflect.ValueOf(l.shapes[len(l.shapes)-1]).Elem())
		return l
	}}
}

// appendLowered writes the members of an older version, each followed by a
// comma.
func (rm *Room) appendLowered(dst []byte, v *version.Version, doc []byte) ([]byte, error) {
	pool := rm.lowerings[v.Index()]
	l := pool.Get().(*lowering)
	defer pool.Put(l)
	l.value.SetZero()
	if l.members == nil || !l.scan(l.keep(doc)) {
		l.value.SetZero()
		if err := rm.plan.decode(doc, l.value, modeStored); err != nil {
			return dst, err
		}
	}
	rm.chain.DownTo(v, l.latest, l.shapes)
	for i := range l.shown {
		dst = l.shown[i].append(dst)
	}
	return dst, nil
}

// textChunk is how much text of documents is allocated at once.
const textChunk = 4096

// keep returns a document as a text that its members can be parts of. What a
// Builder has given out never changes, so a chunk serves many documents.
func (l *lowering) keep(doc []byte) string {
	if l.text.Cap()-l.text.Len() < len(doc) {
		l.text.Reset()
		l.text.Grow(max(textChunk, len(doc)))
	}
	start := l.text.Len()
	l.text.Write(doc)
	return l.text.String()[start:]
}

// scan reads a document that a plan has written: its members in their order,
// nothing escaped, no white space. It reports false where the document is not
// like that and decode must read it.
func (l *lowering) scan(doc string) bool {
	if len(doc) < 2 || doc[0] != '{' {
		return false
	}
	for next := 0; ; next++ {
		doc = doc[1:]
		for next < len(l.members) && !strings.HasPrefix(doc, l.members[next].quoted) {
			next++
		}
		if next == len(l.members) {
			return false
		}
		s := &l.members[next]
		rest, ok := s.scan(doc[len(s.quoted):])
		if !ok || rest == "" {
			return false
		}
		if doc = rest; doc[0] != ',' {
			return doc == "}"
		}
	}
}

// scan reads a value and returns what follows it.
func (s *slot) scan(doc string) (rest string, ok bool) {
	if s.nullable && strings.HasPrefix(doc, "null") {
		return doc[len("null"):], true
	}
	switch {
	case s.text != nil:
		if *s.text, rest, ok = scanText(doc); s.nullText != nil {
			*s.nullText = s.text
		}
	case s.truth != nil:
		if rest, *s.truth = strings.CutPrefix(doc, "true"); !*s.truth {
			rest, ok = strings.CutPrefix(doc, "false")
		}
		if ok = ok || *s.truth; s.nullTruth != nil {
			*s.nullTruth = s.truth
		}
	default:
		end := strings.IndexAny(doc, ",}")
		if end < 0 {
			return "", false
		}
		n, err := strconv.ParseInt(doc[:end], 10, 64)
		*s.number, rest, ok = n, doc[end:], err == nil
		if s.nullNumber != nil {
			*s.nullNumber = s.number
		}
	}
	return rest, ok
}

// scanText reads a string without escapes.
func scanText(doc string) (text, rest string, ok bool) {
	if doc == "" || doc[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			return doc[1:i], doc[i+1:], true
		case '\\':
			return "", "", false
		}
	}
	return "", "", false
}

// append writes the member and a comma, if it is shown.
func (s *slot) append(dst []byte) []byte {
	if s.hidden || s.omit && s.value.IsZero() {
		return dst
	}
	dst = append(dst, s.quoted...)
	text, number, truth := s.text, s.number, s.truth
	switch {
	case s.nullText != nil:
		text = *s.nullText
	case s.nullNumber != nil:
		number = *s.nullNumber
	case s.nullTruth != nil:
		truth = *s.nullTruth
	}
	switch {
	case s.text == nil && s.number == nil && s.truth == nil:
		dst = s.field.append(dst, s.value, false)
	case text != nil:
		dst = appendString(dst, *text)
	case number != nil:
		dst = strconv.AppendInt(dst, *number, 10)
	case truth != nil:
		dst = strconv.AppendBool(dst, *truth)
	default:
		dst = append(dst, "null"...)
	}
	return append(dst, ',')
}
