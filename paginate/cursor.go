package paginate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-api/parley/problem"
)

// Lifetime is how long a cursor or page token can be used after it was
// issued.
const Lifetime = 72 * time.Hour

// MaxCursor is the length of the longest cursor, in bytes.
const MaxCursor = 512

// MaxText is the longest Position.Text that fits into a cursor, in bytes. A
// column that lists can be sorted by must not hold longer values.
const MaxText = MaxCursor*6/8 - overhead - fixed

const (
	nonceSize = 12
	tagSize   = 16
	overhead  = 1 + nonceSize + tagSize // key id, nonce, tag
	fixed     = 1 + 4*8                 // flags, expiry, mark, key, id
)

// A Position is a place between two rows of a walk. What the fields mean is
// the caller's affair; they come back as they were given.
type Position struct {
	Mark int64  // snapshot mark: what was visible when the walk began
	Key  int64  // sort key of the row at the edge: an id or a time in microseconds
	Text string // sort key where the column is text, at most MaxText bytes
	ID   int64  // id of the row at the edge
	Back bool   // the page wanted ends before the edge instead of starting after it
}

// A Scope is what a cursor is bound to, besides its style. A cursor opens
// only under the very same scope.
type Scope struct {
	Collection string
	Account    int64
	Filters    string // in one canonical encoding, for example url.Values.Encode
	Sort       string
}

// A Key is one secret that cursors are sealed with. The ID tells it from
// others during a rotation and is not secret.
type Key struct {
	ID     byte
	Secret [32]byte
}

// Keys seals and opens cursors. It is safe for concurrent use. Every node of
// a service must have the same keys, and keep them over a restart.
//
// Cursors are sealed with AES-256-GCM, which demands that no nonce is ever
// used twice under a key, on any node, in any process. A nonce is 96 bits: a
// point drawn at random by NewKeys, plus a count in its low 64 bits. Within
// one Keys the count never repeats. Two Keys with the same secret collide
// only where the upper 32 bits agree and the stretches they have counted
// overlap: 65,536 starts of a process that seal 2^40 cursors each meet with a
// probability under 2^-23, where nonces drawn at random one by one would
// be certain to. The one way to break this is to copy a running process, as a
// snapshot of a virtual machine that is resumed twice does; rotate the key
// after that.
type Keys struct {
	current byte
	ring    [256]cipher.AEAD
	high    uint32
	low     atomic.Uint64
	pool    sync.Pool // of *scratch
}

// scratch is the memory that one Seal or Open works in.
type scratch struct {
	text  [MaxCursor]byte
	raw   [MaxCursor]byte
	scope []byte
}

// NewKeys returns keys that seal with current and open with all. To rotate,
// first make the new key known to every node as an older one, then make it
// current, and drop the previous one after [Lifetime]. Two keys with the same
// ID and a secret of zeros are errors.
func NewKeys(current Key, older ...Key) (*Keys, error) {
	k := &Keys{current: current.ID}
	k.pool.New = func() any { return &scratch{scope: make([]byte, 0, 256)} }
	for _, key := range append([]Key{current}, older...) {
		if key.Secret == [32]byte{} {
			return nil, fmt.Errorf("paginate: key %d has no secret", key.ID)
		}
		if k.ring[key.ID] != nil {
			return nil, fmt.Errorf("paginate: two keys have the id %d", key.ID)
		}
		block, err := aes.NewCipher(key.Secret[:])
		if err != nil {
			return nil, fmt.Errorf("paginate: key %d: %w", key.ID, err)
		}
		if k.ring[key.ID], err = cipher.NewGCM(block); err != nil {
			return nil, fmt.Errorf("paginate: key %d: %w", key.ID, err)
		}
	}
	var start [nonceSize]byte
	rand.Read(start[:]) // never fails
	k.high = binary.BigEndian.Uint32(start[:4])
	k.low.Store(binary.BigEndian.Uint64(start[4:]))
	return k, nil
}

var errText = fmt.Errorf("paginate: the sort key is longer than %d bytes", MaxText)

// Seal returns the position as a cursor of the style, [Cursor] or [Token]:
// base64url without padding, at most [MaxCursor] bytes, different each time.
// It can be opened until expires. The only error is a Text that is too long.
func (k *Keys) Seal(scope Scope, style Style, at Position, expires time.Time) (string, error) {
	if len(at.Text) > MaxText {
		return "", errText
	}
	s := k.pool.Get().(*scratch)
	cursor := string(base64.RawURLEncoding.AppendEncode(s.text[:0], k.seal(s, scope, style, at, expires)))
	k.release(s)
	return cursor, nil
}

// AppendSeal is Seal into the caller's buffer. After an error it returns dst
// as it was.
func (k *Keys) AppendSeal(dst []byte, scope Scope, style Style, at Position, expires time.Time) ([]byte, error) {
	if len(at.Text) > MaxText {
		return dst, errText
	}
	s := k.pool.Get().(*scratch)
	dst = base64.RawURLEncoding.AppendEncode(dst, k.seal(s, scope, style, at, expires))
	k.release(s)
	return dst, nil
}

