package diff_test

import (
	"fmt"
	"os"

	"github.com/parley-api/parley/openapi/diff"
)

const before = `
openapi: 3.1.0
info: {title: Tasks, version: "2025-11-01"}
paths:
  /tasks/{id}:
    get:
      responses:
        "200":
          description: The task.
          content:
            application/json:
              schema: {$ref: "#/components/schemas/Task"}
components:
  schemas:
    Task:
      type: object
      properties:
        name: {type: string}
        status: {type: string, enum: [pending, done]}
`

const after = `
openapi: 3.1.0
info: {title: Tasks, version: "2026-11-01"}
paths:
  /tasks/{id}:
    get:
      responses:
        "200":
          description: The task.
          content:
            application/json:
              schema: {$ref: "#/components/schemas/Task"}
components:
  schemas:
    Task:
      type: object
      properties:
        title: {type: string}
        status: {type: string, enum: [pending, in_progress, done]}
        created_at: {type: string, format: date-time}
`

// Two descriptions are read and compared; the worst class decides whether a
// new version is needed.
func ExampleCompare() {
	old, err := diff.Read("before.yaml", []byte(before))
	if err != nil {
		fmt.Println(err)
		return
	}
	new, err := diff.Read("after.yaml", []byte(after))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := diff.Compare(old, new)
	if err != nil {
		fmt.Println(err)
		return
	}
	report.Text(os.Stdout, nil)
	worst, _ := report.Worst()
	fmt.Println()
	fmt.Println("needs a new version:", worst == diff.Breaking)
	// Output:
	// 1 breaking, 1 breaking for typed clients, 1 non-breaking
	//
	// Breaking
	//
	//   Task.name  [response-field-renamed]
	//     A field is gone, and one of the same shape is new.
	//     name → title
	//     in GET /tasks/{id} → 200
	//
	// Breaking for typed clients
	//
	//   Task.status  [response-enum-value-added]
	//     An enumeration has a new value.
	//     now: "in_progress"
	//     in GET /tasks/{id} → 200
	//
	// Non-breaking
	//
	//   Task.created_at  [response-field-added]
	//     A field is new.
	//     now: string (date-time)
	//     in GET /tasks/{id} → 200
	//
	// needs a new version: true
}

// The catalogue is data: here, what a GraphQL schema may do safely.
func ExampleRules() {
	for _, r := range diff.Rules() {
		if r.Row == "GraphQL: adding fields, types, enum values or optional arguments is safe" && r.Class == diff.NonBreaking {
			fmt.Println(r.ID)
		}
	}
	// Output:
	// graphql-operation-added
	// graphql-type-added
	// graphql-field-added
	// graphql-argument-added
	// graphql-input-field-added
	// graphql-enum-value-added
	// graphql-directive-added
}
