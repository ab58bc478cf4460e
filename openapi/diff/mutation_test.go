package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A mutation is one change to our own description and what it must be found
// to be.
type mutation struct {
	why   string
	apply func()
	undo  func()
	want  Class
	rule  string // one of the rules found
}

// A mutant is our own description, to be changed.
type mutant struct {
	root object
	sent map[string]bool // the schemas that clients send
	read map[string]bool // the schemas that clients receive
}

// set returns a change of a member and how to take it back. Nil removes it.
func set(o object, name string, value any) (apply, undo func()) {
	old, had := o[name]
	apply = func() {
		if o[name] = value; value == nil {
			delete(o, name)
		}
	}
	undo = func() {
		if o[name] = old; !had {
			delete(o, name)
		}
	}
	return apply, undo
}

// TestMutations changes our own description in every way the table knows, in
// many places, and wants each change classified right.
func TestMutations(t *testing.T) {
	old, new := own(t, "2026-11-01"), own(t, "2026-11-01")
	m := &mutant{root: new.tree, sent: map[string]bool{}, read: map[string]bool{}}
	m.reach()
	kinds := []func() []mutation{m.endpoints, m.bodies, m.statuses, m.parameters, m.fields, m.needs, m.additions, m.enums, m.bounds, m.types, m.headers, m.methods, m.failures}
	total := 0
	for _, kind := range kinds {
		all := kind()
		if len(all) == 0 {
			t.Error("a kind of mutation found nothing to change")
		}
		const most = 4 // of a kind, spread over the description
		step := max(1, len(all)/most)
		for i := 0; i < len(all); i += step {
			mutated(t, old, new, &all[i])
			total++
		}
	}
	if total < 30 {
		t.Errorf("got %d mutations, want 30 and more", total)
	}
	t.Logf("%d mutations", total)
	if report, err := Compare(old, new); err != nil || len(report.Changes) > 0 {
		t.Errorf("the mutations were not taken back: %v, %v", lines(report), err)
	}
}

func mutated(t *testing.T, old, new *Document, m *mutation) {
	t.Helper()
	m.apply()
	defer m.undo()
	report, err := Compare(old, new)
	if err != nil {
		t.Fatalf("%s: %v", m.why, err)
	}
	worst, any := report.Worst()
	found := slices.ContainsFunc(report.Changes, func(c Change) bool { return c.Rule.ID == m.rule })
	if !any || worst != m.want || !found {
		t.Errorf("%s: got %v, want %v by %s:\n  %s", m.why, worst, m.want, m.rule, strings.Join(lines(report), "\n  "))
	}
	back, err := Compare(new, old)
	if err != nil || len(back.Changes) == 0 {
		t.Errorf("%s: the way back shows nothing: %v", m.why, err)
	}
}

// each calls f for every operation.
func (m *mutant) each(f func(name string, item, op object)) {
	ops := operations(m.root, m.root.object("paths"))
	for _, key := range slices.Sorted(maps.Keys(ops)) {
		f(ops[key].name(), ops[key].item, ops[key].object)
	}
}

// reach notes which schemas are sent and which are received.
func (m *mutant) reach() {
	m.each(func(_ string, _, op object) {
		m.follow(m.sent, op["requestBody"])
		m.follow(m.sent, op["parameters"])
		m.follow(m.read, op["responses"])
	})
}

func (m *mutant) follow(into map[string]bool, value any) {
	if l, ok := value.([]any); ok {
		for _, item := range l {
			m.follow(into, item)
		}
	}
	o := asObject(value)
	if ref := o.text("$ref"); ref != "" && !into[ref] {
		into[ref] = true
		target, _ := lookup(m.root, ref)
		m.follow(into, target)
	}
	for _, member := range o {
		m.follow(into, member)
	}
}

// schemas calls f for every schema component that is an object.
func (m *mutant) schemas(f func(name string, schema object, sent, read bool)) {
	schemas := m.root.object("components").object("schemas")
	for _, name := range schemas.names() {
		ref := "#/components/schemas/" + name
		f(name, schemas.object(name), m.sent[ref], m.read[ref])
	}
}

func (m *mutant) endpoints() (all []mutation) {
	m.each(func(name string, item, op object) {
		method := strings.ToLower(strings.Fields(name)[0])
		apply, undo := set(item, method, nil)
		all = append(all, mutation{"without " + name, apply, undo, Breaking, "endpoint-removed"})
	})
	paths := m.root.object("paths")
	apply, undo := set(paths, "/novelties", map[string]any{"get": map[string]any{"responses": map[string]any{"200": map[string]any{}}}})
	return append(all, mutation{"with GET /novelties", apply, undo, NonBreaking, "endpoint-added"})
}

