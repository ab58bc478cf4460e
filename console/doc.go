// Package console holds the pages that an API shows to people: an overview,
// the catalogue of its problems, the calendar of its versions with their
// migration guides, and a reference drawn by Swagger UI from its OpenAPI
// description.
//
// Each function but [Docs] returns a [Page], whole and ready to be sent. The
// caller decides who gets it, usually a client that prefers text/html, and
// sends it with the Content-Security-Policy that the page declares:
//
//	h.Set("Content-Type", console.ContentType)
//	h.Set("Content-Security-Policy", page.CSP)
//	w.Write(page.HTML)
//
// The pages link to each other at /, /docs, /problems, /problems/{kind},
// /versions and /versions/{name}, and to /openapi.
//
// A page is one response: its style is inside it and allowed by its hash, it
// runs no script and loads nothing. The reference does run scripts; they are
// embedded and come from the same host. No page asks another host for
// anything. All follow the reader's choice of light or dark.
//
// The package reads no clock, and everything in it is safe for concurrent use.
package console
