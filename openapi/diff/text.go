package diff

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// TextOptions shape a report for people. Nil means all defaults.
type TextOptions struct {
	Colour bool // mark classes with the colours of a terminal; the default is none
	Places int  // how many operations to name for a change; 0 means 3, less than 0 all
}

var headings = [...]string{"Non-breaking", "Breaking for typed clients", "Breaking"}

var colours = [...]string{"\x1b[32m", "\x1b[33m", "\x1b[31m"}

// Text writes the report for people. Characters that could steer a terminal
// are replaced: a description may come from anywhere.
func (r *Report) Text(w io.Writer, o *TextOptions) error {
	if o == nil {
		o = new(TextOptions)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n", printable(r.summary()))
	last := Class(-1)
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.Rule.Class != last {
			last = c.Rule.Class
			heading := headings[last]
			if o.Colour {
				heading = colours[last] + heading + "\x1b[0m"
			}
			fmt.Fprintf(out, "\n%s\n", heading)
		}
		fmt.Fprintf(out, "\n  %s  [%s]\n    %s\n", printable(c.Subject), c.Rule.ID, c.Rule.Message)
		if line := c.transition(); line != "" {
			fmt.Fprintf(out, "    %s\n", printable(line))
		}
		if line := c.places(o.Places); line != "" {
			fmt.Fprintf(out, "    in %s\n", printable(line))
		}
	}
	return out.Flush()
}

// summary counts the changes in one line.
func (r *Report) summary() string {
	if len(r.Changes) == 0 {
		return "No change that a client can notice."
	}
	return fmt.Sprintf("%d breaking, %d breaking for typed clients, %d non-breaking", r.Count(Breaking), r.Count(Typed), r.Count(NonBreaking))
}

// transition says how it was and how it is; "" where the subject says it.
func (c *Change) transition() string {
	switch {
	case c.Before == "" && c.After == "" || c.Before == c.Subject && c.After == "" || c.After == c.Subject && c.Before == "":
		return ""
	case c.Before == "":
		return "now: " + clip(c.After)
	case c.After == "":
		return "was: " + clip(c.Before)
	}
	return clip(c.Before) + " → " + clip(c.After)
}

// clip shortens what is too long for a line.
func clip(s string) string {
	const most = 120
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// places names the operations that show the change; "" where the subject does.
func (c *Change) places(most int) string {
	if len(c.Where) == 0 || len(c.Where) == 1 && strings.HasPrefix(c.Subject, c.Where[0]) {
		return ""
	}
	if most == 0 {
		most = 3
	}
	if most < 0 || len(c.Where) <= most {
		return strings.Join(c.Where, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(c.Where[:most], ", "), len(c.Where)-most)
}

// printable replaces what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
