package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// An Event is the envelope that a delivery's body is.
type Event struct {
	// ID is the webhook-id; "" where the sender has it in the header only.
	ID string `json:"webhook-id,omitempty"`
	// Type is a dot-delimited name, resource.action.
	Type string `json:"type"`
	// Timestamp is when the event occurred, in UTC: not when it was delivered.
	Timestamp time.Time `json:"timestamp"`
	// Sequence is the revision of the resource after the event, 0 where the
	// sender has none. Deliveries may arrive in another order than events
	// occurred: drop what is older than what you have.
	Sequence int64 `json:"sequence,omitempty"`
	// Data is a JSON object: the resource at the time of the event, or a
	// reference to it; see Href.
	Data json.RawMessage `json:"data"`
}

// ErrEvent says that a body is no event. It is wrapped by a text that says
// what is wrong and holds nothing of the body.
var ErrEvent = errors.New("webhook: not an event")

// ParseEvent reads an envelope. The body must be one JSON object in UTF-8 with
// type, timestamp and data; webhook-id and sequence may be missing. A member
// that occurs twice is refused, one that is not known here is ignored: new
// ones may come. The error wraps ErrEvent. The event keeps no part of body.
func ParseEvent(body []byte) (*Event, error) {
	if !utf8.Valid(body) {
		return nil, fault("it is not UTF-8")
	}
	members, err := readMembers(body)
	if err != nil {
		return nil, err
	}
	e := new(Event)
	for _, m := range members {
		if err := e.set(m.name, m.value); err != nil {
			return nil, err
		}
	}
	switch {
	case e.Type == "":
		return nil, fault("the member type is missing")
	case e.Timestamp.IsZero():
		return nil, fault("the member timestamp is missing")
	case e.Data == nil:
		return nil, fault("the member data is missing")
	}
	return e, nil
}

func fault(what string) error { return fmt.Errorf("%w: %s", ErrEvent, what) }

type member struct {
	name  string
	value json.RawMessage
}

// readMembers reads the members of the one object that a body is. Names are
// compared exactly, which decoding into a struct would not do.
func readMembers(body []byte) ([]member, error) {
	malformed := fault("it is not one well-formed JSON object")
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, malformed
	}
	var members []member
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, malformed
		}
		m := member{name: name}
		if err := d.Decode(&m.value); err != nil {
			return nil, malformed
		}
		if slices.ContainsFunc(members, func(o member) bool { return o.name == name }) {
			return nil, fault("a member occurs twice")
		}
		if len(members) == maxMembers {
			return nil, fault("it has too many members")
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, malformed
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed
	}
	return members, nil
}

// maxMembers is the largest number of members of an envelope.
const maxMembers = 64

func (e *Event) set(name string, value json.RawMessage) error {
	var err error
	switch name {
	case "webhook-id":
		if err = json.Unmarshal(value, &e.ID); err != nil || !validID(e.ID) {
			return fault("the member webhook-id is not 1 to 256 visible ASCII characters")
		}
	case "type":
		if err = json.Unmarshal(value, &e.Type); err != nil || !validType(e.Type) {
			return fault("the member type is not a name of the form resource.action")
		}
	case "timestamp":
		var text string
		if err = json.Unmarshal(value, &text); err == nil {
			e.Timestamp, err = time.Parse(time.RFC3339, text)
		}
		if e.Timestamp = e.Timestamp.UTC(); err != nil || e.Timestamp.IsZero() {
			return fault("the member timestamp is not a time of ISO 8601")
		}
	case "sequence":
		if err = json.Unmarshal(value, &e.Sequence); err != nil || e.Sequence < 0 {
			return fault("the member sequence is not a whole number")
		}
	case "data":
		if e.Data = value; value[0] != '{' {
			return fault("the member data is not an object")
		}
	}
	return nil
}

// validType reports whether a type is two or more names with a full stop
// between them.
func validType(name string) bool {
	if !strings.Contains(name, ".") || len(name) > 255 {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	return true
}

// Href returns the URL at which the data can be read, where the sender found
// it too large to send: then data has one member, href. Read it with your
// credentials, and only where it is on the sender's host.
func (e *Event) Href() (url string, ok bool) {
	members, err := readMembers(e.Data)
	if err != nil || len(members) != 1 || members[0].name != "href" {
		return "", false
	}
	err = json.Unmarshal(members[0].value, &url)
	return url, err == nil && url != ""
}
