package problem

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	kebab    = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	sentence = regexp.MustCompile(`^[A-Z].*[^ .]\.$`)
	title    = regexp.MustCompile(`^[A-Z].*[^.]$`)
)

func TestKinds(t *testing.T) {
	names := make(map[string]bool)
	for _, k := range Kinds() {
		if !kebab.MatchString(k.Name) {
			t.Errorf("%s: the name is not kebab-case", k.Name)
		}
		if names[k.Name] {
			t.Errorf("%s: two kinds have this name", k.Name)
		}
		names[k.Name] = true
		if k.Status < 400 || k.Status > 599 || http.StatusText(k.Status) == "" {
			t.Errorf("%s: %d is not the status of an error", k.Name, k.Status)
		}
		if !title.MatchString(k.Title) || len(k.Title) > 60 {
			t.Errorf("%s: the title %q is not short, without a full stop", k.Name, k.Title)
		}
		if !sentence.MatchString(k.About) {
			t.Errorf("%s: About is not a sentence: %q", k.Name, k.About)
		}
		if !sentence.MatchString(k.Remedy) {
			t.Errorf("%s: Remedy is not a sentence: %q", k.Name, k.Remedy)
		}
		if k.About == k.Remedy || k.About == k.Title {
			t.Errorf("%s: About says nothing of its own", k.Name)
		}
		if got, want := k.Type(), "/problems/"+k.Name; got != want {
			t.Errorf("%s: the type is %q, want %q", k.Name, got, want)
		}
	}
	if !slices.IsSortedFunc(Kinds(), func(a, b *Kind) int { return a.Status - b.Status }) {
		t.Error("Kinds is not in order of status")
	}
}

func TestKindsIsTheCallers(t *testing.T) {
	Kinds()[0] = nil
	if Kinds()[0] == nil {
		t.Error("a caller changed the list of kinds for everybody")
	}
}

// A kind that is declared and not listed would have no page.
func TestKindsIsComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			declared += len(spec.Names)
		}
		return true
	})
	if got := len(Kinds()); got != declared {
		t.Errorf("Kinds lists %d kinds, and kinds.go declares %d", got, declared)
	}
}

// The codes of the contract's table of errors that a service answers itself.
func TestKindsCoverTheContract(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413, 415, 416, 422, 429, 500, 503} {
		if !slices.ContainsFunc(Kinds(), func(k *Kind) bool { return k.Status == status }) {
			t.Errorf("no kind has the status %d", status)
		}
	}
	for _, k := range Kinds() {
		if strings.Contains(k.About, "  ") || strings.Contains(k.Remedy, "  ") {
			t.Errorf("%s: two spaces in a row", k.Name)
		}
	}
}
