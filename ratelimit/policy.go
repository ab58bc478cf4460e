package ratelimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Policy says how many requests a credential may make. The zero Policy
// means no limit.
type Policy struct {
	// Name stands in the header fields: 1 to 64 printable ASCII characters
	// without quote and backslash. Empty means "default".
	Name string
	// Quota is the number of requests in a Window: at least 1, and at most
	// 1,000,000 for each second of it.
	Quota int
	// Window is a whole number of seconds, from 1 s to 24 h.
	Window time.Duration
	// Burst is the number of requests that may be made at once: 1 to Quota.
	// Zero means a sixth of Quota, but at least 1.
	Burst int
}

const (
	fastest = 1_000_000 // requests a second: the step is 1 µs or more
	longest = 24 * time.Hour
)

// Default returns the policy of the contract: 6,000 requests a minute, in
// bursts of 1,000.
func Default() Policy {
	return Policy{Name: "default", Quota: 6000, Window: time.Minute, Burst: 1000}
}

// Parse reads a policy as an operator writes it: "off", or a quota, a slash
// and a window as of time.ParseDuration, then optionally a burst:
//
//	6000/1m
//	6000/1m burst=1000
//	off
//
// The result has the name "default" and a Burst that is not zero; "off" is the
// zero Policy. The error says what would be right.
func Parse(s string) (Policy, error) {
	words := strings.Fields(s)
	if len(words) == 1 && words[0] == "off" {
		return Policy{}, nil
	}
	if len(words) == 0 || len(words) > 2 {
		return Policy{}, errForm
	}
	quota, window, ok := strings.Cut(words[0], "/")
	if !ok {
		return Policy{}, errForm
	}
	p := Policy{Name: "default"}
	if p.Quota, ok = number(quota); !ok {
		return Policy{}, errors.New(`ratelimit: the quota before the slash must be a whole number of at least 1, as in "6000/1m"`)
	}
	var err error
	if p.Window, err = time.ParseDuration(window); err != nil {
		return Policy{}, errors.New(`ratelimit: the window after the slash must be a duration with its unit, as in "100/1s", "6000/1m" or "50000/1h"`)
	}
	if len(words) == 2 {
		burst, ok := strings.CutPrefix(words[1], "burst=")
		if !ok {
			return Policy{}, errForm
		}
		if p.Burst, ok = number(burst); !ok {
			return Policy{}, errors.New(`ratelimit: the burst must be a whole number of at least 1, as in "6000/1m burst=1000"`)
		}
	}
	if err := p.Validate(); err != nil {
		return Policy{}, err
	}
	return p.filled(), nil
}

var errForm = errors.New(`ratelimit: a limit is written "6000/1m" or "6000/1m burst=1000" (requests, slash, window, optionally the burst), or "off"`)

// number reads decimal digits, without sign, of a number of at least 1.
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
	return int(n), err == nil && n > 0
}

// filled returns p with the defaults in the place of zeros.
func (p Policy) filled() Policy {
	if p.Name == "" {
		p.Name = "default"
	}
	if p.Burst == 0 {
		p.Burst = min(p.Quota, max(1, p.Quota/6))
	}
	return p
}

// Validate returns nil for a policy that [New] takes, the zero Policy
// included, else an error that says what would be right.
func (p Policy) Validate() error {
	if p == (Policy{}) {
		return nil
	}
	p = p.filled()
	switch {
	case !nameable(p.Name):
		return errors.New("ratelimit: the name must have 1 to 64 printable ASCII characters other than quote and backslash")
	case p.Window < time.Second || p.Window > longest || p.Window%time.Second != 0:
		return errors.New("ratelimit: the window must be a whole number of seconds, from 1s to 24h")
	case p.Quota < 1 || int64(p.Quota) > fastest*int64(p.Window/time.Second):
		return fmt.Errorf("ratelimit: the quota must be from 1 to %d (%d for each second of the window)", fastest*int64(p.Window/time.Second), fastest)
	case p.Burst < 1 || p.Burst > p.Quota:
		return fmt.Errorf("ratelimit: the burst must be from 1 to the quota, %d", p.Quota)
	}
	return nil
}

func nameable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}

// String returns the policy in the form that [Parse] reads, without its name.
func (p Policy) String() string {
	if p == (Policy{}) {
		return "off"
	}
	p = p.filled()
	return fmt.Sprintf("%d/%ds burst=%d", p.Quota, p.Window/time.Second, p.Burst)
}
