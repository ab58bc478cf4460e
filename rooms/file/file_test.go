package file

import (
	"slices"
	"testing"

	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
)

func TestTake(t *testing.T) {
	const sum = "sha-256=:x:"
	for _, c := range []struct {
		why  string
		was  File
		up   resource.Upload
		want File
	}{
		{"a new file", File{}, resource.Upload{Name: "a.txt", Type: "text/plain", Size: 3, Digest: sum}, File{"a.txt", 3, "text/plain", sum}},
		{"a new file of which nothing is said", File{}, resource.Upload{Digest: sum}, File{"untitled", 0, Served, sum}},
		{"a replacement keeps the name", File{"a.txt", 3, "text/plain", "old"}, resource.Upload{Size: 4, Digest: sum}, File{"a.txt", 4, Served, sum}},
		{"unless it has one", File{"a.txt", 3, "text/plain", "old"}, resource.Upload{Name: "b", Size: 4, Digest: sum}, File{"b", 4, Served, sum}},
	} {
		got := c.was
		take(&got, c.up)
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.why, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		why, name string
		want      bool
	}{
		{"a name", "a.txt", true},
		{"with spaces and dots", "..a b..", true},
		{"a path", "a/b", false},
		{"a path of another system", `a\b`, false},
		{"the folder above", "..", false},
		{"nothing to see", " . ", false},
	} {
		if got := check(&File{Name: c.name}, nil) == nil; got != c.want {
			t.Errorf("%s: got %v, want %v", c.why, got, c.want)
		}
	}
}

func TestDefinition(t *testing.T) {
	want := []store.Column{{Name: "name", Kind: store.Text, Index: true}, {Name: "size", Kind: store.Int, Summed: true}, {Name: "digest", Kind: store.Text, Index: true, Held: true}}
	if got := Resource.Table().Columns; !slices.Equal(got, want) {
		t.Errorf("columns %+v, want %+v", got, want)
	}
	if got := Resource.ContentTypes(); !slices.Equal(got, []string{Served}) || Resource.DigestColumn() != "digest" {
		t.Errorf("got %q by %s", got, Resource.DigestColumn())
	}
}
