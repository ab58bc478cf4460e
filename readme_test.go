package parley_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/parley-api/parley"
)

// TestReadme pastes the README's lines into a shell, in order, against a
// service that was just started.
func TestReadme(t *testing.T) {
	want := []string{ // of each line's output
		"HTTP/1.1 201 Created",
		`"title":"Read the contract"`,
		`"status":"in_progress"`,
		`"status":"done"`,
		`"total":1`,
		"HTTP/1.1 304 Not Modified",
		"Sunset: Mon, 01 Nov 2027 00:00:00 GMT",
		`"type":"task.completed"`,
		"HTTP/1.1 422 Unprocessable Entity",
		"HTTP/1.1 410 Gone",
		`"name":"hello.txt","size":12`,
		"Content-Range: bytes 7-11/12",
		"Content-Range: bytes 1073741819-1073741823/1073741824",
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```sh\nalias ")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("README.md has no block that begins with an alias")
	}
	s := start(t, "sqlite", func(c *parley.Config) { c.AdminKey = "pk_try" })
	lines := strings.Split(strings.TrimSpace("alias "+block), "\n")
	if len(lines)-1 != len(want) {
		t.Fatalf("the README has %d lines to try, the test knows %d", len(lines)-1, len(want))
	}
	for i, line := range lines[1:] {
		script := "shopt -s expand_aliases\n" + lines[0] + "\n" + line + "\n"
		script = strings.ReplaceAll(script, "http://127.0.0.1:8080", s.URL)
		out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", line, err, out)
		}
		if !strings.Contains(string(out), want[i]) {
			t.Errorf("%s\ngot  %s\nwant %s in it", line, out, want[i])
		}
	}
}
