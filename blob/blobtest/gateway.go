package blobtest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The server, and what it is started with.
const (
	gateway        = "github.com/versity/versitygw/cmd/versitygw"
	gatewayVersion = "v1.8.0"
	access, secret = "parley-test", "a-secret-of-the-tests"
)

var install sync.Mutex

// binary returns the path of the server, which is built once and kept in the
// user's cache.
func binary(t testing.TB) string {
	t.Helper()
	install.Lock()
	defer install.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "parley-test")
	path := filepath.Join(folder, "versitygw-"+gatewayVersion)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(folder, "install-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	cmd := exec.Command("go", "install", gateway+"@"+gatewayVersion)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GOBIN="+work, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("installing the S3 server %s: %v\n%s", gateway, err, out)
	}
	if err := os.Rename(filepath.Join(work, "versitygw"), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// A Server is a real S3 server on loopback, with one bucket.
type Server struct {
	URL    string // of the bucket, as package bucket reads it, with credentials
	Folder string // of the bucket, to look inside
}

// Serve starts a server that ends with the test.
func Serve(t testing.TB) *Server {
	t.Helper()
	root := t.TempDir()
	bucket := filepath.Join(root, "bytes")
	meta := t.TempDir() // not every file system of a test has extended attributes
	if err := os.Mkdir(bucket, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		addr := freeAddr(t)
		cmd := exec.Command(binary(t), "--port", addr, "--access", access, "--secret", secret, "--quiet", "--keep-alive", "posix", "--sidecar", meta, root)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if listens(addr, ended) {
			t.Cleanup(func() {
				cmd.Process.Kill()
				<-ended
			})
			return &Server{URL: fmt.Sprintf("s3://%s:%s@%s/bytes?region=us-east-1", access, secret, addr), Folder: bucket}
		}
		cmd.Process.Kill()
		t.Logf("the S3 server did not start on %s: %s", addr, said.String())
	}
	t.Fatal("the S3 server does not start")
	return nil
}

// listens waits for a process to take connections, or to end.
func listens(addr string, ended chan error) bool {
	for range 600 {
		select {
		case <-ended:
			return false
		case <-time.After(50 * time.Millisecond):
		}
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Prefix returns a name that nobody else has, for tests that share a bucket.
func Prefix() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
