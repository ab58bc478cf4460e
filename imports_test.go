package parley_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path that the policy leaves out; the root itself is called
// parley there.
const module = "github.com/parley-api/parley"

// policy says which package may import which: the laws of the house, from the
// ground up. In
//
//	a, b < c, d;
//
// c and d may import a and b, and what a and b may import of this module. So a
// package may import what stands on its left, never what stands beside it and
// never what stands on its right. The standard library is open to all; a
// package of another module must stand on the left of the very package that
// imports it (and stands for what lies below it, too). In
//
//	a !< b;
//
// b must not reach a, not even through another module. The sentence above a
// rule is its law. Every package of the module must be named; a package that
// is planned may be.
const policy = `
# The ground: problem and event import nothing of ours, and no third party.
NONE < problem, event;

# No convention knows another, and none knows a third party: each stands on
# problem alone.
problem
< negotiate, precond, byterange, digest, paginate, idempotency, ratelimit, version, webhook, route;

# The store knows events and its two databases, and neither HTTP nor JSON over it.
event, github.com/jackc/pgx/v5, modernc.org/libc, modernc.org/sqlite
< store
< store/storetest;

# The dispatcher knows deliveries. What signs them and where they are kept is
# given to it; its table has a contract to be tested by.
event < webhook/dispatch < webhook/dispatch/queuetest;

# The store never reaches net/http, even indirectly.
net/http !< store, event;

# Bytes know nobody; only where they are in a bucket do they know a third party.
NONE < blob < blob/blobtest;
blob, github.com/minio/minio-go/v7 < blob/bucket;

# A resource composes the conventions over the store.
blob, digest, negotiate, precond, byterange, paginate, idempotency, version, store,
github.com/go-json-experiment/json
< resource;

# A room imports public packages only, and no other room.
resource < rooms/task, rooms/user, rooms/file, rooms/image;

# The doors into resources know resources; they know neither rooms nor each other.
resource, github.com/goccy/go-yaml < openapi;
resource < graph;

# The comparison of descriptions stands alone: it reads text and knows no service.
github.com/goccy/go-yaml, github.com/vektah/gqlparser/v2 < openapi/diff;

# A room of the system imports no other room.
NONE < internal/largefile;
resource < internal/account, internal/apikey;
resource, github.com/go-json-experiment/json < internal/delivery, internal/notice, internal/usage;
resource, webhook < internal/endpoint, internal/topic;
resource, github.com/go-json-experiment/json, github.com/santhosh-tekuri/jsonschema/v6 < internal/eventlog;

# The pages for people know problems and versions, nothing else of ours.
problem, version, github.com/swaggest/swgui < console;

# What writes heads under net/http, and what writes the log, know the standard
# library and nothing else.
NONE < internal/head, internal/journal;

# The root composes all of it; the rooms are given to it.
internal/head, internal/journal, route, ratelimit, webhook, webhook/dispatch, resource, openapi, graph, console,
internal/account, internal/apikey, internal/delivery, internal/endpoint, internal/eventlog,
internal/notice, internal/topic, internal/usage, internal/largefile, blob/bucket,
github.com/go-json-experiment/json, github.com/goccy/go-yaml, github.com/prometheus/client_golang
< parley;

# Nothing but cmd, examples and bench imports the root.
parley, rooms/task, rooms/user, rooms/file, rooms/image, openapi/diff, internal/journal, github.com/alecthomas/kong, github.com/goccy/go-yaml
< cmd/parley;
parley < examples/notes;

# What measures and builds stands beside the house: a script imports nothing of
# it, a rival written by hand its store, the measurements all that they measure.
NONE < bench/internal/load, scripts/testreport;
byterange, internal/journal < bench/internal/server;
store, github.com/jackc/pgx/v5, modernc.org/sqlite < bench/internal/hand;
webhook, bench/internal/load, github.com/jackc/pgx/v5, modernc.org/sqlite < bench/webhooks;
parley, rooms/task, rooms/user, bench/internal/hand, bench/internal/load, bench/internal/server,
github.com/jackc/pgx/v5, golang.org/x/sys
< bench;
byterange, bench/internal/server, golang.org/x/sys < bench/bytes;
`

// An article is one sentence of the policy.
type article struct {
	law    string
	chain  [][]string // each may import those before it
	forbid bool       // the last must not reach those before it
}

// parsePolicy reads a policy. Rules end with a semicolon; lines that begin
// with # are the law of the rules below them, up to the next such lines.
func parsePolicy(text string) ([]article, error) {
	var rules []article
	var law, body string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			if body == "" && len(rules) > 0 && law == rules[len(rules)-1].law {
				law = ""
			}
			law = strings.TrimSpace(law + comment)
			continue
		}
		for rest, more := line, true; more; {
			var part string
			part, rest, more = strings.Cut(rest, ";")
			if body += " " + part; !more {
				break
			}
			r, err := parseRule(law, body)
			if err != nil {
				return nil, err
			}
			rules, body = append(rules, r), ""
		}
		body = strings.TrimSpace(body)
	}
	if body != "" {
		return nil, fmt.Errorf("the rule %q has no end", body)
	}
	return rules, nil
}

