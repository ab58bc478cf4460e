package webhook

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// A Scheme is how a signature is made: the word before the comma in an entry
// of webhook-signature.
type Scheme string

// The schemes of Standard Webhooks.
const (
	V1  Scheme = "v1"  // HMAC-SHA256 with a shared secret, whsec_
	V1a Scheme = "v1a" // Ed25519 with a private key, whsk_, and its public key, whpk_
)

// What the text of a secret begins with.
const (
	prefixShared  = "whsec_"
	prefixPrivate = "whsk_"
	prefixPublic  = "whpk_"
)

// maxShared is the size of the largest shared secret, in bytes. Standard
// Webhooks asks for 24 to 64; others are in use.
const maxShared = 512

// Errors of the functions that read a secret. None holds a part of the text.
var (
	ErrSecretEmpty    = errors.New("webhook: the secret is empty")
	ErrSecretEncoding = errors.New("webhook: the secret is not base64 in the standard alphabet (A-Z a-z 0-9 + /)")
	ErrSecretSize     = errors.New("webhook: the secret has a wrong size")
	ErrSecretPrefix   = errors.New("webhook: the secret has the prefix of another kind")
	ErrSecretPair     = errors.New("webhook: the public half of the private key is not its own")
)

// A Secret is what signs or verifies: a shared secret, a private key or a
// public key. Make one with [ParseSecret], [NewSecret] or [NewKeyPair]; the
// zero Secret can do nothing.
//
// A Secret is a small value to copy, and is safe for concurrent use. Printed,
// logged or encoded, it is [REDACTED], whatever the verb; [Secret.Reveal]
// returns its text.
type Secret struct {
	k *cover // nil for the zero Secret
}

// A cover keeps the key two pointers away: fmt asks no methods of an
// unexported field, and follows one pointer where the verb is wrong.
type cover struct{ *key }

// key is one of the three kinds.
type key struct {
	scheme  Scheme
	shared  *pads              // v1
	raw     []byte             // v1: the secret's bytes
	private ed25519.PrivateKey // v1a; nil where only the public key is known
	public  ed25519.PublicKey  // v1a
}

// ParseSecret reads a secret in its text form. whsec_ stands before a shared
// secret, whsk_ before a private key and whpk_ before a public key; a text
// without a prefix is a shared secret. The rest is base64 in the standard
// alphabet, padded or not; white space around it is dropped.
//
// A shared secret may have 1 to 512 bytes. Standard Webhooks asks for 24 to
// 64: who lets strangers choose secrets should check [Secret.Size]. The errors
// are ErrSecretEmpty, ErrSecretEncoding, ErrSecretSize and ErrSecretPair.
func ParseSecret(text string) (Secret, error) {
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, prefixPrivate):
		return ParsePrivateKey(text)
	case strings.HasPrefix(text, prefixPublic):
		return ParsePublicKey(text)
	}
	raw, err := decode(strings.TrimPrefix(text, prefixShared))
	if err != nil {
		return Secret{}, err
	}
	return shared(raw)
}

// ParsePrivateKey reads a private key of scheme v1a, with or without whsk_:
// the 32 bytes of the seed, or 64 with the public key behind it. The errors
// are those of [ParseSecret], and ErrSecretPrefix.
func ParsePrivateKey(text string) (Secret, error) {
	raw, err := decodeKey(text, prefixPrivate)
	if err != nil {
		return Secret{}, err
	}
	if len(raw) != ed25519.SeedSize && len(raw) != ed25519.PrivateKeySize {
		return Secret{}, ErrSecretSize
	}
	private := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	if len(raw) == ed25519.PrivateKeySize && subtle.ConstantTimeCompare(raw, private) == 0 {
		return Secret{}, ErrSecretPair
	}
	return pair(private), nil
}

