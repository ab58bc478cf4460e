package webhook

import (
	"crypto/ed25519"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The steps at which a verification fails, in their order. Test with
// [errors.Is]. The texts hold nothing of what was received and may be shown to
// the sender.
var (
	ErrMissingHeader  = errors.New("webhook: a header field is missing or empty")
	ErrRepeatedHeader = errors.New("webhook: a header field occurs more than once")
	ErrID             = errors.New("webhook: webhook-id is not 1 to 256 visible ASCII characters")
	ErrTimestamp      = errors.New("webhook: webhook-timestamp is not a number of Unix seconds")
	ErrTooOld         = errors.New("webhook: the timestamp is too old")
	ErrTooNew         = errors.New("webhook: the timestamp is too far in the future")
	ErrSignature      = errors.New("webhook: webhook-signature is not a list of 1 to 16 entries <scheme>,<base64>")
	ErrNoScheme       = errors.New("webhook: no signature is of the scheme of the secret")
	ErrNoMatch        = errors.New("webhook: no signature matches the secret and the body")
)

// VerifierOptions are the options of a [Verifier].
type VerifierOptions struct {
	// Tolerance is how far a timestamp may be from the present, both ways.
	// Zero means 300 s, the constant Tolerance.
	Tolerance time.Duration
}

// A Verifier checks that a delivery was signed with one of its secrets, and
// lately. It is safe for concurrent use.
type Verifier struct {
	secrets   []Secret
	tolerance time.Duration
}

// NewVerifier returns a verifier that is content with any one of the secrets:
// one as a rule, the old and the new while the consumer replaces it. A nil
// opts means the defaults. It panics without a secret, with a zero Secret
// among them, and with a negative tolerance.
func NewVerifier(secrets []Secret, opts *VerifierOptions) *Verifier {
	v := &Verifier{secrets: make([]Secret, len(secrets)), tolerance: Tolerance}
	if len(secrets) == 0 {
		panic("webhook: a verifier needs a secret")
	}
	for i, s := range secrets {
		if v.secrets[i] = s.Public(); s.k == nil {
			panic("webhook: a secret of a verifier was never made")
		}
	}
	if opts != nil && opts.Tolerance != 0 {
		v.tolerance = opts.Tolerance
	}
	if v.tolerance < 0 {
		panic("webhook: the tolerance of a verifier is negative")
	}
	return v
}

// Verify checks a delivery by its header and its raw body, at the time at: as
// a rule [time.Now], for a delivery that was kept the time of its arrival. A
// nil error means that the sender has the secret, that nothing was altered,
// and that the timestamp is within the tolerance, in whole seconds.
//
// A shared secret is compared, in constant time, with every entry of scheme
// v1, a key with every entry of v1a; entries of other schemes are ignored. The
// error is one of the steps above, from ErrMissingHeader to ErrNoMatch.
func (v *Verifier) Verify(header http.Header, body []byte, at time.Time) error {
	s, err := v.seal(header, at)
	if err != nil {
		return err
	}
	return v.match(&s, body)
}

// A seal is what the header says of a delivery.
type seal struct {
	id, timestamp string
	seconds       int64
	entries       [MaxSignatures]entry
	count         int // of entries
}

type entry struct{ scheme, signature string }

// seal checks all that can be checked without the body.
func (v *Verifier) seal(header http.Header, at time.Time) (s seal, err error) {
	var signature string
	for _, field := range []struct {
		name  string
		value *string
	}{{HeaderID, &s.id}, {HeaderTimestamp, &s.timestamp}, {HeaderSignature, &signature}} {
		values := header[field.name]
		switch {
		case len(values) == 0 || values[0] == "":
			return s, fmt.Errorf("%w: %s", ErrMissingHeader, strings.ToLower(field.name))
		case len(values) > 1:
			return s, fmt.Errorf("%w: %s", ErrRepeatedHeader, strings.ToLower(field.name))
		}
		*field.value = values[0]
	}
	if !validID(s.id) {
		return s, ErrID
	}
	if s.seconds, err = parseTimestamp(s.timestamp); err != nil {
		return s, err
	}
	switch age := time.Unix(at.Unix(), 0).Sub(time.Unix(s.seconds, 0)); {
	case age > v.tolerance:
		return s, ErrTooOld
	case age < -v.tolerance:
		return s, ErrTooNew
	}
	if err := s.split(signature); err != nil {
		return s, err
	}
	if !v.knows(&s) {
		return s, ErrNoScheme
	}
	return s, nil
}

// parseTimestamp reads Unix seconds in their one decimal form.
func parseTimestamp(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil || text[0] == '0' && len(text) > 1 {
		return 0, ErrTimestamp
	}
	return int64(n), nil
}

// split reads the entries of webhook-signature. What has no scheme and comma
// is no entry and is passed over.
func (s *seal) split(value string) error {
	for text := range strings.SplitSeq(value, " ") {
		scheme, signature, ok := strings.Cut(text, ",")
		if !ok || scheme == "" {
			continue
		}
		if s.count == MaxSignatures {
			return ErrSignature
		}
		s.entries[s.count] = entry{scheme, signature}
		s.count++
	}
	if s.count == 0 {
		return ErrSignature
	}
	return nil
}

// knows reports whether an entry is of the scheme of a secret.
func (v *Verifier) knows(s *seal) bool {
	for _, secret := range v.secrets {
		for _, e := range s.entries[:s.count] {
			if e.scheme == string(secret.Scheme()) {
				return true
			}
		}
	}
	return false
}

// match compares every entry with every secret of its scheme.
func (v *Verifier) match(s *seal, body []byte) error {
	b := benches.Get().(*bench)
	defer benches.Put(b)
	b.head = append(append(b.head[:0], s.id...), '.')
	b.head = append(append(b.head, s.timestamp...), '.')
	found := 0
	for _, secret := range v.secrets {
		if secret.k.scheme == V1 {
			found |= s.matchShared(base64.StdEncoding.AppendEncode(b.code[:0], b.mac(secret.k.shared, body)))
		} else {
			found |= s.matchPublic(secret.k.public, b.whole(body))
		}
	}
	if found == 0 {
		return ErrNoMatch
	}
	return nil
}

// matchShared compares the entries of v1 with the encoded signature that is
// wanted, whose last character is its padding and may be missing.
func (s *seal) matchShared(want []byte) (found int) {
	for _, e := range s.entries[:s.count] {
		if e.scheme != string(V1) {
			continue
		}
		var got [codeSize]byte // of another length: filled up, and no match
		same := copy(got[:], e.signature) ^ len(e.signature)
		if len(e.signature) == codeSize-1 {
			got[codeSize-1] = '='
		}
		found |= subtle.ConstantTimeCompare(got[:], want) & subtle.ConstantTimeEq(int32(same), 0)
	}
	return found
}

func (s *seal) matchPublic(public ed25519.PublicKey, text []byte) (found int) {
	strict := base64.RawStdEncoding.Strict()
	for _, e := range s.entries[:s.count] {
		signature := e.signature
		if len(signature) == 88 {
			signature = strings.TrimSuffix(signature, "==")
		}
		if e.scheme != string(V1a) || len(signature) != strict.EncodedLen(ed25519.SignatureSize) {
			continue
		}
		raw, err := strict.DecodeString(signature)
		if err == nil && len(raw) == ed25519.SignatureSize && ed25519.Verify(public, text, raw) {
			found = 1
		}
	}
	return found
}
