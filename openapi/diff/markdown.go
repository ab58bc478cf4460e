package diff

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the draft of a migration guide: what a client must change,
// each with how it was and how it is, then what typed clients must look at,
// then what is new. A person completes it with the reasons.
func (r *Report) Markdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# Migrating %s\n\n%s.\n", r.route(), strings.TrimSuffix(r.summary(), "."))
	n := 0
	for _, class := range []Class{Breaking, Typed} {
		if r.Count(class) == 0 {
			continue
		}
		if class == Breaking {
			fmt.Fprint(out, "\n## What every client must change\n")
		} else {
			fmt.Fprint(out, "\n## What typed clients must look at\n\nNothing changes on the wire for a client that reads leniently.\n")
		}
		for i := range r.Changes {
			if c := &r.Changes[i]; c.Rule.Class == class {
				n++
				c.section(out, n)
			}
		}
	}
	if r.Count(NonBreaking) > 0 {
		fmt.Fprint(out, "\n## What else changed\n\nNo client has to do anything about these.\n\n")
		for i := range r.Changes {
			if c := &r.Changes[i]; c.Rule.Class == NonBreaking {
				c.line(out)
			}
		}
	}
	return out.Flush()
}

// route is from which version to which, as far as the descriptions say.
func (r *Report) route() string {
	from, to := r.Old.Version, r.New.Version
	if from == "" || to == "" || from == to {
		from, to = r.Old.Source, r.New.Source
	}
	return "from " + code(from) + " to " + code(to)
}

// section writes a change with its heading.
func (c *Change) section(out io.Writer, n int) {
	fmt.Fprintf(out, "\n### %d. %s\n\n%s\n\n", n, code(c.Subject), c.Rule.Message)
	if c.Before != "" || c.After != "" {
		fmt.Fprintf(out, "| before | after |\n|---|---|\n| %s | %s |\n\n", cell(c.Before), cell(c.After))
	}
	if c.Rule.Advice != "" {
		fmt.Fprintf(out, "**To do:** %s\n\n", c.Rule.Advice)
	}
	if len(c.Where) > 0 {
		fmt.Fprintf(out, "Seen in: %s. ", c.operations())
	}
	fmt.Fprintf(out, "Rule: `%s`.\n", c.Rule.ID)
}

// line writes a change as an item of a list.
func (c *Change) line(out io.Writer) {
	fmt.Fprintf(out, "- %s: %s", code(c.Subject), c.Rule.Message)
	if t := c.transition(); t != "" {
		fmt.Fprintf(out, " (%s)", code(t))
	}
	fmt.Fprintln(out)
}

func (c *Change) operations() string {
	const most = 8
	var all []string
	for _, where := range c.Where[:min(most, len(c.Where))] {
		all = append(all, code(where))
	}
	text := strings.Join(all, ", ")
	if len(c.Where) > most {
		text += fmt.Sprintf(" and %d more", len(c.Where)-most)
	}
	return text
}

// cell is what stands in a cell of a table.
func cell(s string) string {
	if s == "" {
		return "–"
	}
	return strings.ReplaceAll(code(clip(s)), "|", `\|`)
}

// code quotes a text so that nothing in it is Markdown.
func code(s string) string {
	s = printable(s)
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	fence := "``"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}
