package openapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/parley-api/parley/resource"
)

// A setting is a parameter as components define it.
type setting struct {
	key, name, in, about string
	schema               object
	example              any
}

// settings are the parameters this package knows. No schema has a default:
// tools that fill defaults in would mix the styles of pagination.
func settings(i *Info) []setting {
	text := obj("type", "string", "minLength", 1)
	size := obj("type", "integer", "minimum", 1, "maximum", i.Limits.Maximum)
	usual := " Without it the page has at most " + strconv.Itoa(i.Limits.Default) + "."
	names := obj("type", "string", "enum", texts(i.names()))
	tags := obj("type", "string", "minLength", 1)
	return []setting{
		{"API-Version", "API-Version", "header", "Names this version of the interface.", names, nil},
		{"query-api-version", "api-version", "query", "Names this version of the interface.", names, nil},
		{"query-version", "version", "query", "Names this version of the interface, as api-version does.", names, nil},
		{"id", "id", "path", "The id of the resource.", obj("type", "integer", "format", "int64", "minimum", 1), 1},

		{"cursor", "cursor", "query", "Cursor style: next_cursor or prev_cursor of another page, unchanged.", text, nil},
		{"limit", "limit", "query", "Cursor style: the largest number of rows." + usual, size, nil},
		{"page", "page", "query", "Offset style: the number of the page, from 1.", obj("type", "integer", "format", "int64", "minimum", 1), nil},
		{"size", "size", "query", "Offset style: the largest number of rows." + usual, size, nil},
		{"page_token", "page_token", "query", "Page-token style: next_page_token of the page before, unchanged.", text, nil},
		{"page_size", "page_size", "query", "Page-token style: the largest number of rows." + usual, size, nil},
		{"include_total", "include_total", "query", "Whether to count the rows on all pages.", obj("type", "boolean"), nil},
		{"updated_since", "updated_since", "query", "Only what was changed at this time or later, in the order of the changes. Not together with sort.",
			obj("type", "string", "format", "date-time"), moment},

		{"Range", "Range", "header", "Rows by their place in the list, from 0, in the unit that is the name of the collection: " +
			"unit=first-last, unit=first- or unit=-count, at most " + strconv.Itoa(i.Limits.Maximum) + " rows. Not together with the parameters of a page.", text, nil},
		{"byte-range", "Range", "header", "The bytes to send, from 0: bytes=first-last, bytes=first-, bytes=-count, or several of these between commas, at most 16 that do not touch.",
			text, "bytes=0-1023"},
		{"If-Range", "If-Range", "header", "Heed Range only if the resource still has this strong entity tag, or this very Last-Modified; otherwise send all of it.", text, nil},
		{"If-Modified-Since", "If-Modified-Since", "header", "Only if it was changed after this time; otherwise 304. If-None-Match goes before it.", text, nil},
		{"query-name", "name", "query", "What to call it: 1 to 255 characters, without a path. Goes before Content-Disposition.", obj("type", "string", "minLength", 1, "maxLength", 255), "notes.txt"},
		{"Content-Disposition", "Content-Disposition", "header", "What to call it, as filename or filename*. A path before the name is dropped.", text, `attachment; filename="notes.txt"`},
		{"Content-Digest", "Content-Digest", "header", "A digest that the body must have, or the request fails (RFC 9530). SHA-256 is looked at.", text,
			"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"},
		{"Repr-Digest", "Repr-Digest", "header", "As Content-Digest.", text, nil},
		{"If-Match", "If-Match", "header", "Only if the resource has one of these entity tags, or for * if it exists; otherwise 412.", tags, `"7-2026-11-01"`},
		{"If-None-Match", "If-None-Match", "header", "Only if the resource has none of these entity tags; otherwise 304 for GET and 412 for the others.", tags, `"7-2026-11-01"`},
		{"Idempotency-Key", "Idempotency-Key", "header", "Makes the request safe to repeat for 24 hours: 1 to 255 visible ASCII characters, new for each thing to be done.",
			obj("type", "string", "minLength", 1, "maxLength", 512, "pattern", "^[!-~]+$"), "8e03978e-40d5-43e8-bc93-6894a57f9324"},
	}
}

// object renders the Parameter Object.
func (s setting) object() object {
	o := obj("name", s.name, "in", s.in, "description", s.about)
	if s.in == "path" {
		o.set("required", true)
	}
	o.set("schema", s.schema)
	if s.example != nil {
		o.set("example", s.example)
	}
	return o
}

// byKind are the parameters that all operations of a kind have.
func byKind(op *Operation) []string {
	var all []string
	switch op.Kind {
	case resource.List:
		all = []string{"cursor", "limit", "page", "size", "page_token", "page_size", "include_total", "Range", "If-Match", "If-None-Match"}
	case resource.Read, resource.Replace, resource.Patch, resource.Remove, resource.Act:
		all = []string{"If-Match", "If-None-Match"}
	}
	if op.Kind == resource.Create || op.Kind == resource.Act {
		all = append(all, "Idempotency-Key")
	}
	return all
}

// filters are the parameters that a room's list has of its own.
func (b *builder) filters(rm *resource.Room) ([]Parameter, error) {
	var all []Parameter
	for _, m := range rm.FilterMembers(b.info.Version) {
		about := "Only those with this " + strings.ReplaceAll(m.Name, "_", " ") + "."
		o := obj("type", m.Type)
		switch {
		case m.Enum != nil:
			o.set("enum", texts(m.Enum))
		case m.Type == "string":
			o.set("minLength", 1)
		case m.Format != "":
			o.set("format", m.Format)
		}
		all = append(all, Parameter{Name: m.Name, In: "query", About: about, Schema: Schema{JSON: string(appendValue(nil, o))}})
	}
	sort := setting{"sort", "sort", "query", "The order of the rows; - turns it round. Without it they are in the order of their ids.",
		obj("type", "string", "enum", texts(rm.Sorts())), nil}
	if err := b.shelf.add(parameters, sort.key, sort.object()); err != nil {
		return nil, err
	}
	return append(all, Parameter{Name: "sort"}, Parameter{Name: "updated_since"}), nil
}

// parameters renders the parameters of an operation but for those in its path.
func (b *builder) parameters(op *Operation) (list, error) {
	var all list
	for _, p := range op.Parameters {
		if p.in(op.Pattern) == "path" {
			continue
		}
		o, err := b.parameter(p, op.Pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	for _, name := range byKind(op) {
		all = append(all, ref(parameters, name))
	}
	return all, nil
}

// parameter renders one parameter, as a reference where its name is enough.
func (b *builder) parameter(p Parameter, pattern string) (object, error) {
	if p == (Parameter{Name: p.Name}) && b.shelf.has(parameters, p.Name) {
		return ref(parameters, p.Name), nil
	}
	o := obj("name", p.Name, "in", p.in(pattern))
	if p.About != "" {
		o.set("description", p.About)
	}
	if p.Required || p.in(pattern) == "path" {
		o.set("required", true)
	}
	if p.Schema.zero() {
		p.Schema.JSON = `{"type":"string"}`
	}
	schema, err := b.schema(p.Schema)
	if err != nil {
		return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
	}
	o.set("schema", schema)
	return o, nil
}

// in is where the parameter stands.
func (p Parameter) in(pattern string) string {
	switch {
	case p.In != "":
		return p.In
	case strings.Contains(pattern, "{"+p.Name+"}"):
		return "path"
	}
	return "query"
}

// variables are the names of the parameters in a pattern.
func variables(pattern string) []string {
	var all []string
	for segment := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			all = append(all, strings.TrimSuffix(name, "}"))
		}
	}
	return all
}
