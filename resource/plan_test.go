package resource

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-api/parley/store"
)

// structOf makes a struct type with one field.
func structOf(typ reflect.Type, tag string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "Field", Type: typ, Tag: reflect.StructTag(tag)}})
}

func TestKindOfMember(t *testing.T) {
	type named string
	for _, test := range []struct {
		why      string
		typ      reflect.Type
		kind     kind
		json     string
		nullable bool
	}{
		{"text", reflect.TypeFor[string](), kindString, "string", false},
		{"text of a named type", reflect.TypeFor[named](), kindString, "string", false},
		{"text or null", reflect.TypeFor[*string](), kindString, "string", true},
		{"a whole number", reflect.TypeFor[int64](), kindInt, "integer", false},
		{"int is 64 bits where servers run", reflect.TypeFor[int](), kindInt, "integer", false},
		{"a reference or null", reflect.TypeFor[*int64](), kindInt, "integer", true},
		{"a number", reflect.TypeFor[float64](), kindFloat, "number", false},
		{"a truth value", reflect.TypeFor[bool](), kindBool, "boolean", false},
		{"a timestamp", reflect.TypeFor[time.Time](), kindTime, "string", false},
		{"a timestamp or null", reflect.TypeFor[*time.Time](), kindTime, "string", true},
		{"an object", reflect.TypeFor[geo](), kindObject, "object", false},
		{"an object or null", reflect.TypeFor[*geo](), kindObject, "object", true},
		{"a list", reflect.TypeFor[[]string](), kindList, "array", false},
		{"a list of objects", reflect.TypeFor[[]geo](), kindList, "array", false},
		{"a list of lists", reflect.TypeFor[[][]int64](), kindList, "array", false},
		{"a list of what may be null", reflect.TypeFor[[]*int64](), kindList, "array", false},
		{"any JSON", reflect.TypeFor[jsontext.Value](), kindJSON, "", false},
	} {
		f := planOf(structOf(test.typ, `json:"m"`)).byName["m"]
		if f.kind != test.kind || f.jsonName() != test.json || f.nullable != test.nullable {
			t.Errorf("%s: %v is %v, %q, null %v, want %v, %q, %v", test.why, test.typ, f.kind, f.jsonName(), f.nullable, test.kind, test.json, test.nullable)
		}
	}
}

