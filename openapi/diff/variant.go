package diff

import (
	"fmt"
	"slices"
)

// wrapped compares a schema with a choice of which it may be one variant. It
// returns false where this is no such pair.
func (w *walk) wrapped(z zone, subject string, old, new any, a, b *view, depth int) bool {
	if len(a.groups) == len(b.groups) || len(a.groups)+len(b.groups) != 1 || old == nil || new == nil {
		return false
	}
	switch {
	case len(a.groups) == 1 && a.choice():
		w.variants(z, subject, a.groups[0], lone(w.new, new, a.groups[0]), depth)
	case len(b.groups) == 1 && b.choice():
		w.variants(z, subject, lone(w.old, old, b.groups[0]), b.groups[0], depth)
	default:
		return false
	}
	return true
}

// lone makes a choice of one schema, by its name where the other choice has a
// variant of that name.
func lone(root object, schema any, other group) group {
	name := component(schema)
	if name == "" || !slices.ContainsFunc(other.variants, func(v any) bool { return component(v) == name }) {
		schema = resolve(root, schema)
	}
	return group{variants: []any{schema}}
}

// choice reports whether a view is nothing but its variants.
func (v *view) choice() bool {
	return v.types == nil && v.enum == nil && len(v.fields) == 0 && len(v.required) == 0 && len(v.bounds) == 0 && len(v.other) == 0 && v.items == nil
}

// groups compares choices in their order.
func (w *walk) groups(z zone, subject string, a, b *view, depth int) {
	for i := range max(len(a.groups), len(b.groups)) {
		switch {
		case i >= len(a.groups):
			w.constraint(z, subject, 1, "", fmt.Sprintf("one of %d forms", len(b.groups[i].variants)))
		case i >= len(b.groups):
			w.constraint(z, subject, -1, fmt.Sprintf("one of %d forms", len(a.groups[i].variants)), "")
		default:
			w.variants(z, subject, a.groups[i], b.groups[i], depth)
		}
	}
}

// variants pairs the variants of two choices: by reference, title or text, and
// the one that is left on each side with the other.
func (w *walk) variants(z zone, subject string, a, b group, depth int) {
	if a.by != "" && b.by != "" && a.by != b.by {
		w.constraint(z, subject, 2, "discriminator: "+a.by, "discriminator: "+b.by)
	}
	old, new := slices.Clone(a.variants), slices.Clone(b.variants)
	for _, key := range []func(any) string{component, variantTitle, func(v any) string { return canon(bare(v, 0)) }} {
		for i := 0; i < len(old); i++ {
			k := key(old[i])
			j := slices.IndexFunc(new, func(v any) bool { return key(v) == k })
			if k == "" || j < 0 {
				continue
			}
			w.schema(z, subject, old[i], new[j], depth+1)
			old, new = slices.Delete(old, i, i+1), slices.Delete(new, j, j+1)
			i--
		}
	}
	if len(old) == 1 && len(new) == 1 {
		w.schema(z, subject, old[0], new[0], depth+1)
		return
	}
	for _, v := range old {
		w.note(id(z, "-variant-removed"), subject, schemaText(w.old, v), "")
	}
	rule := "-variant-added"
	if !z.sent() && a.by != "" && a.by == b.by {
		rule = "-kind-added"
	}
	for _, v := range new {
		w.note(id(z, rule), subject, "", schemaText(w.new, v))
	}
}

func variantTitle(v any) string { return asObject(v).text("title") }
