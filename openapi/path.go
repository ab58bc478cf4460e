package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-api/parley/resource"
)

// paths renders the operations by path, both in the order they are given.
func (b *builder) paths(ops []Operation) (object, error) {
	var patterns []string
	at := make(map[string][]*Operation)
	shapes := make(map[string]string)
	for i := range ops {
		pattern := ops[i].Pattern
		if other := shapes[shapeOf(pattern)]; other != "" && other != pattern {
			return nil, fmt.Errorf("the patterns %s and %s are the same path", other, pattern)
		}
		shapes[shapeOf(pattern)] = pattern
		if at[pattern] == nil {
			patterns = append(patterns, pattern)
		}
		at[pattern] = append(at[pattern], &ops[i])
	}
	var all object
	for _, pattern := range patterns {
		item, err := b.path(pattern, at[pattern])
		if err != nil {
			return nil, err
		}
		all.set(pattern, item)
	}
	return all, nil
}

// path renders one Path Item: the parameters of the path and of the version,
// and the operations in order of method.
func (b *builder) path(pattern string, ops []*Operation) (object, error) {
	var shared list
	for _, name := range variables(pattern) {
		o, err := b.variable(name, pattern, ops)
		if err != nil {
			return nil, err
		}
		shared = append(shared, o)
	}
	for _, name := range []string{"API-Version", "query-api-version", "query-version"} {
		shared = append(shared, ref(parameters, name))
	}
	item := obj("parameters", shared)
	for _, method := range []string{"GET", "PUT", "POST", "DELETE", "PATCH"} {
		for _, op := range ops {
			if op.Method != method {
				continue
			}
			o, err := b.operation(op)
			if err != nil {
				return nil, fmt.Errorf("describing %s %s: %w", op.Method, pattern, err)
			}
			item.set(strings.ToLower(method), o)
		}
	}
	if len(item) != len(ops)+1 {
		return nil, fmt.Errorf("%s has a method that cannot be described", pattern)
	}
	return item, nil
}

// variable renders a parameter of the path, as the first operation that says
// something of it does, else as a string.
func (b *builder) variable(name, pattern string, ops []*Operation) (object, error) {
	for _, op := range ops {
		i := slices.IndexFunc(op.Parameters, func(p Parameter) bool { return p.Name == name && p.in(pattern) == "path" })
		if i >= 0 {
			return b.parameter(op.Parameters[i], pattern)
		}
	}
	return b.parameter(Parameter{Name: name, In: "path"}, pattern)
}

// operation renders one Operation Object.
func (b *builder) operation(op *Operation) (object, error) {
	var o object
	if op.Tag.Name != "" {
		o.set("tags", list{op.Tag.Name})
	}
	o.set("summary", op.Summary)
	o.set("description", about(op))
	o.set("operationId", op.ID)
	if b.info.deprecated() {
		o.set("deprecated", true)
	}
	if op.Public {
		o.set("security", list{})
	}
	params, err := b.parameters(op)
	if err != nil {
		return nil, err
	}
	if len(params) > 0 {
		o.set("parameters", params)
	}
	if len(op.Takes) > 0 {
		content, err := b.content(op.Takes)
		if err != nil {
			return nil, err
		}
		o.set("requestBody", obj("required", true, "content", content))
	}
	answers, err := b.responses(op)
	if err != nil {
		return nil, err
	}
	o.set("responses", answers)
	return o, nil
}

// about is the description of an operation.
func about(op *Operation) string {
	text := op.About
	if text == "" {
		switch op.Kind {
		case resource.List:
			text = "Gives the list a page at a time. The parameters choose the style: cursor and limit, which is also the style " +
				"without any; page and size; or page_token and page_size. Styles cannot be mixed. " +
				"A Range in the unit `" + op.Collection + "` gives rows by their place instead."
		case resource.Create:
			text = "Creates one and answers with it, and with its path in Location. " +
				"With an Idempotency-Key the request can be repeated: it is done once and answered alike."
		case resource.Read:
			text = "Gives the resource. With the entity tag of a copy in If-None-Match the answer is 304 while the copy is good."
		case resource.Replace:
			text = "Replaces the whole resource: a member that is not sent is reset, but for its state. It does not create one. " +
				"With If-Match it fails where somebody else was faster."
		case resource.Patch:
			text = "Changes the members that are sent and leaves the others, as a JSON Merge Patch (RFC 7396), or applies a JSON Patch (RFC 6902). " +
				"With If-Match it fails where somebody else was faster."
		case resource.Remove:
			text = "Deletes the resource. A second time it is 404."
		case resource.Act:
			text = strings.TrimSuffix(op.Summary, ".") + ". It is a conflict where the resource cannot go to that state, or is in it already."
		default:
			text = strings.TrimSuffix(op.Summary, ".") + "."
		}
	}
	switch {
	case op.Public:
		text += " It needs no key."
	case op.Scope != "":
		text += " The key needs the scope `" + op.Scope + "`."
	}
	return text
}
