package parley_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/openapi/diff"
	"github.com/parley-api/parley/version"
)

var update = flag.Bool("update", false, "refresh the descriptions in api/ with what breaks no client")

// refresh is the command that brings the descriptions in api/ up to date.
const refresh = "go test . -run TestDescriptions -update"

// TestDescriptions guards the interface: the description of every version is
// committed as it was released, and no change may break a client of it.
//
// Another description is a failure. Where it breaks no client, -update
// refreshes the file, and the change is seen in the review. Where it does, the
// change belongs in a new version: -update refuses it, unless the version is
// yet to come.
func TestDescriptions(t *testing.T) {
	kept := make(map[string]bool)
	for _, v := range version.BuiltIn().Versions() {
		t.Run(v.Name, func(t *testing.T) {
			path := filepath.Join("api", v.Name+".json")
			kept[path] = true
			got := describedAt(t, v)
			want, err := os.ReadFile(path)
			if os.IsNotExist(err) && *update {
				write(t, path, got)
				return
			}
			if err != nil {
				t.Fatalf("%v; a new version is recorded with: %s", err, refresh)
			}
			breaks, message := judge(t, v.Name, want, got)
			switch {
			case message == "":
			case *update && (!breaks || v.Status(time.Now()) == version.Upcoming):
				write(t, path, got)
			default:
				t.Error(message)
			}
		})
	}
	files, err := filepath.Glob("api/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !kept[file] {
			t.Errorf("%s describes a version that the calendar does not have", file)
		}
	}
}

// judge says what is wrong with a description that differs from the one that
// was released; "" where nothing does. A breaking change is not to be
// refreshed.
func judge(t *testing.T, name string, want, got []byte) (breaks bool, message string) {
	t.Helper()
	if bytes.Equal(want, got) {
		return false, ""
	}
	released, err := diff.Read("released", want)
	if err != nil {
		t.Fatal(err)
	}
	derived, err := diff.Read("derived", got)
	if err != nil {
		t.Fatal(err)
	}
	report, err := diff.Compare(released, derived)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.Text(&text, nil); err != nil {
		t.Fatal(err)
	}
	if worst, _ := report.Worst(); worst == diff.Breaking {
		return true, fmt.Sprintf("version %s is released, and this breaks its clients: make a new version.\n"+
			"(If nobody uses it yet, remove api/%s.json and run: %s)\n\n%s", name, name, refresh, &text)
	}
	return false, fmt.Sprintf("the description of version %s changed and breaks no client. Refresh it with: %s\n\n%s", name, refresh, &text)
}

// describedAt asks a service for the description of a version, on the day
// after its release: what the calendar says about it later is no part of it.
func describedAt(t *testing.T, v *version.Version) []byte {
	t.Helper()
	day := v.Released.AddDate(0, 0, 1)
	s := start(t, "sqlite", func(c *parley.Config) { c.Now = func() time.Time { return day } })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/openapi", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("API-Version", v.Name)
	r.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("got %s, %v, want the description:\n%s", resp.Status, err, text)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestJudge shows that the guard would notice.
func TestJudge(t *testing.T) {
	latest := version.BuiltIn().Versions()
	released, err := os.ReadFile(filepath.Join("api", latest[len(latest)-1].Name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		why, old, new string
		breaks        bool
		want          string
	}{
		{"nothing changed", "", "", false, ""},
		{"a word for people changed", `"List tasks"`, `"List all tasks"`, false, "breaks no client"},
		{"an endpoint is gone", `"/tasks/{id}/complete": {`, `"/tasks/{id}/finish": {`, true, "make a new version"},
		{"a limit is lower", `"maxLength": 500`, `"maxLength": 400`, true, "request-constraint-tightened"},
		{"a limit is higher", `"maxLength": 500`, `"maxLength": 600`, false, "Refresh it with"},
		{"a status is new", `"done"`, `"done", "archived"`, false, "response-enum-value-added"},
	}
	for _, test := range tests {
		changed := bytes.ReplaceAll(released, []byte(test.old), []byte(test.new))
		if test.old == "" {
			changed = released
		} else if bytes.Equal(changed, released) {
			t.Errorf("%s: %s is not in the description", test.why, test.old)
		}
		breaks, got := judge(t, "latest", released, changed)
		if breaks != test.breaks || !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %t, %q, want %t, %q", test.why, breaks, got, test.breaks, test.want)
		}
	}
}
