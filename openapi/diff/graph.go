package diff

import (
	"bytes"
	"errors"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// maxTokens is how long a schema may be.
const maxTokens = 4_000_000

// A graph is a GraphQL schema, however it was written down.
type graph struct {
	types      map[string]*graphType
	directives map[string]*graphDirective
	roots      map[string]string // query, mutation, subscription: the name of the type
}

// A graphType is a type of any kind.
type graphType struct {
	kind   string // SCALAR, OBJECT, INTERFACE, UNION, ENUM, INPUT_OBJECT
	fields map[string]*graphField
	links  map[string]bool        // interfaces of an object, members of a union
	values map[string]*graphField // of an enum
	oneOf  bool
	spec   string // of a scalar: specifiedBy
}

// A graphField is a field, an argument or an enum value.
type graphField struct {
	kind       *graphRef // nil for an enum value
	args       map[string]*graphField
	standard   string // the default, as it is written; empty means none
	deprecated bool
}

// A graphRef is a type with its lists and marks.
type graphRef struct {
	name    string // empty for a list
	list    *graphRef
	nonNull bool
}

func (r *graphRef) String() string {
	if r == nil {
		return ""
	}
	text := r.name
	if r.list != nil {
		text = "[" + r.list.String() + "]"
	}
	if r.nonNull {
		text += "!"
	}
	return text
}

// A graphDirective is a directive that a query may use.
type graphDirective struct {
	args       map[string]*graphField
	locations  map[string]bool
	repeatable bool
}

func newGraph() *graph {
	return &graph{types: map[string]*graphType{}, directives: map[string]*graphDirective{}, roots: map[string]string{}}
}

// executable are the places of a query where a directive may stand; in others
// it is the service's own.
var executable = map[string]bool{
	"QUERY": true, "MUTATION": true, "SUBSCRIPTION": true, "FIELD": true, "FRAGMENT_DEFINITION": true,
	"FRAGMENT_SPREAD": true, "INLINE_FRAGMENT": true, "VARIABLE_DEFINITION": true,
}

// builtIn reports whether every schema has a type or directive.
func builtIn(name string) bool {
	switch name {
	case "Int", "Float", "String", "Boolean", "ID", "@skip", "@include", "@deprecated", "@specifiedBy", "@oneOf", "@defer", "@stream":
		return true
	}
	return strings.HasPrefix(name, "__")
}

// readSDL reads the schema language.
func readSDL(text []byte) (*Document, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is not text")
	}
	doc, err := parser.ParseSchemaWithLimit(&ast.Source{Input: string(text)}, maxTokens)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "input:"))
	}
	g := newGraph()
	for _, d := range append(doc.Definitions, doc.Extensions...) {
		g.define(d)
	}
	for _, d := range doc.Directives {
		g.directive(d)
	}
	for _, schema := range append(doc.Schema, doc.SchemaExtension...) {
		for _, op := range schema.OperationTypes {
			g.roots[string(op.Operation)] = op.Type
		}
	}
	if len(doc.Schema) == 0 {
		for op, name := range map[string]string{"query": "Query", "mutation": "Mutation", "subscription": "Subscription"} {
			if g.types[name] != nil && g.roots[op] == "" {
				g.roots[op] = name
			}
		}
	}
	if len(g.types) == 0 {
		return nil, errors.New("it defines no types")
	}
	return &Document{Kind: GraphQL, graph: g}, nil
}

// define adds a type or what extends it.
func (g *graph) define(d *ast.Definition) {
	if builtIn(d.Name) {
		return
	}
	t := g.types[d.Name]
	if t == nil {
		t = &graphType{kind: string(d.Kind), fields: map[string]*graphField{}, links: map[string]bool{}, values: map[string]*graphField{}}
		g.types[d.Name] = t
	}
	for _, f := range d.Fields {
		t.fields[f.Name] = &graphField{refOf(f.Type), arguments(f.Arguments), valueText(f.DefaultValue), f.Directives.ForName("deprecated") != nil}
	}
	for _, name := range append(d.Interfaces, d.Types...) {
		t.links[name] = true
	}
	for _, v := range d.EnumValues {
		t.values[v.Name] = &graphField{deprecated: v.Directives.ForName("deprecated") != nil}
	}
	t.oneOf = t.oneOf || d.Directives.ForName("oneOf") != nil
	if by := d.Directives.ForName("specifiedBy"); by != nil {
		if url := by.Arguments.ForName("url"); url != nil && url.Value != nil {
			t.spec = url.Value.Raw
		}
	}
}

func (g *graph) directive(d *ast.DirectiveDefinition) {
	if builtIn("@" + d.Name) {
		return
	}
	is := &graphDirective{arguments(d.Arguments), map[string]bool{}, d.IsRepeatable}
	for _, l := range d.Locations {
		if executable[string(l)] {
			is.locations[string(l)] = true
		}
	}
	if len(is.locations) > 0 {
		g.directives[d.Name] = is
	}
}

func arguments(list ast.ArgumentDefinitionList) map[string]*graphField {
	all := make(map[string]*graphField)
	for _, a := range list {
		all[a.Name] = &graphField{kind: refOf(a.Type), standard: valueText(a.DefaultValue), deprecated: a.Directives.ForName("deprecated") != nil}
	}
	return all
}

func valueText(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return v.String()
}

func refOf(t *ast.Type) *graphRef {
	if t == nil {
		return nil
	}
	return &graphRef{name: t.NamedType, list: refOf(t.Elem), nonNull: t.NonNull}
}
