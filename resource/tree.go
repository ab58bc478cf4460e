package resource

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// at returns the value that the tokens of a pointer lead to.
func at(node any, path []string) (any, bool) {
	for _, key := range path {
		switch n := node.(type) {
		case map[string]any:
			child, ok := n[key]
			if !ok {
				return nil, false
			}
			node = child
		case []any:
			i, ok := element(key, len(n))
			if !ok {
				return nil, false
			}
			node = n[i]
		default:
			return nil, false
		}
	}
	return node, true
}

// put returns node with a value at the end of the path. To insert makes a new
// member or moves the elements of an array on; otherwise it must be there. It
// refuses what would be nested more than MaxDepth levels deep.
func put(node any, path []string, value any, insert bool) (any, bool) {
	if len(path)+depth(value) > MaxDepth {
		return nil, false
	}
	if len(path) == 0 {
		return value, true
	}
	parent, _ := at(node, path[:len(path)-1])
	key := path[len(path)-1]
	switch p := parent.(type) {
	case map[string]any:
		if _, ok := p[key]; ok || insert {
			p[key] = value
			return node, true
		}
	case []any:
		if !insert {
			i, ok := element(key, len(p))
			if ok {
				p[i] = value
			}
			return node, ok
		}
		i, ok := element(key, len(p)+1)
		if key == "-" {
			i, ok = len(p), true
		}
		if ok {
			return put(node, path[:len(path)-1], slices.Insert(p, i, value), false)
		}
	}
	return nil, false
}

// cut returns node without the value at the end of the path, which is not the
// whole.
func cut(node any, path []string) (any, bool) {
	if len(path) == 0 {
		return nil, false
	}
	parent, _ := at(node, path[:len(path)-1])
	key := path[len(path)-1]
	switch p := parent.(type) {
	case map[string]any:
		if _, ok := p[key]; ok {
			delete(p, key)
			return node, true
		}
	case []any:
		if i, ok := element(key, len(p)); ok {
			return put(node, path[:len(path)-1], slices.Delete(p, i, i+1), false)
		}
	}
	return nil, false
}

// element reads the index of one of n elements: digits, no sign, no zeros
// before them.
func element(key string, n int) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == key
}

// clone copies a tree, and fails where that takes more bytes than are left.
func clone(node any, left *int) (any, bool) {
	ok := true
	switch n := node.(type) {
	case map[string]any:
		*left -= 2
		c := make(map[string]any, len(n))
		for key, value := range n {
			*left -= len(key) + 4
			if c[key], ok = clone(value, left); !ok {
				return nil, false
			}
		}
		return c, *left >= 0
	case []any:
		*left -= 2
		c := make([]any, len(n))
		for i, value := range n {
			*left--
			if c[i], ok = clone(value, left); !ok {
				return nil, false
			}
		}
		return c, *left >= 0
	case string:
		*left -= len(n) + 2
	case json.Number:
		*left -= len(n)
	default:
		*left -= 4
	}
	return node, *left >= 0
}

// depth counts the brackets around the deepest value.
func depth(node any) int {
	deepest := 0
	switch n := node.(type) {
	case map[string]any:
		for _, child := range n {
			deepest = max(deepest, depth(child))
		}
	case []any:
		for _, child := range n {
			deepest = max(deepest, depth(child))
		}
	default:
		return 0
	}
	return deepest + 1
}

// equal compares trees as RFC 6902 section 4.6 says: numbers by their value,
// members in any order.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		x, fine := parseDecimal(string(a))
		y, too := parseDecimal(string(b))
		return fine && too && x == y
	}
	switch b.(type) { // what == cannot compare
	case map[string]any, []any:
		return false
	}
	return a == b
}
