package diff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// Kinds of description.
const (
	OpenAPI = "openapi"
	GraphQL = "graphql"
)

// A Document is a description that was read. It does not change.
type Document struct {
	Source  string `json:"source"`            // as given to Read
	Kind    string `json:"kind"`              // OpenAPI or GraphQL
	Title   string `json:"title,omitempty"`   // as it says of itself
	Version string `json:"version,omitempty"` // as it says of itself

	tree  object
	graph *graph
}

// Read reads a description. The source names it in errors and reports. What it
// is, it says itself: an object with "openapi" is OpenAPI 3 in JSON or YAML, one
// with "__schema" (or "data" around it) the result of a GraphQL introspection,
// and anything that is no such object is the GraphQL schema language.
//
// The error says what is wrong with the text and what to do about it. References to
// other files are refused: bundle the description first.
func Read(source string, text []byte) (*Document, error) {
	doc, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	doc.Source = source
	return doc, nil
}

func read(text []byte) (*Document, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(text) == 0 {
		return nil, errors.New("it is empty; give an OpenAPI 3 description or a GraphQL schema")
	}
	tree, err := plant(text)
	if errors.Is(err, errDeep) {
		return nil, err
	}
	if err != nil || !describes(tree) {
		doc, wrong := readSDL(text)
		if wrong == nil {
			return doc, nil
		}
		if err == nil && tree == nil || err != nil && !structured(text) {
			return nil, fmt.Errorf("it is neither an OpenAPI description nor a GraphQL schema: %w", wrong)
		}
	}
	if err != nil {
		return nil, err
	}
	if data := tree.object("data"); data != nil && tree["openapi"] == nil {
		tree = data
	}
	if schema := tree.object("__schema"); schema != nil {
		return readIntrospection(schema)
	}
	return readOpenAPI(tree)
}

// towering reports whether a text is nested beyond what any description is:
// the readers of YAML and of GraphQL would take all memory for it.
func towering(text []byte) bool {
	const most = 2_000
	depth, run := 0, 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		switch c {
		case '-', '?', ':':
			run++ // of sequences in sequences on one line
		case ' ', '\t':
		default:
			run = 0
		}
		if depth > most || run > most {
			return true
		}
	}
	return false
}

// structured reports whether a text that could not be read was meant as JSON or
// as an OpenAPI description in YAML.
func structured(text []byte) bool {
	return text[0] == '{' || text[0] == '[' || bytes.Contains(text, []byte("openapi"))
}

// describes reports whether a tree says that it is a description.
func describes(tree object) bool {
	for _, name := range []string{"openapi", "swagger", "__schema", "data", "paths"} {
		if _, ok := tree[name]; ok {
			return true
		}
	}
	return false
}

// plant reads JSON or YAML. The tree is nil where the text is no object.
func plant(text []byte) (object, error) {
	var value any
	var notJSON error
	if text[0] == '{' {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if notJSON = d.Decode(&value); notJSON == nil {
			return asObject(value), nil
		}
		line := 1 + bytes.Count(text[:min(int(d.InputOffset()), len(text))], []byte("\n"))
		if wrong, ok := errors.AsType[*json.SyntaxError](notJSON); ok {
			line = 1 + bytes.Count(text[:min(int(wrong.Offset), len(text))], []byte("\n"))
		}
		notJSON = fmt.Errorf("it is not JSON: line %d: %w", line, notJSON)
	}
	if towering(text) {
		return nil, errDeep
	}
	err := yaml.Unmarshal(text, &value)
	switch {
	case err == nil:
		return asObject(value), nil
	case notJSON != nil && bytes.HasPrefix(bytes.TrimSpace(text[1:]), []byte(`"`)): // its names are quoted
		return nil, notJSON
	}
	message, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
	return nil, fmt.Errorf("it is neither JSON nor YAML: %s", message)
}

// readOpenAPI checks that a tree is a description that can be compared.
func readOpenAPI(tree object) (*Document, error) {
	is, ok := tree["openapi"].(string)
	switch {
	case tree["swagger"] != nil:
		return nil, errors.New("it is Swagger 2; convert it to OpenAPI 3 first")
	case !ok:
		return nil, errors.New(`it has no member "openapi" that names its version, such as "3.1.0"`)
	case !strings.HasPrefix(is, "3."):
		return nil, errors.New("it is of another OpenAPI version than 3; convert it first")
	case tree.object("paths") == nil && tree.object("webhooks") == nil && tree.object("components") == nil:
		return nil, errors.New("it has no paths; is it a part of a description?")
	}
	if err := checkReferences(tree, tree, 0); err != nil {
		return nil, err
	}
	info := tree.object("info")
	return &Document{Kind: OpenAPI, Title: info.text("title"), Version: info.text("version"), tree: tree}, nil
}

// Compare lists what a client of the old description notices of the new one.
// The error says that the two are of different kinds, or nested beyond all
// measure.
func Compare(old, new *Document) (*Report, error) {
	if old.Kind != new.Kind {
		return nil, fmt.Errorf("%s is %s and %s is %s; compare descriptions of one kind", old.Source, title(old.Kind), new.Source, title(new.Kind))
	}
	report := &Report{Old: old, New: new}
	if old.Kind == GraphQL {
		report.Changes = compareGraphs(old.graph, new.graph)
		return report, nil
	}
	changes, err := compareAPIs(old.tree, new.tree)
	report.Changes = changes
	return report, err
}

func title(kind string) string {
	if kind == GraphQL {
		return "GraphQL"
	}
	return "OpenAPI"
}
