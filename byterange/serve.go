package byterange

import (
	"net/http"
	"strconv"
)

// Serve answers a request with the content or the parts of it that its Range
// header asks for: 200, or 206 with Content-Range or as multipart/byteranges.
// It sets Accept-Ranges, Content-Length and Content-Type, and ETag and
// Last-Modified where the content has them. All other header fields, such as
// Cache-Control and Content-Disposition, are the caller's and must be set
// before; a Content-Digest that was set is taken as that of the whole and is
// dropped from a 206. The request's other preconditions must have been
// evaluated (RFC 9110, section 13.2.2).
//
// An error means that nothing was written, and is to be answered by the
// caller: a [problem.MalformedRange] or [problem.RangeUnsatisfied], the error
// of a source that could not be read, or a mistake in the content. The one
// exception is an *[Interruption]: the response was begun and cannot be
// finished; write nothing more, and panic with [http.ErrAbortHandler] so that
// the connection ends at once.
//
// The kernel copies the bytes of a File where w implements [io.ReaderFrom] and
// the request came over plain TCP. A wrapper around w must implement it, too,
// to keep that; Unwrap alone does not do, since a wrapper may have wrapped in
// order to change the bytes.
//
// Serve is safe for concurrent use, with one exception: a File belongs to one
// request.
func Serve(w http.ResponseWriter, r *http.Request, c Content, o *Options) error {
	if err := c.check(); err != nil {
		return err
	}
	var room [DefaultMaxRanges]Range
	ranges, err := c.ranges(room[:0], r, o)
	if err != nil {
		return err
	}
	s := sender{w: w, r: r, c: &c, status: http.StatusPartialContent, stall: o.stall()}
	defer s.close()
	switch len(ranges) {
	case 0:
		s.status, s.length = http.StatusOK, c.Size
		return s.one(Range{0, c.Size})
	case 1:
		s.length = ranges[0].Length
		s.contentRange = ranges[0].ContentRange(c.Size)
		return s.one(ranges[0])
	}
	return s.several(ranges)
}

// begin sends the header.
func (s *sender) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Accept-Ranges", Unit)
	h.Set("Content-Length", strconv.FormatInt(s.length, 10))
	if s.c.ETag != "" {
		h.Set("ETag", s.c.ETag)
	}
	if !s.c.Modified.IsZero() {
		h.Set("Last-Modified", s.c.Modified.UTC().Format(http.TimeFormat))
	}
	if s.multipart != "" {
		h.Set("Content-Type", s.multipart)
	} else {
		h.Set("Content-Type", s.c.mediaType())
	}
	if s.contentRange != "" {
		h.Set("Content-Range", s.contentRange)
	}
	if s.status == http.StatusPartialContent {
		h.Del("Content-Digest")
	}
	s.w.WriteHeader(s.status)
}
