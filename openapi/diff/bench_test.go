package diff

import (
	"os"
	"testing"
)

// BenchmarkCompare compares the descriptions of two of our own versions.
func BenchmarkCompare(b *testing.B) {
	old, new := own(b, "2025-11-01"), own(b, "2026-11-01")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compare(old, new); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads a description of our own.
func BenchmarkRead(b *testing.B) {
	text := ownText(b, "2026-11-01")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read("bench", text); err != nil {
			b.Fatal(err)
		}
	}
}

// ownText is the description of a version of Parley as it was released.
func ownText(t testing.TB, version string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../api/" + version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func own(t testing.TB, version string) *Document {
	t.Helper()
	doc, err := Read(version, ownText(t, version))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
