// Package route matches a method and a path against a table of patterns and
// has an answer for everything: what matches, 404, 405 with Allow, and the
// methods of a resource for OPTIONS.
//
// A pattern is a path of literal segments and parameters: /tasks/{id}/complete.
// A literal wins over a parameter. There are no wildcards, no redirects and no
// cleaning of paths: a trailing slash, an empty segment or a file extension is
// another path, and another path is 404.
package route

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-api/parley/problem"
)

// MaxArgs is the number of parameters a pattern may have.
const MaxArgs = 3

// Args are the values of a pattern's parameters, in order.
type Args [MaxArgs]string

// A Table maps methods and patterns to values of any kind, usually handlers.
// Fill it before use; then it is safe for concurrent use. The zero value is
// ready.
type Table[H any] struct {
	root node[H]
}

type node[H any] struct {
	literal map[string]*node[H]
	param   *node[H]
	leaf    *leaf[H]
}

// A leaf is a path that exists.
type leaf[H any] struct {
	pattern string
	methods []string
	values  []H
	allow   string
}

// Add enters a value. It panics on a pattern that is not understood, is already
// there with this method, or names the parameters of a path otherwise than an
// earlier one. GET also answers HEAD, and every path answers OPTIONS.
func (t *Table[H]) Add(method, pattern string, value H) {
	if !strings.HasPrefix(pattern, "/") || pattern != "/" && strings.HasSuffix(pattern, "/") || strings.Contains(pattern, "//") {
		panic("route: bad pattern " + pattern)
	}
	n, params := &t.root, 0
	for segment := range strings.SplitSeq(pattern[1:], "/") {
		if strings.HasPrefix(segment, "{") {
			if params++; params > MaxArgs || !isParam(segment) {
				panic("route: bad pattern " + pattern)
			}
			if n.param == nil {
				n.param = new(node[H])
			}
			n = n.param
			continue
		}
		if strings.ContainsAny(segment, "{}") {
			panic("route: bad pattern " + pattern)
		}
		if n.literal == nil {
			n.literal = make(map[string]*node[H])
		}
		if n.literal[segment] == nil {
			n.literal[segment] = new(node[H])
		}
		n = n.literal[segment]
	}
	if n.leaf == nil {
		n.leaf = &leaf[H]{pattern: pattern}
	}
	if n.leaf.pattern != pattern {
		panic("route: " + pattern + " is the same path as " + n.leaf.pattern)
	}
	n.leaf.add(method, value)
}

// isParam reports whether a segment is a name in braces.
func isParam(segment string) bool {
	name, ok := strings.CutSuffix(segment[1:], "}")
	return ok && name != "" && !strings.ContainsAny(name, "{}")
}

func (l *leaf[H]) add(method string, value H) {
	if method == "" || slices.Contains(l.methods, method) || method == http.MethodHead || method == http.MethodOptions {
		panic(fmt.Sprintf("route: %q %s is already there or no method of its own", method, l.pattern))
	}
	l.methods = append(l.methods, method)
	l.values = append(l.values, value)
	allow := append([]string{http.MethodOptions}, l.methods...)
	if slices.Contains(l.methods, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	slices.Sort(allow)
	l.allow = strings.Join(allow, ", ")
}

// A Match is what a table knows of a path.
type Match[H any] struct {
	Value   H
	Pattern string // for logs and metrics: bounded in number
	Args    Args
	Allow   string // the methods of the path, for OPTIONS
	Options bool   // the method is OPTIONS: Value is empty
}

// Match looks a request up. The path is percent-decoded and begins with a
// slash. The errors are problems: NotFound, or MethodNotAllowed with an Allow
// header, and then Pattern and Allow are set all the same.
func (t *Table[H]) Match(method, path string) (Match[H], error) {
	var m Match[H]
	l := t.find(path, &m.Args)
	if l == nil {
		return m, problem.NotFound.New("There is nothing at this path.")
	}
	m.Pattern, m.Allow = l.pattern, l.allow
	if method == http.MethodOptions {
		m.Options = true
		return m, nil
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if i := slices.Index(l.methods, method); i >= 0 {
		m.Value = l.values[i]
		return m, nil
	}
	p := problem.MethodNotAllowed.New("This resource supports " + l.allow + ".")
	return m, p.Set("Allow", l.allow)
}

// find walks the segments. A literal that leads nowhere is not taken back: no
// pattern needs it.
func (t *Table[H]) find(path string, args *Args) *leaf[H] {
	if path == "" || path[0] != '/' {
		return nil
	}
	n, params, rest, more := &t.root, 0, path[1:], true
	for more {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		if next := n.literal[segment]; next != nil {
			n = next
			continue
		}
		if n.param == nil || segment == "" {
			return nil
		}
		args[params] = segment
		params++
		n = n.param
	}
	return n.leaf
}

// Routes yields every method and pattern with its value, in order of patterns.
func (t *Table[H]) Routes() []Entry[H] {
	var all []Entry[H]
	var walk func(n *node[H])
	walk = func(n *node[H]) {
		if n.leaf != nil {
			for i, m := range n.leaf.methods {
				all = append(all, Entry[H]{m, n.leaf.pattern, n.leaf.values[i]})
			}
		}
		for _, next := range n.literal {
			walk(next)
		}
		if n.param != nil {
			walk(n.param)
		}
	}
	walk(&t.root)
	slices.SortFunc(all, func(a, b Entry[H]) int {
		return strings.Compare(a.Pattern+" "+a.Method, b.Pattern+" "+b.Method)
	})
	return all
}

// An Entry is one row of a Table.
type Entry[H any] struct {
	Method, Pattern string
	Value           H
}
