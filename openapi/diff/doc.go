// Package diff says what a change of an interface does to its clients. It reads
// two descriptions, OpenAPI 3.0 and 3.1 (JSON or YAML) or GraphQL (schema
// language or the result of an introspection), and lists every difference that
// a client can notice with its class:
//
//   - [Breaking]: a client that worked may fail. It needs a new version.
//   - [Typed]: nothing changes on the wire for who reads leniently, but a
//     strongly typed or generated client may fail: a new enum value.
//   - [NonBreaking]: every client continues to work unmodified.
//
// The classes are those of the contract's table of breaking and non-breaking
// changes. Each difference is found by one [Rule], which has one id, one class
// and one message; [Rules] is the whole catalogue.
//
// Direction matters. What a client sends may be loosened and what it receives
// may be extended; the opposite breaks it. So a schema that is used both ways is
// compared twice. Errors are a zone of their own: the contract counts a changed
// error code or error shape as breaking.
//
// Descriptions, summaries, examples and tags are for people and are not
// compared. A path's parameters may be renamed: that is not seen on the wire.
//
// A [Report] is the same for the same input, byte for byte. Nothing here keeps
// state; everything is safe for concurrent use.
package diff
