package diff

import (
	"slices"
	"strings"
)

// A view is a schema with its references followed, its allOf merged and the
// ways to say one thing made one.
type view struct {
	types    []string // sorted, without null; nil means any
	null     bool     // null is among them, or beside the variants
	enum     []string // canonical, sorted; nil means open
	fields   map[string]any
	required map[string]bool
	closed   any // additionalProperties: nil, a bool or a schema
	items    any
	prefix   []any
	groups   []group
	format   string
	standard any               // the default
	bounds   map[string]bound  // by the name of the inclusive keyword
	factor   any               // multipleOf
	patterns map[string]any    // patternProperties
	other    map[string]string // what is compared as text only, by keyword

	nullable                        bool // as 3.0 says null, also without a type
	readOnly, writeOnly, deprecated bool
}

// A group is a oneOf or anyOf.
type group struct {
	variants []any
	by       string // the field that tells them apart; empty where none does
}

// opaque are the keywords that can be told apart but not compared.
var opaque = []string{"pattern", "not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames", "dependentRequired",
	"dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contentMediaType", "contentEncoding", "uniqueItems"}

// viewOf makes a view of a schema in the document root.
func viewOf(root object, schema any) *view {
	v := &view{fields: map[string]any{}, required: map[string]bool{}, bounds: map[string]bound{}, patterns: map[string]any{}, other: map[string]string{}}
	v.merge(root, schema, nil, 0)
	v.settle()
	return v
}

// merge adds what one more schema demands. The references that led to it
// stop one that leads back.
func (v *view) merge(root object, schema any, path []string, depth int) {
	if depth > maxDepth {
		return
	}
	if allowed, ok := schema.(bool); ok {
		if !allowed {
			v.other["not"] = "{}"
		}
		return
	}
	o := asObject(schema)
	if o == nil {
		return
	}
	if ref, ok := o["$ref"].(string); ok && !slices.Contains(path, ref) {
		target, _ := lookup(root, ref)
		v.merge(root, target, append(path, ref), depth+1)
	}
	v.mergeValues(o)
	v.mergeParts(o)
	for name, value := range mergeBounds(o) {
		v.bounds[name] = tighter(name, v.bounds[name], value)
	}
	for _, part := range o.list("allOf") {
		v.merge(root, part, path, depth+1)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		v.mergeGroup(root, o, keyword, path, depth)
	}
}

// mergeValues takes over types, values and what is only noted.
func (v *view) mergeValues(o object) {
	types, null := typesOf(o)
	if types != nil && v.types != nil {
		types = intersect(types, v.types)
		null = null && v.null
	}
	if types != nil {
		v.types, v.null = types, null
	}
	v.nullable = v.nullable || o.is("nullable")
	listed, ok := o["enum"].([]any)
	if constant, has := o["const"]; has {
		listed, ok = []any{constant}, true
	}
	if ok {
		values := make([]string, 0, len(listed))
		for _, value := range listed {
			values = append(values, canon(value))
		}
		slices.Sort(values)
		if values = slices.Compact(values); v.enum != nil {
			values = intersect(values, v.enum)
		}
		v.enum = values
	}
	if format := o.text("format"); format != "" {
		v.format = format
	}
	if standard, ok := o["default"]; ok {
		v.standard = standard
	}
	if factor, ok := number(o["multipleOf"]); ok && factor.Sign() > 0 {
		v.factor = o["multipleOf"]
	}
	v.readOnly = v.readOnly || o.is("readOnly")
	v.writeOnly = v.writeOnly || o.is("writeOnly")
	v.deprecated = v.deprecated || o.is("deprecated")
	for _, keyword := range opaque {
		value, ok := o[keyword]
		if !ok || isFalse(value) && keyword == "uniqueItems" {
			continue
		}
		text := canon(bare(value, 0))
		if had, ok := v.other[keyword]; ok && had != text {
			text = had + " and " + text
		}
		v.other[keyword] = text
	}
}

// mergeParts takes over fields and items.
func (v *view) mergeParts(o object) {
	for name, schema := range o.object("properties") {
		v.fields[name] = both(v.fields[name], schema)
	}
	for name, schema := range o.object("patternProperties") {
		v.patterns[name] = both(v.patterns[name], schema)
	}
	for _, name := range o.list("required") {
		if s, ok := name.(string); ok {
			v.required[s] = true
		}
	}
	if more, ok := o["additionalProperties"]; ok && !isFalse(v.closed) {
		open, is := more.(bool)
		if rest := asObject(more); is && open || rest != nil && len(rest) == 0 {
			more = v.closed
		}
		v.closed = more
	}
	if items, ok := o["items"]; ok {
		v.items = both(v.items, items)
	}
	if prefix := o.list("prefixItems"); prefix != nil {
		v.prefix = prefix
	}
}

