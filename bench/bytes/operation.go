package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"os"
	"strconv"
)

// An operation is what is asked for: ranges of so many bytes, each at a random
// place of its own part of the file. No range means the whole.
type operation struct {
	name   string
	ranges int
	length int64
}

var (
	whole   = operation{"whole", 0, 0}
	one64K  = operation{"one of 64 KiB", 1, 64 << 10}
	ten4K   = operation{"ten of 4 KiB", 10, 4 << 10}
	ten64K  = operation{"ten of 64 KiB", 10, 64 << 10}
	actions = []operation{whole, one64K, ten4K, ten64K}
)

func (o operation) status() int {
	if o.ranges == 0 {
		return 200
	}
	return 206
}

// request appends a request, and returns where its ranges begin.
func (o operation) request(dst []byte, c *contender, size int64, r *rand.Rand) ([]byte, []int64) {
	dst = append(append(append(dst, "GET "...), c.path...), " HTTP/1.1\r\nHost: "...)
	dst = append(dst, c.addr...)
	if c.key != "" {
		dst = append(append(dst, "\r\nAuthorization: Bearer "...), c.key...)
	}
	var starts []int64
	for i := range int64(o.ranges) {
		each := size / int64(o.ranges)
		start := i*each + r.Int64N(each-o.length-1)
		starts = append(starts, start)
		if i == 0 {
			dst = append(dst, "\r\nRange: bytes="...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendInt(dst, start, 10), '-')
		dst = strconv.AppendInt(dst, start+o.length-1, 10)
	}
	return append(dst, "\r\n\r\n"...), starts
}

// agree makes sure that a server sends the right bytes before its time is
// taken.
func (b *bench) agree(c *contender) error {
	f, err := os.Open(b.file)
	if err != nil {
		return err
	}
	defer f.Close()
	conn, err := dial(c.addr)
	if err != nil {
		return err
	}
	defer conn.conn.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for _, o := range actions[1:] {
		request, starts := o.request(nil, c, b.size, random)
		a, err := conn.ask(request)
		if err != nil {
			return err
		}
		body, err := conn.read(a)
		if err != nil {
			return err
		}
		if a.status != o.status() {
			return fmt.Errorf("%s: got status %d: %.300s", o.name, a.status, body)
		}
		parts := [][]byte{body}
		if o.ranges > 1 {
			if parts, err = split(a.contentType, body); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
		if len(parts) != len(starts) {
			return fmt.Errorf("%s: got %d parts", o.name, len(parts))
		}
		for i, start := range starts {
			want := make([]byte, o.length)
			if _, err := f.ReadAt(want, start); err != nil {
				return err
			}
			if !bytes.Equal(parts[i], want) {
				return fmt.Errorf("%s: part %d has other bytes than the file", o.name, i)
			}
		}
	}
	return nil
}

// split takes a multipart body apart.
func split(contentType string, body []byte) (parts [][]byte, err error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(p)
		if err != nil {
			return nil, err
		}
		parts = append(parts, b)
	}
}
