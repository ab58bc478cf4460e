package openapi

import (
	"slices"
	"strings"

	"github.com/parley-api/parley/resource"
)

// moment is the time in every example.
const moment = "2026-11-01T12:00:00.000000Z"

// sampleResource is an example of a resource as answers show it.
func sampleResource(rm *resource.Room, members []resource.Member) object {
	var id any = 1
	name := "1"
	if prefix := rm.Prefix(); prefix != "" {
		name = prefix + "0000000000002"
		id = name
	}
	o := obj("id", id)
	o = append(o, sampleObject(members, shown)...)
	o.set("created_at", moment)
	o.set("updated_at", moment)
	path := "/" + rm.Plural()
	if key := rm.Key(); key != "" {
		i := slices.IndexFunc(members, func(m resource.Member) bool { return m.Name == key })
		name = sampleText(members[i])
	}
	links := obj("self", obj("href", path+"/"+name), "collection", obj("href", path))
	_, actions := rm.LinkNames()
	for _, action := range actions {
		links.set(action, obj("href", path+"/"+name+"/"+action, "method", "POST"))
	}
	o.set("_links", links)
	return o
}

// sampleObject is an example that its schema allows. A patch changes one
// member; an answer has null where that is possible, so that links which
// depend on a reference are rightly absent.
func sampleObject(members []resource.Member, as use) object {
	o := object{}
	for _, m := range members {
		switch {
		case !takes(m, as), as == merged && (m.Fixed || len(o) > 0):
		case as == shown && m.Nullable:
			o.set(m.Name, nil)
		default:
			o.set(m.Name, sample(m, as))
		}
	}
	return o
}

// sample is an example of a member's value.
func sample(m resource.Member, as use) any {
	switch m.Type {
	case "string":
		return sampleText(m)
	case "integer", "number":
		n := int64(1)
		if m.Min != nil {
			n = max(n, *m.Min)
		}
		if m.Max != nil {
			n = min(n, *m.Max)
		}
		return n
	case "boolean":
		return false
	case "array":
		n := int64(1)
		if m.Min != nil {
			n = max(n, *m.Min)
		}
		if m.Max != nil {
			n = min(n, *m.Max)
		}
		all := list{}
		for range n {
			all = append(all, sample(*m.Items, element(as)))
		}
		return all
	case "object":
		return sampleObject(m.Members, as)
	}
	return object{}
}

func sampleText(m resource.Member) string {
	switch {
	case len(m.Enum) > 0:
		return m.Enum[0]
	case m.Format == "date-time":
		return moment
	case m.Format == "email":
		return "somebody@example.com"
	case m.Format == "uri":
		return "https://example.com/"
	}
	text := strings.ReplaceAll(m.Name, "_", " ")
	if text == "" {
		text = "text"
	}
	if m.Min != nil {
		text += strings.Repeat(".", max(0, int(*m.Min)-len(text)))
	}
	if m.Max != nil {
		text = text[:min(len(text), int(*m.Max))]
	}
	return text
}
