package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-api/parley/resource"
)

// Build returns the OpenAPI 3.1 document of one version, as JSON indented by
// two spaces. It describes each route of a room, in the order of routes, and
// after them the operations of extra that are no routes.
//
// A route without a room is described by the operation of extra with the same
// method and pattern, and left out where it has neither that nor an Operation
// name. An operation of extra for a route of a room takes its place.
//
// The error names what is wrong: an incomplete info, a named route without a
// description, an operation without an id or a summary, two operations with the same method and pattern or the same id,
// two different components with the same name, a schema that is not JSON, a
// reference that leads nowhere. Build keeps nothing and is safe for concurrent
// use.
func Build(info Info, routes []*resource.Route, extra ...Operation) ([]byte, error) {
	doc, err := document(info, routes, extra)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, appendValue(nil, doc), "", "  "); err != nil {
		return nil, fmt.Errorf("openapi: writing the description: %w", err)
	}
	out.WriteByte('\n')
	return bytes.Clone(out.Bytes()), nil // without the room of the buffer, for it is kept
}

// document puts the parts together.
func document(info Info, routes []*resource.Route, extra []Operation) (object, error) {
	b, err := newBuilder(info)
	if err != nil {
		return nil, err
	}
	ops, err := b.operations(routes, extra)
	if err != nil {
		return nil, err
	}
	paths, err := b.paths(ops)
	if err != nil {
		return nil, err
	}
	components, err := b.shelf.used(appendValue(nil, paths))
	if err != nil {
		return nil, err
	}
	components.set("securitySchemes", obj("bearer", obj(
		"type", "http", "scheme", "bearer",
		"description", "An API key. Its scopes say what it opens: <collection>:read, <collection>:write, or admin for everything.",
	)))
	server := b.info.ServerURL
	if server == "" {
		server = "/"
	}
	return obj(
		"openapi", "3.1.0",
		"info", b.info.object(),
		"servers", list{obj("url", server)},
		"security", list{obj("bearer", list{})},
		"tags", b.tags(ops),
		"paths", paths,
		"components", components,
	), nil
}

// A builder is one run of Build.
type builder struct {
	info  Info
	shelf shelf
	rooms []*resource.Room
}

// newBuilder fills the shelf with what does not depend on the routes.
func newBuilder(info Info) (*builder, error) {
	info, err := info.filled()
	if err != nil {
		return nil, err
	}
	b := &builder{info: info, shelf: make(shelf)}
	var versions []string
	for _, v := range info.Calendar.Versions() {
		versions = append(versions, v.Name)
	}
	for _, f := range fields(versions) {
		b.shelf.add(headers, f.name, f.object())
	}
	for _, s := range settings(&b.info) {
		b.shelf.add(parameters, s.key, s.object())
	}
	for _, parts := range []object{pageParts(info.Limits.Maximum), linkParts(), patchParts(), problemParts()} {
		for _, m := range parts {
			b.shelf.add(schemas, m.name, m.value)
		}
	}
	return b, nil
}

// operations brings routes and descriptions together.
func (b *builder) operations(routes []*resource.Route, extra []Operation) ([]Operation, error) {
	var all []Operation
	described := make(map[string]bool)
	for _, r := range routes {
		i := slices.IndexFunc(extra, func(op Operation) bool { return op.Method == r.Method && op.Pattern == r.Pattern })
		if r.Room != nil {
			if err := b.enter(r.Room); err != nil {
				return nil, err
			}
		}
		switch {
		case i >= 0:
			all = append(all, extra[i].of(r))
			described[r.Method+r.Pattern] = true
		case r.Room != nil && r.Kind != resource.Other:
			op, err := b.derive(r)
			if err != nil {
				return nil, err
			}
			all = append(all, op)
		case r.Operation != "":
			return nil, fmt.Errorf("%s %s belongs to no resource and has no Operation that describes it", r.Method, r.Pattern)
		}
	}
	for _, op := range extra {
		if !described[op.Method+op.Pattern] {
			all = append(all, op)
		}
	}
	return all, unique(all)
}

