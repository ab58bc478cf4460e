package diff

import (
	"maps"
	"slices"
	"strings"
)

// A gaze is one comparison of two graphs.
type gaze struct{ ledger ledger }

func (g *gaze) note(id, subject, before, after string) {
	g.ledger.add(finding{"graphql-" + id, subject, before, after}, "")
}

func compareGraphs(a, b *graph) []Change {
	g := new(gaze)
	renamed := make(map[string]string) // root types, old name to new
	for _, op := range union(a.roots, b.roots) {
		old, new := a.roots[op], b.roots[op]
		switch {
		case new == "":
			g.note("operation-removed", op, op, "")
		case old == "":
			g.note("operation-added", op, "", op)
		case old != new:
			renamed[old] = new
		}
	}
	for _, name := range union(a.types, b.types) {
		old, new := a.types[name], b.types[name]
		if to := renamed[name]; old != nil && new == nil && b.types[to] != nil {
			new = b.types[to]
		}
		switch {
		case new == nil:
			g.note("type-removed", name, kindText(old.kind), "")
		case old == nil && slices.Contains(slices.Collect(maps.Values(renamed)), name): // compared by its old name
		case old == nil:
			g.note("type-added", name, "", kindText(new.kind))
		case old.kind != new.kind:
			g.note("kind-changed", name, kindText(old.kind), kindText(new.kind))
		default:
			g.typed(name, old, new)
		}
	}
	g.directives(a.directives, b.directives)
	return g.ledger.changes()
}

func kindText(kind string) string { return strings.ToLower(strings.ReplaceAll(kind, "_", " ")) }

// typed compares two types of one kind.
func (g *gaze) typed(name string, a, b *graphType) {
	if a.kind == "INPUT_OBJECT" {
		g.inputs("input-field", name+".", a.fields, b.fields)
		switch {
		case b.oneOf && !a.oneOf:
			g.note("one-of-added", name, "", "@oneOf")
		case a.oneOf && !b.oneOf:
			g.note("one-of-removed", name, "@oneOf", "")
		}
		return
	}
	if a.spec != "" && a.spec != b.spec {
		g.note("scalar-changed", name, a.spec, b.spec)
	}
	g.outputs(name, a.fields, b.fields)
	link := "interface"
	if a.kind == "UNION" {
		link = "union-member"
	}
	g.links(link, name, a.links, b.links)
	for _, value := range union(a.values, b.values) {
		x, y := a.values[value], b.values[value]
		switch {
		case y == nil:
			g.note("enum-value-removed", name+"."+value, value, "")
		case x == nil:
			g.note("enum-value-added", name+"."+value, "", value)
		default:
			g.deprecation(name+"."+value, x, y)
		}
	}
}

func (g *gaze) links(link, name string, a, b map[string]bool) {
	for _, to := range union(a, b) {
		switch {
		case !b[to]:
			g.note(link+"-removed", name, to, "")
		case !a[to]:
			g.note(link+"-added", name, "", to)
		}
	}
}

func (g *gaze) deprecation(subject string, a, b *graphField) {
	switch {
	case b.deprecated && !a.deprecated:
		g.note("deprecated", subject, "", "@deprecated")
	case a.deprecated && !b.deprecated:
		g.note("undeprecated", subject, "@deprecated", "")
	}
}

// outputs compares the fields that a query selects.
func (g *gaze) outputs(name string, a, b map[string]*graphField) {
	renamed := successors(a, b)
	for _, field := range union(a, b) {
		x, y := a[field], b[field]
		at := name + "." + field
		switch to := renamed[field]; {
		case to != "" && x != nil && y == nil:
			g.note("field-renamed", at, field, to)
		case y == nil:
			g.note("field-removed", at, x.kind.String(), "")
		case x == nil:
			if renamed[field] == "" {
				g.note("field-added", at, "", y.kind.String())
			}
		default:
			if x.kind.String() != y.kind.String() {
				rule := "field-type-changed"
				if safeOutput(x.kind, y.kind) {
					rule = "field-type-narrowed"
				}
				g.note(rule, at, x.kind.String(), y.kind.String())
			}
			g.deprecation(at, x, y)
			g.inputs("argument", at+".", x.args, y.args)
		}
	}
}

