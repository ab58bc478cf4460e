package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A client asks over one connection, and spends little on what it gets.
type client struct {
	conn net.Conn
	r    *bufio.Reader
	skip []byte
}

func dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReaderSize(conn, 4<<10), make([]byte, 256<<10)}, nil
}

// An answer is the head of a response.
type answer struct {
	status      int
	length      int64
	contentType string
}

// ask sends a request and reads the head of its answer.
func (c *client) ask(request []byte) (a answer, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return a, err
	}
	a.length = -1
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return a, err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(line) == 0:
			if a.length < 0 {
				return a, fmt.Errorf("an answer %d has no length", a.status)
			}
			return a, nil
		case a.status == 0 && len(line) >= 12:
			a.status, _ = strconv.Atoi(string(line[9:12]))
		case bytes.EqualFold(name, []byte("Content-Length")):
			if a.length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return a, err
			}
		case bytes.EqualFold(name, []byte("Content-Type")):
			a.contentType = string(bytes.TrimSpace(value))
		}
	}
}

// discard throws the body of an answer away.
func (c *client) discard(a answer) error {
	n, err := c.r.Discard(int(min(a.length, int64(c.r.Buffered()))))
	for left := a.length - int64(n); left > 0 && err == nil; left -= int64(n) {
		n, err = c.conn.Read(c.skip[:min(left, int64(len(c.skip)))])
	}
	return err
}

// read returns the body of an answer.
func (c *client) read(a answer) ([]byte, error) {
	b := make([]byte, a.length)
	_, err := io.ReadFull(c.r, b)
	return b, err
}
