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
	s := senders.Get().(*sender)
	defer s.close()
	s.w, s.r, s.c, s.status, s.stall = w, r, c, http.StatusPartialContent, o.stall()
	switch len(ranges) {
	case 0:
		s.status, s.length = http.StatusOK, c.Size
		return s.one(Range{0, c.Size})
	case 1:
		s.length = ranges[0].Length
		s.only = ranges[0]
		return s.one(ranges[0])
	}
	return s.several(ranges)
}

// Header values that every response shares. Nobody may change them.
var accepted = []string{Unit}

// begin sends the header. Its keys are canonical, and what it has to format is
// one string: a header is a good part of what a small range costs.
func (s *sender) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	if s.status == http.StatusPartialContent {
		delete(h, "Content-Digest") // first: a map does not shrink
	}
	var room [128]byte
	b := strconv.AppendInt(room[:0], s.length, 10)
	length := len(b)
	if s.only.Length > 0 {
		b = s.only.append(b, s.c.Size)
	}
	part := len(b)
	if !s.c.Modified.IsZero() {
		b = s.c.Modified.UTC().AppendFormat(b, http.TimeFormat)
	}
	text := string(b)
	values := &[...]string{text[:length], text[length:part], text[part:], s.c.ETag, s.c.mediaType()}
	if s.multipart != "" {
		values[4] = s.multipart
	}
	h["Accept-Ranges"] = accepted
	h["Content-Length"] = values[0:1:1]
	h["Content-Type"] = values[4:5:5]
	for i, name := range [...]string{1: "Content-Range", 2: "Last-Modified", 3: "Etag"} {
		if i > 0 && values[i] != "" {
			h[name] = values[i : i+1 : i+1]
		}
	}
	s.w.WriteHeader(s.status)
}
