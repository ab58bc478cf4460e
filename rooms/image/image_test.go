package image

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// heads are how pictures begin, and what is none.
var heads = []struct{ why, head, want string }{
	{"PNG", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"},
	{"PNG that went through a text editor", "\x89PNG\n\x1a\n", ""},
	{"JPEG", "\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"},
	{"GIF", "GIF89a\x01\x00", "image/gif"},
	{"an old GIF", "GIF87a\x01\x00", "image/gif"},
	{"a GIF of no year", "GIF88a\x01\x00", ""},
	{"WebP", "RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"},
	{"WebP without loss", "RIFF\x24\x00\x00\x00WEBPVP8L", "image/webp"},
	{"WebP extended", "RIFF\x24\x00\x00\x00WEBPVP8X", "image/webp"},
	{"a sound", "RIFF\x24\x00\x00\x00WAVEfmt ", ""},
	{"AVIF", "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf", "image/avif"},
	{"AVIF as a second brand", "\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avifmiaf", "image/avif"},
	{"a film", "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", ""},
	{"a version is no brand", "\x00\x00\x00\x10ftypmif1avif", ""},
	{"a box that ends before its brand", "\x00\x00\x00\x10ftypmif1\x00\x00\x00\x00avif", ""},
	{"a page", "<!DOCTYPE html><script>", ""},
	{"a drawing", "<svg xmlns='http://www.w3.org/2000/svg'>", ""},
	{"a drawing behind a declaration", "<?xml version='1.0'?><svg>", ""},
	{"a bitmap", "BM\x00\x00", ""},
	{"nothing", "", ""},
}

func TestSniff(t *testing.T) {
	for _, c := range heads {
		if got := Sniff([]byte(c.head)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.why, got, c.want)
		}
	}
}

func TestDecide(t *testing.T) {
	const gif = "GIF89a"
	for _, c := range []struct{ why, head, declared, want string }{
		{"nothing said", gif, "", "image/gif"},
		{"nothing said, at length", gif, "application/octet-stream", "image/gif"},
		{"the truth", gif, "image/gif", "image/gif"},
		{"the truth with a parameter", gif, "image/gif; charset=x", "image/gif"},
		{"a slip", "\xff\xd8\xff\xe0", "image/jpg", "image/jpeg"},
		{"another picture", gif, "image/png", ""},
		{"a page", gif, "text/html", ""},
		{"a drawing", "<svg/>", "image/svg+xml", ""},
	} {
		got, err := decide([]byte(c.head), c.declared)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", c.why, got, err, c.want)
		}
		if err != nil && problem.From(err).Kind != problem.ValidationFailed {
			t.Errorf("%s: got %v, want a problem 422", c.why, err)
		}
	}
}

func TestTake(t *testing.T) {
	var p Image
	take(&p, resource.Upload{Type: "image/png", Size: 9, Digest: "d"})
	if want := (Image{"untitled.png", 9, "image/png", "d"}); p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	if got := check(&Image{Name: "a/b"}, nil); got == nil {
		t.Error("a path is taken for a name")
	}
	if got := Resource.ContentTypes(); !slices.Equal(got, Types()) {
		t.Errorf("got %q", got)
	}
}

// Nothing that a browser takes for text is a picture, whatever it is.
func FuzzSniff(f *testing.F) {
	for _, c := range heads {
		f.Add([]byte(c.head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		got := Sniff(head)
		if got != "" && !slices.Contains(Types(), got) {
			t.Errorf("got %q, which is none of Types", got)
		}
		if seen := http.DetectContentType(head); got != "" && strings.HasPrefix(seen, "text/") {
			t.Errorf("%q is %s, and a browser would take it for %s", head, got, seen)
		}
	})
}
