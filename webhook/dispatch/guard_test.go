package dispatch_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
)

type hostile struct{ kind, value, why string }

func readHostile(t *testing.T) []hostile {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []hostile
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 3 || f[2] == "" || f[0] != "url" && f[0] != "answer" {
			t.Fatalf("a line without its three fields: %q", line)
		}
		all = append(all, hostile{f[0], f[1], f[2]})
	}
	if len(all) < 300 {
		t.Fatalf("got %d hostile things, want at least 300", len(all))
	}
	return all
}

// A nameserver answers for each host what it is told, and counts.
type nameserver struct {
	mu    sync.Mutex
	hosts map[string][][]netip.Addr // one answer after another, the last again
	asked map[string]int
}

func (n *nameserver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.hosts[host]
	if list == nil {
		return public, nil
	}
	at := min(n.asked[host], len(list)-1)
	n.asked[host]++
	return list[at], nil
}

// TestHostile sends deliveries to everything in testdata/hostile.txt and
// counts connections: there are none. The dialer is counted; then the same is
// done with the real one, and listeners on loopback are.
func TestHostile(t *testing.T) {
	things := readHostile(t)
	for _, real := range []bool{false, true} {
		var dials, accepts atomic.Int64
		ports := listen(t, &accepts)
		names := &nameserver{hosts: make(map[string][][]netip.Addr), asked: make(map[string]int)}
		o := dispatch.Options{Resolver: names}
		if !real {
			o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
				dials.Add(1)
				t.Errorf("a connection to %s", address)
				return nil, net.ErrClosed
			}
		}
		r := newRig(t, &o)
		var ids []int64
		for i, h := range things {
			id := int64(i + 1)
			ids = append(ids, id)
			e := dispatch.Endpoint{ID: id, URL: h.value, Enabled: true}
			if h.kind == "answer" {
				host := fmt.Sprintf("h%d.example", id)
				names.hosts[host] = [][]netip.Addr{{netip.MustParseAddr(h.value)}}
				e.URL = fmt.Sprintf("https://%s:%d/", host, ports[i%len(ports)])
			}
			if err := dispatch.CheckURL(e.URL, false); (err == nil) != (h.kind == "answer") {
				t.Errorf("%s %q (%s): got %v", h.kind, h.value, h.why, err)
			} else if err != nil && h.kind == "url" && leaks(err.Error(), h.value) {
				t.Errorf("%q: the error echoes it: %v", h.value, err)
			}
			r.book.set(e)
		}
		r.run()
		r.commit(1, ids...)
		for i, h := range things {
			want, class := event.Dead, dispatch.ErrorURL
			if h.kind == "answer" {
				want, class = event.Retrying, dispatch.ErrorAddress
			}
			row := r.wait(1, int64(i+1), want)
			if len(row.Attempts) != 1 || row.Attempts[0].Error != class {
				t.Errorf("%s %q (%s): got %+v, want %s", h.kind, h.value, h.why, row.Attempts, class)
			}
		}
		r.close()
		if dials.Load() != 0 || accepts.Load() != 0 {
			t.Errorf("got %d dials and %d accepted connections, want none", dials.Load(), accepts.Load())
		}
	}
}

// leaks reports whether an error quotes a part of the URL.
func leaks(text, value string) bool {
	host := strings.Trim(value, "htps:/")
	return len(host) > 8 && strings.Contains(text, host)
}

// listen counts connections to loopback.
func listen(t *testing.T, accepts *atomic.Int64) []int {
	t.Helper()
	var ports []int
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue // a machine without IPv6
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepts.Add(1)
				c.Close()
			}
		}()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	if len(ports) == 0 {
		t.Fatal("no loopback")
	}
	return ports
}

// TestAllowed shows that the answers that are hostile are refused as
// addresses, and that others are not.
func TestAllowed(t *testing.T) {
	for _, h := range readHostile(t) {
		if h.kind == "answer" && dispatch.Allowed(netip.MustParseAddr(h.value), false) {
			t.Errorf("%s (%s) is allowed", h.value, h.why)
		}
	}
	tests := []struct {
		why, address     string
		secure, insecure bool
	}{
		{"a public one", "93.184.215.14", true, true},
		{"the first after this network", "1.0.0.0", true, true},
		{"the last before carriers", "100.63.255.255", true, true},
		{"the first after carriers", "100.128.0.0", true, true},
		{"the last before private", "172.15.255.255", true, true},
		{"the first after private", "172.32.0.0", true, true},
		{"the last before multicast", "223.255.255.255", true, true},
		{"beside metadata", "168.63.129.17", true, true},
		{"public IPv6", "2606:4700:4700::1111", true, true},
		{"public IPv6 beside assignments", "2001:200::1", true, true},
		{"public IPv6 beside documentation", "2001:db9::1", true, true},
		{"public IPv6 beside 6to4", "2003::1", true, true},
		{"loopback in development", "127.0.0.1", false, true},
		{"loopback in development", "::1", false, true},
		{"private in development", "192.168.1.1", false, true},
		{"private in development", "fd00::1", false, true},
		{"metadata, even in development", "169.254.169.254", false, false},
		{"metadata, even in development", "fd00:ec2::254", false, false},
		{"mapped, even in development", "::ffff:127.0.0.1", false, false},
		{"unspecified, even in development", "0.0.0.0", false, false},
		{"multicast, even in development", "224.0.0.1", false, false},
		{"with a zone, even in development", "fe80::1%lo", false, false},
	}
	for _, test := range tests {
		a := netip.MustParseAddr(test.address)
		if s, i := dispatch.Allowed(a, false), dispatch.Allowed(a, true); s != test.secure || i != test.insecure {
			t.Errorf("%s (%s): got %v and %v insecure, want %v and %v", test.address, test.why, s, i, test.secure, test.insecure)
		}
	}
	if dispatch.Allowed(netip.Addr{}, true) {
		t.Error("no address is allowed")
	}
}

