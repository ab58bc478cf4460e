package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	tests := []struct{ why, text, kind, wrong string }{
		{"JSON", `{"openapi": "3.0.3", "paths": {}}`, OpenAPI, ""},
		{"JSON behind a byte order mark", "\ufeff" + `{"openapi": "3.0.3", "paths": {}}`, OpenAPI, ""},
		{"YAML", "openapi: 3.1.0\npaths: {}\n", OpenAPI, ""},
		{"YAML in braces", "{openapi: 3.1.0,\n paths: {}}\n", OpenAPI, ""},
		{"webhooks alone are enough", "openapi: 3.1.0\nwebhooks: {}\n", OpenAPI, ""},
		{"schema language", "type Query { a: Int }", GraphQL, ""},
		{"a schema with a comment that looks like YAML", "# openapi: 3.1.0\ntype Query { a: Int }", GraphQL, ""},
		{"a schema of another schema's types", "extend type Query { a: Missing }", GraphQL, ""},
		{"an introspection", `{"__schema": {"types": [{"kind": "OBJECT", "name": "Query", "fields": []}]}}`, GraphQL, ""},
		{"an introspection as it is answered", `{"data": {"__schema": {"types": [{"kind": "OBJECT", "name": "Query", "fields": []}]}}}`, GraphQL, ""},
		{"nothing", " \n", "", "it is empty"},
		{"prose", "Dear reader, this is no description.", "", "neither an OpenAPI description nor a GraphQL schema"},
		{"a page", "<!DOCTYPE html><html></html>", "", "neither an OpenAPI description nor a GraphQL schema"},
		{"bytes", "\x00\x01\x02", "", "it is neither"},
		{"JSON that ends early", `{"openapi": "3.1.0"`, "", "it is not JSON"},
		{"JSON with a slip in its third line", "{\n \"openapi\": \"3.1.0\",\n \"paths\" {}\n}", "", "line 3"},
		{"YAML that is torn", "openapi: 3.1.0\npaths: {\n", "", "it is neither JSON nor YAML"},
		{"an answer that is no description", `{"type": "/problems/not-found", "status": 404}`, "", `no member "openapi"`},
		{"a list", `["openapi"]`, "", "it is neither"},
		{"Swagger 2", "swagger: '2.0'\npaths: {}\n", "", "convert it to OpenAPI 3"},
		{"a version to come", "openapi: 4.0.0\npaths: {}\n", "", "another OpenAPI version"},
		{"a version that is a number", "openapi: 3.1\npaths: {}\n", "", `no member "openapi"`},
		{"no paths", "openapi: 3.1.0\ninfo: {}\n", "", "it has no paths"},
		{"another document", "openapi: 3.1.0\npaths: {/a: {$ref: 'a.yaml#/a'}}\n", "", "bundle it"},
		{"a reference to nothing", "openapi: 3.1.0\npaths: {/a: {$ref: '#/b'}}\n", "", "leads nowhere"},
		{"a reference in an example is none", "openapi: 3.1.0\npaths: {}\ncomponents: {schemas: {A: {example: {$ref: '#/b'}}}}\n", OpenAPI, ""},
		{"an introspection without types", `{"__schema": {}}`, "", "has no types"},
		{"a query", "{ a }", "", ""},
		{"a tower of YAML", "openapi: 3.1.0\npaths: " + strings.Repeat("[", 100_000), "", errDeep.Error()},
		{"a tower of YAML in one line", "openapi: 3.1.0\npaths:\n" + strings.Repeat("- ", 100_000) + "a", "", errDeep.Error()},
		{"a tower of JSON", `{"openapi": "3.1.0", "paths": ` + strings.Repeat("[", 100_000), "", errDeep.Error()},
		{"a tower of GraphQL", "type Query { a: " + strings.Repeat("[", 1_000_000), "", errDeep.Error()},
	}
	for _, test := range tests {
		doc, err := Read("here", []byte(test.text))
		switch {
		case test.kind == "" && err == nil:
			t.Errorf("%s: got %s, want an error", test.why, doc.Kind)
		case test.kind != "" && err != nil:
			t.Errorf("%s: got %v, want %s", test.why, err, test.kind)
		case test.kind != "" && doc.Kind != test.kind:
			t.Errorf("%s: got %s, want %s", test.why, doc.Kind, test.kind)
		case err != nil && (!strings.HasPrefix(err.Error(), "here: ") || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%s: got %q, want %q in it", test.why, err, test.wrong)
		}
	}
}

