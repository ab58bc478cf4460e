package diff

import "errors"

// readIntrospection reads the result of an introspection query.
func readIntrospection(schema object) (*Document, error) {
	g := newGraph()
	for _, entry := range schema.list("types") {
		t := asObject(entry)
		name := t.text("name")
		if name == "" || builtIn(name) {
			continue
		}
		is := &graphType{kind: t.text("kind"), links: map[string]bool{}, oneOf: t.is("isOneOf"), spec: t.text("specifiedByURL")}
		is.fields = introspected(append(t.list("fields"), t.list("inputFields")...), 0)
		is.values = introspected(t.list("enumValues"), 0)
		links := t.list("interfaces")
		if is.kind == "UNION" {
			links = t.list("possibleTypes")
		}
		for _, l := range links {
			is.links[asObject(l).text("name")] = true
		}
		g.types[name] = is
	}
	for _, entry := range schema.list("directives") {
		d := asObject(entry)
		is := &graphDirective{introspected(d.list("args"), 0), map[string]bool{}, d.is("isRepeatable")}
		for _, l := range d.list("locations") {
			if s, ok := l.(string); ok && executable[s] {
				is.locations[s] = true
			}
		}
		if name := d.text("name"); len(is.locations) > 0 && !builtIn("@"+name) {
			g.directives[name] = is
		}
	}
	for op, member := range map[string]string{"query": "queryType", "mutation": "mutationType", "subscription": "subscriptionType"} {
		if name := schema.object(member).text("name"); name != "" {
			g.roots[op] = name
		}
	}
	if len(g.types) == 0 {
		return nil, errors.New("its __schema has no types; was the whole introspection query sent?")
	}
	return &Document{Kind: GraphQL, graph: g}, nil
}

// introspected reads fields, arguments or enum values.
func introspected(list []any, depth int) map[string]*graphField {
	all := make(map[string]*graphField)
	for _, entry := range list {
		o := asObject(entry)
		f := &graphField{kind: introspectedRef(o.object("type"), 0), standard: o.text("defaultValue"), deprecated: o.is("isDeprecated")}
		if depth == 0 {
			f.args = introspected(o.list("args"), 1)
		}
		all[o.text("name")] = f
	}
	return all
}

func introspectedRef(o object, depth int) *graphRef {
	if o == nil || depth > maxDepth {
		return nil
	}
	switch o.text("kind") {
	case "NON_NULL":
		r := introspectedRef(o.object("ofType"), depth+1)
		if r != nil {
			r.nonNull = true
		}
		return r
	case "LIST":
		return &graphRef{list: introspectedRef(o.object("ofType"), depth+1)}
	}
	return &graphRef{name: o.text("name")}
}
