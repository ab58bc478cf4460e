package byterange

import "time"

// A Profile chooses between the contract and the RFC where they differ.
type Profile int

const (
	// Spec answers an unknown unit with 416, and every 416 with
	// "Content-Range: */<size>".
	Spec Profile = iota
	// RFC ignores an unknown unit (RFC 9110, section 14.2), and has every 416
	// say "Content-Range: bytes */<size>" (section 14.4).
	RFC
)

// String returns "spec" or "rfc".
func (p Profile) String() string {
	if p == RFC {
		return "rfc"
	}
	return "spec"
}

// DefaultMaxRanges is how many parts a response has at most, unless
// [Options] say otherwise.
const DefaultMaxRanges = 16

// Options change how ranges are read and served. Nil means the defaults.
type Options struct {
	// Profile defaults to Spec.
	Profile Profile
	// MaxRanges is how many ranges may be left after merging; more are
	// answered with 416. Zero means DefaultMaxRanges.
	MaxRanges int
	// Stall is how long a client may take nothing before it is given up, or an
	// eighth longer; where the kernel does not copy, how long it may take for one
	// Buffer. The server's WriteTimeout, which counts from the request on, then
	// no longer holds: a slow client that moves is served to the end. A response
	// of at most 64 KiB is left to a WriteTimeout that is no shorter than Stall.
	// Zero leaves the server's deadlines alone.
	Stall time.Duration
}

func (o *Options) profile() Profile {
	if o == nil {
		return Spec
	}
	return o.Profile
}

func (o *Options) maxRanges() int {
	if o == nil || o.MaxRanges <= 0 {
		return DefaultMaxRanges
	}
	return o.MaxRanges
}

func (o *Options) stall() time.Duration {
	if o == nil {
		return 0
	}
	return o.Stall
}
