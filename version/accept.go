package version

import "strings"

// fromAccept looks through one line of Accept for media ranges of the vendor's
// tree and reports whether it found any. Everything else in it, malformed or
// not, is left to content negotiation.
func (c *Calendar) fromAccept(line string, named *claim) (bool, error) {
	found := false
	if strings.IndexByte(line, '+') < 0 { // most lines: no +json in them
		return found, nil
	}
	for len(line) > len(c.accept) {
		var element string
		element, line = cut(line, ',')
		media, parameters := cut(element, ';')
		number, ok := c.vendorMajor(strings.Trim(media, " \t"))
		if !ok || refused(parameters) {
			continue
		}
		found = true
		if err := named.add(c, c.major(number), byAccept); err != nil {
			return found, err
		}
	}
	return found, nil
}

// vendorMajor returns what stands for <major> in
// application/vnd.<vendor>.v<major>+json. What does not begin with a digit is
// some other media type of the vendor.
func (c *Calendar) vendorMajor(media string) (string, bool) {
	const suffix = "+json"
	n := len(media) - len(suffix)
	if n <= len(c.accept) || !fold(media[:len(c.accept)], c.accept) || !fold(media[n:], suffix) {
		return "", false
	}
	major := media[len(c.accept):n]
	return major, digits(major[:1])
}

// major finds a version by its number alone, never by its name.
func (c *Calendar) major(number string) *Version {
	for _, v := range c.versions {
		if v.number == number {
			return v
		}
	}
	return nil
}

// refused reports whether the parameters of a media range give it weight 0.
func refused(parameters string) bool {
	for parameters != "" {
		var p string
		p, parameters = cut(parameters, ';')
		name, value, _ := strings.Cut(strings.Trim(p, " \t"), "=")
		if !fold(name, "q") {
			continue
		}
		whole, fraction, _ := strings.Cut(value, ".")
		return whole == "0" && strings.Trim(fraction, "0") == ""
	}
	return false
}

// cut is strings.Cut for a separator outside of quoted strings.
func cut(s string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"':
			quoted = !quoted
		case quoted && b == '\\':
			i++
		case b == separator && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// fold compares without regard to the case of ASCII letters, and of those only.
func fold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if small(a[i]) != small(b[i]) {
			return false
		}
	}
	return true
}

func small(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
