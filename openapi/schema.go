package openapi

import (
	"strings"

	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// A use is what a schema is for: the rules of a member differ.
type use uint8

const (
	shown    use = iota // in an answer
	created             // in the body of POST
	replaced            // in the body of PUT
	merged              // in a merge patch, RFC 7396
)

// line matches a text without control characters, in the regular expressions
// of ECMAScript and Go alike.
const line = `^[^\x00-\x1f\x7f-\x9f]*$`

// room puts the schemas of a resource on the shelf.
func (b *builder) room(rm *resource.Room) error {
	name, members := resource.Title(rm.Singular()), rm.Members(b.info.Version)
	for _, s := range []struct {
		name  string
		about string
		use   use
	}{
		{name + "Create", "What a new resource is made of.", created},
		{name + "Replace", "The resource as it is to be. A member that is left out is reset, but for a state.", replaced},
		{name + "Patch", "The members to change, as a JSON Merge Patch (RFC 7396). Null resets a member.", merged},
	} {
		o := obj("type", "object", "description", s.about)
		o = append(o, objectShape(members, s.use)...)
		o.set("examples", list{sampleObject(members, s.use)})
		if err := b.shelf.add(schemas, s.name, o); err != nil {
			return err
		}
	}
	if err := b.shelf.add(schemas, name, resourceSchema(rm, b.info.Version)); err != nil {
		return err
	}
	if rm.Reveals() == "" {
		return nil
	}
	secret := obj("type", "string", "description", "Shown in this answer and never again. A replay of the answer does not have it.")
	return b.shelf.add(schemas, name+"Created", obj(
		"description", "The new resource, with what is shown once.",
		"allOf", list{
			ref(schemas, name),
			obj("type", "object", "properties", obj(rm.Reveals(), secret)),
		},
	))
}

// resourceSchema is the schema of a resource as answers show it.
func resourceSchema(rm *resource.Room, v *version.Version) object {
	members := rm.Members(v)
	time := func(about string) object { return obj("type", "string", "format", "date-time", "description", about) }
	inner := objectShape(members, shown)
	own, _ := inner[0].value.(object)
	required, _ := inner[1].value.(list)

	properties := obj("id", append(idSchema(rm), obj("description", "Given by the service.")...))
	properties = append(properties, own...)
	properties.set("created_at", time("When it was created, in UTC."))
	properties.set("updated_at", time("When it was last changed, in UTC."))
	properties.set("_links", linksSchema(rm))

	all := append(list{"id"}, required...)
	all = append(all, "created_at", "updated_at", "_links")
	o := obj("type", "object", "properties", properties, "required", all, "examples", list{sampleResource(rm, members)})
	if rm.About() != "" {
		o = append(obj("type", "object", "description", rm.About()), o[1:]...)
	}
	return o
}

// idSchema is the schema of a resource's id.
func idSchema(rm *resource.Room) object {
	if prefix := rm.Prefix(); prefix != "" {
		return obj("type", "string", "pattern", "^"+prefix+"[0-9a-v]{13}$")
	}
	return obj("type", "integer", "format", "int64", "minimum", 1)
}

// linksSchema is the schema of an item's _links.
func linksSchema(rm *resource.Room) object {
	names, actions := rm.LinkNames()
	var properties object
	for _, name := range names[:len(names)-len(actions)] {
		properties.set(name, ref(schemas, "ItemLink"))
	}
	for _, name := range actions {
		properties.set(name, ref(schemas, "ActionLink"))
	}
	return obj(
		"type", "object",
		"description", "What the resource is connected with, and what can be done with it now.",
		"properties", properties,
		"required", list{"self", "collection"},
	)
}

// objectShape returns properties, required and, for requests,
// additionalProperties of an object. For an answer the first two are always
// there.
func objectShape(members []resource.Member, as use) object {
	properties, required := object{}, list{}
	for _, m := range members {
		if !takes(m, as) {
			continue
		}
		properties.set(m.Name, shape(m, as))
		if as == shown && !m.Optional || (as == created || as == replaced) && m.Required {
			required = append(required, m.Name)
		}
	}
	o := obj("properties", properties)
	if len(required) > 0 || as == shown {
		o.set("required", required)
	}
	if as != shown {
		o.set("additionalProperties", false)
	}
	return o
}

// takes reports whether a member has a place in a use.
func takes(m resource.Member, as use) bool {
	if as == shown {
		return !m.Hidden
	}
	return !m.ReadOnly && !(m.NoCreate && as == created)
}

// nullable reports whether null is a value of a member. A member that must be
// sent is never null in a request; in a merge patch null resets what need not
// be there.
func nullable(m resource.Member, as use) bool {
	switch {
	case as == shown:
		return m.Nullable
	case m.Required:
		return false
	case as == merged && !m.NoCreate && !m.Fixed:
		return true
	}
	return m.Nullable
}

// shape is the schema of one member.
func shape(m resource.Member, as use) object {
	var o object
	null := nullable(m, as)
	switch {
	case m.Type == "": // any value, null among them
	case null:
		o.set("type", list{m.Type, "null"})
	default:
		o.set("type", m.Type)
	}
	// What is neither required, nor null, nor left out when empty can be empty
	// in an answer, whatever the rules of its form are.
	blank := as == shown && m.Type == "string" && !m.Required && !m.NoCreate && !m.Nullable && !m.Optional
	if m.Format != "" && (!blank || m.Format == "date-time") {
		o.set("format", m.Format)
	}
	if about := describe(m, as); about != "" {
		o.set("description", about)
	}
	if m.Enum != nil {
		values := texts(m.Enum)
		if blank {
			values = append(values, "")
		}
		if null {
			values = append(values, nil)
		}
		o.set("enum", values)
	}
	if as != shown {
		o = append(o, bounds(m)...)
	}
	if m.Items != nil {
		o.set("items", shape(*m.Items, element(as)))
	}
	if m.Type == "object" {
		o = append(o, objectShape(m.Members, as)...)
	}
	return o
}

// element is the use of what a list holds: lists are replaced whole.
func element(as use) use {
	if as == merged {
		return replaced
	}
	return as
}

func describe(m resource.Member, as use) string {
	text := m.About
	if m.Fixed && (as == replaced || as == merged) {
		text += " It cannot be changed: only the value that it has is accepted."
	}
	return strings.TrimSpace(text)
}

// bounds are the limits of a member's value in requests.
func bounds(m resource.Member) object {
	var o object
	low, high := "", ""
	switch m.Type {
	case "string":
		low, high = "minLength", "maxLength"
	case "array":
		low, high = "minItems", "maxItems"
	case "integer", "number":
		low, high = "minimum", "maximum"
	default:
		return nil
	}
	if m.Min != nil {
		o.set(low, *m.Min)
	}
	if m.Max != nil {
		o.set(high, *m.Max)
	}
	if m.Line {
		o.set("pattern", line)
	}
	return o
}
