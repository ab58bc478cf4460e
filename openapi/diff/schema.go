package diff

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxSteps = 4_000_000 // how many pairs of schemas one comparison may take
	maxChain = 2_000     // how many components may lead from one to the next
)

// schema compares two schemas in a zone. The subject says what they describe;
// where both are components, it is the component from there on.
func (w *walk) schema(z zone, subject string, old, new any, depth int) {
	if depth > maxDepth || old == nil && new == nil {
		return
	}
	key := ""
	if nests(old) || nests(new) {
		key = string(z) + "\n" + canon(old) + "\n" + canon(new)
	}
	if name := anchor(old); name != "" && anchor(new) != "" {
		w.once(key, func() { w.pair(z, name, old, new, 0) })
		return
	}
	if w.active[key] {
		return
	}
	if key != "" {
		w.active[key] = true
		defer delete(w.active, key)
	}
	w.pair(z, subject, old, new, depth)
}

// nests reports whether a schema can lead back to itself: it is a reference,
// or merged of several schemas.
func nests(schema any) bool {
	o := asObject(schema)
	return o["$ref"] != nil || o["allOf"] != nil
}

// anchor is the component that a schema is, alone or as the only part.
func anchor(schema any) string {
	o := asObject(schema)
	if parts := o.list("allOf"); len(parts) == 1 {
		for name := range o {
			if name != "allOf" && !slices.Contains(notes, name) {
				return ""
			}
		}
		return component(parts[0])
	}
	return component(schema)
}

// pair compares two schemas whatever led to them.
func (w *walk) pair(z zone, subject string, old, new any, depth int) {
	if w.steps >= maxSteps {
		return
	}
	w.steps++
	a, b := viewOf(w.old, old), viewOf(w.new, new)
	if w.wrapped(z, subject, old, new, a, b, depth) || !w.types(z, subject, a, b) {
		return
	}
	w.values(z, subject, a, b)
	w.constraints(z, subject, a, b)
	w.fields(z, subject, a, b, depth)
	w.elements(z, subject, a, b, depth)
	w.groups(z, subject, a, b, depth)
}

// id is a rule's id in a zone.
func id(z zone, suffix string) string { return string(z) + suffix }

// types compares types and null. It returns false where nothing below can be
// compared.
func (w *walk) types(z zone, subject string, a, b *view) bool {
	before, after := strings.Join(a.types, " or "), strings.Join(b.types, " or ")
	if a.types == nil {
		before = "any"
	}
	if b.types == nil {
		after = "any"
	}
	if len(a.groups) == 0 && len(b.groups) == 0 || a.types != nil && b.types != nil {
		switch kept := covers(b.types, a.types); {
		case kept && covers(a.types, b.types):
		case kept:
			w.note(id(z, "-type-widened"), subject, before, after)
		case covers(a.types, b.types):
			w.note(id(z, "-type-narrowed"), subject, before, after)
		default:
			w.note(id(z, "-type-changed"), subject, before, after)
			return false
		}
	}
	if a.null != b.null && (a.types != nil || len(a.groups) > 0) && (b.types != nil || len(b.groups) > 0) {
		switch {
		case b.null:
			w.note(id(z, "-null-allowed"), subject, before, after+" or null")
		case z.sent():
			w.note(id(z, "-null-refused"), subject, before+" or null", after)
		default:
			w.note(id(z, "-null-excluded"), subject, before+" or null", after)
		}
	}
	return true
}

// covers reports whether every type of b is among those of a.
func covers(a, b []string) bool {
	if a == nil || b == nil {
		return a == nil
	}
	if len(b) == 0 { // null alone is a type of its own
		return len(a) == 0
	}
	return !slices.ContainsFunc(b, func(t string) bool { return !slices.Contains(a, t) })
}

