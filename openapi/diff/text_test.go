package diff

import (
	"bytes"
	"strings"
	"testing"
)

// TestText shows that a description cannot steer a terminal, nor break out of
// Markdown.
func TestText(t *testing.T) {
	old := "openapi: 3.1.0\npaths: {\"/a\\e[31m``|\\n# b\": {get: {}}}\n"
	report := compare(t, []byte(old), []byte("openapi: 3.1.0\npaths: {}\n"))
	var text, colour, guide bytes.Buffer
	for _, err := range []error{report.Text(&text, nil), report.Text(&colour, &TextOptions{Colour: true}), report.Markdown(&guide)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Errorf("got %q, want nothing that a terminal obeys", text.String())
	}
	if got, want := strings.Count(colour.String(), "\x1b"), 2; got != want {
		t.Errorf("got %d escape sequences, want the %d of the heading: %q", got, want, colour.String())
	}
	if want := "### 1. ``` GET /a�[31m``|�# b ```\n"; !strings.Contains(guide.String(), want) {
		t.Errorf("got %q, want %q in it", guide.String(), want)
	}
	if want := "| ``` GET /a�[31m``\\|�# b ``` | – |\n"; !strings.Contains(guide.String(), want) {
		t.Errorf("got %q, want %q in it", guide.String(), want)
	}
}

func TestPlaces(t *testing.T) {
	c := Change{Subject: "Task.title", Where: []string{"a", "b", "c", "d"}}
	tests := []struct {
		why  string
		most int
		want string
	}{
		{"the default is three", 0, "a, b, c and 1 more"},
		{"fewer", 1, "a and 3 more"},
		{"all", -1, "a, b, c, d"},
	}
	for _, test := range tests {
		if got := c.places(test.most); got != test.want {
			t.Errorf("%s: got %q, want %q", test.why, got, test.want)
		}
	}
}

func TestClass(t *testing.T) {
	for _, class := range []Class{NonBreaking, Typed, Breaking} {
		text, err := class.MarshalText()
		var got Class
		if err != nil || got.UnmarshalText(text) != nil || got != class {
			t.Errorf("got %v by way of %q, want %v", got, text, class)
		}
	}
	if err := new(Class).UnmarshalText([]byte("bad")); err == nil {
		t.Error("got no error for a class that does not exist")
	}
	if got := Class(7).String(); got != "class(7)" {
		t.Errorf("got %q for a class that does not exist", got)
	}
}
