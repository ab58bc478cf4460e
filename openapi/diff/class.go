package diff

import "fmt"

// A Class is what a change does to clients. The zero Class is NonBreaking, and
// a greater one is worse.
type Class int

const (
	// NonBreaking changes leave every client working unmodified.
	NonBreaking Class = iota
	// Typed changes are non-breaking on the wire and breaking for strongly
	// typed consumers, such as a new enum value.
	Typed
	// Breaking changes need a new version.
	Breaking
)

var classNames = [...]string{"non-breaking", "typed", "breaking"}

// String returns non-breaking, typed or breaking.
func (c Class) String() string {
	if c < 0 || int(c) >= len(classNames) {
		return fmt.Sprintf("class(%d)", int(c))
	}
	return classNames[c]
}

// MarshalText returns the name of the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the name of a class.
func (c *Class) UnmarshalText(text []byte) error {
	for i, name := range classNames {
		if name == string(text) {
			*c = Class(i)
			return nil
		}
	}
	return fmt.Errorf("diff: a class is one of %v", classNames)
}
