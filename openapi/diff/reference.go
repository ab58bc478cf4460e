package diff

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxDepth is how deep a description may be nested.
const maxDepth = 200

var errDeep = errors.New("it is nested too deep to be compared")

// checkReferences refuses references that lead nowhere or out of the document.
func checkReferences(root object, value any, depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if err := checkReferences(root, item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		return checkReferences(root, object(v), depth)
	case object:
		if ref, ok := v["$ref"].(string); ok {
			if !strings.HasPrefix(ref, "#") {
				return fmt.Errorf("it refers to another document, %s; bundle it into one first", quote(ref))
			}
			if _, ok := lookup(root, ref); !ok {
				return fmt.Errorf("the reference %s leads nowhere", quote(ref))
			}
		}
		for _, name := range v.names() {
			if literal(name) {
				continue
			}
			if err := checkReferences(root, v[name], depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// literal reports whether a member holds data rather than description.
func literal(name string) bool {
	switch name {
	case "example", "examples", "default", "enum", "const", "value":
		return true
	}
	return strings.HasPrefix(name, "x-")
}

// lookup follows a reference such as #/components/schemas/Task.
func lookup(root object, ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	var at any = root
	if path == "" {
		return at, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if plain, err := url.PathUnescape(part); err == nil {
			part = plain
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if l, ok := at.([]any); ok {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(l) {
				return nil, false
			}
			at = l[i]
			continue
		}
		next, ok := asObject(at)[part]
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}

// resolve follows references to an object. A chain that goes round is empty.
func resolve(root object, value any) object {
	for range maxDepth {
		o := asObject(value)
		ref, ok := o["$ref"].(string)
		if !ok {
			return o
		}
		value, _ = lookup(root, ref)
	}
	return nil
}

// component is the name of what a reference leads to, where it is a component.
func component(value any) string {
	ref := asObject(value).text("$ref")
	if !strings.HasPrefix(ref, "#/components/") || strings.Count(ref, "/") != 3 {
		return ""
	}
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
