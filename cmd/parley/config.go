package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// readConfig reads a configuration file: one YAML mapping whose names are
// those of the flags. A value is taken by its text, as if it stood on the
// command line; a flag that takes several values takes a YAML list too. A name
// without a value counts as unset. Errors begin with the line of the file and
// show no text that could be a secret.
func readConfig(path string, data []byte, flags []*kong.Flag) (map[string]setting, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntax(path, err)
	}
	pairs, err := pairsOf(path, file)
	if err != nil {
		return nil, err
	}
	found := make(map[string]setting, len(pairs))
	for _, pair := range pairs {
		line := fmt.Sprintf("%s:%d", path, pair.Key.GetToken().Position.Line)
		name := pair.Key.GetToken().Value
		flag, err := flagNamed(name, flags)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		if _, again := found[name]; again {
			return nil, fmt.Errorf("%s: %s stands in the file twice", line, name)
		}
		text, ok := textOf(pair.Value, flag.IsSlice())
		if !ok {
			return nil, fmt.Errorf("%s: %s must be %s", line, name, form(flag))
		}
		found[name] = setting{text, line + ": " + name}
	}
	for name, s := range found {
		if s.text == "" {
			delete(found, name)
		}
	}
	return found, nil
}

// syntax is one line of an error that has several.
func syntax(path string, err error) error {
	if wrong, ok := errors.AsType[*yaml.SyntaxError](err); ok && wrong.Token != nil {
		return fmt.Errorf("%s:%d: not valid YAML: %s", path, wrong.Token.Position.Line, wrong.Message)
	}
	return fmt.Errorf("%s: not valid YAML", path)
}

// pairsOf returns the lines of the one mapping that a file may hold.
func pairsOf(path string, file *ast.File) ([]*ast.MappingValueNode, error) {
	var pairs []*ast.MappingValueNode
	bodies := 0
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode:
			continue
		case *ast.MappingNode:
			pairs = body.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{body}
		default:
			return nil, fmt.Errorf(`%s: must hold lines of "name: value", such as "addr: 127.0.0.1:8080"`, path)
		}
		if bodies++; bodies > 1 {
			return nil, fmt.Errorf("%s: must hold one YAML document", path)
		}
	}
	return pairs, nil
}

// textOf returns the text of a plain value, or of a list of them where that is
// allowed. The text of null is empty.
func textOf(node ast.Node, list bool) (string, bool) {
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return "", true
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.SequenceNode:
		texts := make([]string, len(n.Values))
		for i, item := range n.Values {
			text, ok := textOf(item, false)
			if !ok {
				return "", false
			}
			texts[i] = strings.ReplaceAll(text, ",", `\,`)
		}
		return strings.Join(texts, ","), list
	}
	return "", false
}

func form(flag *kong.Flag) string {
	if flag.IsSlice() {
		return "a list of plain values, such as [a, b]"
	}
	return "one plain value, not a list, a mapping, an anchor or a tag"
}

// flagNamed returns the flag of a name, or an error with the nearest one. The
// file cannot name another file.
func flagNamed(name string, flags []*kong.Flag) (*kong.Flag, error) {
	var nearest string
	least := -1
	for _, flag := range flags {
		if flag.Name == "config" {
			continue
		}
		if flag.Name == name {
			return flag, nil
		}
		if d := distance(name, flag.Name); least < 0 || d < least {
			nearest, least = flag.Name, d
		}
	}
	return nil, fmt.Errorf("unknown name %q; did you mean %q?", name, nearest)
}

// distance counts the letters to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{replace, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}