// ParsePublicKey reads a public key of scheme v1a, with or without whpk_. The
// errors are those of [ParseSecret], and ErrSecretPrefix.
func ParsePublicKey(text string) (Secret, error) {
	raw, err := decodeKey(text, prefixPublic)
	if err != nil {
		return Secret{}, err
	}
	if len(raw) != ed25519.PublicKeySize {
		return Secret{}, ErrSecretSize
	}
	return Secret{&cover{&key{scheme: V1a, public: raw}}}, nil
}

// NewSecret makes a shared secret of 32 random bytes.
func NewSecret() Secret {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	s, _ := shared(raw)
	return s
}

// NewKeyPair makes a private key. Keep it, and give the consumer
// [Secret.Public].
func NewKeyPair() Secret {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	return pair(ed25519.NewKeyFromSeed(seed))
}

func shared(raw []byte) (Secret, error) {
	if len(raw) > maxShared {
		return Secret{}, ErrSecretSize
	}
	return Secret{&cover{&key{scheme: V1, shared: newPads(raw), raw: raw}}}, nil
}

func pair(private ed25519.PrivateKey) Secret {
	return Secret{&cover{&key{scheme: V1a, private: private, public: private.Public().(ed25519.PublicKey)}}}
}

func decodeKey(text, prefix string) ([]byte, error) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok && strings.Contains(text, "_") { // no letter of base64
		return nil, ErrSecretPrefix
	}
	return decode(rest)
}

// decode reads base64 with or without its padding.
func decode(text string) ([]byte, error) {
	if text == "" {
		return nil, ErrSecretEmpty
	}
	if strings.ContainsAny(text, "\r\n") { // the decoder would skip them
		return nil, ErrSecretEncoding
	}
	encoding := base64.StdEncoding
	if !strings.HasSuffix(text, "=") {
		encoding = base64.RawStdEncoding
	}
	raw, err := encoding.DecodeString(text)
	if err != nil {
		return nil, ErrSecretEncoding
	}
	return raw, nil
}

// Scheme returns the scheme that the secret signs or verifies in; "" for the
// zero Secret.
func (s Secret) Scheme() Scheme {
	if s.k == nil {
		return ""
	}
	return s.k.scheme
}

// Size returns how many bytes the secret has: of a shared secret its own, of
// a key pair or public key 32.
func (s Secret) Size() int {
	switch {
	case s.k == nil:
		return 0
	case s.k.scheme == V1:
		return len(s.k.raw)
	}
	return ed25519.SeedSize
}

// CanSign reports whether the secret can sign: a public key cannot, nor can
// the zero Secret.
func (s Secret) CanSign() bool { return s.k != nil && (s.k.shared != nil || s.k.private != nil) }

// Public returns what a consumer verifies with: of a private key the public
// key, of any other secret the secret itself.
func (s Secret) Public() Secret {
	if s.k == nil || s.k.private == nil {
		return s
	}
	return Secret{&cover{&key{scheme: V1a, public: s.k.public}}}
}

// Reveal returns the text of the secret, with its prefix and padding, in the
// form that [ParseSecret] reads: of a private key seed and public key. It is
// to be shown once and stored with care; "" for the zero Secret.
func (s Secret) Reveal() string {
	switch {
	case s.k == nil:
		return ""
	case s.k.scheme == V1:
		return prefixShared + base64.StdEncoding.EncodeToString(s.k.raw)
	case s.k.private != nil:
		return prefixPrivate + base64.StdEncoding.EncodeToString(s.k.private)
	}
	return prefixPublic + base64.StdEncoding.EncodeToString(s.k.public)
}

// Redacted is what stands for a secret wherever it is printed.
const Redacted = "[REDACTED]"

// String returns [REDACTED].
func (s Secret) String() string { return Redacted }

// Format writes [REDACTED], whatever the verb and flags.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, Redacted) }

// MarshalText returns [REDACTED], which JSON and other encodings then hold.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue returns [REDACTED].
func (s Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }
