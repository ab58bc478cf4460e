package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/parley-api/parley/openapi/diff"
)

const diffEnding = `
OLD and NEW are files, http:// or https:// addresses, or - for standard input:
OpenAPI 3.0 or 3.1 (JSON or YAML), or GraphQL (schema language, or the JSON of
an introspection). Every difference that a client can notice has a class:

  breaking      a client that worked may fail; make a new version
  typed         nothing changes on the wire, but a strongly typed client may
                fail: a new enum value
  non-breaking  every client continues to work

The exit code is 0 where nothing is as bad as --fail-on says, 1 where something
is, and 2 where the command is wrong or a description cannot be read.

Examples:
  parley diff old.yaml new.yaml
  parley diff https://api.example.com/openapi openapi.json --fail-on typed
  parley diff v1.graphql v2.graphql --format json
  parley diff old.json new.json --format markdown > migration.md
  git show main:openapi.yaml | parley diff - openapi.yaml
  parley diff --rules                    # everything it can find, by id

Documentation: https://github.com/parley-api/parley/tree/main/docs/guide/diff.md
`

// differ compares two descriptions.
type differ struct {
	Old    string   `arg:"" optional:"" placeholder:"OLD" help:"The description that clients have: a file, a URL, or -."`
	New    string   `arg:"" optional:"" placeholder:"NEW" help:"The description that they would get."`
	Format string   `default:"text" enum:"text,json,markdown" placeholder:"FORMAT" help:"text, json, or markdown: the draft of a migration guide."`
	FailOn string   `default:"breaking" enum:"breaking,typed,any,never" placeholder:"CLASS" help:"Exit with 1 for changes that are breaking; typed or worse; any; or never."`
	Header []string `sep:"none" placeholder:"'NAME: VALUE'" help:"A header field for URLs, such as 'Authorization: Bearer …'. Can be repeated. Not sent on to another host."`
	Rules  bool     `help:"List the rules instead, as text or json."`
}

// Run compares, or lists the rules.
func (d *differ) Run(k *kong.Kong) error {
	if d.Rules {
		return d.listRules(k.Stdout)
	}
	header, err := readHeader(d.Header)
	if err != nil {
		return misuse{err}
	}
	if d.Old == "" || d.New == "" {
		return misuse{errors.New("name two descriptions, as in parley diff old.yaml new.yaml; see parley diff --help")}
	}
	if d.Old == "-" && d.New == "-" {
		return misuse{errors.New("only one of OLD and NEW can be standard input")}
	}
	var docs [2]*diff.Document
	for i, source := range []string{d.Old, d.New} {
		if docs[i], err = readDescription(source, header); err != nil {
			return misuse{err}
		}
	}
	report, err := diff.Compare(docs[0], docs[1])
	if err != nil {
		return misuse{err}
	}
	if err := d.show(k.Stdout, report); err != nil {
		return misuse{fmt.Errorf("writing the report: %w", err)}
	}
	if d.fails(report) {
		return verdict(1)
	}
	return nil
}

func (d *differ) show(w io.Writer, report *diff.Report) error {
	switch d.Format {
	case "json":
		return report.JSON(w)
	case "markdown":
		return report.Markdown(w)
	}
	return report.Text(w, &diff.TextOptions{Colour: colourful(w)})
}

// fails reports whether a change is as bad as --fail-on says.
func (d *differ) fails(report *diff.Report) bool {
	worst, any := report.Worst()
	switch d.FailOn {
	case "never":
		return false
	case "any":
		return any
	case "typed":
		return worst >= diff.Typed
	}
	return worst >= diff.Breaking
}

// colourful reports whether somebody watches, and wants colours.
func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && terminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func (d *differ) listRules(w io.Writer) error {
	rules := diff.Rules()
	switch d.Format {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(rules)
	case "markdown":
		return misuse{errors.New("the rules are listed as text or json; leave out --format markdown")}
	}
	for _, r := range rules {
		if _, err := fmt.Fprintf(w, "%-12s  %-36s  %s\n", r.Class, r.ID, r.Message); err != nil {
			return err
		}
	}
	return nil
}

// maxDescription is how large a description may be.
const maxDescription = 64 << 20

// readDescription reads a file, a URL or standard input.
func readDescription(source string, header http.Header) (*diff.Document, error) {
	var text []byte
	var err error
	switch {
	case source == "-":
		source = "standard input"
		text, err = readAll(os.Stdin)
	case strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://"):
		text, err = fetch(source, header)
		if u, wrong := url.Parse(source); wrong == nil {
			source = u.Redacted()
		}
	default:
		var f *os.File
		if f, err = os.Open(source); err == nil {
			defer f.Close()
			text, err = readAll(f)
		}
		if errors.Is(err, os.ErrNotExist) {
			err = errors.New("there is no such file; give a path, a URL that begins with http:// or https://, or - for standard input")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return diff.Read(source, text)
}

func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDescription+1))
	if err == nil && len(text) > maxDescription {
		err = fmt.Errorf("it is larger than %d MiB", maxDescription>>20)
	}
	return text, err
}

// fetch gets a description. An error never shows a header field.
func fetch(address string, header http.Header) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	r.Header = header.Clone()
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "application/vnd.oai.openapi+json, application/json, application/yaml;q=0.9, */*;q=0.5")
	}
	client := http.Client{CheckRedirect: stay}
	resp, err := client.Do(r)
	if err != nil {
		if wrong, ok := errors.AsType[*url.Error](err); ok {
			err = wrong.Err
		}
		return nil, fmt.Errorf("it cannot be fetched: %w; is the service running, and reachable from here?", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("it answered %d; give credentials with --header 'Authorization: Bearer …'", resp.StatusCode)
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("it answered %d; open the address in a browser to see why", resp.StatusCode)
	}
	return readAll(resp.Body)
}

// stay follows redirects as usual, but takes no header field of the user's
// along to another host.
func stay(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("it redirects without end")
	}
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		r.Header = http.Header{"Accept": r.Header["Accept"]}
	}
	return nil
}

// readHeader reads header fields as they are written on the command line.
// Their values may be secrets: an error names the place, not the text.
func readHeader(lines []string) (http.Header, error) {
	header := make(http.Header)
	for i, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"(),/;<=>?@[\\]{}") {
			return nil, fmt.Errorf("--header: the %s must be written as 'Name: value'", ordinal(i, len(lines)))
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}

func ordinal(i, n int) string {
	if n == 1 {
		return "field"
	}
	return fmt.Sprintf("field number %d", i+1)
}