func (m *mutant) methods() (all []mutation) {
	m.each(func(name string, item, op object) {
		if put := item.object("put"); put != nil && strings.HasPrefix(name, "PUT ") && item["trace"] == nil {
			one, back := set(item, "put", nil)
			two, there := set(item, "trace", map[string]any(put))
			all = append(all, mutation{name + " by another method", func() { one(); two() }, func() { back(); there() }, Breaking, "method-changed"})
		}
		apply, undo := set(op, "operationId", "another")
		all = append(all, mutation{name + " with another id", apply, undo, Typed, "operation-id-changed"})
	})
	return all
}

func (m *mutant) bodies() (all []mutation) {
	m.each(func(name string, _, op object) {
		body := op.object("requestBody")
		if body == nil {
			apply, undo := set(op, "requestBody", map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{}}})
			all = append(all, mutation{name + " needs a body", apply, undo, Breaking, "request-body-added-required"})
			return
		}
		content := body.object("content")
		apply, undo := set(content, content.names()[0], nil)
		all = append(all, mutation{name + " takes one media type fewer", apply, undo, Breaking, "request-media-type-removed"})
		apply, undo = set(content, "text/csv", map[string]any{})
		all = append(all, mutation{name + " takes CSV", apply, undo, NonBreaking, "request-media-type-added"})
	})
	return all
}

func (m *mutant) statuses() (all []mutation) {
	m.each(func(name string, _, op object) {
		answers := op.object("responses")
		for _, status := range answers.names() {
			apply, undo := set(answers, status, nil)
			all = append(all, mutation{name + " without " + status, apply, undo, Breaking, string(zoneOf(status)) + "-status-removed"})
		}
		apply, undo := set(answers, "418", map[string]any{})
		all = append(all, mutation{name + " with 418", apply, undo, Typed, "error-status-added"})
	})
	return all
}

func (m *mutant) parameters() (all []mutation) {
	m.each(func(name string, _, op object) {
		list := op.list("parameters")
		for _, needed := range []bool{true, false} {
			want, rule := NonBreaking, "parameter-added"
			if needed {
				want, rule = Breaking, "parameter-added-required"
			}
			p := map[string]any{"name": "novelty", "in": "query", "required": needed, "schema": map[string]any{"type": "string"}}
			apply, undo := set(op, "parameters", append(slices.Clone(list), any(p)))
			all = append(all, mutation{fmt.Sprintf("%s with a parameter, needed: %t", name, needed), apply, undo, want, rule})
		}
		if len(list) > 0 {
			apply, undo := set(op, "parameters", slices.Clone(list[1:]))
			all = append(all, mutation{name + " without its first parameter", apply, undo, Breaking, "parameter-removed"})
		}
	})
	return all
}

func (m *mutant) headers() (all []mutation) {
	m.each(func(name string, _, op object) {
		for status, answer := range op.object("responses") {
			headers := asObject(answer).object("headers")
			if headers["ETag"] == nil {
				continue
			}
			apply, undo := set(headers, "ETag", nil)
			all = append(all, mutation{name + " " + status + " without ETag", apply, undo, Breaking, string(zoneOf(status)) + "-header-removed"})
			apply, undo = set(headers, "X-Novelty", map[string]any{"schema": map[string]any{"type": "string"}})
			all = append(all, mutation{name + " " + status + " with X-Novelty", apply, undo, NonBreaking, string(zoneOf(status)) + "-header-added"})
		}
	})
	slices.SortFunc(all, func(a, b mutation) int { return strings.Compare(a.why, b.why) })
	return all
}

// inError reports whether a schema is seen in errors only.
func inError(name string) bool { return name == "Problem" || name == "FieldError" }

// zoneRule is a rule of the first zone that the schema is in.
func zoneRule(sent bool, suffix string) string {
	if sent {
		return "request-" + suffix
	}
	return "response-" + suffix
}

func (m *mutant) fields() (all []mutation) {
	m.schemas(func(name string, s object, sent, read bool) {
		properties := s.object("properties")
		if inError(name) {
			return // see failures
		}
		for _, field := range properties.names() {
			apply, undo := set(properties, field, nil)
			all = append(all, mutation{name + " without " + field, apply, undo, Breaking, zoneRule(sent, "field-removed")})
		}
	})
	return all
}

