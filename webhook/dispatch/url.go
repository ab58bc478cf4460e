package dispatch

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const longestURL = 2048

// What CheckURL finds wrong. The sentences are for the person who registers
// the URL, and quote nothing of it.
var (
	errLength    = errors.New("it must have 1 to 2048 characters")
	errCharacter = errors.New("it must consist of printable ASCII characters, without spaces, backslashes and quotes; encode others")
	errScheme    = errors.New("it must begin with https://")
	errForm      = errors.New("it is no absolute URL with a host")
	errUserinfo  = errors.New("it must not hold a user name or password")
	errFragment  = errors.New("it must not have a fragment")
	errHost      = errors.New("its host is no valid name")
	errNumeric   = errors.New("a numeric host must be four decimal numbers, or IPv6 in brackets")
	errLocal     = errors.New("its host is a local name")
	errPublic    = errors.New("its host is not a public address")
	errPort      = errors.New("its port must be 443 or one from 1024 on that serves no other protocol")
)

// CheckURL returns what is wrong with an endpoint's URL, in words that can be
// shown to whoever registers it; nil means nothing is. It looks at the text
// alone and asks no name server: a host that has no public address is refused
// when it is connected to. With insecure, http, loopback, private and
// single-label hosts and all ports are allowed.
func CheckURL(text string, insecure bool) error {
	if text == "" || len(text) > longestURL {
		return errLength
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\\\"<>^`{|}", c) >= 0 {
			return errCharacter
		}
	}
	if strings.Contains(text, "#") {
		return errFragment
	}
	u, err := url.Parse(text)
	if err != nil {
		return errForm
	}
	if u.Scheme != "https" && !(insecure && u.Scheme == "http") {
		return errScheme
	}
	rest := text[len(u.Scheme):]
	if u.Opaque != "" || u.Host == "" || !strings.HasPrefix(rest, "://") {
		return errForm
	}
	authority, _, _ := strings.Cut(rest[3:], "/")
	authority, _, _ = strings.Cut(authority, "?")
	if u.User != nil || strings.Contains(authority, "@") {
		return errUserinfo
	}
	if authority != u.Host || strings.Contains(authority, "%") {
		return errHost
	}
	if err := checkPort(u, insecure); err != nil {
		return err
	}
	return checkHost(u.Hostname(), strings.HasPrefix(authority, "["), insecure)
}

func checkPort(u *url.URL, insecure bool) error {
	port := u.Port()
	if port == "" {
		if strings.HasSuffix(u.Host, ":") {
			return errPort
		}
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != port || !portAllowed(int(n), insecure) {
		return errPort
	}
	return nil
}

// portAllowed reports whether deliveries may go to a port. Ports below 1024
// belong to other protocols, and so do those that browsers refuse (the Fetch
// standard, "bad port").
func portAllowed(port int, insecure bool) bool {
	if insecure {
		return port > 0
	}
	return port == 443 || port >= 1024 && !slices.Contains(closedPorts, port)
}

var closedPorts = []int{1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}

func checkHost(host string, brackets, insecure bool) error {
	if brackets {
		a, err := netip.ParseAddr(host)
		if err != nil || !a.Is6() {
			return errNumeric
		}
		if !Allowed(a, insecure) {
			return errPublic
		}
		return nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if !a.Is4() || !Allowed(a, insecure) {
			return errPublic
		}
		return nil
	}
	return checkName(host, insecure)
}

// localNames end the names of things that are near and not public.
var localNames = []string{"localhost", "localdomain", "local", "internal", "intranet", "lan", "home.arpa", "onion"}

// checkName looks at a host that is no address. What a lenient parser would
// take for one is refused: no top-level domain begins with a digit.
func checkName(host string, insecure bool) error {
	if len(host) > 253 {
		return errHost
	}
	labels := strings.Split(strings.ToLower(host), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errHost
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		return errNumeric
	}
	if insecure {
		return nil
	}
	if len(labels) == 1 {
		return errLocal
	}
	lower := "." + strings.Join(labels, ".")
	for _, name := range localNames {
		if strings.HasSuffix(lower, "."+name) {
			return errLocal
		}
	}
	return nil
}
