package resource

import (
	"bytes"
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

// appendRowWith is appendRow with one more member, whose value is a string.
func (rm *Room) appendRowWith(dst []byte, c *Call, row *store.Row, member, value string) ([]byte, error) {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, row.ID, 10)
	dst = append(dst, ',')
	dst, doc, err := rm.appendMembers(dst, c.Version, row)
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
	dst = rm.appendLinks(dst, c.Mount, row.ID, doc)
	return append(dst, '}'), nil
}

// appendMembers writes the members of a version, each followed by a comma, and
// returns the document in the latest shape.
func (rm *Room) appendMembers(dst []byte, v *version.Version, row *store.Row) ([]byte, []byte, error) {
	same := rm.chain.Same(v)
	if same && rm.splice && !row.Reshape {
		if len(row.Doc) > 2 {
			dst = append(append(dst, row.Doc[1:len(row.Doc)-1]...), ',')
		}
		return dst, row.Doc, nil
	}
	doc, start := row.Doc, len(dst)
	if same || row.Reshape {
		value, err := rm.value(row.Doc)
		if err != nil {
			return dst, nil, err
		}
		if row.Reshape {
			doc = rm.plan.append(nil, value.Elem(), true)
		}
		if same {
			dst = rm.plan.append(dst, value.Elem(), false)
		}
	}
	if !same {
		dst, err := rm.appendLowered(dst, v, doc)
		return dst, doc, err
	}
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
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, row.ID, 10)
	dst, _, err := rm.appendMembers(append(dst, ','), v, row)
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
func (rm *Room) appendLinks(dst []byte, mount string, id int64, doc []byte) []byte {
	dst = append(dst, `{"self":{"href":"`...)
	dst = rm.appendPath(dst, mount, id)
	dst = append(dst, `"},"collection":{"href":"`...)
	dst = append(append(append(append(dst, mount...), '/'), rm.plural...), `"}`...)
	for i := range rm.links {
		l := &rm.links[i]
		ref := member(doc, l.field.quoted)
		if ref == nil || ref[0] == 'n' {
			continue
		}
		dst = append(append(append(dst, `,"`...), l.name...), `":{"href":"`...)
		dst = append(append(append(dst, mount...), '/'), l.collection...)
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
		dst = rm.appendPath(dst, mount, id)
		dst = append(append(append(dst, '/'), a.name...), `","method":"POST"}`...)
	}
	return append(dst, '}')
}

func (rm *Room) appendPath(dst []byte, mount string, id int64) []byte {
	dst = append(append(append(dst, mount...), '/'), rm.plural...)
	return strconv.AppendInt(append(dst, '/'), id, 10)
}
