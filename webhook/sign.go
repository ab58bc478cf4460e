package webhook

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"errors"
	"hash"
	"strconv"
	"sync"
)

// Errors of signing.
var (
	ErrCannotSign = errors.New("webhook: this secret cannot sign: it is a public key, or none at all")
	ErrSignID     = errors.New("webhook: an id to sign is 1 to 256 visible ASCII characters without a full stop")
	ErrSignTime   = errors.New("webhook: a timestamp to sign is not before 1970")
)

// AppendSignature appends one entry of webhook-signature to dst and returns
// the longer slice: the signature of a delivery's id, of the attempt's time in
// Unix seconds and of the very bytes that are sent as the body. Send that
// timestamp along as webhook-timestamp, in decimal. For several secrets see
// [AppendSignatures].
//
// The id must have no full stop, so that what was signed can be read in one
// way only. The errors are ErrCannotSign, ErrSignID and ErrSignTime, with dst
// as it was. With room in dst, a v1 signature allocates nothing.
func (s Secret) AppendSignature(dst []byte, id string, timestamp int64, body []byte) ([]byte, error) {
	switch {
	case !s.CanSign():
		return dst, ErrCannotSign
	case !signable(id):
		return dst, ErrSignID
	case timestamp < 0:
		return dst, ErrSignTime
	}
	b := benches.Get().(*bench)
	defer benches.Put(b)
	b.head = strconv.AppendInt(append(append(b.head[:0], id...), '.'), timestamp, 10)
	b.head = append(b.head, '.')
	dst = append(append(dst, s.k.scheme...), ',')
	if s.k.scheme == V1 {
		return base64.StdEncoding.AppendEncode(dst, b.mac(s.k.shared, body)), nil
	}
	return base64.StdEncoding.AppendEncode(dst, ed25519.Sign(s.k.private, b.whole(body))), nil
}

// AppendSignatures appends the whole value of webhook-signature: an entry for
// each secret, in their order, with a space between. While a secret is being
// replaced, sign with both. The errors are those of [Secret.AppendSignature],
// with dst as it was; no secret at all gives ErrCannotSign.
func AppendSignatures(dst []byte, secrets []Secret, id string, timestamp int64, body []byte) ([]byte, error) {
	if len(secrets) == 0 {
		return dst, ErrCannotSign
	}
	out := dst
	for i, s := range secrets {
		if i > 0 {
			out = append(out, ' ')
		}
		var err error
		if out, err = s.AppendSignature(out, id, timestamp, body); err != nil {
			return dst, err
		}
	}
	return out, nil
}

// Sign returns the value of webhook-signature: see [AppendSignatures].
func Sign(secrets []Secret, id string, timestamp int64, body []byte) (string, error) {
	value, err := AppendSignatures(make([]byte, 0, 96), secrets, id, timestamp, body)
	return string(value), err
}

// signable reports whether an id may be signed.
func signable(id string) bool {
	for i := range len(id) {
		if id[i] == '.' {
			return false
		}
	}
	return validID(id)
}

// validID reports whether a webhook-id is 1 to MaxID visible ASCII characters.
func validID(id string) bool {
	if id == "" || len(id) > MaxID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// pads are the states of SHA-256 after the two padded forms of an HMAC key
// (RFC 2104), so that a signature need not hash them again and a secret needs
// no hash of its own.
type pads struct{ inner, outer []byte }

func newPads(secret []byte) *pads {
	if len(secret) > sha256.BlockSize {
		sum := sha256.Sum256(secret)
		secret = sum[:]
	}
	return &pads{state(secret, 0x36), state(secret, 0x5c)}
}

func state(secret []byte, pad byte) []byte {
	block := make([]byte, sha256.BlockSize)
	copy(block, secret)
	for i := range block {
		block[i] ^= pad
	}
	h := sha256.New()
	h.Write(block)
	saved, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic("webhook: " + err.Error()) // SHA-256 can always save its state
	}
	return saved
}

// A bench is what one signature is made with.
type bench struct {
	hash hash.Hash // SHA-256
	head []byte    // id and timestamp, each with its full stop
	text []byte    // head and body
	sum  [sha256.Size]byte
	code [codeSize]byte // a sum in base64
}

// codeSize is the length of an HMAC-SHA256 in base64, with its padding.
const codeSize = 44

var benches = sync.Pool{New: func() any { return &bench{hash: sha256.New(), head: make([]byte, 0, 128)} }}

// mac returns the HMAC-SHA256 of head and body, valid until the next.
func (b *bench) mac(p *pads, body []byte) []byte {
	b.load(p.inner)
	b.hash.Write(b.head)
	b.hash.Write(body)
	inner := b.hash.Sum(b.sum[:0])
	b.load(p.outer)
	b.hash.Write(inner)
	return b.hash.Sum(b.sum[:0])
}

func (b *bench) load(saved []byte) {
	if err := b.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(saved); err != nil {
		panic("webhook: " + err.Error()) // it was saved by the same hash
	}
}

// keepText is the size of the largest text that a bench keeps for the next.
const keepText = 64 << 10

// whole returns head and body as one text, valid until the next: Ed25519
// reads what it signs twice.
func (b *bench) whole(body []byte) []byte {
	text := append(append(b.text[:0], b.head...), body...)
	if b.text = nil; cap(text) <= keepText {
		b.text = text
	}
	return text
}