// failures changes the shape of errors.
func (m *mutant) failures() (all []mutation) {
	m.schemas(func(name string, s object, sent, read bool) {
		properties := s.object("properties")
		if name != "Problem" {
			return
		}
		for _, field := range properties.names() {
			apply, undo := set(properties, field, nil)
			all = append(all, mutation{"an error without " + field, apply, undo, Breaking, "error-field-removed"})
			apply, undo = set(properties, field, map[string]any{"type": "boolean"})
			all = append(all, mutation{"an error with another " + field, apply, undo, Breaking, "error-type-changed"})
		}
		apply, undo := set(properties, "novelty", map[string]any{"type": "string"})
		all = append(all, mutation{"an error with a novelty", apply, undo, NonBreaking, "error-field-added"})
	})
	return all
}

func (m *mutant) needs() (all []mutation) {
	m.schemas(func(name string, s object, sent, read bool) {
		properties := s.object("properties")
		required := s.list("required")
		for _, field := range properties.names() {
			if slices.Contains(required, any(field)) || sent == read {
				continue
			}
			apply, undo := set(s, "required", append(slices.Clone(required), any(field)))
			want := NonBreaking
			if sent {
				want = Breaking
			}
			rule := zoneRule(sent, "field-became-required")
			if inError(name) {
				rule = "error-field-became-required"
			}
			all = append(all, mutation{name + " needs " + field, apply, undo, want, rule})
		}
	})
	return all
}

func (m *mutant) additions() (all []mutation) {
	m.schemas(func(name string, s object, sent, read bool) {
		properties := s.object("properties")
		if properties == nil || inError(name) {
			return
		}
		apply, undo := set(properties, "novelty", map[string]any{"type": "string"})
		all = append(all, mutation{name + " with a novelty", apply, undo, NonBreaking, zoneRule(sent, "field-added")})
	})
	return all
}

// leaves calls f for every field of every schema outside errors.
func (m *mutant) leaves(f func(at string, leaf object, sent, read bool)) {
	m.schemas(func(name string, s object, sent, read bool) {
		if inError(name) {
			return
		}
		properties := s.object("properties")
		for _, field := range properties.names() {
			if leaf := properties.object(field); leaf != nil {
				f(name+"."+field, leaf, sent, read)
			}
		}
	})
}

func (m *mutant) enums() (all []mutation) {
	m.leaves(func(at string, leaf object, sent, read bool) {
		if list := leaf.list("enum"); len(list) > 1 {
			apply, undo := set(leaf, "enum", append(slices.Clone(list), any("novelty")))
			all = append(all, mutation{at + " may be novelty", apply, undo, Typed, zoneRule(sent, "enum-value-added")})
			apply, undo = set(leaf, "enum", slices.Clone(list[1:]))
			all = append(all, mutation{at + " has a value fewer", apply, undo, Breaking, zoneRule(sent, "enum-value-removed")})
		}
	})
	return all
}

func (m *mutant) bounds() (all []mutation) {
	m.leaves(func(at string, leaf object, sent, read bool) {
		if leaf["maxLength"] == nil {
			return
		}
		want := NonBreaking
		if sent {
			want = Breaking
		}
		apply, undo := set(leaf, "maxLength", 1)
		all = append(all, mutation{at + " is shorter", apply, undo, want, zoneRule(sent, "constraint-tightened")})
		apply, undo = set(leaf, "maxLength", 100_000)
		all = append(all, mutation{at + " is longer", apply, undo, NonBreaking, zoneRule(sent, "constraint-relaxed")})
		apply, undo = set(leaf, "maxLength", nil)
		all = append(all, mutation{at + " is of any length", apply, undo, NonBreaking, zoneRule(sent, "constraint-relaxed")})
	})
	return all
}

func (m *mutant) types() (all []mutation) {
	m.leaves(func(at string, leaf object, sent, read bool) {
		if leaf["type"] == nil || leaf["enum"] != nil {
			return
		}
		apply, undo := set(leaf, "type", "null")
		if leaf.text("type") != "" {
			all = append(all, mutation{at + " is nothing", apply, undo, Breaking, zoneRule(sent, "type-changed")})
		}
		kind := "boolean"
		if leaf.text("type") == kind {
			kind = "string"
		}
		apply, undo = set(leaf, "type", kind)
		all = append(all, mutation{at + " is a " + kind, apply, undo, Breaking, zoneRule(sent, "type-changed")})
	})
	return all
}
