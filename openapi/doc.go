// Package openapi describes a service to machines: the OpenAPI 3.1 document of
// one version of its interface, made from the routes that serve it.
//
// [Build] reads what the rooms of package resource know of themselves (members
// and their rules, filters, links, older shapes) and adds what every answer
// has: envelopes of lists, conditional requests, ranges, problems, header
// fields. A route that belongs to no resource is described by hand, as an
// [Operation] of a few lines.
//
// A header field, a parameter, a problem and a schema stand once under
// components, and everything else refers to them; what nothing refers to is
// left out. The same input gives the same bytes.
//
// # What is promised
//
// Schemas of requests are as strict as the service: what it refuses as a
// matter of form they refuse. Schemas of answers leave room for members that
// are added later, and say of a value only what holds for every row, so that
// neither a new member nor an old row makes an answer invalid.
//
// The paths are those without a version in them; the document says how to name
// one. [YAML] gives the same document in YAML.
package openapi
