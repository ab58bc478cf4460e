package idempotency

import (
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// An Answer is a response as it was first given. It is not changed once it is
// part of a [Record], and may then be used by several goroutines.
type Answer struct {
	Status int     // a final status code, 200 to 599
	Header []Field // in the order of sending; a name may be repeated
	Body   []byte  // without the secrets that the first response showed
}

// A Field is one line of a header.
type Field struct{ Name, Value string }

// Write sends the answer again, marked with Idempotency-Replayed: true. A
// field of the answer replaces what w.Header() has under that name;
// Content-Length is set from the body. Nothing may have been written before.
func (a *Answer) Write(w http.ResponseWriter) {
	h := w.Header()
	for i, f := range a.Header {
		first := !slices.ContainsFunc(a.Header[:i], func(g Field) bool { return strings.EqualFold(g.Name, f.Name) })
		if first {
			h.Set(f.Name, f.Value)
		} else {
			h.Add(f.Name, f.Value)
		}
	}
	h.Set(Replayed, "true")
	h.Del("Content-Length")
	if a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	if len(a.Body) > 0 {
		w.Write(a.Body) // a client that is gone can ask again
	}
}

// The stored form: one octet for the form itself, the status, the number of
// fields, each field's name and value, the body. Numbers are unsigned varints
// in their shortest form; every text has its length in front.
const form = 1

// AppendAnswer appends the answer's stored form to dst and returns the longer
// slice. [ParseAnswer] reads it, in this release and in later ones.
func (a *Answer) AppendAnswer(dst []byte) []byte {
	dst = append(dst, form)
	dst = binary.AppendUvarint(dst, uint64(a.Status))
	dst = binary.AppendUvarint(dst, uint64(len(a.Header)))
	for _, f := range a.Header {
		dst = appendText(dst, f.Name)
		dst = appendText(dst, f.Value)
	}
	return appendText(dst, a.Body)
}

func appendText[T string | []byte](dst []byte, s T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// errForm says that stored octets are no answer: damaged, or of a later form.
var errForm = errors.New("idempotency: not a stored answer")

// ParseAnswer reads what [Answer.AppendAnswer] wrote. It keeps no part of b.
// Octets that are anything else give an error, never a partial answer.
func ParseAnswer(b []byte) (*Answer, error) {
	if len(b) == 0 || b[0] != form {
		return nil, errForm
	}
	p := reader{rest: b[1:]}
	status, count := p.number(), p.number()
	if p.bad || status < 200 || status > 599 || count > uint64(len(p.rest)/2) {
		return nil, errForm
	}
	a := &Answer{Status: int(status)}
	if count > 0 {
		a.Header = make([]Field, count)
	}
	for i := range a.Header {
		a.Header[i] = Field{Name: string(p.text()), Value: string(p.text())}
	}
	a.Body = slices.Clone(p.text())
	if p.bad || len(p.rest) > 0 {
		return nil, errForm
	}
	return a, nil
}

// reader takes numbers and texts off the front of rest. Once bad, it gives
// zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (p *reader) number() uint64 {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 || size > 1 && p.rest[size-1] == 0 { // cut off, too large, or longer than needed
		*p = reader{bad: true}
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

func (p *reader) text() []byte {
	n := p.number()
	if n > uint64(len(p.rest)) {
		*p = reader{bad: true}
		return nil
	}
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s
}
