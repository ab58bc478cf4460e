package resource

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-api/parley/problem"
)

// A sample has a member of every kind and nearly every rule.
type sample struct {
	Title  string         `json:"title" parley:"required,max=10,line"`
	Count  int64          `json:"count" parley:"min=-5,max=5"`
	Big    int64          `json:"big"`
	Ratio  float64        `json:"ratio" parley:"min=0,max=1"`
	Flag   bool           `json:"flag"`
	When   time.Time      `json:"when"`
	Due    *time.Time     `json:"due"`
	Colour string         `json:"colour,omitempty" parley:"enum=red|green"`
	Mail   string         `json:"mail,omitempty" parley:"format=email"`
	Text   string         `json:"text" parley:"max=1000"`
	Tags   []string       `json:"tags" parley:"max=3"`
	Items  []part         `json:"items"`
	Grid   [][]int64      `json:"grid"`
	Marks  []*int64       `json:"marks"`
	Home   place          `json:"home"`
	Work   *place         `json:"work"`
	Any    jsontext.Value `json:"any"`
	Owner  *int64         `json:"owner" parley:"ref=users"`
	Fixed  *string        `json:"fixed" parley:"immutable"`
	Sum    int64          `json:"sum" parley:"readonly"`
	Secret string         `json:"secret" parley:"hidden"`
	Maybe  *string        `json:"maybe,omitzero"`
	Ignore string         `json:"-"`
	inner  string
}

type part struct {
	Name     string  `json:"name" parley:"required,max=5"`
	Quantity int64   `json:"quantity" parley:"max=99"`
	Note     *string `json:"note"`
}

type place struct {
	Street string `json:"street"`
	City   string `json:"city" parley:"max=5"`
	Geo    *geo   `json:"geo"`
}

type geo struct {
	Lat float64 `json:"lat" parley:"required,min=-90,max=90"`
	Lon float64 `json:"lon"`
	Src *source `json:"src"`
}

type source struct {
	Name string `json:"name" parley:"required"`
	Year int64  `json:"year"`
}

var samplePlan = planOf(reflect.TypeFor[sample]())

// read decodes a body over a value, as a request of that mode does.
func read(body string, was sample, m mode) (sample, error) {
	err := samplePlan.decode([]byte(body), reflect.ValueOf(&was).Elem(), m)
	return was, err
}

// written is the whole document of a value.
func written(v sample) string {
	return string(samplePlan.append(nil, reflect.ValueOf(&v).Elem(), true))
}

// summary tells an error of a decoder in a line: "" for none, 400, or 422 with
// what it points at.
func summary(err error) string {
	p, ok := errors.AsType[*problem.Problem](err)
	switch {
	case err == nil:
		return ""
	case !ok:
		return "not a problem: " + err.Error()
	case p.Kind == problem.MalformedJSON:
		return "400"
	case p.Kind == problem.Conflict:
		return "409"
	case p.Kind != problem.ValidationFailed || len(p.Errors) == 0:
		return "unexpected: " + err.Error()
	}
	s := "422"
	for _, e := range p.Errors {
		s += fmt.Sprintf(" [%s %s]", e.Pointer, e.Detail)
	}
	return s
}

// panics returns the text that f panics with.
func panics(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

func TestSampleIsWhole(t *testing.T) {
	if got, want := len(samplePlan.fields), reflect.TypeFor[sample]().NumField()-2; got != want {
		t.Errorf("the plan has %d members, want %d: all but what is unexported or tagged -", got, want)
	}
	_ = sample{}.inner
}
