package resource

import (
	"context"
	"hash/maphash"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/byterange"
	"github.com/parley-api/parley/negotiate"
	"github.com/parley-api/parley/precond"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/store"
)

// MaxContent is the most bytes an item can have, unless its Content says less.
const MaxContent = 5 << 30

// Stall is how long a client that sends or takes bytes may do nothing.
const Stall = 30 * time.Second

// A Content makes the items of a resource bytes. Its struct is then their
// description: POST to the collection and PUT to an item take bytes, raw or as
// a form with one file; GET of an item gives them, in ranges where asked, or
// the description where Accept prefers JSON. PATCH changes the description.
type Content[T any] struct {
	// Types are the media types that the bytes are served as.
	Types []string
	// Digest is the name of the member, a string, that Take sets to
	// Upload.Digest. By it the service knows which bytes are needed.
	Digest string
	// Size is the name of the member, a whole number, that Take sets to
	// Upload.Size. By it the service knows how much an account has.
	Size string
	// Limit is the most bytes of an item; 0 means MaxContent.
	Limit int64
	// Type decides the media type of bytes by how they begin, 512 of them if
	// there are so many, and by what the client says they are, "" for nothing.
	// Its error, a problem, refuses them. Nil takes the client's word.
	Type func(head []byte, declared string) (string, error)
	// Take enters an upload in the description, which is empty for a new item
	// and else the one there was. It must be pure: it may run twice.
	Take func(next *T, up Upload)
	// Give says how to serve the bytes of an item. It must be pure: what it said
	// of a description is kept for the next request.
	Give func(row *T) Bytes
}

// An Upload is bytes that have arrived.
type Upload struct {
	Name   string // without a path; "" where the client gave none
	Type   string // as Content.Type decided
	Size   int64
	Digest string // sha-256=:…:, as in Repr-Digest
}

// Bytes are the bytes of an item.
type Bytes struct {
	Digest string // of the Upload
	Type   string // one of Content.Types
	Name   string // for those who save it
	Inline bool   // a browser may show it; false makes it save it
}

// Blobs keep the bytes of items, as a blob.Store does.
type Blobs interface {
	Put(ctx context.Context, r io.Reader, limit int64, check func(blob.Info) error) (blob.Info, error)
	Open(ctx context.Context, d blob.Digest) (blob.Source, error)
}

// A content is a Content without its type parameter.
type content struct {
	types []string
	limit int64
	kind  func(head []byte, declared string) (string, error)
	take  func(next any, up Upload)
	give  func(row any) Bytes
	held  *field // the member with the digest
	size  *field
}

func (d *Definition) defineContent(c *content, member, size string) {
	f := d.plan.byName[member]
	c.size = d.plan.byName[size]
	if c.limit == 0 {
		c.limit = MaxContent
	}
	if f == nil || f.kind != kindString || f.nullable || !f.readonly || len(c.types) == 0 || c.limit < 0 {
		d.panicf("Content needs Types, and as Digest a readonly member that is a string")
	}
	if c.size == nil || c.size.kind != kindInt || c.size.nullable || !c.size.readonly {
		d.panicf("Content needs as Size a readonly member that is a whole number")
	}
	if len(d.steps) > 0 || d.state != nil || d.reveal != nil || d.parent != nil || d.along != nil || d.live != nil {
		d.panicf("a resource of bytes stands by itself, has no states and no changes, and reveals nothing")
	}
	c.held = f
	d.content = c
}

// ContentTypes returns the media types of the bytes of an item, nil where items
// are JSON alone.
func (d *Definition) ContentTypes() []string {
	if d.content == nil {
		return nil
	}
	return slices.Clone(d.content.types)
}

// DigestColumn names the column that holds the digests of the bytes that rows
// need, "" where items are JSON alone.
func (d *Definition) DigestColumn() string {
	if d.content == nil {
		return ""
	}
	return d.content.held.name
}

// SizeColumn names the column that holds the sizes of the bytes that rows have,
// "" where items are JSON alone.
func (d *Definition) SizeColumn() string {
	if d.content == nil {
		return ""
	}
	return d.content.size.name
}

// openContent works out what can be negotiated.
func (rm *Room) openContent() {
	if rm.content == nil {
		return
	}
	if rm.Blobs == nil {
		rm.panicf("a resource of bytes needs Options.Blobs")
	}
	rm.offers = make(map[string]*negotiate.Offers)
	rm.servings = &servings{seed: maphash.MakeSeed()}
	for _, t := range rm.content.types {
		rm.offers[t] = negotiate.New(slices.Concat([]string{t, TypeJSON}, rm.Vendors)...)
	}
}

