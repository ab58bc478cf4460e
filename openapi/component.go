package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The sections of components, in the order of the document.
const (
	schemas    = "schemas"
	responses  = "responses"
	parameters = "parameters"
	headers    = "headers"
)

// A shelf holds everything that a document could refer to, by section and
// name, as compact JSON. Only what is referred to leaves it.
type shelf map[string]map[string]json.RawMessage

// add puts a component on the shelf. A second one of the same name must be the
// same.
func (s shelf) add(section, name string, value any) error {
	text := appendValue(nil, value)
	if before, ok := s[section][name]; ok && !bytes.Equal(before, text) {
		return fmt.Errorf("components/%s has two different %q", section, name)
	}
	if s[section] == nil {
		s[section] = make(map[string]json.RawMessage)
	}
	s[section][name] = text
	return nil
}

// has reports whether a component is there.
func (s shelf) has(section, name string) bool { return s[section][name] != nil }

// ref is a reference to a component.
func ref(section, name string) object { return obj("$ref", prefix+section+"/"+name) }

const prefix = "#/components/"

// used returns the sections with the components that text refers to, directly
// or through others, in order of their names. The error names a reference that
// leads nowhere.
func (s shelf) used(text []byte) (object, error) {
	taken := make(map[string]bool)
	for pending := references(text); len(pending) > 0; {
		path := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		section, name, value := s.find(path)
		if value == nil {
			return nil, fmt.Errorf("the reference %q leads nowhere", path)
		}
		if key := section + "/" + name; !taken[key] {
			taken[key] = true
			pending = append(pending, references(value)...)
		}
	}
	var all object
	for _, section := range []string{schemas, responses, parameters, headers} {
		var part object
		for _, name := range slices.Sorted(maps.Keys(s[section])) {
			if taken[section+"/"+name] {
				part.set(name, s[section][name])
			}
		}
		if part != nil {
			all.set(section, part)
		}
	}
	return all, nil
}

// find looks a reference up; one into the inside of a component finds it whole.
func (s shelf) find(path string) (section, name string, value json.RawMessage) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return "", "", nil
	}
	section, rest, _ = strings.Cut(rest, "/")
	name, _, _ = strings.Cut(rest, "/")
	return section, name, s[section][name]
}

// references returns the values of all members called $ref.
func references(text []byte) []string {
	var all []string
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, inner := range v {
				if path, ok := inner.(string); ok && name == "$ref" {
					all = append(all, path)
				}
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		panic("openapi: wrote bad JSON: " + err.Error())
	}
	walk(value)
	slices.Sort(all)
	return all
}
