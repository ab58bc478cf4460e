package diff

import (
	"fmt"
	"maps"
	"slices"
)

// A field is a field of an object that a zone can see.
type field struct {
	schema   any
	required bool
}

// visible returns the fields that clients send or receive: who reads does not
// see what is write-only, and who writes does not send what is read-only.
func visible(root object, z zone, v *view) map[string]field {
	all := make(map[string]field)
	for name, schema := range v.fields {
		f := viewOf(root, schema)
		if z.sent() && f.readOnly || !z.sent() && f.writeOnly {
			continue
		}
		all[name] = field{schema, v.required[name]}
	}
	return all
}

// fields compares the fields of objects.
func (w *walk) fields(z zone, subject string, a, b *view, depth int) {
	if len(a.fields) == 0 && len(b.fields) == 0 {
		return
	}
	old, new := visible(w.old, z, a), visible(w.new, z, b)
	renamed := w.renames(old, new)
	for _, name := range union(old, new) {
		x, had := old[name]
		y, has := new[name]
		at := subject + "." + name
		switch to := renamed[name]; {
		case to != "":
			w.note(id(z, "-field-renamed"), at, name, to)
		case had && !has:
			w.note(id(z, "-field-removed"), at, schemaText(w.old, x.schema), "")
		case has && !had:
			if !slices.Contains(slices.Collect(maps.Values(renamed)), name) {
				w.fieldAdded(z, at, y)
			}
		default:
			w.need(z, at, x.required, y.required)
			w.schema(z, at, x.schema, y.schema, depth+1)
		}
	}
}

func (w *walk) fieldAdded(z zone, at string, f field) {
	rule := "-field-added"
	if z.sent() && f.required {
		rule = "-field-added-required"
	}
	w.note(id(z, rule), at, "", schemaText(w.new, f.schema))
}

// need compares whether a field must be there.
func (w *walk) need(z zone, at string, was, is bool) {
	switch {
	case is && !was:
		w.note(id(z, "-field-became-required"), at, "optional", "required")
	case was && !is:
		w.note(id(z, "-field-became-optional"), at, "required", "optional")
	}
}

// renames pairs a field that is gone with the one that is new, where exactly
// one of each has the shape.
func (w *walk) renames(old, new map[string]field) map[string]string {
	gone, come := make(map[string][]string), make(map[string][]string)
	for _, name := range union(old, new) {
		x, had := old[name]
		y, has := new[name]
		switch {
		case had && !has:
			form := form(x)
			gone[form] = append(gone[form], name)
		case has && !had:
			form := form(y)
			come[form] = append(come[form], name)
		}
	}
	pairs := make(map[string]string)
	for form, names := range gone {
		if len(names) == 1 && len(come[form]) == 1 {
			pairs[names[0]] = come[form][0]
		}
	}
	return pairs
}

func form(f field) string { return fmt.Sprintf("%t %s", f.required, canon(bare(f.schema, 0))) }
