// Package precond evaluates conditional requests (RFC 9110, section 13) on
// resources that have an ETag and perhaps a date of modification.
//
// A handler reads the resource, then asks [Check], before it does anything
// else:
//
//	result, err := precond.Check(r, etag, modified)
//	if err != nil {
//		return err // 412, or 400 for a malformed header
//	}
//	w.Header().Set("ETag", etag)
//	if result == precond.NotModified {
//		precond.WriteNotModified(w)
//		return nil
//	}
//
// The header fields If-Match, If-Unmodified-Since, If-None-Match and
// If-Modified-Since are taken in the order of section 13.2.2. If-Range has a
// function of its own, [Range], for resources that serve ranges.
//
// A check against a row that was read before the write can be overtaken by
// another write. A caller that retries a write on the newer row must ask
// [HasMatch] first, and answer 412 in place of retrying where it is true.
//
// Every error is a *problem.Problem.
package precond
