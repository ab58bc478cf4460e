// Package byterange serves parts of a representation: the Range header of
// RFC 9110, section 14, over bytes that a file, an [io.ReaderAt] or a store
// with ranges of its own holds.
//
// A handler that has found the bytes calls [Serve], after the preconditions:
//
//	err := byterange.Serve(w, r, byterange.Content{
//		Size: info.Size(), ETag: etag, Modified: info.ModTime(), File: file,
//	}, nil)
//
// It answers 200 with the whole, or 206 with one part or, as
// multipart/byteranges, with several. An error that comes back before the
// response was begun is for the service's one writer of errors: 400 for a
// malformed header, 416 for a range that no byte is in. An [Interruption]
// comes back after; then nothing more can be written.
//
//	GET, no Range                  200, the whole
//	bytes=0-99                     206, the first hundred bytes
//	bytes=100-                     206, all but these
//	bytes=-100                     206, the last hundred
//	bytes=0-0,-1                   206, two parts
//	bytes=0-9,5-14,15-             206, one part: they touch
//	bytes=9-0, bytes=a-b, bytes=   400
//	bytes=<size>-, bytes=-0        416
//	more than 16 separate parts    416
//	lines=1-2                      416; with the profile [RFC] 200, the whole
//	HEAD                           Range is ignored
//	If-Range that does not match   200, the whole
//
// The header is read to the letter of the grammar. The name of the unit is of
// any case. White space may stand around commas and nowhere else. Empty
// elements of the list are passed over (section 5.6.1.2), but one range there
// must be. A number of any length is read: beyond the end it means the end. A
// second Range header is malformed. Ranges that overlap or touch are merged,
// and the parts are sent in the order in which their first bytes were asked
// for (section 15.3.7.2). Of a list, ranges that no byte is in are left out. An
// empty representation has no byte, so that every range of it is 416.
//
// The bytes of a [Content.File] are copied by the kernel where the connection
// is plain TCP. Otherwise a response holds one buffer of [Buffer] bytes from a
// pool, for as long as it lasts and whatever the size of what it sends.
package byterange
