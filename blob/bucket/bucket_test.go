package bucket_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/blob/blobtest"
	"github.com/parley-api/parley/blob/bucket"
)

// open connects to a bucket under a prefix of its own.
func open(t testing.TB, address string) *bucket.Bucket {
	t.Helper()
	a, err := bucket.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	a.Prefix = blobtest.Prefix() + "/"
	b, err := bucket.Open(t.Context(), a, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBucket holds a bucket on a real server against the contract.
func TestBucket(t *testing.T) {
	server := blobtest.Serve(t)
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, server.URL) })
}

// TestRanges makes sure that a section is a range request: no byte beside it
// leaves the bucket.
func TestRanges(t *testing.T) {
	server := blobtest.Serve(t)
	a, err := bucket.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: a.Host})
			r.Out.Host = r.In.Host // as it was signed
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodGet && r.StatusCode == http.StatusPartialContent {
				sent.Add(r.ContentLength)
			}
			return nil
		},
	}
	front := httptest.NewServer(proxy)
	defer front.Close()
	direct := open(t, strings.Replace(server.URL, a.Host, strings.TrimPrefix(front.URL, "http://"), 1))
	info, err := direct.Put(t.Context(), bytes.NewReader(bytes.Repeat([]byte("0123456789"), 100_000)), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	src, err := direct.Open(t.Context(), info.Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	part, err := src.Section(t.Context(), 500_003, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if got, err := io.ReadAll(part); err != nil || string(got) != "3456789" {
		t.Errorf("got %q, %v", got, err)
	}
	if got := sent.Load(); got != 7 {
		t.Errorf("the bucket sent %d bytes, want 7", got)
	}
}

// TestAway asks a server that is not there, and one without the bucket.
func TestAway(t *testing.T) {
	server := blobtest.Serve(t)
	for _, c := range []struct{ why, address string }{
		{"no server", "s3://key:geheimnis@127.0.0.1:1/bytes?region=us-east-1"},
		{"no bucket", strings.Replace(server.URL, "/bytes", "/nothing", 1)},
		{"another key", strings.Replace(server.URL, "://", "://x", 1)},
	} {
		a, err := bucket.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = bucket.Open(t.Context(), a, t.TempDir())
		if err == nil || strings.Contains(err.Error(), a.Secret) {
			t.Errorf("%s: got %v, want an error without the secret", c.why, err)
		}
		if got := errors.Is(err, blob.ErrUnavailable); got != (c.why == "no server") {
			t.Errorf("%s: unavailable %v: %v", c.why, got, err)
		}
	}
}
