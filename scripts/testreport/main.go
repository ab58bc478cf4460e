// Testreport reads the output of go test -json from its standard input and
// prints what a person wants of it: a line for each package as it ends, the
// output of what failed, the names of what was skipped, and last a line of
// its own with the totals. Its exit status is 1 if a test failed, a test was
// skipped, or the input ends before every package has.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if !report(os.Stdin, os.Stdout) {
		os.Exit(1)
	}
}

// event is a line of go test -json; see go doc test2json and go help buildjson.
type event struct {
	Action      string
	Package     string
	Test        string
	Elapsed     float64
	Output      string
	ImportPath  string // of build-output and build-fail
	FailedBuild string
}

// name identifies a test, or with an empty test its package.
type name struct{ pkg, test string }

func (n name) String() string { return strings.TrimSpace(n.pkg + " " + n.test) }

type tally struct {
	out     io.Writer
	output  map[name][]string // of what has not ended yet
	tests   map[string]int    // ended tests of each package
	broken  map[string]int    // failed tests of each package
	build   map[string][]string
	skipped []string

	passed, failed, packages int
}

// report copies the digest of in to out and says whether all is well.
func report(in io.Reader, out io.Writer) bool {
	t := &tally{
		out: out, output: map[name][]string{}, tests: map[string]int{},
		broken: map[string]int{}, build: map[string][]string{},
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			out.Write(line) // not a test's doing: show it
		case e.Test != "":
			t.test(e)
		default:
			t.pkg(e)
		}
		if err != nil {
			break
		}
	}
	return t.end()
}

// test takes an event of a test or a subtest.
func (t *tally) test(e event) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "run":
		t.output[n] = nil
	case "output":
		t.output[n] = append(t.output[n], e.Output)
		return
	case "pass":
		t.passed++
	case "fail":
		t.fail(n)
	case "skip":
		t.skipped = append(t.skipped, n.String())
	default:
		return
	}
	if e.Action != "run" {
		t.tests[e.Package]++
		delete(t.output, n)
	}
}

// pkg takes an event of a package, or of its build.
func (t *tally) pkg(e event) {
	n := name{pkg: e.Package}
	switch e.Action {
	case "build-output":
		t.build[e.ImportPath] = append(t.build[e.ImportPath], e.Output)
	case "build-fail":
		t.print(t.build[e.ImportPath])
		delete(t.build, e.ImportPath)
	case "start":
		t.output[n] = nil
	case "output":
		t.output[n] = append(t.output[n], e.Output)
	case "pass":
		t.ended(n, "ok  ", e.Elapsed)
	case "skip":
		t.ended(n, "-   ", e.Elapsed)
	case "fail":
		t.abandoned(e.Package)
		if t.broken[e.Package] == 0 { // no test to blame: the package itself
			t.fail(n)
		} else {
			t.print(t.output[n])
		}
		t.ended(n, "FAIL", e.Elapsed)
	}
}

func (t *tally) ended(n name, verdict string, seconds float64) {
	t.packages++
	delete(t.output, n)
	fmt.Fprintf(t.out, "%s %7.2fs %5d tests  %s\n", verdict, seconds, t.tests[n.pkg], n.pkg)
}

// abandoned fails the tests that were running when their package died.
func (t *tally) abandoned(pkg string) {
	var left []name
	for n := range t.output {
		if n.pkg == pkg && n.test != "" {
			left = append(left, n)
		}
	}
	slices.SortFunc(left, func(a, b name) int { return strings.Compare(a.test, b.test) })
	for _, n := range left {
		t.fail(n)
		delete(t.output, n)
	}
}

func (t *tally) fail(n name) {
	t.failed++
	t.broken[n.pkg]++
	fmt.Fprintf(t.out, "FAIL %s\n", n)
	t.print(t.output[n])
}

// print leaves out the frame that go test puts around the output proper.
func (t *tally) print(lines []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "FAIL") && line != "PASS\n" {
			io.WriteString(t.out, line)
		}
	}
}

// end prints the totals.
func (t *tally) end() bool {
	var open []string
	for n := range t.output {
		open = append(open, n.String())
	}
	slices.Sort(open)
	for _, n := range open {
		t.failed++
		fmt.Fprintf(t.out, "FAIL %s: did not end\n", n)
	}
	if t.packages == 0 && t.failed == 0 {
		t.failed++
		fmt.Fprintln(t.out, "FAIL no package was tested")
	}
	for _, n := range t.skipped {
		fmt.Fprintf(t.out, "SKIP %s\n", n)
	}
	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, len(t.skipped))
	return t.failed == 0 && len(t.skipped) == 0
}