// seal writes key id, nonce, sealed position and tag into the scratch.
func (k *Keys) seal(s *scratch, scope Scope, style Style, at Position, expires time.Time) []byte {
	raw := append(s.raw[:0], k.current)
	raw = binary.BigEndian.AppendUint32(raw, k.high)
	raw = binary.BigEndian.AppendUint64(raw, k.low.Add(1))
	body := len(raw)
	raw = appendPosition(raw, at, expires)
	s.scope = appendScope(s.scope[:0], scope, style)
	return k.ring[k.current].Seal(raw[:body], raw[1:body], raw[body:], s.scope)
}

// Open returns the position that was sealed. The error is a
// [problem.InvalidCursor] where the cursor was not made with these keys for
// this scope and style, or was altered in any way, and a
// [problem.ExpiredCursor] where its time is over; both name the parameter of
// the style.
func (k *Keys) Open(cursor string, scope Scope, style Style, now time.Time) (Position, error) {
	s := k.pool.Get().(*scratch)
	at, expires, err := k.open(s, cursor, scope, style)
	k.release(s)
	switch {
	case err != nil:
		return Position{}, refusal(problem.InvalidCursor, style, invalidCursor, invalidToken)
	case now.Unix() >= expires:
		return Position{}, refusal(problem.ExpiredCursor, style, expiredCursor, expiredToken)
	}
	return at, nil
}

// Knows reports whether a cursor names one of these keys as the one it was
// sealed with. Where it does not, another node may have a newer key.
func (k *Keys) Knows(cursor string) bool {
	if len(cursor) < 2 {
		return false
	}
	var id [1]byte
	n, _ := base64.RawURLEncoding.Decode(id[:], []byte(cursor[:2]))
	return n == 1 && k.ring[id[0]] != nil
}

var errCursor = errors.New("not a cursor of these keys")

// open accepts exactly one spelling of each cursor: base64 decodes strictly,
// and the line breaks that the decoder would skip show in the length.
func (k *Keys) open(s *scratch, cursor string, scope Scope, style Style) (at Position, expires int64, err error) {
	if len(cursor) > MaxCursor {
		return at, 0, errCursor
	}
	text := append(s.text[:0], cursor...)
	n, err := strict.Decode(s.raw[:], text)
	if err != nil || n != strict.DecodedLen(len(text)) || n < overhead+fixed {
		return at, 0, errCursor
	}
	raw := s.raw[:n]
	aead := k.ring[raw[0]]
	if aead == nil {
		return at, 0, errCursor
	}
	const body = 1 + nonceSize
	s.scope = appendScope(s.scope[:0], scope, style)
	plain, err := aead.Open(raw[body:body], raw[1:body], raw[body:], s.scope)
	if err != nil {
		return at, 0, errCursor
	}
	at, expires = position(plain)
	return at, expires, nil
}

// strict refuses stray bits in the last character, which would give a second
// spelling of the same cursor. It is never changed.
var strict = base64.RawURLEncoding.Strict()

func (k *Keys) release(s *scratch) {
	if cap(s.scope) > 4096 {
		s.scope = nil // one long filter must not stay in memory
	}
	k.pool.Put(s)
}

// What a refusal says. The texts are whole, so that refusing costs little.
const (
	invalidCursor = "The cursor was not issued for this list, with these filters, this order and this account, or was altered."
	invalidToken  = "The page token was not issued for this list, with these filters, this order and this account, or was altered."
	expiredCursor = "The cursor has expired."
	expiredToken  = "The page token has expired."
)

func refusal(kind *problem.Kind, style Style, ofCursor, ofToken string) *problem.Problem {
	if style == Token {
		return &problem.Problem{Kind: kind, Detail: ofToken, Parameter: "page_token"}
	}
	return &problem.Problem{Kind: kind, Detail: ofCursor, Parameter: "cursor"}
}

func appendPosition(dst []byte, at Position, expires time.Time) []byte {
	var flags byte
	if at.Back {
		flags = 1
	}
	dst = append(dst, flags)
	for _, v := range [...]int64{expires.Unix(), at.Mark, at.Key, at.ID} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v))
	}
	return append(dst, at.Text...)
}

// position reads what appendPosition wrote; it is given nothing else, because
// the seal was good.
func position(b []byte) (at Position, expires int64) {
	field := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[1+8*i:])) }
	return Position{
		Mark: field(1), Key: field(2), ID: field(3),
		Text: string(b[fixed:]), Back: b[0]&1 != 0,
	}, field(0)
}

// appendScope writes the scope so that no two scopes give the same bytes.
// They are authenticated with the cursor and not part of it, which is why
// they need no hash of their own.
func appendScope(dst []byte, scope Scope, style Style) []byte {
	const layout = 1 // of the position; another number makes older cursors invalid
	dst = append(dst, layout, byte(style))
	dst = binary.BigEndian.AppendUint64(dst, uint64(scope.Account))
	for _, s := range [...]string{scope.Collection, scope.Filters, scope.Sort} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

// Resume returns the position that the plan's cursor or page token stands
// for: the zero Position where [Plan.Cursor] is empty. Its errors are those of
// [Keys.Open].
func (p Plan) Resume(keys *Keys, scope Scope, now time.Time) (Position, error) {
	if p.Cursor == "" {
		return Position{}, nil
	}
	return keys.Open(p.Cursor, scope, p.Style, now)
}