func parseRule(law, body string) (article, error) {
	r := article{law: law}
	if r.forbid = strings.Contains(body, "!<"); r.forbid {
		body = strings.Replace(body, "!<", "<", 1)
	}
	for side := range strings.SplitSeq(body, "<") {
		var names []string
		for name := range strings.SplitSeq(side, ",") {
			if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, " \t!") {
				return r, fmt.Errorf("the rule %q has a name %q", body, name)
			}
			names = append(names, name)
		}
		r.chain = append(r.chain, names)
	}
	if len(r.chain) < 2 || law == "" {
		return r, fmt.Errorf("the rule %q needs two sides and a law above it", body)
	}
	return r, nil
}

// A listed is a package as the go command lists it.
type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *struct{ Path string }
}

func (p *listed) ours() bool { return p.Module != nil && p.Module.Path == module }

// short is a package's name in the policy.
func short(path string) string {
	if path == module {
		return "parley"
	}
	return strings.TrimPrefix(path, module+"/")
}

// A court judges packages by a policy.
type court struct {
	rules    []article
	packages map[string]*listed // by short name
}

// may returns what a package may import, and what others, and the laws that
// say so. It reports whether the package is named at all.
func (c *court) may(name string) (ours map[string]bool, others, laws []string, named bool) {
	ours = make(map[string]bool)
	for _, r := range c.rules {
		for i, side := range r.chain {
			if r.forbid || i == 0 || !slices.Contains(side, name) {
				continue
			}
			named = true
			laws = append(laws, r.law)
			for _, left := range slices.Concat(r.chain[:i]...) {
				others = append(others, left)
				ours[left] = true
				below, _, _, _ := c.may(left)
				for b := range below {
					ours[b] = true
				}
			}
		}
	}
	return ours, others, laws, named
}

// judge returns a sentence for every breach.
func (c *court) judge() []string {
	var breaches []string
	for name, p := range c.packages {
		if !p.ours() {
			continue
		}
		ours, others, laws, named := c.may(name)
		if !named {
			breaches = append(breaches, fmt.Sprintf("%s is not named in the policy: add a line that says what it may import", name))
			continue
		}
		for _, path := range p.Imports {
			in := c.packages[short(path)]
			switch {
			case in == nil || in.Standard: // unsafe and C are not listed
				continue
			case in.ours() && ours[short(path)]:
				continue
			case !in.ours() && slices.ContainsFunc(others, func(o string) bool { return path == o || strings.HasPrefix(path, o+"/") }):
				continue
			}
			breaches = append(breaches, fmt.Sprintf("%s imports %s, against the law: %s", name, short(path), strings.Join(slices.Compact(laws), " ")))
		}
	}
	for _, r := range c.rules {
		if !r.forbid {
			continue
		}
		for _, from := range r.chain[1] {
			for _, to := range r.chain[0] {
				if way := c.way(from, to, make(map[string]bool)); way != nil {
					breaches = append(breaches, fmt.Sprintf("%s reaches %s by %s, against the law: %s", from, to, strings.Join(way, " → "), r.law))
				}
			}
		}
	}
	slices.Sort(breaches)
	return breaches
}

// way finds how one package reaches another; nil means not at all.
func (c *court) way(from, to string, seen map[string]bool) []string {
	if from == to {
		return []string{to}
	}
	p := c.packages[from]
	if p == nil || seen[from] {
		return nil
	}
	seen[from] = true
	for _, path := range p.Imports {
		if rest := c.way(short(path), to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// listPackages asks the go command for every package of the module and all
// they depend on. Imports of test files are not among them.
func listPackages(t *testing.T) map[string]*listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports,Standard,Module", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := make(map[string]*listed)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(listed)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[short(p.ImportPath)] = p
	}
}

// TestImports holds every package of the module against the policy.
func TestImports(t *testing.T) {
	rules, err := parsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	c := &court{rules, listPackages(t)}
	for _, breach := range c.judge() {
		t.Error(breach)
	}
	if c.way("store", "event", make(map[string]bool)) == nil || c.way("resource", "net/http", make(map[string]bool)) == nil {
		t.Error("the court does not see imports that are there")
	}
}

// TestImportsCaught plants one bad import after another.
func TestImportsCaught(t *testing.T) {
	rules, err := parsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	all := listPackages(t)
	tests := []struct{ why, from, to, want string }{
		{"a convention knows another", "negotiate", "precond", "No convention knows another"},
		{"a convention knows a third party", "version", "github.com/goccy/go-yaml", "none knows a third party"},
		{"the ground knows what stands on it", "problem", "route", "The ground"},
		{"an event is a leaf", "event", "problem", "The ground"},
		{"the store speaks HTTP", "store", "net/http", "The store never reaches net/http"},
		{"the store speaks HTTP by way of another package", "event", "problem", "store reaches net/http by store → event → problem → net/http"},
		{"the store speaks HTTP by way of another module", "github.com/jackc/pgx/v5/pgconn", "net/http", "pgconn → net/http"},
		{"a room knows a room", "rooms/task", "rooms/user", "no other room"},
		{"a room knows a package that is not public", "rooms/task", "internal/apikey", "public packages only"},
		{"a room writes SQL", "rooms/user", "github.com/jackc/pgx/v5", "A room imports public packages"},
		{"a room of the system knows another", "internal/eventlog", "internal/account", "A room of the system"},
		{"the dispatcher knows the store", "webhook/dispatch", "store", "The dispatcher knows deliveries"},
		{"the pages know resources", "console", "resource", "nothing else of ours"},
		{"something calls back up", "openapi", "parley", "The doors"},
		{"the root knows a room", "parley", "rooms/task", "the rooms are given to it"},
		{"the comparison of descriptions knows the service", "openapi/diff", "openapi", "stands alone"},
		{"a script imports the house", "scripts/testreport", "parley", "beside the house"},
		{"a new package", "novelty", "", "novelty is not named in the policy"},
	}
	for _, test := range tests {
		planted := make(map[string]*listed)
		for name, p := range all {
			planted[name] = p
		}
		p := listed{ImportPath: module + "/" + test.from, Module: &struct{ Path string }{module}}
		if old := all[test.from]; old != nil {
			p = *old
		}
		if test.to != "" {
			p.Imports = append(slices.Clone(p.Imports), strings.Replace(path.Join(module, test.to), module+"/parley", module, 1))
			if all[test.to] != nil {
				p.Imports[len(p.Imports)-1] = all[test.to].ImportPath
			}
		}
		planted[test.from] = &p
		c := &court{rules, planted}
		if got := strings.Join(c.judge(), "\n"); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q in it", test.why, got, test.want)
		}
	}
}

