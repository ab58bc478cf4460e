package bucket_test

import (
	"strings"
	"testing"

	"github.com/parley-api/parley/blob/bucket"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		why, text string
		want      *bucket.Address // nil: refused
	}{
		{"all there is", "s3://K:S@s3.example.com:9000/b/some/folder?region=eu-1&tls=off&style=path",
			&bucket.Address{Host: "s3.example.com:9000", Bucket: "b", Prefix: "some/folder/", Key: "K", Secret: "S", Region: "eu-1", Path: true}},
		{"TLS unless told otherwise", "s3://s3.example.com/b", &bucket.Address{Host: "s3.example.com", Bucket: "b", TLS: true}},
		{"loopback has no certificate", "s3://127.0.0.1:7070/b", &bucket.Address{Host: "127.0.0.1:7070", Bucket: "b", Path: true}},
		{"nor has localhost", "s3://localhost/b/", &bucket.Address{Host: "localhost", Bucket: "b", Path: true}},
		{"a number has no names below it", "s3://[2001:db8::1]:9000/b", &bucket.Address{Host: "[2001:db8::1]:9000", Bucket: "b", TLS: true, Path: true}},
		{"escapes in a secret", "s3://K:a%2Fb%3A@h/b", &bucket.Address{Host: "h", Bucket: "b", Key: "K", Secret: "a/b:", TLS: true}},
		{"another scheme", "https://h/b", nil},
		{"no host", "s3:///b", nil},
		{"no bucket", "s3://h", nil},
		{"a key without a secret", "s3://K@h/b", nil},
		{"an unknown option", "s3://h/b?fast=yes", nil},
		{"a value that is none", "s3://h/b?tls=maybe", nil},
		{"an option twice", "s3://h/b?region=a&region=b", nil},
		{"a fragment", "s3://h/b#x", nil},
	} {
		got, err := bucket.Parse(c.text)
		switch {
		case c.want == nil && err == nil:
			t.Errorf("%s: got %+v, want an error", c.why, got)
		case c.want != nil && (err != nil || *got != *c.want):
			t.Errorf("%s: got %+v, %v, want %+v", c.why, got, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("s3://K:geheimnis@s3.example.com:9000/b/p?region=eu-1&tls=off&style=path")
	f.Add("s3://K:geheimnis@h")
	f.Add("s3://:geheimnis@[::1]/b")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := bucket.Parse(text)
		if err != nil {
			if strings.Contains(text, "geheimnis") && strings.Contains(err.Error(), "geheimnis") {
				t.Errorf("the error repeats a secret: %v", err)
			}
			return
		}
		if a.Bucket == "" || a.Host == "" || a.Prefix != "" && !strings.HasSuffix(a.Prefix, "/") {
			t.Errorf("%q: got %+v", text, a)
		}
		if a.Secret == "geheimnis" && a.Bucket != a.Secret && strings.Contains(a.String(), a.Secret) && !strings.Contains(a.Host+a.Prefix, a.Secret) {
			t.Errorf("%q shows the secret: %s", text, a)
		}
	})
}
