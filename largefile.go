package parley

import (
	"net/http"
	"time"

	"github.com/parley-api/parley/byterange"
	"github.com/parley-api/parley/internal/largefile"
	"github.com/parley-api/parley/precond"
	"github.com/parley-api/parley/resource"
)

// The bytes of the large file never change, so neither does its tag.
const largeTag = `"largefile-1"`

// largefile answers with a gibibyte that is the same everywhere, to try ranges
// with: spec, Other paths.
func (s *site) largefile(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	result, err := precond.Check(c.R, largeTag, time.Time{})
	if err != nil {
		return err
	}
	h := c.W.Header()
	h["Cache-Control"] = []string{"private, no-cache"}
	if result == precond.NotModified {
		h["Etag"] = []string{largeTag}
		precond.WriteNotModified(c.W)
		return nil
	}
	h["Repr-Digest"] = []string{largefile.Digest}
	h["Content-Digest"] = h["Repr-Digest"] // dropped from a part
	h["Content-Disposition"] = []string{`attachment; filename="largefile"`}
	o := byterange.Options{Stall: resource.Stall}
	if s.app.set.Profile == "rfc" {
		o.Profile = byterange.RFC
	}
	return byterange.Serve(c.W, c.R, byterange.Content{Size: largefile.Size, ETag: largeTag, ReaderAt: s.large}, &o)
}

// largeRoute is the route of the large file.
func (s *site) largeRoute() *resource.Route {
	return &resource.Route{
		Method: http.MethodGet, Pattern: "/largefile", Serve: s.largefile, Operation: "getLargefile",
		Summary: "Get a gibibyte that is the same everywhere", Scope: "files:read", Offers: octets,
	}
}
