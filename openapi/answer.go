package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-api/parley/resource"
)

// answers are the responses of an operation that are no problems: those of its
// kind, unless it has its own for the status, and its own.
func (b *builder) answers(op *Operation) ([]Answer, error) {
	all := slices.Clone(op.Answers)
	own, err := b.standard(op)
	if err != nil {
		return nil, err
	}
	for _, a := range own {
		if !slices.ContainsFunc(op.Answers, func(o Answer) bool { return o.Status == a.Status }) {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b Answer) int { return a.Status - b.Status })
	return all, nil
}

// standard are the answers that follow from the kind.
func (b *builder) standard(op *Operation) ([]Answer, error) {
	answer := func(status int, about string, schema Schema, headers ...string) Answer {
		a := Answer{Status: status, About: about}
		for _, t := range b.info.types() {
			if !schema.zero() {
				a.Media = append(a.Media, Media{t, schema})
			}
		}
		if status == http.StatusOK {
			a.Media = append(a.Media, op.Also...)
		}
		for _, name := range headers {
			a.Headers = append(a.Headers, Header{Name: name})
		}
		return a
	}
	unchanged := func(headers ...string) Answer {
		return answer(304, "Not changed since the entity tag in If-None-Match.", Schema{}, append(headers, "ETag")...)
	}
	switch op.Kind {
	case resource.List:
		if op.Shows.Name == "" || op.Collection == "" {
			return nil, errors.New("a list needs a Collection and a Shows with a name")
		}
		if _, err := b.schema(op.Shows); err != nil {
			return nil, err
		}
		page, span, err := b.pages(op.Shows.Name, op.Collection)
		return []Answer{
			answer(200, "A page of the list.", Schema{Name: page}, "ETag", "Link", "Accept-Ranges"),
			answer(206, "The rows in the range.", Schema{Name: span}, "ETag", "Content-Range", "Accept-Ranges"),
			unchanged("Accept-Ranges"),
		}, err
	case resource.Create:
		return []Answer{answer(201, "Created.", op.Shows, "Location", "ETag", "Accept-Ranges", "Idempotency-Replayed")}, nil
	case resource.Read:
		return []Answer{answer(200, "The resource.", op.Shows, "ETag", "Accept-Ranges"), unchanged()}, nil
	case resource.Replace, resource.Patch:
		return []Answer{answer(200, "The resource after the change.", op.Shows, "ETag", "Accept-Ranges")}, nil
	case resource.Act:
		return []Answer{answer(200, "The resource after the change.", op.Shows, "ETag", "Accept-Ranges", "Idempotency-Replayed")}, nil
	case resource.Remove:
		return []Answer{answer(204, "Deleted.", Schema{})}, nil
	}
	switch {
	case !op.Shows.zero():
		return []Answer{answer(200, "Done.", op.Shows)}, nil
	case len(op.Answers) == 0:
		return []Answer{answer(204, "Done.", Schema{})}, nil
	}
	return nil, nil
}

// responses renders all responses of an operation, in order of status.
func (b *builder) responses(op *Operation) (object, error) {
	all, err := b.answers(op)
	if err != nil {
		return nil, err
	}
	var o object
	for _, a := range all {
		response, err := b.answer(a)
		if err != nil {
			return nil, err
		}
		o.set(strconv.Itoa(a.Status), response)
	}
	for _, status := range b.problems(op) {
		if o.has(strconv.Itoa(status)) {
			continue
		}
		response, err := b.failure(status)
		if err != nil {
			return nil, err
		}
		o.set(strconv.Itoa(status), response)
	}
	slices.SortStableFunc(o, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return o, nil
}

// answer renders one response that is no problem.
func (b *builder) answer(a Answer) (object, error) {
	if a.About == "" {
		a.About = http.StatusText(a.Status) + "."
	}
	var names []string
	for _, h := range a.Headers {
		if err := b.header(h); err != nil {
			return nil, err
		}
		names = append(names, h.Name)
	}
	if slices.ContainsFunc(a.Media, func(m Media) bool { return m.Type == "text/html" }) {
		names = append(names, "Content-Security-Policy")
	}
	o := obj("description", a.About, "headers", b.headers(names...))
	if len(a.Media) > 0 {
		content, err := b.content(a.Media)
		if err != nil {
			return nil, err
		}
		o.set("content", content)
	}
	return o, nil
}

// header puts a header field on the shelf unless its name is enough.
func (b *builder) header(h Header) error {
	if h == (Header{Name: h.Name}) && b.shelf.has(headers, h.Name) {
		return nil
	}
	o := obj("description", h.About)
	if h.Schema.zero() {
		h.Schema.JSON = `{"type":"string"}`
	}
	schema, err := b.schema(h.Schema)
	if err != nil {
		return fmt.Errorf("header %s: %w", h.Name, err)
	}
	o.set("schema", schema)
	return b.shelf.add(headers, h.Name, o)
}

// headers refers to header fields and to those that every response has.
func (b *builder) headers(names ...string) object {
	all := append(b.info.common(), names...)
	slices.Sort(all)
	var o object
	for _, name := range slices.Compact(all) {
		o.set(strings.TrimSuffix(name, "-Part"), ref(headers, name))
	}
	return o
}

// content renders bodies by media type.
func (b *builder) content(all []Media) (object, error) {
	var o object
	for _, m := range all {
		media := object{}
		if !m.Schema.zero() {
			schema, err := b.schema(m.Schema)
			if err != nil {
				return nil, err
			}
			media.set("schema", schema)
		}
		o.set(m.Type, media)
	}
	return o, nil
}

// schema renders a schema: a reference where it has a name.
func (b *builder) schema(s Schema) (any, error) {
	if s.JSON == "" {
		return ref(schemas, s.Name), nil
	}
	text, err := raw(s.JSON)
	if err != nil || s.Name == "" {
		return text, err
	}
	return ref(schemas, s.Name), b.shelf.add(schemas, s.Name, text)
}
