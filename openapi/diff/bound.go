package diff

import "math/big"

// A bound is the least or greatest that is allowed.
type bound struct {
	value     *big.Float // nil means none
	exclusive bool
}

// bounded are the keywords of bounds. Those in true are upper ones.
var bounded = map[string]bool{
	"maximum": true, "maxLength": true, "maxItems": true, "maxProperties": true,
	"minimum": false, "minLength": false, "minItems": false, "minProperties": false,
}

// mergeBounds reads the bounds of a schema, in the form of 3.0 or 3.1.
func mergeBounds(o object) map[string]bound {
	var found map[string]bound
	set := func(name string, b bound) {
		if found == nil {
			found = make(map[string]bound)
		}
		found[name] = tighter(name, found[name], b)
	}
	for name := range bounded {
		n, ok := number(o[name])
		if !ok || n.Sign() == 0 && (name == "minLength" || name == "minItems" || name == "minProperties") {
			continue
		}
		b := bound{value: n}
		if name == "maximum" {
			b.exclusive = o.is("exclusiveMaximum")
		} else if name == "minimum" {
			b.exclusive = o.is("exclusiveMinimum")
		}
		set(name, b)
	}
	if n, ok := number(o["exclusiveMaximum"]); ok {
		set("maximum", bound{n, true})
	}
	if n, ok := number(o["exclusiveMinimum"]); ok {
		set("minimum", bound{n, true})
	}
	return found
}

// order says whether b is tighter (1) or looser (-1) than a, or the same.
func order(name string, a, b bound) int {
	switch {
	case a.value == nil && b.value == nil:
		return 0
	case a.value == nil:
		return 1
	case b.value == nil:
		return -1
	}
	if c := a.value.Cmp(b.value); c != 0 {
		if bounded[name] {
			return c
		}
		return -c
	}
	switch {
	case b.exclusive && !a.exclusive:
		return 1
	case a.exclusive && !b.exclusive:
		return -1
	}
	return 0
}

func tighter(name string, a, b bound) bound {
	if order(name, a, b) > 0 {
		return b
	}
	return a
}

// text writes a bound for people; "" where there is none.
func (b bound) text(name string) string {
	if b.value == nil {
		return ""
	}
	if b.exclusive {
		name = map[string]string{"maximum": "exclusiveMaximum", "minimum": "exclusiveMinimum"}[name]
	}
	return name + ": " + b.value.Text('g', 20)
}

// multiple says how a multipleOf changed: 1 tighter, -1 looser, 0 the same,
// 2 neither.
func multiple(was, is any) int {
	a, had := number(was)
	b, has := number(is)
	switch {
	case !had && !has, had && has && a.Cmp(b) == 0:
		return 0
	case !had:
		return 1
	case !has:
		return -1
	case divides(a, b):
		return 1
	case divides(b, a):
		return -1
	}
	return 2
}

// divides reports whether b is a multiple of a.
func divides(a, b *big.Float) bool { return new(big.Float).Quo(b, a).IsInt() }
