package resource

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/store"
)

// A Parent puts a resource below another: /users/{id}/orders. A parent that is
// not there, or is another account's, is 404.
type Parent struct {
	Of     *Definition
	Member string // hidden, a whole number: the id of the parent
}

// defineParent finds the member that holds the parent's id.
func (d *Definition) defineParent(p Parent) {
	if p.Of == nil {
		return
	}
	d.above = p.Of
	if d.parent = d.plan.byName[p.Member]; d.parent == nil || d.parent.kind != kindInt || d.parent.nullable || !d.parent.hidden || d.Service() {
		d.panicf("the parent %q is not a member that is a whole number and hidden", p.Member)
	}
}

// Above returns the definition that the resource is below, or nil.
func (d *Definition) Above() *Definition { return d.above }

// collection is the path of the collection as a pattern, and item that of one
// resource.
func (d *Definition) patterns() (collection, item string) {
	collection = "/" + d.plural
	if d.above != nil {
		_, above := d.above.patterns()
		collection = above + collection
		return collection, collection + "/{" + strings.ReplaceAll(d.singular, "-", "_") + "_id}"
	}
	return collection, collection + "/{" + cmp.Or(d.Key(), "id") + "}"
}

// name returns the argument of a call that names the resource itself.
func (rm *Room) name(c *Call) string {
	if rm.above != nil {
		return c.Args[1]
	}
	return c.Args[0]
}

// over reads the parent's row, nil where the resource has none.
func (rm *Room) over(c *Call) (*store.Row, error) {
	if rm.above == nil {
		return nil, nil
	}
	row, err := rm.above.find(c, rm.Store, c.Args[0])
	if err != nil {
		return nil, rm.above.problem(err)
	}
	return &row, nil
}

// find reads the row that a path names, as the account of a call may see it.
func (d *Definition) find(c *Call, s Store, name string) (row store.Row, err error) {
	account := c.Account
	if d.Service() {
		account = 0
	}
	if d.key != nil {
		row, err = s.(finder).Find(c.Context(), d.table, account, d.key.name, name)
	} else {
		var id int64
		if id, err = d.parseID(name); err == nil {
			row, err = s.Get(c.Context(), d.table, account, id)
		}
	}
	if err == nil && d.owner != nil && number(row.Doc, d.owner) != c.Account {
		err = store.ErrNotFound
	}
	return row, err
}

// problem gives a row that is not there its answer.
func (d *Definition) problem(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problem.NotFound.Newf("There is no such %s in this account.", strings.ReplaceAll(d.singular, "-", " "))
	}
	return err
}

// Load reads the row that a path names, as the account of a call may see it. It
// is for routes beside those of the room. The error is a problem where there is
// none.
func (rm *Room) Load(c *Call, name string) (store.Row, error) {
	row, err := rm.find(c, rm.Store, name)
	return row, rm.Definition.problem(err)
}

// below checks that a row belongs to the parent in the path.
func (rm *Room) below(c *Call, row *store.Row) error {
	if rm.parent == nil {
		return nil
	}
	over, err := rm.over(c)
	if err != nil {
		return err
	}
	if number(row.Doc, rm.parent) != over.ID {
		return rm.Definition.problem(store.ErrNotFound)
	}
	return nil
}

// number reads a member that is a whole number from a stored document.
func number(doc []byte, f *field) int64 {
	n := int64(0)
	for _, c := range member(doc, f.quoted) {
		n = n*10 + int64(c-'0')
	}
	return n
}

// appendPath writes the path of a row with this document. For a resource below
// another the path of that is taken from the call.
func (rm *Room) appendPath(dst []byte, c *Call, id int64, doc []byte) []byte {
	dst = append(rm.appendCollection(dst, c), '/')
	return rm.appendName(dst, id, doc)
}

// appendCollection writes the path of the collection.
func (rm *Room) appendCollection(dst []byte, c *Call) []byte {
	dst = append(append(dst, c.Mount...), '/')
	if rm.above != nil {
		dst = append(append(append(append(dst, rm.above.plural...), '/'), c.Args[0]...), '/')
	}
	return append(dst, rm.plural...)
}

// appendName writes what stands for a row in its path.
func (d *Definition) appendName(dst []byte, id int64, doc []byte) []byte {
	if d.key != nil {
		text := member(doc, d.key.quoted)
		return append(dst, text[1:len(text)-1]...)
	}
	return appendNumber(dst, d.prefix, id)
}

// appendNumber writes an id without quotes.
func appendNumber(dst []byte, prefix string, id int64) []byte {
	if prefix == "" {
		return strconv.AppendInt(dst, id, 10)
	}
	return append(dst, event.Name(prefix, id)...)
}
