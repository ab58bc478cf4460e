package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"
)

// YAML returns a JSON text as YAML, its members in the same order. The error
// says that the text is not one JSON value, or that it has what no sensible
// document has: a member twice, a line end in a name, a number beyond float64.
func YAML(doc []byte) ([]byte, error) {
	if !json.Valid(doc) {
		return nil, errors.New("openapi: not one JSON value")
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	value, err := ordered(d)
	if err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	out, err := yaml.MarshalWithOptions(value, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return out, nil
}

// ordered reads a value with its objects as ordered maps.
func ordered(d *json.Decoder) (any, error) {
	next, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := next.(type) {
	case json.Delim:
		if t == '{' {
			return orderedObject(d)
		}
		return orderedList(d)
	case json.Number:
		return number(t)
	case string:
		return text(t), nil
	}
	return next, nil
}

// text returns a string that every reader of YAML takes for one.
func text(s string) any {
	if plain(s) {
		return s
	}
	return quoted(s)
}

// plain reports whether a string needs no quotes in any version of YAML: words
// that begin with a letter or one of / $ _, on one line.
func plain(s string) bool {
	for i, c := range s {
		switch {
		case i == 0 && !unicode.IsLetter(c) && c != '/' && c != '$' && c != '_':
			return false
		case !unicode.IsPrint(c), c == '#', c == '"', c == '\\':
			return false
		case c == ':' && (i+1 == len(s) || s[i+1] == ' '):
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return !strings.HasSuffix(s, " ")
}

// quoted is a string in double quotes. The escapes of Go are escapes of YAML.
type quoted string

// MarshalYAML returns the string as it stands in the text.
func (q quoted) MarshalYAML() ([]byte, error) { return []byte(strconv.Quote(string(q))), nil }

func orderedObject(d *json.Decoder) (any, error) {
	all, seen := yaml.MapSlice{}, make(map[string]bool)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := ordered(d)
		if err != nil {
			return nil, err
		}
		key := name.(string)
		if seen[key] || !plain(key) && !token.IsNeedQuoted(key) {
			return nil, fmt.Errorf("the name of a member, %q, is repeated or cannot be written in YAML", key)
		}
		seen[key] = true
		all = append(all, yaml.MapItem{Key: key, Value: value})
	}
	return all, end(d)
}

func orderedList(d *json.Decoder) (any, error) {
	all := []any{}
	for d.More() {
		value, err := ordered(d)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, end(d)
}

// end takes the closing bracket.
func end(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// number keeps whole numbers whole.
func number(n json.Number) (any, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i, nil
	}
	return n.Float64()
}
