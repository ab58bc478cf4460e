package byterange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Content is a representation that can be served in parts. It must not change
// while it is served. Exactly one of File, ReaderAt and Section must be set.
type Content struct {
	Size int64 // in bytes

	// Type is the media type. Empty means application/octet-stream.
	Type string
	// ETag is the entity tag, in its quotes, weak with W/ before them. Empty
	// means none: no tag is sent, and no If-Range with a tag matches.
	ETag string
	// Modified counts in whole seconds. Zero means unknown: no Last-Modified is
	// sent, and no If-Range with a date matches.
	Modified time.Time

	// File must be open for reading and must belong to this request alone:
	// its offset is moved. The caller closes it.
	File *os.File
	// ReaderAt may be shared between requests.
	ReaderAt io.ReaderAt
	// Section opens length bytes from offset on, for a store that is asked for
	// ranges in turn. It is called once for each part, when its turn comes. The
	// reader is closed before the next is opened. Its error, where it comes
	// before the response was begun, is wrapped and returned.
	Section func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
}

// check finds mistakes of the caller. They are no problems: the answer is 500.
func (c *Content) check() error {
	sources := 0
	for _, set := range [...]bool{c.File != nil, c.ReaderAt != nil, c.Section != nil} {
		if set {
			sources++
		}
	}
	switch {
	case sources != 1:
		return errors.New("byterange: a Content must have one of File, ReaderAt and Section")
	case c.Size < 0:
		return errors.New("byterange: a Content must not have a negative size")
	case strings.ContainsAny(c.Type, "\r\n"):
		return errors.New("byterange: the type of a Content must be one line")
	}
	return nil
}

func (c *Content) mediaType() string {
	if c.Type == "" {
		return "application/octet-stream"
	}
	return c.Type
}

// ranges returns what the request asks for; none means the whole. Only GET has
// ranges (RFC 9110, section 14.2).
func (c *Content) ranges(dst []Range, r *http.Request, o *Options) ([]Range, error) {
	lines := r.Header["Range"]
	switch {
	case len(lines) == 0 || r.Method != http.MethodGet || !heeded(r.Header["If-Range"], c.ETag, c.Modified):
		return nil, nil
	case len(lines) > 1:
		return nil, malformed("The Range header appears more than once.")
	}
	return appendRanges(dst, lines[0], c.Size, o)
}
