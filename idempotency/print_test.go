package idempotency

import (
	"encoding/hex"
	"testing"
)

func TestFingerprint(t *testing.T) {
	type request struct{ method, path, contentType, body string }
	base := request{"POST", "/tasks", "application/json", `{"title":"a"}`}
	print := func(r request) Print { return Fingerprint(r.method, r.path, r.contentType, []byte(r.body)) }
	if again := base; print(again) != print(base) {
		t.Error("the same request has two prints")
	}
	for _, c := range []struct {
		why   string
		other request
	}{
		{"another method", request{"PUT", base.path, base.contentType, base.body}},
		{"another path", request{base.method, "/users", base.contentType, base.body}},
		{"a query", request{base.method, "/tasks?version=1", base.contentType, base.body}},
		{"another media type", request{base.method, base.path, "text/plain", base.body}},
		{"another body", request{base.method, base.path, base.contentType, `{"title":"b"}`}},
		{"a space more in the body", request{base.method, base.path, base.contentType, base.body + " "}},
		{"an octet moved from the path to the method", request{"POST/", "tasks", base.contentType, base.body}},
		{"an octet moved from the type to the path", request{base.method, "/tasksa", "pplication/json", base.body}},
		{"an octet moved from the body to the type", request{base.method, base.path, "application/json{", `"title":"a"}`}},
		{"nothing at all", request{}},
	} {
		if print(c.other) == print(base) {
			t.Errorf("%s: same print", c.why)
		}
	}
}

// Records outlive releases: the print of a request may never change.
func TestFingerprintStable(t *testing.T) {
	p := Fingerprint("POST", "/tasks", "application/json", []byte(`{"title":"a"}`))
	if got, want := hex.EncodeToString(p[:]), "f0e7ab96e2f3783ba75a8950d8aff7b24db7390d2c7fbf8ea564a0646361b629"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkFingerprint(b *testing.B) {
	body := make([]byte, 512)
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint("POST", "/v1/tasks", "application/json", body)
	}
}
