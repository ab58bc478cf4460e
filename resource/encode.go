package resource

import (
	"bytes"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// append writes v, a struct of the plan's type, as a JSON object in the order
// of its fields. Hidden members are left out unless all is set.
func (p *plan) append(dst []byte, v reflect.Value, all bool) []byte {
	dst = append(dst, '{')
	first := true
	for _, f := range p.fields {
		fv := v.Field(f.index)
		if f.hidden && !all || f.omit && fv.IsZero() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.quoted...)
		dst = f.append(dst, fv, all)
	}
	return append(dst, '}')
}

func (f *field) append(dst []byte, v reflect.Value, all bool) []byte {
	if f.nullable {
		if v.IsNil() {
			return append(dst, "null"...)
		}
		v = v.Elem()
	}
	switch f.kind {
	case kindString:
		return appendString(dst, v.String())
	case kindInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case kindBool:
		return strconv.AppendBool(dst, v.Bool())
	case kindFloat:
		return jsontext.AppendFloat(dst, v.Float(), 64)
	case kindTime:
		return appendTime(dst, v.Interface().(time.Time).UnixMicro())
	case kindObject:
		return f.plan.append(dst, v, all)
	case kindList:
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = f.elem.append(dst, v.Index(i), all)
		}
		return append(dst, ']')
	}
	if v.Len() == 0 {
		return append(dst, "null"...)
	}
	dst, _ = jsontext.AppendFormat(dst, v.Bytes()) // well-formed: it was read as JSON
	return dst
}

func appendString(dst []byte, s string) []byte {
	if plainText(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	dst, _ = jsontext.AppendQuote(dst, s) // fails on bad UTF-8 only, and then replaces it
	return dst
}

// plainText reports whether a text is ASCII that JSON does not escape.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendTime writes microseconds since 1970 as a quoted ISO 8601 UTC timestamp
// with six decimals.
func appendTime(dst []byte, micros int64) []byte {
	dst = append(dst, '"')
	dst = AppendTime(dst, micros)
	return append(dst, '"')
}

// AppendTime writes microseconds since 1970 as the timestamps of the interface
// are written: 2026-11-01T12:00:00.000000Z.
func AppendTime(dst []byte, micros int64) []byte {
	t := time.UnixMicro(micros).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	if year < 0 || year > 9999 {
		return t.AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	}
	micro := t.Nanosecond() / 1000
	text := [27]byte{4: '-', 7: '-', 10: 'T', 13: ':', 16: ':', 19: '.', 26: 'Z'}
	text[0], text[1] = two(year / 100)
	text[2], text[3] = two(year % 100)
	text[5], text[6] = two(int(month))
	text[8], text[9] = two(day)
	text[11], text[12] = two(hour)
	text[14], text[15] = two(minute)
	text[17], text[18] = two(second)
	text[20], text[21] = two(micro / 10_000)
	text[22], text[23] = two(micro / 100 % 100)
	text[24], text[25] = two(micro % 100)
	return append(dst, text[:]...)
}

// two returns the digits of a number below 100.
func two(n int) (tens, ones byte) {
	tens = byte(n) / 10
	return '0' + tens, '0' + byte(n) - 10*tens
}

// member finds a top-level member's raw value in a document of our own, which
// has no white space and no escapes in its names. Nil means absent.
func member(doc []byte, quoted string) []byte {
	i := 1
	for i < len(doc) && doc[i] == '"' {
		match := len(doc)-i > len(quoted) && string(doc[i:i+len(quoted)]) == quoted
		i = skipString(doc, i) + 1 // past the name and its colon
		end := skipValue(doc, i)
		if match {
			return doc[i:end]
		}
		i = end + 1 // past the comma
	}
	return nil
}

// skipString returns the index after the string that begins at i.
func skipString(doc []byte, i int) int {
	if end := bytes.IndexByte(doc[i+1:], '"'); end >= 0 && bytes.IndexByte(doc[i+1:i+1+end], '\\') < 0 {
		return i + end + 2
	}
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// skipValue returns the index after the value that begins at i.
func skipValue(doc []byte, i int) int {
	depth := 0
	for i < len(doc) {
		switch doc[i] {
		case '"':
			i = skipString(doc, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(doc)
}
