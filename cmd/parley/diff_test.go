package main

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the output of commands into the guide")

var (
	fileBlock    = regexp.MustCompile("(?ms)^```yaml (\\S+)\n(.*?)^```$")
	consoleBlock = regexp.MustCompile("(?ms)^```console\n\\$ parley ([^\n]*)\n(.*?)^```$")
)

// TestGuide runs the commands of the guide on its files, and wants what it
// shows. With -update it writes the guide.
func TestGuide(t *testing.T) {
	const path = "../../docs/guide/diff.md"
	guide, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	within := t.TempDir()
	for _, m := range fileBlock.FindAllSubmatch(guide, -1) {
		if err := os.WriteFile(within+"/"+string(m[1]), m[2], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commands := 0
	shown := consoleBlock.ReplaceAllFunc(guide, func(block []byte) []byte {
		commands++
		m := consoleBlock.FindSubmatch(block)
		args := strings.Fields(string(m[1]))
		for i, arg := range args {
			if strings.HasSuffix(arg, ".yaml") {
				args[i] = within + "/" + arg
			}
		}
		var stdout, stderr bytes.Buffer
		if code := run(args, &stdout, &stderr); code != 1 || stderr.Len() > 0 {
			t.Errorf("%s: got exit code %d and %q, want 1 and nothing", m[1], code, stderr.String())
		}
		out := strings.ReplaceAll(stdout.String(), within+"/", "")
		return []byte("```console\n$ parley " + string(m[1]) + "\n" + out + "```")
	})
	if commands != 2 {
		t.Errorf("got %d commands in the guide, want 2", commands)
	}
	if bytes.Equal(shown, guide) {
		return
	}
	if !*update {
		t.Fatalf("the guide does not show what the program says; write it with: go test ./cmd/parley -run TestGuide -update\n%s", shown)
	}
	if err := os.WriteFile(path, shown, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFetch shows where a header field of the user's goes: to the host that
// was named, by a redirect there too, and to no other.
func TestFetch(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.Header.Get("X-Key"))) }
	other := httptest.NewServer(http.HandlerFunc(echo))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/here", echo)
	mux.Handle("/near", http.RedirectHandler("/here", http.StatusFound))
	mux.Handle("/far", http.RedirectHandler(other.URL, http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	named := httptest.NewServer(mux)
	defer named.Close()
	tests := []struct{ why, path, want, wrong string }{
		{"the host that was named", "/here", "secret", ""},
		{"a redirect on that host", "/near", "secret", ""},
		{"a redirect to another host", "/far", "", ""},
		{"a redirect to itself", "/round", "", "redirects without end"},
		{"nothing is there", "/gone", "", "it answered 404"},
	}
	for _, test := range tests {
		got, err := fetch(named.URL+test.path, http.Header{"X-Key": {"secret"}})
		if (err != nil) != (test.wrong != "") || err != nil && (!strings.Contains(err.Error(), test.wrong) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: got the error %v, want %q", test.why, err, test.wrong)
		}
		if string(got) != test.want {
			t.Errorf("%s: got %q, want %q", test.why, got, test.want)
		}
	}
}
