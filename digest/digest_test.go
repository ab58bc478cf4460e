package digest_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-api/parley/digest"
	"github.com/parley-api/parley/problem"
)

// hello is the digest of hello.
const hello = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"

func Example() {
	sum := sha256.Sum256([]byte("hello"))
	fmt.Println("Repr-Digest:", digest.Format(sum))
	sent, ok, err := digest.Parse("Content-Digest", []string{"unixsum=:AAA=:, " + hello})
	fmt.Println(sent == sum, ok, err)
	// Output:
	// Repr-Digest: sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:
	// true true <nil>
}

var parses = []struct {
	why   string
	lines []string
	want  string // sum, none or 400
}{
	{"absent", nil, "none"},
	{"one", []string{hello}, "sum"},
	{"spaces around", []string{" " + hello + " "}, "sum"},
	{"behind another", []string{"sha-512=:AAAA:, " + hello}, "sum"},
	{"in a second line", []string{"sha-512=:AAAA:", hello}, "sum"},
	{"another algorithm only", []string{"sha-512=:AAAA:"}, "none"},
	{"the last of two counts", []string{"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:," + hello}, "sum"},
	{"a parameter", []string{hello + ";a;b=1; c=\"x,y\""}, "sum"},
	{"an empty field", []string{""}, "400"},
	{"no colons", []string{"sha-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="}, "400"},
	{"no closing colon", []string{strings.TrimSuffix(hello, ":")}, "400"},
	{"the syntax of RFC 3230", []string{"SHA-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="}, "400"},
	{"hexadecimal", []string{"sha-256=:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824:"}, "400"},
	{"too short", []string{"sha-256=:AAAA:"}, "400"},
	{"no base64", []string{"sha-512=:???:"}, "400"},
	{"bits that mean nothing", []string{"sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCR=:"}, "400"},
	{"a comma at the end", []string{hello + ","}, "400"},
	{"no comma", []string{hello + " " + hello}, "400"},
	{"a key alone", []string{"sha-256"}, "400"},
	{"a key that is none", []string{"1=:AAAA:"}, "400"},
	{"a bad parameter", []string{hello + ";=1"}, "400"},
}

func TestParse(t *testing.T) {
	want := sha256.Sum256([]byte("hello"))
	for _, c := range parses {
		sum, ok, err := digest.Parse("Content-Digest", c.lines)
		got := "none"
		switch {
		case err != nil:
			got = "400"
			p, is := err.(*problem.Problem)
			if !is || p.Kind != problem.BadRequest || p.Parameter != "Content-Digest" {
				t.Errorf("%s: got %v, want a problem 400", c.why, err)
			}
		case ok && sum == want:
			got = "sum"
		case ok:
			got = fmt.Sprintf("%x", sum)
		}
		if got != c.want {
			t.Errorf("%s: Parse(%q): got %s, want %s", c.why, c.lines, got, c.want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		why, text string
		want      bool
	}{
		{"what Format writes", hello, true},
		{"nothing", "", false},
		{"a prefix alone", "sha-256=:", false},
		{"two", hello + "," + hello, false},
		{"another algorithm", "sha-512" + hello[7:], false},
	} {
		sum, ok := digest.Value(c.text)
		if ok != c.want || ok && digest.Format(sum) != c.text {
			t.Errorf("%s: got %x %v, want %v", c.why, sum, ok, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range parses {
		f.Add(strings.Join(c.lines, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		sum, ok, err := digest.Parse("Repr-Digest", strings.Split(text, "\n"))
		if ok && err != nil {
			t.Error("a digest and an error")
		}
		if ok && !strings.Contains(text, digest.Format(sum)[len("sha-256=:"):]) {
			t.Errorf("%q: got %x, which is not in it", text, sum)
		}
		if v, is := digest.Value(text); is && (!ok || v != sum) {
			t.Errorf("%q: Value reads it and Parse does not", text)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	lines := []string{hello}
	for b.Loop() {
		if _, ok, _ := digest.Parse("Content-Digest", lines); !ok {
			b.Fatal("not read")
		}
	}
}
