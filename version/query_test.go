package version

import (
	"net/url"
	"testing"
)

func TestStrip(t *testing.T) {
	for _, tt := range []struct{ raw, want, why string }{
		{"", "", "nothing"},
		{"a=1&b=2", "a=1&b=2", "nothing to take out"},
		{"version=1", "", "the only one"},
		{"version=1&a=1", "a=1", "the first"},
		{"a=1&api-version=1", "a=1", "the last"},
		{"a=1&version=1&b=2&api-version=1&c", "a=1&b=2&c", "both, in between"},
		{"a=%3c&versions=2", "a=%3c&versions=2", "others stay as written"},
		{"%76ersion=1&a", "a", "an escaped name"},
		{"version&a", "a", "without a value"},
	} {
		if got := Strip(tt.raw); got != tt.want {
			t.Errorf("Strip(%q) is %q, want %q: %s", tt.raw, got, tt.want, tt.why)
		}
	}
}

func FuzzStrip(f *testing.F) {
	for _, s := range []string{"", "version=1", "a=1&version=2&b", "&&api-version&", "%76ersion=1&x=%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := Strip(raw)
		if again := Strip(got); again != got {
			t.Errorf("Strip(%q) is %q, and stripped again %q", raw, got, again)
		}
		want, _ := url.ParseQuery(raw)
		want.Del("version")
		want.Del("api-version")
		if have, _ := url.ParseQuery(got); have.Encode() != want.Encode() {
			t.Errorf("Strip(%q) is %q: %v, want %v", raw, got, have, want)
		}
	})
}
