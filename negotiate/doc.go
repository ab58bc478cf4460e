// Package negotiate settles what a request and its response are written in
// (RFC 9110, sections 8.3 and 12.5.1).
//
// [Offers] holds the media types a resource can be represented in, and
// [Offers.Choose] picks the one a client likes best from its Accept header:
//
//	offers := negotiate.New("application/json", "application/yaml") // once, at start-up
//	…
//	mediaType, err := offers.Choose(r.Header["Accept"]) // 406 or 400
//
// The caller sends the chosen type as Content-Type and, where there is more
// than one offer, names Accept in Vary.
//
// [Content] does the same for the way in: it returns the media type of a
// request's body where the caller has a decoder for it, and a 415 otherwise.
//
// Every error is a *problem.Problem.
package negotiate