func TestCompareKinds(t *testing.T) {
	a, _ := Read("a.yaml", []byte("openapi: 3.1.0\npaths: {}\n"))
	b, _ := Read("b.graphql", []byte("type Query { a: Int }"))
	_, err := Compare(a, b)
	if want := "a.yaml is OpenAPI and b.graphql is GraphQL; compare descriptions of one kind"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestEntangled compares descriptions that lead back to themselves or have no
// end: they are compared or refused, in time.
func TestEntangled(t *testing.T) {
	head := `{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"200": {"content": {"a/b": {"schema": {"$ref": "#/components/schemas/S0"}}}}}}}}, "components": {"schemas": {`
	chain := func(n int, last string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"S%d": {"properties": {"next": {"$ref": "#/components/schemas/S%d"}}}, `, i, i+1)
		}
		return head + b.String() + fmt.Sprintf(`"S%d": {"type": "%s"}}}}`, n, last)
	}
	tests := []struct{ why, old, new, want, wrong string }{
		{"a long chain", chain(1000, "string"), chain(1000, "integer"), "breaking response-type-changed S1000", ""},
		{"a chain without end", chain(10_000, "string"), chain(10_000, "integer"), "", errDeep.Error()},
		{
			"merged schemas that lead back to each other",
			head + `"S0": {"allOf": [{"$ref": "#/components/schemas/B"}, {"properties": {"c": {"$ref": "#/components/schemas/S0"}, "v": {"type": "string"}}}]}, "B": {"properties": {"c": {"$ref": "#/components/schemas/B"}}}}}}`,
			head + `"S0": {"allOf": [{"$ref": "#/components/schemas/B"}, {"properties": {"c": {"$ref": "#/components/schemas/S0"}, "v": {"type": "integer"}}}]}, "B": {"properties": {"c": {"$ref": "#/components/schemas/B"}}}}}}`,
			"breaking response-type-changed S0.v", "",
		},
	}
	for _, test := range tests {
		old, err := Read("old", []byte(test.old))
		if err != nil {
			t.Fatal(err)
		}
		new, err := Read("new", []byte(test.new))
		if err != nil {
			t.Fatal(err)
		}
		report, err := Compare(old, new)
		if test.wrong != "" {
			if err == nil || err.Error() != test.wrong {
				t.Errorf("%s: got %v, want %s", test.why, err, test.wrong)
			}
			continue
		}
		if err != nil || !slices.Contains(lines(report), test.want) {
			t.Errorf("%s: got %v, %v, want %s", test.why, lines(report), err, test.want)
		}
	}
}

// TestIntrospection reads one schema in both forms.
func TestIntrospection(t *testing.T) {
	sdl := `
		schema { query: Root }
		type Root implements Node { id: ID! tasks(first: Int = 20, after: String): [Task!]! old: Int @deprecated }
		interface Node { id: ID! }
		type Task { id: ID! status: Status }
		enum Status { PENDING DONE }
		union Any = Task | Root
		input NewTask { title: String! status: Status = PENDING }
		scalar Time @specifiedBy(url: "https://a.example")
		directive @live(rate: Int!) repeatable on QUERY`
	id := `{"name": "id", "args": [], "type": {"kind": "NON_NULL", "ofType": {"kind": "SCALAR", "name": "ID"}}}`
	introspection := `{"data": {"__schema": {"queryType": {"name": "Root"}, "mutationType": null, "types": [
		{"kind": "SCALAR", "name": "ID"}, {"kind": "OBJECT", "name": "__Type", "fields": []},
		{"kind": "OBJECT", "name": "Root", "interfaces": [{"name": "Node"}], "fields": [` + id + `,
			{"name": "old", "args": [], "isDeprecated": true, "type": {"kind": "SCALAR", "name": "Int"}},
			{"name": "tasks", "args": [{"name": "first", "defaultValue": "20", "type": {"kind": "SCALAR", "name": "Int"}}, {"name": "after", "type": {"kind": "SCALAR", "name": "String"}}],
			 "type": {"kind": "NON_NULL", "ofType": {"kind": "LIST", "ofType": {"kind": "NON_NULL", "ofType": {"kind": "OBJECT", "name": "Task"}}}}}]},
		{"kind": "INTERFACE", "name": "Node", "fields": [` + id + `], "possibleTypes": [{"name": "Root"}]},
		{"kind": "OBJECT", "name": "Task", "interfaces": [], "fields": [` + id + `, {"name": "status", "args": [], "type": {"kind": "ENUM", "name": "Status"}}]},
		{"kind": "ENUM", "name": "Status", "enumValues": [{"name": "PENDING"}, {"name": "DONE"}]},
		{"kind": "UNION", "name": "Any", "possibleTypes": [{"name": "Task"}, {"name": "Root"}]},
		{"kind": "INPUT_OBJECT", "name": "NewTask", "inputFields": [
			{"name": "title", "type": {"kind": "NON_NULL", "ofType": {"kind": "SCALAR", "name": "String"}}},
			{"name": "status", "defaultValue": "PENDING", "type": {"kind": "ENUM", "name": "Status"}}]},
		{"kind": "SCALAR", "name": "Time", "specifiedByURL": "https://a.example"}],
		"directives": [{"name": "skip", "locations": ["FIELD"], "args": []},
			{"name": "live", "isRepeatable": true, "locations": ["QUERY"], "args": [{"name": "rate", "type": {"kind": "NON_NULL", "ofType": {"kind": "SCALAR", "name": "Int"}}}]}]}}}`
	for _, pair := range [][2]string{{sdl, introspection}, {introspection, sdl}} {
		if got := lines(compare(t, []byte(pair[0]), []byte(pair[1]))); len(got) > 0 {
			t.Errorf("got %q, want no difference between the two forms", got)
		}
	}
}
