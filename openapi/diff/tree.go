package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// An object is an object of a description, as it was read. Its methods give
// nothing where the member is absent or of another type: a description is
// compared as far as it makes sense.
type object map[string]any

func (o object) object(name string) object {
	return asObject(o[name])
}

func asObject(value any) object {
	switch v := value.(type) {
	case object:
		return v
	case map[string]any:
		return v
	}
	return nil
}

func (o object) list(name string) []any {
	l, _ := o[name].([]any)
	return l
}

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) is(name string) bool {
	b, _ := o[name].(bool)
	return b
}

// names returns the names of members, sorted.
func (o object) names() []string { return slices.Sorted(maps.Keys(o)) }

// union returns the names that either has, sorted.
func union[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// canon writes a value in one form: members sorted, numbers by their value.
func canon(value any) string {
	var b strings.Builder
	writeCanon(&b, value, 0)
	return b.String()
}

func writeCanon(b *strings.Builder, value any, depth int) {
	if depth > maxDepth {
		b.WriteString("…")
		return
	}
	if o := asObject(value); o != nil {
		b.WriteByte('{')
		for i, name := range o.names() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(name))
			b.WriteString(": ")
			writeCanon(b, o[name], depth+1)
		}
		b.WriteByte('}')
		return
	}
	switch v := value.(type) {
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeCanon(b, item, depth+1)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(quote(v))
	case nil:
		b.WriteString("null")
	default:
		if n, ok := number(v); ok {
			b.WriteString(n.Text('g', 20))
			return
		}
		fmt.Fprint(b, v)
	}
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}

// number reads a number of a description exactly enough to order it.
func number(value any) (*big.Float, bool) {
	n := new(big.Float).SetPrec(80)
	switch v := value.(type) {
	case json.Number:
		_, ok := n.SetString(string(v))
		return n, ok && !n.IsInf()
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return n, false
		}
		return n.SetFloat64(v), true
	case int64:
		return n.SetInt64(v), true
	case uint64:
		return n.SetUint64(v), true
	case int:
		return n.SetInt64(int64(v)), true
	}
	return n, false
}

// plain writes a value for people; "" where there is none.
func plain(value any) string {
	if value == nil {
		return ""
	}
	return canon(value)
}