// values compares enumerations, formats and defaults.
func (w *walk) values(z zone, subject string, a, b *view) {
	switch {
	case a.enum == nil && b.enum == nil:
	case b.enum == nil:
		w.note(id(z, "-enum-opened"), subject, strings.Join(a.enum, ", "), "any value")
	case a.enum == nil:
		w.note(id(z, "-enum-closed"), subject, "any value", strings.Join(b.enum, ", "))
	default:
		for _, value := range a.enum {
			if !slices.Contains(b.enum, value) {
				w.note(id(z, "-enum-value-removed"), subject, value, "")
			}
		}
		for _, value := range b.enum {
			if !slices.Contains(a.enum, value) {
				w.note(id(z, "-enum-value-added"), subject, "", value)
			}
		}
	}
	switch {
	case a.format == b.format:
	case a.format == "":
		w.note(id(z, "-constraint-tightened"), subject, "", "format: "+b.format)
	case b.format == "" && z.sent():
		w.note(id(z, "-constraint-relaxed"), subject, "format: "+a.format, "")
	default:
		w.note(id(z, "-format-changed"), subject, a.format, b.format)
	}
	if was := plain(a.standard); z.sent() && was != "" && was != plain(b.standard) {
		w.note("request-default-changed", subject, was, plain(b.standard))
	}
	if a.deprecated != b.deprecated {
		w.deprecation(subject, object{"deprecated": a.deprecated}, object{"deprecated": b.deprecated})
	}
}

// constraints compares bounds and the keywords that are told apart as text.
func (w *walk) constraints(z zone, subject string, a, b *view) {
	for _, name := range union(a.bounds, b.bounds) {
		x, y := a.bounds[name], b.bounds[name]
		w.constraint(z, subject, order(name, x, y), x.text(name), y.text(name))
	}
	w.constraint(z, subject, multiple(a.factor, b.factor), labelled("multipleOf", plain(a.factor)), labelled("multipleOf", plain(b.factor)))
	for _, keyword := range union(a.other, b.other) {
		x, y := a.other[keyword], b.other[keyword]
		way := 2
		switch {
		case x == y:
			way = 0
		case x == "":
			way = 1
		case y == "":
			way = -1
		}
		w.constraint(z, subject, way, labelled(keyword, x), labelled(keyword, y))
	}
}

func labelled(name, text string) string {
	if text == "" {
		return ""
	}
	return name + ": " + text
}

// constraint notes which way a restriction went; see multiple.
func (w *walk) constraint(z zone, subject string, way int, before, after string) {
	switch way {
	case 1:
		w.note(id(z, "-constraint-tightened"), subject, before, after)
	case -1:
		w.note(id(z, "-constraint-relaxed"), subject, before, after)
	case 2:
		w.note(id(z, "-constraint-changed"), subject, before, after)
	}
}

// elements compares what arrays and open objects contain.
func (w *walk) elements(z zone, subject string, a, b *view, depth int) {
	if a.items != nil || b.items != nil {
		w.schema(z, subject+"[]", or(a.items), or(b.items), depth+1)
	}
	for i := range max(len(a.prefix), len(b.prefix)) {
		w.schema(z, fmt.Sprintf("%s[%d]", subject, i), at(a.prefix, i), at(b.prefix, i), depth+1)
	}
	for _, pattern := range union(a.patterns, b.patterns) {
		x, y := a.patterns[pattern], b.patterns[pattern]
		w.schema(z, subject+".*", or(x), or(y), depth+1)
	}
	x, y := a.closed, b.closed
	switch {
	case x == nil && y == nil, isFalse(x) && isFalse(y):
	case isFalse(y):
		w.constraint(z, subject, 1, openness(x), openness(y))
	case isFalse(x):
		w.constraint(z, subject, -1, openness(x), openness(y))
	default:
		w.schema(z, subject+".*", or(x), or(y), depth+1)
	}
}

// or is a schema, or where there is none the one that allows anything.
func or(schema any) any {
	if schema == nil {
		return object{}
	}
	return schema
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return object{}
}

func isFalse(v any) bool {
	b, ok := v.(bool)
	return ok && !b
}

func openness(closed any) string {
	switch {
	case closed == nil:
		return "additionalProperties: true"
	case isFalse(closed):
		return "additionalProperties: false"
	}
	return "additionalProperties: restricted"
}
