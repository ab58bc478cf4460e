package resource

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-api/parley/store"
)

// A plan is what a struct's fields and tags say, worked out once.
type plan struct {
	typ    reflect.Type
	fields []*field
	byName map[string]*field
}

type kind uint8

const (
	kindString kind = iota
	kindInt
	kindFloat
	kindBool
	kindTime
	kindList
	kindObject
	kindJSON // any JSON value, kept as it is
)

// A field is one member of a JSON object and its rules.
type field struct {
	name   string
	quoted string // "name": as it stands in a document
	index  int
	kind   kind
	elem   *field // of a list
	plan   *plan  // of an object
	about  string

	nullable, required, readonly, hidden, immutable, state, unique, line, omit bool

	min, max       int64 // of a string or list: its length; of a number: its value
	hasMin, hasMax bool
	enum           []string
	format         string
	ref            string
	onDelete       store.OnDelete
}

var (
	timeType = reflect.TypeFor[time.Time]()
	jsonType = reflect.TypeFor[jsontext.Value]()
)

// planOf reads a struct type. It panics on what it cannot serve: a definition
// is wrong at start-up or never.
func planOf(typ reflect.Type, outer ...reflect.Type) *plan {
	if typ.Kind() != reflect.Struct {
		panic(fmt.Sprintf("resource: %v is not a struct", typ))
	}
	if slices.Contains(outer, typ) {
		panic(fmt.Sprintf("resource: %v contains itself", typ))
	}
	outer = append(slices.Clip(outer), typ)
	p := &plan{typ: typ, byName: make(map[string]*field)}
	for i := range typ.NumField() {
		sf := typ.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous {
			panic(fmt.Sprintf("resource: %v embeds %v; a member must be a named field", typ, sf.Type))
		}
		if !sf.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			panic(fmt.Sprintf("resource: %v.%s needs a json tag", typ, sf.Name))
		}
		f := fieldOf(sf.Type, typ.String()+"."+sf.Name, outer)
		f.name, f.index, f.about = name, i, sf.Tag.Get("about")
		f.quoted = strconv.Quote(name) + ":"
		f.omit = strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero")
		f.rules(sf.Tag.Get("parley"), typ.String()+"."+sf.Name)
		if p.byName[name] != nil {
			panic(fmt.Sprintf("resource: %v has two members %q", typ, name))
		}
		p.fields = append(p.fields, f)
		p.byName[name] = f
	}
	if len(p.fields) == 0 || len(p.fields) > 64 {
		panic(fmt.Sprintf("resource: %v has %d members; 1 to 64 are supported", typ, len(p.fields)))
	}
	return p
}

// fieldOf finds the kind of a Go type.
func fieldOf(typ reflect.Type, where string, outer []reflect.Type) *field {
	f := &field{}
	if typ.Kind() == reflect.Pointer {
		f.nullable = true
		typ = typ.Elem()
	}
	switch {
	case typ == timeType:
		f.kind = kindTime
	case typ == jsonType:
		f.kind = kindJSON
	case typ.Kind() == reflect.String:
		f.kind = kindString
	case typ.Kind() == reflect.Bool:
		f.kind = kindBool
	case typ.Kind() == reflect.Int64 || typ.Kind() == reflect.Int:
		f.kind = kindInt
	case typ.Kind() == reflect.Float64:
		f.kind = kindFloat
	case typ.Kind() == reflect.Struct:
		f.kind = kindObject
		f.plan = planOf(typ, outer...)
		for _, in := range f.plan.fields {
			if in.hidden || in.immutable || in.state || in.unique || in.ref != "" {
				panic(fmt.Sprintf("resource: %s: the member %q of an object cannot be hidden, immutable, unique, a state or a ref", where, in.name))
			}
		}
	case typ.Kind() == reflect.Slice && !f.nullable:
		f.kind = kindList
		f.elem = fieldOf(typ.Elem(), where+"[]", outer)
	default:
		panic(fmt.Sprintf("resource: %s: a %v cannot be a member; use string, bool, int64, float64, time.Time, jsontext.Value, a struct, a slice of these, or a pointer for null", where, typ))
	}
	return f
}

// rules reads a parley tag.
func (f *field) rules(tag, where string) {
	for rule := range strings.SplitSeq(tag, ",") {
		key, value, has := strings.Cut(rule, "=")
		ok := !has
		switch key {
		case "":
			ok = tag == ""
		case "required":
			f.required = true
		case "readonly":
			f.readonly = true
		case "hidden":
			f.hidden, f.readonly = true, true
		case "writeonly":
			f.hidden = true
		case "immutable":
			f.immutable = true
		case "state":
			f.state = true
		case "unique":
			f.unique = true
		case "line":
			f.line = true
			ok = ok && f.kind == kindString
		case "min":
			f.min, ok = f.bound(value)
			f.hasMin = true
		case "max":
			f.max, ok = f.bound(value)
			f.hasMax = true
		case "enum":
			f.enum = strings.Split(value, "|")
			ok = has && f.kind == kindString
		case "format":
			f.format = value
			ok = f.kind == kindString && (value == "email" || value == "uri")
		case "ref":
			f.ref = value
			ok = value != "" && f.kind == kindInt
		case "ondelete":
			if value == "null" {
				f.onDelete = store.SetNull
			}
			ok = f.ref != "" && (value == "restrict" || value == "null" && f.nullable)
		default:
			ok = false
		}
		if !ok {
			panic(fmt.Sprintf("resource: %s: the rule %q is not understood here", where, rule))
		}
	}
	if f.required && (f.readonly || f.state) {
		panic(fmt.Sprintf("resource: %s: what a client cannot give on create cannot be required", where))
	}
	if f.hasMin && f.hasMax && f.min > f.max {
		panic(fmt.Sprintf("resource: %s: min is above max", where))
	}
	if f.kind == kindString && !f.hasMin && f.required {
		f.min, f.hasMin = 1, true
	}
	if f.ref != "" && !f.hasMin {
		f.min, f.hasMin = 1, true
	}
}

// bound reads the value of min or max.
func (f *field) bound(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch f.kind {
	case kindInt, kindFloat:
		return n, err == nil
	case kindString, kindList:
		return n, err == nil && n >= 0
	}
	return 0, false
}

// column returns the kind of column that holds a member.
func (f *field) column() (store.Kind, bool) {
	switch f.kind {
	case kindString:
		return store.Text, true
	case kindInt:
		return store.Int, true
	case kindBool:
		return store.Bool, true
	}
	return 0, false
}

// jsonName is the JSON type of a member.
func (f *field) jsonName() string {
	switch f.kind {
	case kindString, kindTime:
		return "string"
	case kindInt:
		return "integer"
	case kindFloat:
		return "number"
	case kindBool:
		return "boolean"
	case kindList:
		return "array"
	case kindObject:
		return "object"
	}
	return "" // any
}

// key returns the value of a member as a column's value.
func (f *field) key(v reflect.Value) any {
	v = v.Field(f.index)
	if f.nullable {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch f.kind {
	case kindString:
		return v.String()
	case kindInt:
		return v.Int()
	case kindBool:
		return v.Bool()
	}
	return nil
}