// unique refuses what a document can have only once, and what has no name.
func unique(all []Operation) error {
	seen := make(map[string]bool)
	for _, op := range all {
		if op.ID == "" || op.Summary == "" {
			return fmt.Errorf("%s %s needs an ID and a Summary", op.Method, op.Pattern)
		}
		for _, key := range []string{op.Method + " " + op.Pattern, op.ID} {
			if seen[key] {
				return fmt.Errorf("%q is described twice", key)
			}
			seen[key] = true
		}
	}
	return nil
}

// enter puts the schemas of a room on the shelf when it is first met.
func (b *builder) enter(rm *resource.Room) error {
	if slices.Contains(b.rooms, rm) {
		return nil
	}
	b.rooms = append(b.rooms, rm)
	return b.room(rm)
}

// of fills what a description leaves out from its route.
func (op Operation) of(r *resource.Route) Operation {
	if op.ID == "" {
		op.ID = r.Operation
	}
	if op.Summary == "" {
		op.Summary = r.Summary
	}
	if op.Scope == "" {
		op.Scope = r.Scope
	}
	op.Public = op.Public || r.Public
	op.Single = op.Single || r.Single
	return op
}

// derive describes a route of a room.
func (b *builder) derive(r *resource.Route) (Operation, error) {
	rm := r.Room
	name := resource.Title(rm.Singular())
	op := Operation{
		Method: r.Method, Pattern: r.Pattern, ID: r.Operation, Summary: r.Summary, Public: r.Public, Scope: r.Scope, Single: r.Single,
		Kind: r.Kind, Collection: rm.Plural(), Shows: Schema{Name: name}, Tag: Tag{rm.Plural(), rm.About()},
	}
	for _, variable := range variables(r.Pattern) {
		p := Parameter{Name: variable} // id is known, as a number
		switch {
		case variable == rm.Key():
			p.Schema.JSON = `{"type":"string","minLength":1}`
		case variable == "id" && rm.Prefix() != "":
			p.About, p.Schema.JSON = "The id of the resource.", string(appendValue(nil, idSchema(rm)))
		case variable != "id":
			p.Schema.JSON = `{"type":"integer","format":"int64","minimum":1}`
		}
		op.Parameters = append(op.Parameters, p)
	}
	suffix := ""
	switch r.Kind {
	case resource.List:
		filters, err := b.filters(rm)
		if err != nil {
			return op, err
		}
		op.Parameters = append(op.Parameters, filters...)
	case resource.Create:
		suffix = "Create"
		if rm.Reveals() != "" {
			op.reveal(name+"Created", b.info.types())
		}
	case resource.Replace:
		suffix = "Replace"
	case resource.Patch:
		suffix = "Patch"
	}
	for _, accepted := range r.Accepts {
		schema := Schema{Name: name + suffix}
		if accepted == resource.TypePatch {
			schema.Name = "JsonPatch"
		}
		op.Takes = append(op.Takes, Media{accepted, schema})
	}
	if types := rm.ContentTypes(); types != nil {
		op.content(types, b.info.types(), name)
	}
	return op, nil
}

// reveal describes the one answer that shows a secret. It is not to be stored
// and has no entity tag.
func (op *Operation) reveal(schema string, types []string) {
	a := Answer{Status: 201, About: "Created. Only this answer shows everything.", Headers: []Header{{Name: "Location"}, {Name: "Idempotency-Replayed"}}}
	for _, t := range types {
		a.Media = append(a.Media, Media{t, Schema{Name: schema}})
	}
	op.Answers = []Answer{a}
}

// tags are the groups in the order in which operations name them.
func (b *builder) tags(ops []Operation) list {
	var names []string
	about := make(map[string]string)
	for _, op := range ops {
		if op.Tag.Name == "" {
			continue
		}
		if !slices.Contains(names, op.Tag.Name) {
			names = append(names, op.Tag.Name)
		}
		if about[op.Tag.Name] == "" {
			about[op.Tag.Name] = op.Tag.About
		}
	}
	all := list{}
	for _, name := range names {
		tag := obj("name", name)
		if about[name] != "" {
			tag.set("description", about[name])
		}
		all = append(all, tag)
	}
	return all
}

// shapeOf is a pattern with its parameters' names taken out: two patterns of
// one shape match the same paths.
func shapeOf(pattern string) string {
	for _, name := range variables(pattern) {
		pattern = strings.Replace(pattern, "{"+name+"}", "{}", 1)
	}
	return pattern
}
