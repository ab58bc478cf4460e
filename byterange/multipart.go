package byterange

import "crypto/rand"

// several sends parts as multipart/byteranges (RFC 9110, section 14.6). The
// boundary is new for every response, 128 bits of chance, so that nobody can
// have put it into the bytes.
func (s *sender) several(ranges []Range) error {
	s.gather()
	mark := rand.Text()
	s.multipart = "multipart/byteranges; boundary=" + mark
	end := "\r\n--" + mark + "--\r\n"
	s.length = int64(len(end))
	for i, r := range ranges { // the buffer is empty, so there is room to measure
		s.length += r.Length + int64(len(s.heading(s.room()[:0], mark, i, r)))
	}
	for i, r := range ranges {
		free := s.room()
		if b := s.heading(free[:0], mark, i, r); len(b) <= len(free) {
			s.n += len(b)
		} else if err := s.text(b); err != nil {
			return err
		}
		if err := s.part(r); err != nil {
			return err
		}
	}
	if err := s.text([]byte(end)); err != nil {
		return err
	}
	return s.flush()
}

// heading appends what stands before the bytes of a part.
func (s *sender) heading(b []byte, mark string, i int, r Range) []byte {
	if i > 0 {
		b = append(b, "\r\n"...)
	}
	b = append(append(b, "--"...), mark...)
	b = append(append(b, "\r\nContent-Type: "...), s.c.mediaType()...)
	b = r.append(append(b, "\r\nContent-Range: "...), s.c.Size)
	return append(b, "\r\n\r\n"...)
}
