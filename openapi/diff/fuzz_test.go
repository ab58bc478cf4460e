package diff

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// odd are descriptions that nobody should write.
var odd = []string{
	`{"openapi": "3.1.0", "paths": null, "components": {}}`,
	`{"openapi": "3.1.0", "paths": {"/a": null, "/{": {"get": []}, "/b": {"get": {"parameters": {}, "responses": []}}}}`,
	`{"openapi": "3.1.0", "paths": {"/a": {"$ref": "#/paths/~1a"}}}`,
	`{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"200": {"content": {"a/b": {"schema": {"$ref": "#/components/schemas/A"}}}}}}}},
	  "components": {"schemas": {"A": {"allOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}], "properties": {"a": {"$ref": "#/components/schemas/B"}}},
	  "B": {"properties": {"a": {"$ref": "#/components/schemas/A"}}, "oneOf": [{"$ref": "#/components/schemas/A"}, {"type": "null"}], "not": {"$ref": "#/components/schemas/B"}}}}}`,
	`{"openapi": "3.0.0", "paths": {"/a": {"get": {"parameters": [{"in": "query", "name": "a", "schema": {"type": [1, null], "enum": [null, {}, [], 1e999, "a"], "multipleOf": 0, "maximum": "x", "minimum": 1e400, "required": [1]}}]}}}}`,
	"openapi: 3.1.0\npaths: &p\n  /a: *p\n",
	"openapi: 3.1.0\npaths: {/a: {get: {responses: {200: {headers: {A: {schema: {maximum: .inf, minimum: .nan}}}}}}}}\n",
	`{"openapi": "3.1.0", "components": {"schemas": {"A": ` + strings.Repeat(`{"items": `, 300) + `{}` + strings.Repeat(`}`, 300) + `}}}`,
	`{"openapi": "3.1.0", "security": [1, {"a": 1}], "servers": [1, {"url": ":"}], "webhooks": {"a": {"post": {"requestBody": {"$ref": "#/webhooks"}}}}, "paths": {"/a": {"get": {"callbacks": {"a": {"b": {"post": 1}}}, "responses": {"": {}, "4": {}, "default": 1}}}}}`,
	`{"data": {"__schema": {"queryType": {"name": "Q"}, "types": [null, {"kind": "OBJECT", "name": "Q", "fields": [{"name": "a", "type": {"kind": "NON_NULL"}}, {"name": "b"}]}]}}}`,
	"type Query { a: [[Int!]!]! } extend type Query { b(x: Int = {a: [1, $v]}): Int } extend union U = Query",
	"schema { query: A mutation: A } input A { a: A! = null }",
	"directive @a(a: Int = 1) repeatable on FIELD | OBJECT scalar A @specifiedBy",
}

// FuzzCompare shows that no description makes the comparison panic or hang, and
// that none differs from itself.
func FuzzCompare(f *testing.F) {
	for _, folder := range []string{"row", "surface", "graphql"} {
		for _, fixture := range fixtures(f, folder) {
			f.Add(fixture.old, fixture.new)
		}
	}
	for _, fixture := range fixtures(f, "schema") {
		f.Add(placed(request, fixture.old), placed(response, fixture.new))
	}
	for _, text := range odd {
		f.Add([]byte(text), []byte(odd[3]))
	}
	f.Fuzz(func(t *testing.T, old, new []byte) {
		a, err := Read("old", old)
		if err != nil {
			return
		}
		if report, err := Compare(a, a); err != nil || len(report.Changes) > 0 {
			t.Errorf("it differs from itself: %v, %v", lines(report), err)
		}
		b, err := Read("new", new)
		if err != nil {
			return
		}
		report, err := Compare(a, b)
		if err != nil {
			return
		}
		var text bytes.Buffer
		for _, err := range []error{report.Text(&text, nil), report.Markdown(io.Discard), report.JSON(io.Discard)} {
			if err != nil {
				t.Error(err)
			}
		}
		if strings.ContainsAny(text.String(), "\x1b\x07\r") {
			t.Errorf("a terminal would obey this: %q", text.String())
		}
	})
}
