package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// An Own is a type of event that an application has registered.
type Own struct {
	Name        string         `json:"name" parley:"required,max=100,unique,immutable" about:"resource.action, in lower case."`
	Description string         `json:"description" parley:"max=500"`
	Schema      jsontext.Value `json:"schema" parley:"required" about:"JSON Schema (2020-12) that the data of such an event is checked against."`
}

var typeName = regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$`)

// maxSchema is the size of the largest schema, in bytes.
const maxSchema = 64 << 10

// Resource defines the types that applications register. Taken reports the
// names that the service itself uses.
func Resource(taken func(string) bool) *resource.Definition {
	return resource.Define("own-event-type", "event-types", resource.Rules[Own]{
		About:   "A type of event of an application's own.",
		Key:     "name",
		Silent:  true,
		Methods: []resource.Kind{resource.Create, resource.Replace, resource.Patch, resource.Remove},
		Check: func(next, was *Own) (errs []problem.FieldError) {
			if !typeName.MatchString(next.Name) {
				errs = append(errs, problem.FieldError{Pointer: "/name", Detail: "must be words in lower case with dots between them, such as invoice.paid"})
			} else if was == nil && taken(next.Name) {
				errs = append(errs, problem.FieldError{Pointer: "/name", Detail: "is a type that the service itself emits"})
			}
			if len(next.Schema) > maxSchema {
				errs = append(errs, problem.FieldError{Pointer: "/schema", Detail: fmt.Sprintf("may have at most %d bytes", maxSchema)})
			} else if _, err := compile(next.Schema); err != nil {
				errs = append(errs, problem.FieldError{Pointer: "/schema", Detail: "must be a JSON Schema (2020-12) that refers to nothing outside itself"})
			}
			return errs
		},
	})
}

// nowhere refuses to load what a schema refers to.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("not loaded") }

// here is where a schema stands while it is compiled. What it refers to is
// resolved against it, and never loaded.
const here = "https://schema.invalid/it"

func compile(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, errors.New("neither an object nor a boolean")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(here, doc); err != nil {
		return nil, err
	}
	return c.Compile(here)
}

// schemas keeps what has been compiled.
type schemas struct {
	mu sync.Mutex
	of map[string]*jsonschema.Schema
}

const maxSchemas = 1000

func (s *schemas) get(text string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.of[text]; c != nil {
		return c, nil
	}
	c, err := compile([]byte(text))
	if err != nil {
		return nil, err
	}
	if s.of == nil || len(s.of) >= maxSchemas {
		s.of = make(map[string]*jsonschema.Schema)
	}
	s.of[text] = c
	return c, nil
}

// check holds data against a schema and returns what is wrong, with pointers
// that begin with prefix.
func check(schema *jsonschema.Schema, data []byte, prefix string) []problem.FieldError {
	value, err := tree(data)
	if err != nil {
		return []problem.FieldError{{Pointer: prefix, Detail: "is not JSON"}}
	}
	err = schema.Validate(value)
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	var errs []problem.FieldError
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			errs = append(errs, problem.FieldError{Pointer: prefix + pointer(e.InstanceLocation), Detail: explain(e.ErrorKind)})
		}
	}
	walk(invalid)
	return errs
}

func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

// explain says what a schema asks for, without what was sent.
func explain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Required:
		return "must have the members " + strings.Join(k.Missing, ", ")
	case *kind.AdditionalProperties:
		return "has a member that the type does not know"
	}
	path := k.KeywordPath()
	if len(path) == 0 {
		return "does not fit the schema of its type"
	}
	return "does not fit the rule " + path[len(path)-1] + " of the schema of its type"
}
