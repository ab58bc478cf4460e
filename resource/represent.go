package resource

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"

	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// etag names a revision in a version and a format.
func (rm *Room) etag(c *Call, rev int64) string {
	var b [64]byte
	t := strconv.AppendInt(append(b[:0], '"'), rev, 10)
	t = append(append(t, '-'), c.Version.Name...)
	if c.Type != TypeJSON {
		t = append(t, "-v"...)
	}
	return string(append(t, '"'))
}

// appendRow writes a row as the call's version shows it. The document of the
// latest version is taken as it is; only what depends on the request is added.
func (rm *Room) appendRow(dst []byte, c *Call, row *store.Row) ([]byte, error) {
	return rm.appendRowWith(dst, c, row, "", "")
}

// Append writes a row as a call shows it, for routes beside those of the room.
func (rm *Room) Append(dst []byte, c *Call, row *store.Row) ([]byte, error) {
	return rm.appendRow(dst, c, row)
}

// appendRowWith is appendRow with one more member, whose value is a string.
func (rm *Room) appendRowWith(dst []byte, c *Call, row *store.Row, member, value string) ([]byte, error) {
	dst = append(rm.appendID(append(dst, `{"id":`...), row.ID), ',')
	var live func(any)
	if rm.live != nil && c.Route != nil && c.Route.Kind == Read {
		live = func(shown any) { rm.live(c.Context(), shown, row) }
	}
	dst, doc, err := rm.appendMembers(dst, c.Version, row, live)
	if err != nil {
		return dst, err
	}
	if member != "" {
		dst = append(append(dst, '"'), member...)
		dst = append(appendString(append(dst, `":`...), value), ',')
	}
	dst = append(dst, `"created_at":`...)
	dst = appendTime(dst, row.Created)
	dst = append(dst, `,"updated_at":`...)
	dst = appendTime(dst, row.Updated)
	dst = append(dst, `,"_links":`...)
	dst = rm.appendLinks(dst, c, row.ID, doc)
	return append(dst, '}'), nil
}

// appendMembers writes the members of a version, each followed by a comma, and
// returns the document in the latest shape. Live, where it is not nil, adds
// what is not stored.
func (rm *Room) appendMembers(dst []byte, v *version.Version, row *store.Row, live func(any)) ([]byte, []byte, error) {
	same := rm.chain.Same(v)
	if same && rm.splice && !row.Reshape && live == nil {
		if len(row.Doc) > 2 {
			dst = append(append(dst, row.Doc[1:len(row.Doc)-1]...), ',')
		}
		return dst, row.Doc, nil
	}
	if !same && !row.Reshape && live == nil {
		dst, err := rm.appendLowered(dst, v, row.Doc)
		return dst, row.Doc, err
	}
	value, err := rm.value(row.Doc)
	if err != nil {
		return dst, nil, err
	}
	doc := row.Doc
	if row.Reshape {
		doc = rm.plan.append(nil, value.Elem(), true)
	}
	if live != nil {
		live(value.Interface())
	}
	shown := value.Elem()
	if !same {
		shown = reflect.ValueOf(rm.chain.Down(v, value.Interface()))
	}
	start := len(dst)
	dst = rm.plans[v.Index()].append(dst, shown, false)
	if len(dst) == start+2 {
		return dst[:start], doc, nil
	}
	dst = slices.Delete(dst, start, start+1) // the brace
	dst[len(dst)-1] = ','
	return dst, doc, nil
}

// Snapshot writes the row of an event as its data: the members of a version
// without links, which depend on who asks.
func (rm *Room) Snapshot(dst []byte, v *version.Version, row *store.Row) ([]byte, error) {
	dst = append(rm.appendID(append(dst, `{"id":`...), row.ID), ',')
	dst, _, err := rm.appendMembers(dst, v, row, nil)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `"created_at":`...)
	dst = appendTime(dst, row.Created)
	dst = append(dst, `,"updated_at":`...)
	dst = appendTime(dst, row.Updated)
	return append(dst, '}'), nil
}

// appendLinks writes self, collection, the links that are not null, and the
// actions that the state allows.
func (rm *Room) appendLinks(dst []byte, c *Call, id int64, doc []byte) []byte {
	dst = append(dst, `{"self":{"href":"`...)
	dst = rm.appendPath(dst, c, id, doc)
	dst = append(dst, `"},"collection":{"href":"`...)
	dst = append(rm.appendCollection(dst, c), `"}`...)
	for i := range rm.links {
		l := &rm.links[i]
		ref := member(doc, l.field.quoted)
		if ref == nil || ref[0] == 'n' {
			continue
		}
		dst = append(append(append(dst, `,"`...), l.name...), `":{"href":"`...)
		dst = append(append(append(dst, c.Mount...), '/'), l.collection...)
		dst = append(append(append(dst, '/'), ref...), `"}`...)
	}
	if rm.state == nil {
		return append(dst, '}')
	}
	state := bytes.Trim(member(doc, rm.state.quoted), `"`)
	for i := range rm.actions {
		a := &rm.actions[i]
		if !slices.Contains(rm.states.Moves[string(state)], a.To) {
			continue
		}
		dst = append(append(append(dst, `,"`...), a.name...), `":{"href":"`...)
		dst = rm.appendPath(dst, c, id, doc)
		dst = append(append(append(dst, '/'), a.name...), `","method":"POST"}`...)
	}
	return append(dst, '}')
}

// appendID writes an id as a JSON value.
func (rm *Room) appendID(dst []byte, id int64) []byte {
	if rm.prefix == "" {
		return strconv.AppendInt(dst, id, 10)
	}
	return append(appendNumber(append(dst, '"'), rm.prefix, id), '"')
}
