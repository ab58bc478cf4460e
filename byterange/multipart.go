package byterange

import (
	"crypto/rand"
)

// boundary returns a text that no attacker can have put into the bytes: 128
// bits, new for every response.
func boundary() string { return rand.Text() }

// several sends parts as multipart/byteranges (RFC 9110, section 14.6). Their
// headings are made first, for they count in the length.
func (s *sender) several(ranges []Range) error {
	mark := boundary()
	s.multipart = "multipart/byteranges; boundary=" + mark
	var room [4 << 10]byte
	heads, ends := room[:0], make([]int, 0, DefaultMaxRanges)
	for i, r := range ranges {
		if i > 0 {
			heads = append(heads, "\r\n"...)
		}
		heads = append(append(heads, "--"...), mark...)
		heads = append(append(heads, "\r\nContent-Type: "...), s.c.mediaType()...)
		heads = r.append(append(heads, "\r\nContent-Range: "...), s.c.Size)
		heads = append(heads, "\r\n\r\n"...)
		ends = append(ends, len(heads))
		s.length += r.Length
	}
	heads = append(append(append(heads, "\r\n--"...), mark...), "--\r\n"...)
	s.length += int64(len(heads))
	at := 0
	for i, r := range ranges {
		if err := s.text(heads[at:ends[i]]); err != nil {
			return err
		}
		at = ends[i]
		if err := s.part(r); err != nil {
			return err
		}
	}
	if err := s.text(heads[at:]); err != nil {
		return err
	}
	return s.flush()
}