// maxLines is the most lines a file may have.
const maxLines = 700

// TestFiles holds every Go file against the habits that a parser can see: its
// length, no init functions, and no reads of the environment but where the
// program is configured. To hand the environment on to a child is no read.
func TestFiles(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if name != "." && (nested == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		files++
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, fault := range faults(filepath.ToSlash(name), src) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("got %d files, want all of the module", files)
	}
}

// faults returns what is wrong with a file.
func faults(name string, src []byte) []string {
	var found []string
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	if lines := set.File(file.FileStart).LineCount(); lines > maxLines {
		found = append(found, fmt.Sprintf("%s has %d lines; a file has at most %d", name, lines, maxLines))
	}
	configured := name == "config.go" || strings.HasPrefix(name, "cmd/") || strings.HasSuffix(name, "_test.go")
	pardoned := make(map[ast.Expr]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // a measurement finds its servers where tests find theirs
			if len(n.Args) == 1 && strings.HasPrefix(name, "bench/") {
				variable, ok := n.Args[0].(*ast.BasicLit)
				pardoned[n.Fun] = ok && strings.HasPrefix(variable.Value, `"PARLEY_TEST_`)
			}
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				found = append(found, fmt.Sprintf("%s: an init function; wire things up where the service is composed", set.Position(n.Pos())))
			}
		case *ast.SelectorExpr:
			from, ok := n.X.(*ast.Ident)
			if ok && !configured && !pardoned[n] && (from.Name == "os" || from.Name == "syscall") && slices.Contains([]string{"Getenv", "LookupEnv", "ExpandEnv"}, n.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: %s.%s; only config.go and cmd read the environment", set.Position(n.Pos()), from.Name, n.Sel.Name))
			}
		}
		return true
	})
	return found
}

// TestFaults shows that a file's faults are found.
func TestFaults(t *testing.T) {
	tests := []struct{ why, name, src, want string }{
		{"nothing is wrong", "route/a.go", "package a\n\nfunc f() { os.Stat(``) }\n", ""},
		{"a file is as long as it may be", "route/a.go", "package a\n" + strings.Repeat("\n", maxLines-1), ""},
		{"a file is too long", "route/a.go", "package a\n" + strings.Repeat("\n", maxLines), "at most 700"},
		{"an init function", "route/a_test.go", "package a\n\nfunc init() {}\n", "init function"},
		{"a method that is called init", "route/a.go", "package a\n\nfunc (t T) init() {}\n", ""},
		{"a package reads the environment", "route/config.go", "package a\n\nvar a = os.Getenv(`A`)\n", "os.Getenv"},
		{"a test reads the environment", "route/a_test.go", "package a\n\nvar a = os.Getenv(`A`)\n", ""},
		{"a measurement is configured by the environment", "bench/a.go", "package a\n\nvar a = os.Getenv(`B`)\n", "os.Getenv"},
		{"a measurement finds a server of the tests", "bench/a.go", "package a\n\nvar a = os.Getenv(\"PARLEY_TEST_A\")\n", ""},
		{"a package finds a server of the tests", "route/a.go", "package a\n\nvar a = os.Getenv(\"PARLEY_TEST_A\")\n", "os.Getenv"},
		{"the program reads the environment", "cmd/parley/a.go", "package a\n\nvar a, b = os.LookupEnv(`A`)\n", ""},
	}
	for _, test := range tests {
		got := strings.Join(faults(test.name, []byte(test.src)), "\n")
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q in it", test.why, got, test.want)
		}
	}
}
