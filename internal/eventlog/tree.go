package eventlog

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// tree reads a JSON value as a schema is held against it: objects are maps, and
// numbers stay as they are written. One that is in data has been read once
// already, so that names are known to be unique.
func tree(data []byte) (any, error) {
	return branch(jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)))
}

func branch(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case '[':
		return elements(dec)
	}
	members := make(map[string]any)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // before the next token is read
		if members[key], err = branch(dec); err != nil {
			return nil, err
		}
	}
	_, err = dec.ReadToken()
	return members, err
}

func elements(dec *jsontext.Decoder) (any, error) {
	list := []any{}
	for dec.PeekKind() != ']' {
		v, err := branch(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.ReadToken()
	return list, err
}
