package diff

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"strings"
)

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// parameters compares what stands in the path, query, header and cookies.
func (w *walk) parameters(a, b *operation) {
	old, new := parametersOf(w.old, a), parametersOf(w.new, b)
	for _, key := range union(old, new) {
		x, had := old[key]
		y, has := new[key]
		subject := cmp.Or(x.name, y.name)
		switch {
		case !has:
			w.note("parameter-removed", subject, schemaText(w.old, schemaOf(w.old, x.object)), "")
		case !had && y.object.is("required"):
			w.note("parameter-added-required", subject, "", schemaText(w.new, schemaOf(w.new, y.object)))
		case !had:
			w.note("parameter-added", subject, "", schemaText(w.new, schemaOf(w.new, y.object)))
		default:
			w.shared(subject, x, y, func() { w.parameter(subject, x.object, y.object) })
		}
	}
}

// parametersOf returns parameters by their place and name. The names of header
// fields are the same in any case, and a parameter of the path is told by its
// position.
func parametersOf(root object, op *operation) map[string]named {
	all := make(map[string]named)
	for _, list := range [][]any{op.item.list("parameters"), op.object.list("parameters")} {
		for _, p := range list {
			o := resolve(root, p)
			in, name := o.text("in"), o.text("name")
			if in == "" || name == "" {
				continue
			}
			key := in + " " + name
			if in == "header" {
				key = strings.ToLower(key)
			} else if i := strings.Index(op.path, "{"+name+"}"); in == "path" && i >= 0 {
				key = fmt.Sprintf("path %d", strings.Count(op.path[:i], "{"))
			}
			all[key] = named{in + " parameter " + name, o, component(p)}
		}
	}
	return all
}

// schemaOf is the schema of a parameter or header field, which may stand in a
// media type.
func schemaOf(root, o object) any {
	if content := o.object("content"); len(content) > 0 {
		return resolve(root, content[content.names()[0]])["schema"]
	}
	return o["schema"]
}

func (w *walk) parameter(key string, a, b object) {
	switch old, new := a.is("required"), b.is("required"); {
	case new && !old:
		w.note("parameter-became-required", key, "optional", "required")
	case old && !new:
		w.note("parameter-became-optional", key, "required", "optional")
	}
	w.deprecation(key, a, b)
	if old, new := encoding(a), encoding(b); old != new {
		w.note("parameter-encoding-changed", key, old, new)
	}
	w.schema(request, key, schemaOf(w.old, a), schemaOf(w.new, b), 0)
}

// encoding is how a parameter is written, with the defaults filled in.
func encoding(p object) string {
	if content := p.object("content"); len(content) > 0 {
		return content.names()[0]
	}
	style := p.text("style")
	if style == "" {
		style = "simple"
		if in := p.text("in"); in == "query" || in == "cookie" {
			style = "form"
		}
	}
	explode, ok := p["explode"].(bool)
	if !ok {
		explode = style == "form"
	}
	text := "style " + style
	if explode {
		text += ", exploded"
	}
	if p.is("allowReserved") {
		text += ", reserved characters as they are"
	}
	return text
}

func (w *walk) requestBody(old, new any) {
	a, b := resolve(w.old, old), resolve(w.new, new)
	switch {
	case a == nil && b == nil:
		return
	case b == nil:
		w.note("request-body-removed", w.where, "", "")
		return
	case a == nil && b.is("required"):
		w.note("request-body-added-required", w.where, "", "")
		return
	case a == nil:
		w.note("request-body-added", w.where, "", "")
		return
	case b.is("required") && !a.is("required"):
		w.note("request-body-became-required", w.where, "optional", "required")
	case a.is("required") && !b.is("required"):
		w.note("request-body-became-optional", w.where, "required", "optional")
	}
	w.bodies(request, a, b)
}

// bodies compares a body in its media types.
func (w *walk) bodies(z zone, a, b object) {
	old, new := contentOf(a), contentOf(b)
	for _, t := range union(old, new) {
		x, had := old[t]
		y, has := new[t]
		switch {
		case !has:
			w.note(string(z)+"-media-type-removed", t, t, strings.Join(new.names(), ", "))
		case !had:
			w.note(string(z)+"-media-type-added", t, "", t)
		default:
			subject := w.where + " body"
			w.schema(z, subject, resolve(w.old, x)["schema"], resolve(w.new, y)["schema"], 0)
		}
	}
}

// contentOf returns the content of a body by its media types in lower case and
// without parameters.
func contentOf(body object) object {
	content := body.object("content")
	all := make(object, len(content))
	for _, name := range content.names() {
		t, _, _ := strings.Cut(name, ";")
		all[strings.ToLower(strings.TrimSpace(t))] = content[name]
	}
	return all
}