// mergeGroup takes over variants. A variant null is the type null, and the
// only variant is the schema itself.
func (v *view) mergeGroup(root, o object, keyword string, path []string, depth int) {
	listed := o.list(keyword)
	if len(listed) == 0 {
		return
	}
	var variants []any
	null := false
	for _, variant := range listed {
		types, isNull := typesOf(resolve(root, variant))
		if isNull && len(types) == 0 {
			null = true
			continue
		}
		variants = append(variants, variant)
	}
	if len(variants) == 1 {
		v.merge(root, variants[0], path, depth+1)
	} else {
		v.groups = append(v.groups, group{variants, o.object("discriminator").text("propertyName")})
	}
	v.null = v.null || null
}

// settle derives the type from the values where only those are given, and
// whether null is allowed.
func (v *view) settle() {
	v.null = v.null || v.nullable
	if v.enum == nil {
		return
	}
	if v.types == nil {
		v.types = []string{}
		for _, value := range v.enum {
			v.types = append(v.types, typeOfValue(value))
		}
		v.null = slices.Contains(v.types, "null")
		slices.Sort(v.types)
		v.types = slices.DeleteFunc(slices.Compact(v.types), func(t string) bool { return t == "null" })
	}
	v.enum = slices.DeleteFunc(v.enum, func(value string) bool { return value == "null" })
}

func typeOfValue(canonical string) string {
	switch canonical[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(canonical, ".e") {
		return "number"
	}
	return "integer"
}

// typesOf returns the types that a schema names; nil means any.
func typesOf(o object) (types []string, null bool) {
	switch t := o["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		types = []string{}
		for _, name := range t {
			if s, ok := name.(string); ok {
				types = append(types, s)
			}
		}
	default:
		return nil, o.is("nullable")
	}
	null = slices.Contains(types, "null") || o.is("nullable")
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	slices.Sort(types)
	return slices.Compact(types), null
}

func intersect(a, b []string) []string {
	both := make([]string, 0, len(a))
	for _, name := range a {
		if slices.Contains(b, name) || name == "integer" && slices.Contains(b, "number") {
			both = append(both, name)
		} else if name == "number" && slices.Contains(b, "integer") {
			both = append(both, "integer")
		}
	}
	return both
}

// both is a schema that demands what two demand.
func both(a, b any) any {
	if a == nil || canon(a) == canon(b) {
		return b
	}
	parts := flat(a)
	for _, part := range flat(b) {
		if !slices.ContainsFunc(parts, func(p any) bool { return canon(p) == canon(part) }) {
			parts = append(parts, part)
		}
	}
	return object{"allOf": parts}
}

// flat are the parts of a schema that both made.
func flat(schema any) []any {
	if o, ok := schema.(object); ok && len(o) == 1 {
		if parts := o.list("allOf"); parts != nil {
			return slices.Clone(parts)
		}
	}
	return []any{schema}
}

// bare is a schema without what is written for people.
func bare(value any, depth int) any {
	if depth > maxDepth {
		return nil
	}
	if l, ok := value.([]any); ok {
		out := make([]any, len(l))
		for i, item := range l {
			out[i] = bare(item, depth+1)
		}
		return out
	}
	o := asObject(value)
	if o == nil {
		return value
	}
	out := make(object, len(o))
	for name, member := range o {
		switch {
		case name == "properties" || name == "patternProperties" || name == "dependentSchemas":
			named := make(object)
			for key, schema := range asObject(member) {
				named[key] = bare(schema, depth+2)
			}
			out[name] = named
		case name == "enum" || name == "const" || name == "default":
			out[name] = member
		case !slices.Contains(notes, name) && !strings.HasPrefix(name, "x-"):
			out[name] = bare(member, depth+1)
		}
	}
	return out
}

var notes = []string{"description", "title", "summary", "example", "examples", "deprecated", "externalDocs", "$comment"}

// schemaText names a schema in a few words.
func schemaText(root object, schema any) string {
	if name := component(schema); name != "" {
		return name
	}
	v := viewOf(root, schema)
	text := strings.Join(v.types, " or ")
	switch {
	case len(v.groups) > 0 && v.types == nil:
		text = "one of several forms"
	case text == "":
		text = "any"
	case text == "array" && v.items != nil:
		if name := component(v.items); name != "" {
			text = "array of " + name
		} else if types, _ := typesOf(asObject(v.items)); len(types) > 0 {
			text = "array of " + strings.Join(types, " or ")
		}
	}
	if v.format != "" {
		text += " (" + v.format + ")"
	}
	if v.null {
		text += " or null"
	}
	return text
}
