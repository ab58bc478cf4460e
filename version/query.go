package version

import (
	"net/url"
	"strings"

	"github.com/parley-api/parley/problem"
)

// The query parameters that carry a version.
const (
	longParameter  = "api-version"
	shortParameter = "version"
)

// fromQuery reads the raw query pair by pair: it needs two parameters and not
// a map of all of them.
func (c *Calendar) fromQuery(raw string, named *claim) error {
	if !strings.Contains(raw, shortParameter) && strings.IndexByte(raw, '%') < 0 {
		return nil
	}
	var long, short bool
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		key, value, _ := strings.Cut(pair, "=")
		key = parameter(key)
		seen := &short
		switch key {
		case "":
			continue
		case longParameter:
			seen = &long
		}
		detail := ""
		switch {
		case *seen:
			detail = carrier(key) + " is repeated."
		case value == "":
			detail = carrier(key) + " is empty."
		}
		if detail != "" {
			p := problem.InvalidParameter.New(detail)
			p.Parameter = key
			return p
		}
		*seen = true
		if err := named.add(c, c.known[unescape(value)], key); err != nil {
			return err
		}
	}
	return nil
}

// parameter returns which version parameter a raw key is, or "".
func parameter(key string) string {
	switch unescape(key) {
	case longParameter:
		return longParameter
	case shortParameter:
		return shortParameter
	}
	return ""
}

// unescape returns s itself where it is not well escaped: no version and no
// parameter has such a name.
func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// Strip returns a raw query without the parameters api-version and version, the
// others as they were and in their order. It returns raw itself where it has
// neither.
func Strip(raw string) string {
	var kept strings.Builder
	found := false
	for i := 0; i < len(raw); {
		end := i + len(raw[i:])
		if n := strings.IndexByte(raw[i:], '&'); n >= 0 {
			end = i + n
		}
		key, _, _ := strings.Cut(raw[i:end], "=")
		switch {
		case parameter(key) != "":
			if !found {
				found = true
				kept.WriteString(strings.TrimSuffix(raw[:i], "&"))
			}
		case found:
			if kept.Len() > 0 {
				kept.WriteByte('&')
			}
			kept.WriteString(raw[i:end])
		}
		i = end + 1
	}
	if !found {
		return raw
	}
	return kept.String()
}
