package main

import (
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// serveFlags are the flags of parley serve.
func serveFlags() []*kong.Flag {
	for _, node := range newParser(new(commands), io.Discard, io.Discard).Model.Children {
		if node.Name == "serve" {
			return node.Flags
		}
	}
	return nil
}

func TestReadConfig(t *testing.T) {
	for _, test := range []struct {
		why, data string
		want      map[string]string
		fails     string
	}{
		{why: "an empty file sets nothing", data: ""},
		{why: "a file of comments sets nothing", data: "# addr: :1\n\n# data: x\n"},
		{why: "an empty document sets nothing", data: "---\n"},
		{why: "one line is a mapping too", data: "addr: :1", want: map[string]string{"addr": ":1"}},
		{why: "a value is its text, not what YAML makes of it", data: "admin-key: 0x10\nrate-limit: off\nmax-page-size: 0100\ninsecure-webhooks: yes\ndata: 1.50\nblobs: ~x\n",
			want: map[string]string{"admin-key": "0x10", "rate-limit": "off", "max-page-size": "0100", "insecure-webhooks": "yes", "data": "1.50", "blobs": "~x"}},
		{why: "quotes are not part of a value", data: "data: 'a b'\nblobs: \"c\\td\"\n", want: map[string]string{"data": "a b", "blobs": "c\td"}},
		{why: "a block is a value", data: "admin-key: |\n  pk_x\n", want: map[string]string{"admin-key": "pk_x"}},
		{why: "a name without a value is unset", data: "database:\naddr: ''\ndata: null\n"},
		{why: "a list is for a flag that takes several", data: "cors-origins: [a, 'b,c']\n", want: map[string]string{"cors-origins": `a,b\,c`}},
		{why: "a text is, too", data: "cors-origins: a,b\n", want: map[string]string{"cors-origins": "a,b"}},
		{why: "a list is nothing for another", data: "addr: [a]", fails: "f:1: addr must be one plain value"},
		{why: "a mapping is no value", data: "addr: {a: b}", fails: "f:1: addr must be one plain value"},
		{why: "an anchor is not plain", data: "addr: &a b", fails: "f:1: addr must be one plain value"},
		{why: "nor is an alias", data: "addr: :1\ndata: *a", fails: "f:2: "},
		{why: "a list of lists is too deep", data: "cors-origins: [[a]]", fails: "f:1: cors-origins must be a list"},
		{why: "a name must exist, and the nearest is named", data: "\nadr: :1", fails: `f:2: unknown name "adr"; did you mean "addr"?`},
		{why: "names are those of the flags, to the letter", data: "base_url: x", fails: `did you mean "base-url"?`},
		{why: "a file names no other file", data: "config: other.yaml", fails: `f:1: unknown name "config"`},
		{why: "a name stands once", data: "addr: :1\naddr: :2", fails: "f:2: "},
		{why: "a list is no file", data: "- addr", fails: `f: must hold lines of "name: value"`},
		{why: "a word is no file", data: "addr", fails: `f: must hold lines of "name: value"`},
		{why: "two documents are one too many", data: "addr: :1\n---\ndata: x\n", fails: "f: must hold one YAML document"},
		{why: "a fault of syntax has its line", data: "addr: :1\ndata: 'x\n", fails: "f:2: not valid YAML"},
	} {
		t.Run(test.why, func(t *testing.T) {
			found, err := readConfig("f", []byte(test.data), serveFlags())
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("got error %v, want one line with %q", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name, s := range found {
				got[name] = s.text
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		why, a, b string
		want      int
	}{
		{"equal", "addr", "addr", 0},
		{"one missing", "adr", "addr", 1},
		{"one other", "base_url", "base-url", 1},
		{"all missing", "", "data", 4},
		{"the order does not matter", "kitten", "sitting", 3},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("%s: distance(%q, %q) = %d, want %d", test.why, test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a); got != test.want {
			t.Errorf("%s: distance(%q, %q) = %d, want %d", test.why, test.b, test.a, got, test.want)
		}
	}
}

func FuzzReadConfig(f *testing.F) {
	for _, seed := range []string{"", "addr: :1\n", "cors-origins: [a, b]\n", "data: |\n  x\n", "a: &b c\nd: *b\n", "---\n---\n", "? a\n: b\n", "<<: {}\n", "!!str addr: x\n"} {
		f.Add([]byte(seed))
	}
	flags := serveFlags()
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := readConfig("f", data, flags)
		if err != nil && found != nil {
			t.Error("settings beside an error")
		}
		for name, s := range found {
			if flag, err := flagNamed(name, flags); err != nil || s.text == "" {
				t.Errorf("%q is %q of %v", name, s.text, flag)
			}
		}
	})
}