// successors pairs a field that is gone with the one of the same shape that is
// new, where there is one of each. The new name leads back to the old one.
func successors(a, b map[string]*graphField) map[string]string {
	gone, come := make(map[string][]string), make(map[string][]string)
	for _, name := range union(a, b) {
		switch x, y := a[name], b[name]; {
		case y == nil:
			gone[x.form()] = append(gone[x.form()], name)
		case x == nil:
			come[y.form()] = append(come[y.form()], name)
		}
	}
	pairs := make(map[string]string)
	for form, names := range gone {
		if len(names) == 1 && len(come[form]) == 1 {
			pairs[names[0]], pairs[come[form][0]] = come[form][0], names[0]
		}
	}
	return pairs
}

// form is what two fields of the same shape share.
func (f *graphField) form() string {
	text := f.kind.String() + " = " + f.standard
	for _, name := range union(f.args, nil) {
		text += "; " + name + ": " + f.args[name].kind.String() + " = " + f.args[name].standard
	}
	return text
}

// inputs compares what a query sends: arguments, or the fields of an input.
func (g *gaze) inputs(what, prefix string, a, b map[string]*graphField) {
	var renamed map[string]string
	if what == "input-field" {
		renamed = successors(a, b)
	}
	for _, name := range union(a, b) {
		x, y := a[name], b[name]
		at := prefix + name
		switch to := renamed[name]; {
		case to != "" && y == nil:
			g.note(what+"-renamed", at, name, to)
		case to != "" && x == nil:
		case y == nil:
			g.note(what+"-removed", at, x.kind.String(), "")
		case x == nil && y.needed():
			g.note(what+"-added-required", at, "", y.kind.String())
		case x == nil:
			g.note(what+"-added", at, "", y.kind.String())
		default:
			g.input(what, at, x, y)
		}
	}
}

// needed reports whether an input must be sent.
func (f *graphField) needed() bool { return f.kind != nil && f.kind.nonNull && f.standard == "" }

func (g *gaze) input(what, at string, a, b *graphField) {
	if a.kind.String() != b.kind.String() {
		rule := "-type-tightened"
		if safeInput(a.kind, b.kind) {
			rule = "-type-relaxed"
		}
		g.note(what+rule, at, a.kind.String(), b.kind.String())
	}
	switch {
	case a.standard == b.standard:
	case a.standard == "":
		g.note("default-added", at, "", b.standard)
	default:
		g.note("default-changed", at, a.standard, b.standard)
	}
	g.deprecation(at, a, b)
}

// safeOutput reports whether who reads a can read b: only null was taken away.
func safeOutput(a, b *graphRef) bool {
	if a == nil || b == nil || a.nonNull && !b.nonNull || (a.list == nil) != (b.list == nil) || a.name != b.name {
		return false
	}
	return a.list == nil || safeOutput(a.list, b.list)
}

// safeInput reports whether who sends a can send it as b: only null was added.
func safeInput(a, b *graphRef) bool { return safeOutput(b, a) }

func (g *gaze) directives(a, b map[string]*graphDirective) {
	for _, name := range union(a, b) {
		x, y := a[name], b[name]
		at := "@" + name
		switch {
		case y == nil:
			g.note("directive-removed", at, at, "")
		case x == nil:
			g.note("directive-added", at, "", at)
		default:
			g.inputs("argument", at+".", x.args, y.args)
			g.links("directive-location", at, places(x), places(y))
		}
	}
}

// places are where a directive may stand; to stand twice is one more.
func places(d *graphDirective) map[string]bool {
	all := map[string]bool{"repeatable": d.repeatable}
	for l := range d.locations {
		all[l] = true
	}
	if !d.repeatable {
		delete(all, "repeatable")
	}
	return all
}
