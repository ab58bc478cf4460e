package dispatch

import (
	"errors"
	"testing"
	"time"
)

// TestControl shows that the last look, at the address that the system is
// about to connect to, refuses as well.
func TestControl(t *testing.T) {
	tests := []struct {
		why, network, address string
		want                  error
	}{
		{"public", "tcp4", "93.184.215.14:443", nil},
		{"public IPv6", "tcp6", "[2606:4700:4700::1111]:443", nil},
		{"loopback", "tcp4", "127.0.0.1:443", errAddress},
		{"mapped", "tcp6", "[::ffff:10.0.0.1]:443", errAddress},
		{"with a zone", "tcp6", "[fe80::1%lo]:443", errAddress},
		{"no address", "tcp4", "hook.example:443", errAddress},
		{"another network", "udp4", "93.184.215.14:443", errAddress},
		{"a socket of this machine", "unix", "/run/x.sock", errAddress},
	}
	g := &guard{}
	for _, test := range tests {
		if got := g.control(test.network, test.address, nil); !errors.Is(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.why, got, test.want)
		}
	}
}

// FuzzRetryAfter shows that no field gives a wait below zero or above a day.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "120", " 7 ", "-1", "+1", "1e3", "0x10", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "Friday, 31-Dec-99 23:59:59 GMT", "Sun Nov  6 08:49:37 1994", "soon"} {
		f.Add(seed)
	}
	now := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, field string) {
		got := parseRetryAfter(field, now)
		if got < 0 || got > longestRetryAfter {
			t.Errorf("%q: got %v", field, got)
		}
		due := nextAttempt(1000, 1000, time.Second, 0, got)
		if due < 1000+second || due > 1000+max(second, got.Microseconds()) {
			t.Errorf("%q: got %d", field, due)
		}
	})
}
