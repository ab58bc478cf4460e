package precond

import "testing"

func TestETag(t *testing.T) {
	for _, c := range []struct{ why, opaque, want string }{
		{"letters, digits and signs", "7-1-json", `"7-1-json"`},
		{"nothing is a tag too", "", `""`},
		{"every sign of ASCII but the quote", "!#,;*\\~", `"!#,;*\~"`},
		{"bytes above ASCII", "\x80\xff", "\"\x80\xff\""},
	} {
		if got := ETag(c.opaque); got != c.want {
			t.Errorf("%s: ETag(%q) = %s, want %s", c.why, c.opaque, got, c.want)
		}
		if got, want := Weak(c.opaque), "W/"+c.want; got != want {
			t.Errorf("%s: Weak(%q) = %s, want %s", c.why, c.opaque, got, want)
		}
	}
}

func TestETagPanics(t *testing.T) {
	for _, c := range []struct{ why, opaque string }{
		{"a quote would end it", `a"b`},
		{"a space", "a b"},
		{"a tab", "a\tb"},
		{"a line's end would end the header", "a\r\nb"},
		{"a control character", "\x00"},
		{"delete", "\x7f"},
	} {
		for name, f := range map[string]func(string) string{"ETag": ETag, "Weak": Weak} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %s(%q) did not panic", c.why, name, c.opaque)
					}
				}()
				f(c.opaque)
			}()
		}
	}
}
