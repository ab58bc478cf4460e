package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
)

// A Print identifies a request's content. Prints are compared with ==.
type Print [32]byte

// Fingerprint returns the print of a request. Two requests have the same
// print only if all four parts are the same, octet by octet, and no part can
// pass for the end of another. The path should include the query.
//
// A multipart body has a boundary that most clients make up anew each time; a
// client that repeats one must repeat the boundary too.
//
// The value may be stored: it does not change between releases or machines.
func Fingerprint(method, path, contentType string, body []byte) Print {
	sum := sha256.Sum256(body)
	var room [256]byte
	b := room[:0]
	for _, part := range [...]string{method, path, contentType} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	b = append(b, sum[:]...) // of fixed length: needs no prefix
	return sha256.Sum256(b)
}
