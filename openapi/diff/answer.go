package diff

import (
	"cmp"
	"slices"
	"strings"
)

// answers compares the responses of an operation.
func (w *walk) answers(old, new object) {
	operation := w.where
	defer func() { w.where = operation }()
	matched := make(map[string]bool)
	old, new = stated(old), stated(new)
	for _, status := range old.names() {
		to, ok := counterpart(status, new)
		z := zoneOf(status)
		if !ok {
			w.note(string(z)+"-status-removed", "status "+status, status, strings.Join(others(z, new, old), ", "))
			continue
		}
		matched[to] = true
		w.where = operation + " → " + status
		w.answer(z, resolve(w.old, old[status]), resolve(w.new, new[to]))
		w.where = operation
	}
	for _, status := range new.names() {
		if _, ok := counterpart(status, old); !ok && !matched[status] {
			w.note(string(zoneOf(status))+"-status-added", "status "+status, "", status)
		}
	}
}

// others are the statuses of a zone that are new.
func others(z zone, new, old object) []string {
	return slices.DeleteFunc(new.names(), func(s string) bool { return zoneOf(s) != z || old[s] != nil })
}

// zoneOf says whether a status means failure. So does default, which stands
// for the statuses that are not listed.
func zoneOf(status string) zone {
	if strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5") || status == "default" {
		return failure
	}
	return response
}

// stated are the responses without extensions.
func stated(responses object) object {
	all := make(object, len(responses))
	for status, answer := range responses {
		if !strings.HasPrefix(status, "x-") {
			all[status] = answer
		}
	}
	return all
}

// counterpart finds the response for a status: its own, that of its class, or
// for a failure the default.
func counterpart(status string, in object) (string, bool) {
	if _, ok := in[status]; ok {
		return status, true
	}
	if len(status) == 3 {
		for _, class := range []string{status[:1] + "XX", status[:1] + "xx"} {
			if _, ok := in[class]; ok {
				return class, true
			}
		}
	}
	_, ok := in["default"]
	return "default", ok && zoneOf(status) == failure
}

func (w *walk) answer(z zone, a, b object) {
	w.headers(z, a.object("headers"), b.object("headers"))
	w.bodies(z, a, b)
}

func (w *walk) headers(z zone, a, b object) {
	old, new := fold(w.old, a), fold(w.new, b)
	for _, key := range union(old, new) {
		x, had := old[key]
		y, has := new[key]
		subject := "header " + cmp.Or(x.name, y.name)
		switch {
		case had != has && (key == "deprecation" || key == "sunset"):
			w.note("lifecycle-header-changed", subject, "", "")
		case !has:
			w.note(string(z)+"-header-removed", subject, schemaText(w.old, schemaOf(w.old, x.object)), "")
		case !had:
			w.note(string(z)+"-header-added", subject, "", schemaText(w.new, schemaOf(w.new, y.object)))
		default:
			w.shared(string(z)+" "+subject, x, y, func() { w.header(z, subject, x.object, y.object) })
		}
	}
}

func (w *walk) header(z zone, subject string, a, b object) {
	switch was, is := a.is("required"), b.is("required"); {
	case was && !is:
		w.note(string(z)+"-header-became-optional", subject, "required", "optional")
	case is && !was:
		w.note(string(z)+"-header-became-required", subject, "optional", "required")
	}
	w.deprecation(subject, a, b)
	w.schema(z, subject, schemaOf(w.old, a), schemaOf(w.new, b), 0)
}

// A named is a header field or parameter and how a report calls it.
type named struct {
	name   string
	object object
	ref    string // where it is a component
}

// shared compares a pair of components once, and another pair where it stands.
func (w *walk) shared(subject string, a, b named, compare func()) {
	if a.ref == "" || b.ref == "" {
		compare()
		return
	}
	w.once(subject+"\n"+a.ref+"\n"+b.ref, compare)
}

// fold returns header fields by their names in lower case. Content-Type is
// said by the media types.
func fold(root, headers object) map[string]named {
	all := make(map[string]named)
	for _, name := range headers.names() {
		o := resolve(root, headers[name])
		if key := strings.ToLower(name); o != nil && key != "content-type" {
			all[key] = named{name, o, component(headers[name])}
		}
	}
	return all
}
