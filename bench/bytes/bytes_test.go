package main

import (
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		why  string
		std  float64    // µs of standard for the whole; 100 for ranges
		cpu  [4]float64 // µs of parley
		peak int64
		want string
	}{
		{"as good as it must be", 50_000, [4]float64{70_000, 110, 45, 30}, 39e6, "pass pass pass pass pass"},
		{"each a little too much", 61_000, [4]float64{70_100, 111, 46, 31}, 40e6, "missed missed missed missed missed"},
		{"one missed", 62_000, [4]float64{50_000, 90, 20, 31}, 20e6, "pass pass pass missed pass"},
		{"a machine whose kernel is slow", 100_000, [4]float64{113_000, 90, 20, 30}, 20e6, "pass pass pass pass pass"},
		{"slower still than the kernel", 100_000, [4]float64{114_000, 90, 20, 30}, 20e6, "missed pass pass pass pass"},
	} {
		b := &bench{settings: &settings{size: 1 << 30}}
		for i, o := range actions {
			b.figures = append(b.figures,
				&figure{operation: o, Name: "standard", CPUs: []float64{[4]float64{tt.std, 100, 100, 100}[i]}},
				&figure{operation: o, Name: "parley", CPU: tt.cpu[i], CPUs: tt.cpu[i : i+1], Peak: tt.peak})
		}
		var words []string
		for _, v := range b.judge() {
			word := "missed"
			if v.Pass {
				word = "pass"
			}
			words = append(words, word)
		}
		if got := strings.Join(words, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.why, got, tt.want)
		}
	}
}

// TestAgree starts the two servers that need nothing, and compares their bytes
// with the file; then it makes sure that other bytes are noticed.
func TestAgree(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := makeFile(name, 16<<20); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"standard", "byterange"} {
		c := startServer(t, kind, name)
		b := &bench{settings: &settings{size: 16 << 20, file: name}}
		if err := b.agree(c); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		other := filepath.Join(t.TempDir(), "other")
		if err := os.WriteFile(other, make([]byte, 16<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		b.file = other
		if err := b.agree(c); err == nil || !strings.Contains(err.Error(), "other bytes") {
			t.Errorf("%s: bytes that are not the file's: got error %v", kind, err)
		}
	}
}

func TestRequest(t *testing.T) {
	c := &contender{addr: "x:1", path: "/f", key: "k"}
	got, starts := ten4K.request(nil, c, 1<<30, rand.New(rand.NewPCG(1, 1)))
	if n := strings.Count(string(got), "-"); n != 10 || len(starts) != 10 {
		t.Errorf("got %d ranges, want 10: %s", n, got)
	}
	got, starts = whole.request(nil, c, 1<<30, nil)
	if want := "GET /f HTTP/1.1\r\nHost: x:1\r\nAuthorization: Bearer k\r\n\r\n"; string(got) != want || starts != nil {
		t.Errorf("got %q, want %q", got, want)
	}
}

// startServer runs the handler of a server process in this one.
func startServer(t *testing.T, kind, name string) *contender {
	t.Helper()
	h, err := handler(kind, name)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &contender{name: kind, addr: s.Listener.Addr().String(), path: "/"}
}
