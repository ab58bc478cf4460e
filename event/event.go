// Package event holds what the store and the webhook dispatcher share: the
// record of something that happened. It imports nothing of this module.
package event

import (
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// An Event is something that happened, once. It is stored in the same
// transaction as the change it tells of.
type Event struct {
	Seq     int64  // its place in the order of commits; the id is made from it
	Account int64  // whose event it is
	Type    string // resource.action, for example task.created
	At      int64  // when it occurred, in microseconds since 1970 UTC

	// Of an event about a row: the collection, the row's id, its revision,
	// its times and its document at that moment (for a deletion: the last).
	// Resource is "" for an application's own event, whose data is Doc.
	Resource string
	Subject  int64
	Rev      int64
	Created  int64
	Updated  int64
	Version  string // the API version in whose shape Doc is written
	Doc      []byte

	// To is the only endpoint that is told of it; 0 means all that want it. It
	// is not stored: an event about an endpoint has its id as Subject.
	To int64
}

const prefix = "evt_"

// encoding keeps the order of the numbers: ids sort as events happened.
var encoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// ID returns the event's public id: evt_ and thirteen characters.
func (e *Event) ID() string { return ID(e.Seq) }

// ID returns the public id of the event with this sequence number.
func ID(seq int64) string { return Name(prefix, seq) }

// ParseID returns the sequence number in a public id, and whether the text is
// one in the one form that ID gives.
func ParseID(id string) (seq int64, ok bool) { return ParseName(prefix, id) }

// Name returns a number as a public id: the prefix and thirteen characters that
// sort as the numbers do.
func Name(prefix string, n int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	return prefix + strings.ToLower(encoding.EncodeToString(b[:]))
}

// ParseName returns the number in a public id with this prefix, and whether the
// text has the one form that Name gives.
func ParseName(prefix, id string) (n int64, ok bool) {
	rest, found := strings.CutPrefix(id, prefix)
	if !found || len(rest) != 13 {
		return 0, false
	}
	b, err := encoding.DecodeString(strings.ToUpper(rest))
	if err != nil || len(b) != 8 {
		return 0, false
	}
	n = int64(binary.BigEndian.Uint64(b))
	return n, n > 0 && Name(prefix, n) == id
}
