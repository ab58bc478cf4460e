package version

import (
	"fmt"
	"time"
)

// A Move gives a version other dates. What is zero stays as it is.
type Move struct {
	Name        string // the version's name
	Deprecated  time.Time
	Sunset      time.Time
	FallForward *bool
}

// Move returns a calendar with other dates for the named versions, under the
// same policy and options. The receiver stays as it was, and its versions are
// not those of the result. The error is one of [NewCalendar], or names a
// version that does not exist or is moved twice.
func (c *Calendar) Move(moves ...Move) (*Calendar, error) { return c.Revise(c.policy, moves...) }

// Revise is Move with another policy, checked after the moves; an empty policy
// means [Public]. Under [Guarantee] a version cannot be told not to fall
// forward.
func (c *Calendar) Revise(policy Policy, moves ...Move) (*Calendar, error) {
	versions := make([]Version, len(c.versions))
	for i, v := range c.versions {
		versions[i] = *v
	}
	moved := make(map[string]bool)
	for _, m := range moves {
		found := c.known[m.Name]
		if found == nil || found.Name != m.Name {
			return nil, fmt.Errorf("moving version %q: there is no such version", m.Name)
		}
		if moved[m.Name] {
			return nil, fmt.Errorf("moving version %q: it is named twice", m.Name)
		}
		moved[m.Name] = true
		v := &versions[found.index]
		if !m.Deprecated.IsZero() {
			v.Deprecated = m.Deprecated
		}
		if !m.Sunset.IsZero() {
			v.Sunset = m.Sunset
		}
		if m.FallForward != nil {
			if policy == Guarantee && !*m.FallForward {
				return nil, fmt.Errorf("moving version %q: under the policy guarantee every version falls forward", m.Name)
			}
			v.FallForward = *m.FallForward
		}
	}
	return build(policy, versions, c.options)
}
