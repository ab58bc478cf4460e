package resource

import (
	"encoding/base64"
	"errors"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/parley-api/parley/digest"
	"github.com/parley-api/parley/negotiate"
)

// A serving is how the bytes of an item are served, worked out of its document
// and of nothing else. Its header values are shared: nobody may change them.
type serving struct {
	doc         string
	media, etag string
	sum         digest.Sum
	found       bool // the document has a digest
	offers      *negotiate.Offers
	digest      []string // Repr-Digest
	disposition []string // Content-Disposition
}

// servings remembers what was worked out of some documents, the last of those
// that share a slot. The row is read for every request; only what its very
// document means is not worked out again. It is safe for concurrent use.
type servings struct {
	seed  maphash.Seed
	slots [256]atomic.Pointer[serving]
}

// maxDocument is the longest document that is remembered, in bytes.
const maxDocument = 2 << 10

// bytes returns how to serve the bytes of a row with this document.
func (rm *Room) bytes(doc []byte) (*serving, error) {
	slot := &rm.servings.slots[maphash.Bytes(rm.servings.seed, doc)%uint64(len(rm.servings.slots))]
	if s := slot.Load(); s != nil && s.doc == string(doc) {
		return s, nil
	}
	s, err := rm.work(doc)
	if err == nil && len(doc) <= maxDocument {
		slot.Store(s)
	}
	return s, err
}

func (rm *Room) work(doc []byte) (*serving, error) {
	v, err := rm.value(doc)
	if err != nil {
		return nil, err
	}
	b := rm.content.give(v.Interface())
	s := &serving{
		doc: string(doc), media: b.Type, offers: rm.offers[b.Type],
		digest: []string{b.Digest}, disposition: []string{disposition(b.Name, b.Inline)},
	}
	s.sum, s.found = digest.Value(b.Digest)
	s.etag = tagOf(s.sum)
	return s, nil
}

// check finds mistakes of the definition.
func (s *serving) check(rm *Room) error {
	switch {
	case s.offers == nil:
		return errors.New("resource: " + rm.plural + ": Give named a type that is not in Types")
	case !s.found:
		return errors.New("resource: " + rm.plural + ": a row has no digest")
	}
	return nil
}

// tagOf is the strong entity tag of bytes: the same bytes have the same.
func tagOf(sum digest.Sum) string {
	var b [45]byte
	b[0], b[44] = '"', '"'
	base64.RawURLEncoding.Encode(b[1:44], sum[:])
	return string(b[:])
}

// disposition is the value of Content-Disposition: the name in ASCII for all,
// and as it is for those who read RFC 8187.
func disposition(name string, inline bool) string {
	var b strings.Builder
	b.WriteString("attachment; filename=\"")
	if inline {
		b.Reset()
		b.WriteString("inline; filename=\"")
	}
	exact := true
	for _, r := range name {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%/`, r) {
			r, exact = '_', false
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	if exact {
		return b.String()
	}
	b.WriteString("; filename*=UTF-8''")
	const hex = "0123456789ABCDEF"
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!#$&+-.^_`|~", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
