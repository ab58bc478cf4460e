package openapi

import (
	"github.com/parley-api/parley/resource"
)

// An Operation describes a route by hand. Method and Pattern are required; ID,
// Summary, Scope, Public and Single are taken from the route of the same method
// and pattern where they are empty.
//
// The list of an event log, for example, whole:
//
//	openapi.Operation{
//		Method: "GET", Pattern: "/events", ID: "listEvents", Summary: "List events",
//		Tag: openapi.Tag{Name: "events", About: "What happened."}, Scope: "events:read",
//		Kind: resource.List, Collection: "events", Shows: openapi.Schema{Name: "Event", JSON: `{"type": "object"}`},
//		Parameters: []openapi.Parameter{{Name: "type", About: "Only events of this type."}},
//	}
type Operation struct {
	Method, Pattern string
	ID              string // operationId, unique in the document
	Summary         string // a few words
	About           string // CommonMark; empty means what is true of the kind
	Tag             Tag
	Public          bool   // needs no key
	Scope           string // what a key must carry; empty means any key
	Single          bool   // there is one representation, whatever Accept says: never 406

	// Kind gives what all operations of a kind have: parameters, header
	// fields, statuses. Other gives only what every operation has, and a 200
	// with Shows or else a 204.
	Kind resource.Kind
	// Collection is the name of a list: the unit of Range, and the array in
	// page-token style. Only a List needs it.
	Collection string
	// Shows is the body of a success; of a List, one item, and then it must
	// have a name. Its media types are those of the version's JSON. The zero
	// Schema means that Answers say everything.
	Shows Schema
	// Also are further representations of what a 200 shows, such as a page for
	// people in text/html.
	Also []Media
	// Takes is the request body in each media type. None means no body.
	Takes      []Media
	Parameters []Parameter // besides those of the kind; one of the pattern that is not here is a string
	Answers    []Answer    // besides those of the kind, or in their place
	Problems   []int       // statuses besides those that follow from the rest
}

// A Tag groups operations. About may be empty where another operation with the
// same tag has it; the collections of rooms have theirs from the room.
type Tag struct{ Name, About string }

// A Schema is a JSON Schema. With a Name it stands once under components, where
// others refer to it; a Name without JSON refers to one that another operation
// or a room defines. Without a Name it stands where it is used. The JSON may
// refer to anything under #/components.
type Schema struct{ Name, JSON string }

// zero reports whether there is no schema.
func (s Schema) zero() bool { return s == Schema{} }

// A Media is a body: its media type and its schema. The zero Schema allows
// anything.
type Media struct {
	Type   string
	Schema Schema
}

// A Parameter is a parameter of an operation. One that this package knows by
// name (limit, updated_since, If-Match …) needs nothing but its Name.
type Parameter struct {
	Name     string
	In       string // query, header or path; empty means path where the pattern has it, else query
	About    string
	Required bool   // a path parameter always is
	Schema   Schema // zero means a string
}

// An Answer is a response of an operation. Header fields that every response
// has need not be listed.
type Answer struct {
	Status  int
	About   string // empty means the name of the status
	Media   []Media
	Headers []Header
}

// A Header is a header field of a response. One that this package knows
// (ETag, Location, Content-Range …) needs nothing but its Name.
type Header struct {
	Name   string
	About  string
	Schema Schema // zero means a string
}
