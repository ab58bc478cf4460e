package resource

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-api/parley/problem"
)

const (
	maxOperations = 100     // of one patch
	maxCopied     = 1 << 20 // what the copies of one patch may add, in bytes, roughly
)

// An operation is one element of a JSON Patch, RFC 6902 section 4. Its value
// is a tree that belongs to the patch: apply puts copies of it.
type operation struct {
	op         string
	path, from []string
	value      any
}

// parsePatch reads a JSON Patch. What is not JSON is 400, what is no patch 422.
func parsePatch(body []byte) ([]operation, error) {
	if err := CheckJSON(body); err != nil {
		return nil, err
	}
	list, ok := parseTree(body).([]any)
	if !ok {
		return nil, Invalid(problem.FieldError{Pointer: "", Detail: "must be an array of operations, each with op and path"})
	}
	if len(list) > maxOperations {
		return nil, Invalid(problem.FieldError{Pointer: "", Detail: "must have at most " + strconv.Itoa(maxOperations) + " operations"})
	}
	ops := make([]operation, len(list))
	var errs []problem.FieldError
	for i, one := range list {
		if pointer, detail := ops[i].read(one); detail != "" {
			errs = append(errs, problem.FieldError{Pointer: "/" + strconv.Itoa(i) + pointer, Detail: detail})
		}
	}
	if len(errs) > 0 {
		return nil, Invalid(errs...)
	}
	return ops, nil
}

// read sets o from an element of a patch and returns what is wrong with it.
// Members that an operation does not have are ignored, as section 4 says.
func (o *operation) read(one any) (pointer, detail string) {
	members, ok := one.(map[string]any)
	if !ok {
		return "", "must be an object"
	}
	if o.op, ok = members["op"].(string); !ok {
		return "/op", "is required"
	}
	if o.path, ok = tokens(members["path"]); !ok {
		return "/path", "must be a JSON Pointer"
	}
	switch o.op {
	case "add", "replace", "test":
		if o.value, ok = members["value"]; !ok {
			return "/value", "is required"
		}
	case "move", "copy":
		if o.from, ok = tokens(members["from"]); !ok {
			return "/from", "must be a JSON Pointer"
		}
	case "remove":
	default:
		return "/op", "must be one of: add, remove, replace, move, copy, test"
	}
	return "", ""
}

// tokens takes a JSON Pointer apart, RFC 6901. The whole document has none.
func tokens(pointer any) ([]string, bool) {
	text, ok := pointer.(string)
	if !ok || text == "" {
		return nil, ok
	}
	all := strings.Split(text, "/")
	if all[0] != "" {
		return nil, false
	}
	for i, t := range all {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(t), "~") {
			return nil, false
		}
		all[i] = strings.NewReplacer("~0", "~", "~1", "/").Replace(t)
	}
	return all[1:], true
}

// applyPatch returns the tree of a document after the operations. A test that
// fails is a conflict with the current state; a path that leads nowhere is a
// mistake in the patch.
func applyPatch(ops []operation, doc []byte) (any, error) {
	root, budget := parseTree(doc), maxCopied
	for i := range ops {
		next, ok := ops[i].apply(root, &budget)
		if !ok && ops[i].op == "test" {
			return nil, problem.Conflict.Newf("The test in operation %d of the patch does not hold.", i)
		}
		if !ok {
			return nil, Invalid(problem.FieldError{Pointer: "/" + strconv.Itoa(i) + "/path", Detail: "cannot be applied to the resource"})
		}
		root = next
	}
	return root, nil
}

// apply does one operation on a tree, which it may change in place.
func (o *operation) apply(root any, budget *int) (any, bool) {
	switch o.op {
	case "test":
		got, ok := at(root, o.path)
		return root, ok && equal(got, o.value)
	case "remove":
		return cut(root, o.path)
	case "add", "replace":
		left := math.MaxInt // the request's own size is bounded already
		value, _ := clone(o.value, &left)
		return put(root, o.path, value, o.op == "add")
	}
	value, ok := at(root, o.from)
	if !ok {
		return nil, false
	}
	if o.op == "copy" {
		if value, ok = clone(value, budget); !ok {
			return nil, false
		}
		return put(root, o.path, value, true)
	}
	if slices.Equal(o.from, o.path) {
		return root, true
	}
	if len(o.from) < len(o.path) && slices.Equal(o.from, o.path[:len(o.from)]) {
		return nil, false // section 4.4: not into a child of itself
	}
	if root, ok = cut(root, o.from); !ok {
		return nil, false
	}
	return put(root, o.path, value, true)
}

// strip returns the text of a patched tree without the members that a client
// cannot set, and refuses a patch that changed one of them. Members that the
// patch left alone are as they are written in doc, the text before it.
func strip(after any, doc []byte, names []string) ([]byte, error) {
	now, ok := after.(map[string]any)
	if !ok {
		return nil, Invalid(problem.FieldError{Pointer: "", Detail: "must be an object"})
	}
	was, _ := parseTree(doc).(map[string]any)
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(doc, &raw); err != nil {
		return nil, err
	}
	var errs []problem.FieldError
	for _, name := range names {
		a, has := now[name]
		b, had := was[name]
		if has != had || !equal(a, b) {
			errs = append(errs, problem.FieldError{Pointer: "/" + name, Detail: "is read-only"})
		}
		delete(now, name)
	}
	if len(errs) > 0 {
		return nil, Invalid(errs...)
	}
	for name, value := range now {
		if b, had := was[name]; had && equal(value, b) {
			now[name] = raw[name] // with its own members in their order
		}
	}
	return json.Marshal(now)
}

// parseTree takes a well-formed JSON text apart: map[string]any, []any,
// json.Number, string, bool and nil.
func parseTree(doc []byte) any {
	var root any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	d.Decode(&root)
	return root
}
