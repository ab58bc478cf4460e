// Package largefile is a file of one gibibyte that nobody has to store: the
// same bytes on every machine, made where they are read, from any place on at
// once. They are the key stream of AES-128 in counter mode, so that anybody can
// make them as well:
//
//	head -c 1073741824 /dev/zero |
//	openssl enc -aes-128-ctr -K 7061726c65792d6c6172676566696c65 -iv 0
package largefile

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"io"
)

// Size is the number of bytes.
const Size = 1 << 30

// Digest is the SHA-256 of all of them, as in Repr-Digest.
const Digest = "sha-256=:bNyIQgp0M3CGJgVHk/oo1hJmU9NMbRMXoPIVa18ArcE=:"

// A File gives the bytes. It is safe for concurrent use.
type File struct{ block cipher.Block }

// New returns the file.
func New() *File {
	block, err := aes.NewCipher([]byte("parley-largefile"))
	if err != nil {
		panic(err) // the key has the right length
	}
	return &File{block}
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, offset int64) (int, error) {
	if offset < 0 || offset >= Size {
		return 0, io.EOF
	}
	var err error
	if left := Size - offset; int64(len(b)) > left {
		b, err = b[:left], io.EOF
	}
	var counter, skipped [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[8:], uint64(offset/aes.BlockSize))
	stream := cipher.NewCTR(f.block, counter[:])
	skip := skipped[:offset%aes.BlockSize]
	stream.XORKeyStream(skip, skip)
	clear(b)
	stream.XORKeyStream(b, b)
	return len(b), err
}
