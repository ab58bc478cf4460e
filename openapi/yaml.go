package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/goccy/go-yaml"
)

// YAML returns a JSON text as YAML, its members in the same order. The error
// says that the text is not one JSON value.
func YAML(text []byte) ([]byte, error) {
	if !json.Valid(text) {
		return nil, errors.New("openapi: not one JSON value")
	}
	d := json.NewDecoder(bytes.NewReader(text))
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
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return orderedObject(d)
		}
		return orderedList(d)
	case json.Number:
		return number(t), nil
	}
	return token, nil
}

func orderedObject(d *json.Decoder) (any, error) {
	all := yaml.MapSlice{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := ordered(d)
		if err != nil {
			return nil, err
		}
		all = append(all, yaml.MapItem{Key: name, Value: value})
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
func number(n json.Number) any {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		return n.String() // beyond what YAML readers take for a number
	}
	return f
}