func TestPlanPanics(t *testing.T) {
	twice := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"m"`},
		{Name: "B", Type: reflect.TypeFor[string](), Tag: `json:"m"`},
	})
	type none struct{ _ string }
	type embedded struct{ geo }
	type child struct {
		Children []child `json:"children"`
	}
	type inner struct {
		A string `json:"a" parley:"hidden"`
	}
	many := make([]reflect.StructField, 65)
	for i := range many {
		many[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[bool](), Tag: reflect.StructTag(fmt.Sprintf(`json:"f%d"`, i))}
	}
	for _, test := range []struct {
		why  string
		typ  reflect.Type
		want string
	}{
		{"not a struct", reflect.TypeFor[int](), "int is not a struct"},
		{"a pointer to one", reflect.TypeFor[*geo](), "*resource.geo is not a struct"},
		{"no json tag", structOf(reflect.TypeFor[string](), ``), "Field needs a json tag"},
		{"options without a name", structOf(reflect.TypeFor[string](), `json:",omitempty"`), "Field needs a json tag"},
		{"two members of one name", twice, `has two members "m"`},
		{"no members at all", reflect.TypeFor[none](), "has 0 members; 1 to 64 are supported"},
		{"an embedded struct", reflect.TypeFor[embedded](), "embeds resource.geo; a member must be a named field"},
		{"too many members", reflect.StructOf(many), "has 65 members; 1 to 64 are supported"},
		{"a struct that contains itself", reflect.TypeFor[child](), "resource.child contains itself"},
		{"a hidden member of an object would leak", structOf(reflect.TypeFor[inner](), `json:"m"`), `the member "a" of an object cannot be hidden`},
		{"and of an object in a list", structOf(reflect.TypeFor[[]inner](), `json:"m"`), `the member "a" of an object cannot be hidden`},

		{"an unsigned number", structOf(reflect.TypeFor[uint64](), `json:"m"`), "a uint64 cannot be a member; use string"},
		{"a number of 32 bits", structOf(reflect.TypeFor[int32](), `json:"m"`), "a int32 cannot be a member"},
		{"a map", structOf(reflect.TypeFor[map[string]string](), `json:"m"`), "a map[string]string cannot be a member"},
		{"bytes", structOf(reflect.TypeFor[[]byte](), `json:"m"`), "Field[]: a uint8 cannot be a member"},
		{"an interface", structOf(reflect.TypeFor[any](), `json:"m"`), "cannot be a member"},
		{"a pointer to a pointer", structOf(reflect.TypeFor[**string](), `json:"m"`), "cannot be a member"},
		{"a pointer to a list: a list is empty, not null", structOf(reflect.TypeFor[*[]string](), `json:"m"`), "a []string cannot be a member"},
	} {
		if got := panics(func() { planOf(test.typ) }); !strings.HasPrefix(got, "resource: ") || !strings.Contains(got, test.want) {
			t.Errorf("%s: planOf(%v) panics with %q, want it to say %q", test.why, test.typ, got, test.want)
		}
	}
}

func TestRules(t *testing.T) {
	text, list, number, ref := reflect.TypeFor[string](), reflect.TypeFor[[]string](), reflect.TypeFor[int64](), reflect.TypeFor[*int64]()
	for _, test := range []struct {
		why string
		typ reflect.Type
		tag string
		has func(f *field) bool
	}{
		{"no rules", text, "", func(f *field) bool { return !f.required && !f.hasMin && !f.hasMax }},
		{"required text is not empty", text, "required", func(f *field) bool { return f.required && f.hasMin && f.min == 1 }},
		{"unless it says so", text, "required,min=0", func(f *field) bool { return f.required && f.hasMin && f.min == 0 }},
		{"a required number has no least value", number, "required", func(f *field) bool { return f.required && !f.hasMin }},
		{"bounds of text", text, "min=2,max=3", func(f *field) bool { return f.min == 2 && f.max == 3 && f.hasMin && f.hasMax }},
		{"bounds of a number may be negative", number, "min=-9,max=-2", func(f *field) bool { return f.min == -9 && f.max == -2 }},
		{"bounds of a list", list, "min=1,max=10", func(f *field) bool { return f.min == 1 && f.max == 10 }},
		{"bounds that are equal", text, "min=3,max=3", func(f *field) bool { return f.min == f.max }},
		{"a line", text, "line", func(f *field) bool { return f.line }},
		{"an enumeration", text, "enum=a|b", func(f *field) bool { return reflect.DeepEqual(f.enum, []string{"a", "b"}) }},
		{"an address", text, "format=email", func(f *field) bool { return f.format == "email" }},
		{"a place on the web, for the documentation", text, "format=uri", func(f *field) bool { return f.format == "uri" }},
		{"read-only", number, "readonly", func(f *field) bool { return f.readonly && !f.hidden }},
		{"hidden is read-only too", text, "hidden", func(f *field) bool { return f.hidden && f.readonly }},
		{"fixed", text, "immutable", func(f *field) bool { return f.immutable }},
		{"unique", text, "unique", func(f *field) bool { return f.unique }},
		{"an older version's state", text, "state", func(f *field) bool { return f.state }},
		{"a reference is an id", ref, "ref=users", func(f *field) bool { return f.ref == "users" && f.min == 1 && f.onDelete == store.Restrict }},
		{"that goes when its row does", ref, "ref=users,ondelete=null", func(f *field) bool { return f.onDelete == store.SetNull }},
		{"or keeps it", ref, "ref=users,ondelete=restrict", func(f *field) bool { return f.onDelete == store.Restrict }},
	} {
		f := planOf(structOf(test.typ, fmt.Sprintf(`json:"m" parley:%q`, test.tag))).byName["m"]
		if !test.has(f) {
			t.Errorf("%s: the tag %q gives %+v", test.why, test.tag, f)
		}
	}
}

func TestRulesPanic(t *testing.T) {
	text, number, ref := reflect.TypeFor[string](), reflect.TypeFor[int64](), reflect.TypeFor[*int64]()
	for _, test := range []struct {
		why  string
		typ  reflect.Type
		tag  string
		want string
	}{
		{"an unknown rule", text, "mandatory", `the rule "mandatory" is not understood`},
		{"a rule in capitals", text, "Required", `the rule "Required" is not understood`},
		{"a comma too many", text, "required,", `the rule "" is not understood`},
		{"a space after a comma", text, "required, line", `the rule " line" is not understood`},
		{"a value where none belongs", text, "required=yes", `the rule "required=yes" is not understood`},
		{"a bound without a value", text, "max", `the rule "max" is not understood`},
		{"a bound that is no number", text, "max=many", `the rule "max=many" is not understood`},
		{"a length below zero", text, "min=-1", `the rule "min=-1" is not understood`},
		{"bounds of what has no size", reflect.TypeFor[bool](), "max=1", `the rule "max=1" is not understood`},
		{"bounds of a time", reflect.TypeFor[time.Time](), "min=1", `the rule "min=1" is not understood`},
		{"bounds the wrong way round", text, "min=3,max=2", "min is above max"},
		{"a line that is a number", number, "line", `the rule "line" is not understood`},
		{"an enumeration of nothing", text, "enum", `the rule "enum" is not understood`},
		{"an enumeration of numbers", number, "enum=1|2", `the rule "enum=1|2" is not understood`},
		{"an unknown format", text, "format=phone", `the rule "format=phone" is not understood`},
		{"a format of a number", number, "format=email", `the rule "format=email" is not understood`},
		{"a reference to nothing", ref, "ref=", `the rule "ref=" is not understood`},
		{"a reference that is text", text, "ref=users", `the rule "ref=users" is not understood`},
		{"null for what cannot be null", number, "ref=users,ondelete=null", `the rule "ondelete=null" is not understood`},
		{"another way to go", ref, "ref=users,ondelete=cascade", `the rule "ondelete=cascade" is not understood`},
		{"deletion of what is no reference", ref, "ondelete=null", `the rule "ondelete=null" is not understood`},
		{"required of whom?", text, "required,readonly", "cannot be required"},
		{"required and hidden", text, "hidden,required", "cannot be required"},
		{"required and not to be given on create", text, "required,state", "cannot be required"},
	} {
		typ := structOf(test.typ, fmt.Sprintf(`json:"m" parley:%q`, test.tag))
		got := panics(func() { planOf(typ) })
		if !strings.HasPrefix(got, "resource: ") || !strings.Contains(got, ".Field: ") || !strings.Contains(got, test.want) {
			t.Errorf("%s: the tag %q panics with %q, want it to name the field and say %q", test.why, test.tag, got, test.want)
		}
	}
}
