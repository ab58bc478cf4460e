package dispatch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// errAddress is the failure to connect where no address may be spoken to.
var errAddress = errors.New("dispatch: the address is not public")

// A tlsError is a handshake that failed.
type tlsError struct{ error }

func (e *tlsError) Unwrap() error { return e.error }

// A guard connects to public addresses only. A host is resolved once, and what
// is connected to is one of the very addresses that were checked, so that a
// second answer of the name server changes nothing.
type guard struct {
	insecure bool
	resolver Resolver
	connect  func(ctx context.Context, network, address string) (net.Conn, error)
	timeout  time.Duration
	tls      *tls.Config
}

// mostAddresses is how many addresses of a host are tried.
const mostAddresses = 4

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !portAllowed(int(number), g.insecure) {
		return nil, errAddress
	}
	allowed, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range allowed {
		c, err := g.try(ctx, network, netip.AddrPortFrom(a, uint16(number)), len(allowed)-i)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// try connects to one address, with its share of the time that is left.
func (g *guard) try(ctx context.Context, network string, to netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return g.connect(ctx, network, to.String())
}

// resolve returns the addresses of a host that may be connected to, at least
// one.
func (g *guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if !Allowed(a, g.insecure) {
			return nil, errAddress
		}
		return []netip.Addr{a}, nil
	}
	if checkName(host, g.insecure) != nil {
		return nil, errAddress
	}
	answers, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	allowed := make([]netip.Addr, 0, mostAddresses)
	for _, a := range answers {
		// A resolver writes the answer of an A record in either form.
		if a = a.Unmap(); Allowed(a, g.insecure) && len(allowed) < mostAddresses {
			allowed = append(allowed, a)
		}
	}
	if len(allowed) == 0 {
		return nil, errAddress
	}
	return allowed, nil
}

// control looks at the address that the system is about to connect to.
func (g *guard) control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || !Allowed(to.Addr(), g.insecure) {
		return errAddress
	}
	return nil
}

func (g *guard) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	raw, err := g.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := g.tls.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		raw.Close()
		return nil, err
	}
	c := tls.Client(raw, config)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, &tlsError{err}
	}
	return c, nil
}

// Allowed reports whether deliveries may go to an address: whether it is a
// global one of the IANA registries for special purposes (RFC 6890), and no
// form that stands for another address. An insecure dispatcher may also speak
// to loopback and private ones.
func Allowed(a netip.Addr, insecure bool) bool {
	switch {
	case !a.IsValid(), a.Zone() != "", a.Is4In6():
		return false
	case insecure && (a.IsLoopback() || a.IsPrivate()):
		return a != metadata6
	case a.Is4():
		return !inside(a, closed4)
	}
	return global6.Contains(a) && !inside(a, closed6) && !isatap(a)
}

func inside(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// isatap reports whether an address carries an IPv4 address as RFC 5214 does.
func isatap(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, text := range list {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

var (
	metadata6 = netip.MustParseAddr("fd00:ec2::254") // of a cloud, in private space

	closed4 = prefixes(
		"0.0.0.0/8",        // this network
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // shared by carriers
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // metadata of a cloud, in public space
		"169.254.0.0/16",   // link-local, and the metadata of most clouds
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"192.31.196.0/24",  // AS112
		"192.52.193.0/24",  // AMT
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"192.175.48.0/24",  // AS112
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, and broadcast
	)

	// Outside of it lie loopback, mapped and NAT64 forms, discard, SRv6, ULA,
	// link-local, site-local and multicast.
	global6 = netip.MustParsePrefix("2000::/3")

	closed6 = prefixes(
		"2001::/23",         // protocol assignments: Teredo, benchmarks, ORCHID and others
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3ffe::/16",         // 6bone
		"3fff::/20",         // documentation
	)
)