// TestCheckURL shows what may be registered.
func TestCheckURL(t *testing.T) {
	tests := []struct {
		why, url         string
		secure, insecure bool
	}{
		{"plain", "https://hook.example/", true, true},
		{"no path", "https://hook.example", true, true},
		{"capitals", "HTTPS://Hook.Example/Path", true, true},
		{"path and query", "https://hook.example/a%20b/c?x=1&y=%2F", true, true},
		{"an at sign behind the host", "https://hook.example/@user?mail=a@b", true, true},
		{"punycode", "https://xn--bcher-kva.example/", true, true},
		{"a label with underscore", "https://my_hook.example/", true, true},
		{"the usual port", "https://hook.example:443/", true, true},
		{"a high port", "https://hook.example:8443/", true, true},
		{"the last port", "https://hook.example:65535/", true, true},
		{"a public address", "https://93.184.215.14/", true, true},
		{"a public IPv6 address", "https://[2606:4700:4700::1111]:8443/", true, true},
		{"http", "http://hook.example/", false, true},
		{"loopback", "http://127.0.0.1:8080/", false, true},
		{"loopback by name", "http://localhost:8080/", false, true},
		{"a service beside it", "http://consumer:80/", false, true},
		{"loopback in other numbers", "http://2130706433/", false, false},
		{"metadata", "http://169.254.169.254/", false, false},
		{"a user", "http://a@localhost/", false, false},
		{"no port", "http://localhost:0/", false, false},
	}
	for _, test := range tests {
		s, i := dispatch.CheckURL(test.url, false), dispatch.CheckURL(test.url, true)
		if (s == nil) != test.secure || (i == nil) != test.insecure {
			t.Errorf("%s (%s): got %v and %v insecure", test.url, test.why, s, i)
		}
	}
}

// FuzzCheckURL holds every URL that is accepted against the dialer's own view
// of it.
func FuzzCheckURL(f *testing.F) {
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, "\t"); fields[0] == "url" {
			f.Add(fields[1])
		}
	}
	f.Add("https://hook.example:8443/a?b=c")
	f.Fuzz(func(t *testing.T, text string) {
		if dispatch.CheckURL(text, false) != nil {
			return
		}
		if dispatch.CheckURL(text, true) != nil {
			t.Errorf("%q is refused where more is allowed", text)
		}
		request, err := http.NewRequest("POST", text, nil)
		if err != nil {
			t.Fatalf("%q is accepted and no URL: %v", text, err)
		}
		if u := request.URL; u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Opaque != "" || strings.ContainsAny(u.Host, "@\\%/?# ") {
			t.Errorf("%q is accepted with %+v", text, u)
		}
		if a, err := netip.ParseAddr(request.URL.Hostname()); err == nil && !dispatch.Allowed(a, false) {
			t.Errorf("%q is accepted and names %v", text, a)
		}
	})
}

// TestRebinding shows that a host is asked for once per connection, that the
// very address that was checked is connected to, and that others of the same
// answer are not.
func TestRebinding(t *testing.T) {
	good, bad := netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("127.0.0.1")
	tests := []struct {
		why     string
		answers [][]netip.Addr
		want    []string // dials of two attempts
		asked   int
	}{
		{"public, then private", [][]netip.Addr{{good}, {bad}}, []string{"93.184.215.14:443"}, 2},
		{"private, then public", [][]netip.Addr{{bad}, {good}}, []string{"93.184.215.14:443"}, 2},
		{"both at once", [][]netip.Addr{{bad, good}}, []string{"93.184.215.14:443", "93.184.215.14:443"}, 2},
		{"private in another form beside it", [][]netip.Addr{{good, netip.MustParseAddr("::ffff:127.0.0.1"), netip.MustParseAddr("64:ff9b::7f00:1")}}, []string{"93.184.215.14:443", "93.184.215.14:443"}, 2},
		{"no answer", [][]netip.Addr{{}}, nil, 2},
	}
	for _, test := range tests {
		var mu sync.Mutex
		var dials []string
		names := &nameserver{hosts: map[string][][]netip.Addr{"hook.example": test.answers}, asked: make(map[string]int)}
		r := newRig(t, &dispatch.Options{
			Resolver: names,
			Schedule: []time.Duration{0, time.Millisecond},
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				dials = append(dials, address)
				return nil, net.ErrClosed
			},
		})
		r.book.set(dispatch.Endpoint{ID: 1, URL: "https://hook.example/", Enabled: true})
		r.run()
		r.commit(1, 1)
		r.wait(1, 1, event.Dead)
		r.close()
		if !slices.Equal(dials, test.want) || names.asked["hook.example"] != test.asked {
			t.Errorf("%s: got dials %v after %d questions, want %v after %d", test.why, dials, names.asked["hook.example"], test.want, test.asked)
		}
	}
}

// TestRedirect shows that a redirect to a private address is not followed.
func TestRedirect(t *testing.T) {
	var inner atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) }))
	defer private.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", private.URL)
			w.Header().Set("Refresh", "0; url="+private.URL)
			w.WriteHeader(code)
		}))
		r := newRig(t, &dispatch.Options{Insecure: true})
		r.book.set(dispatch.Endpoint{ID: 1, URL: outer.URL, Enabled: true})
		r.run()
		r.commit(1, 1)
		r.wait(1, 1, event.Dead)
		r.close()
		outer.Close()
	}
	if got := inner.Load(); got != 0 {
		t.Errorf("got %d requests at the private address, want none", got)
	}
}
