package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// An object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any // what appendValue understands
}

// obj makes an object of names and values in turn.
func obj(pairs ...any) object {
	o := make(object, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, member{pairs[i].(string), pairs[i+1]})
	}
	return o
}

// set adds a member at the end.
func (o *object) set(name string, value any) { *o = append(*o, member{name, value}) }

// has reports whether a member is there.
func (o object) has(name string) bool {
	for _, m := range o {
		if m.name == name {
			return true
		}
	}
	return false
}

// A list is a JSON array.
type list []any

// texts makes a list of strings.
func texts(all []string) list {
	l := make(list, len(all))
	for i, s := range all {
		l[i] = s
	}
	return l
}

// appendValue writes a value as compact JSON. It panics on a type that no
// caller in this package uses.
func appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case string:
		return appendText(dst, v)
	case json.RawMessage:
		return append(dst, v...)
	case list:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case object:
		dst = append(dst, '{')
		for i, m := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendText(dst, m.name)
			dst = appendValue(append(dst, ':'), m.value)
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("openapi: a %T is not JSON", value))
}

// appendText writes a string, with < > and & as they are.
func appendText(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string cannot fail
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// raw checks JSON that was written by hand and takes the white space out.
func raw(text string) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	return b.Bytes(), nil
}