// receive answers GET and HEAD of an item: its bytes or its description.
func (rm *Room) receive(c *Call) error {
	if err := NoParameters(c); err != nil {
		return err
	}
	row, err := rm.load(c)
	if err != nil {
		return err
	}
	b, err := rm.bytes(row.Doc)
	if err == nil {
		err = b.check(rm)
	}
	if err != nil {
		return err
	}
	if c.Type, err = b.offers.Choose(c.R.Header["Accept"]); err != nil {
		return err
	}
	if c.Type != b.media {
		described := row // which goes to the heap
		return rm.describe(c, &described)
	}
	return rm.send(c, b, time.UnixMicro(row.Updated))
}

// send answers with the bytes of an item, or parts of them.
func (rm *Room) send(c *Call, b *serving, modified time.Time) error {
	result, err := precond.Check(c.R, b.etag, modified)
	if err != nil {
		return err
	}
	h := c.W.Header()
	if result == precond.NotModified {
		h["Last-Modified"] = []string{modified.UTC().Format(http.TimeFormat)}
		c.notModified(b.etag)
		return nil
	}
	src, err := rm.Blobs.Open(c.Context(), b.sum)
	if err != nil {
		return err
	}
	defer src.Close()
	h["Cache-Control"] = cacheNo
	h["Repr-Digest"] = b.digest
	h["Content-Digest"] = b.digest // byterange drops it from a part
	h["Content-Disposition"] = b.disposition
	h["Content-Security-Policy"] = sandbox
	return c.ServeBytes(byterange.Content{Type: b.media, ETag: b.etag, Modified: modified}, src, rm.RFC)
}

// sandbox keeps a browser from running anything in what somebody uploaded.
var sandbox = []string{"default-src 'none'; sandbox"}

// ServeBytes answers with the bytes of a source or the parts that Range asks
// for. Size, File and Section of the content are filled in. The preconditions
// must have been checked, and the header fields that byterange.Serve leaves to
// its caller set. Its errors are those of byterange.Serve.
func (c *Call) ServeBytes(content byterange.Content, src blob.Source, rfc bool) error {
	content.Size = src.Size()
	if f, ok := src.(*blob.File); ok {
		content.File = f.File
	} else {
		content.Section = src.Section
	}
	o := byterange.Options{Stall: Stall}
	if rfc {
		o.Profile = byterange.RFC
	}
	return byterange.Serve(c.W, c.R, content, &o)
}

// guard evaluates the preconditions of a write. The tag of the bytes is as good
// as that of the description.
func (rm *Room) guard(c *Call, row *store.Row) error {
	_, err := precond.Check(c.R, rm.etag(c, row.Rev), time.Time{})
	if rm.content == nil {
		return err
	}
	b, failed := rm.bytes(row.Doc)
	if failed != nil {
		return failed
	}
	_, other := precond.Check(c.R, b.etag, time.UnixMicro(row.Updated))
	switch {
	case c.R.Header["If-Match"] != nil && other == nil:
		return nil // either will do
	case c.R.Header["If-Match"] == nil && err == nil:
		return other // If-None-Match and dates must hold for both
	}
	return err
}

// upload answers POST of a collection of bytes.
func (rm *Room) upload(c *Call) error {
	name, err := nameParameter(c)
	if err != nil {
		return err
	}
	up, err := rm.absorb(c, name, 0)
	if err != nil {
		return err
	}
	next := reflect.New(rm.plan.typ)
	rm.content.take(next.Interface(), up)
	if err := rm.checked(next, reflect.Value{}); err != nil {
		return err
	}
	return rm.insert(c, next, nil)
}

// exchange answers PUT of an item of bytes. What the client cannot change is
// known before it sends them.
func (rm *Room) exchange(c *Call) error {
	name, err := nameParameter(c)
	if err != nil {
		return err
	}
	row, err := rm.load(c)
	if err != nil {
		return err
	}
	if err := rm.guard(c, &row); err != nil {
		return err
	}
	was, err := rm.value(row.Doc)
	if err != nil {
		return err
	}
	up, err := rm.absorb(c, name, was.Elem().Field(rm.content.size.index).Int())
	if err != nil {
		return err
	}
	return rm.alter(c, func(was reflect.Value, _ *store.Row) (reflect.Value, error) {
		next := reflect.New(rm.plan.typ)
		next.Elem().Set(was.Elem())
		rm.content.take(next.Interface(), up)
		return next, nil
	})
}

// maxName is the longest name of bytes, in characters.
const maxName = 255

// checkName refuses a name that would not be safe to save under.
func checkName(name string) error {
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }):
		return Invalid(problem.FieldError{Pointer: "/name", Detail: "must be UTF-8 without control characters"})
	case utf8.RuneCountInString(name) > maxName:
		return Invalid(problem.FieldError{Pointer: "/name", Detail: "must have at most 255 characters"})
	}
	return nil
}
