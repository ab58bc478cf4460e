package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-api/parley"
)

func TestReachable(t *testing.T) {
	given := &net.TCPAddr{IP: net.IPv4zero, Port: 4711}
	for _, test := range []struct{ why, asked, want string }{
		{"the port is the real one", "127.0.0.1:0", "127.0.0.1:4711"},
		{"a name stays", "api.internal:http", "api.internal:4711"},
		{"every interface is this machine", ":0", "localhost:4711"},
		{"so is 0.0.0.0", "0.0.0.0:0", "localhost:4711"},
		{"and its IPv6 form", "[::]:0", "localhost:4711"},
		{"IPv6 keeps its brackets", "[::1]:0", "[::1]:4711"},
	} {
		if got := reachable(test.asked, given); got != test.want {
			t.Errorf("%s: reachable(%q) = %q, want %q", test.why, test.asked, got, test.want)
		}
	}
}

func TestOpenKeepsBaseURL(t *testing.T) {
	cfg := parley.Config{Addr: "127.0.0.1:0", BaseURL: "https://api.example.com"}
	d, err := open(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if got, want := cfg.BaseURL, "https://api.example.com"; got != want {
		t.Errorf("base URL: got %s, want %s", got, want)
	}
	if got, want := cfg.Addr, d.main.Addr().String(); got != want {
		t.Errorf("address: got %s, want %s", got, want)
	}
}

// quiet logs nothing.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// repeat answers with the request line.
func repeat(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, r.Proto)
}

func TestServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(context.Background(), http.HandlerFunc(repeat), nil, quiet())
	go s.Serve(l)
	defer s.Close()
	for _, test := range []struct{ why, request, status, body string }{
		{"an ordinary request", "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200 OK", "GET /x HTTP/1.1"},
		{"OPTIONS * is the service's to answer", "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200 OK", "OPTIONS * HTTP/1.1"},
		{"headers have a limit", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " + strings.Repeat("x", 40<<10) + "\r\n\r\n", "431 ", ""},
		{"HTTP/2 needs TLS; its preface is a request like any other", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "200 OK", "PRI * HTTP/2.0"},
	} {
		t.Run(test.why, func(t *testing.T) {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.WriteString(conn, test.request)
			answer, _ := io.ReadAll(conn)
			got := string(answer)
			if !strings.HasPrefix(got, "HTTP/1.1 "+test.status) || !strings.HasSuffix(got, test.body) {
				t.Errorf("got %q, want %s and %q", got, test.status, test.body)
			}
		})
	}
}

func TestTLSVersion(t *testing.T) {
	dir := t.TempDir()
	if err := certify(dir); err != nil {
		t.Fatal(err)
	}
	d, err := open(&parley.Config{Addr: "127.0.0.1:0", TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(context.Background(), http.HandlerFunc(repeat), d.tls, quiet())
	go s.ServeTLS(d.main, "", "")
	defer s.Close()
	for _, test := range []struct {
		why     string
		version uint16
		want    bool
	}{
		{"1.1 is too old", tls.VersionTLS11, false},
		{"1.2 is the oldest", tls.VersionTLS12, true},
		{"1.3 is better", tls.VersionTLS13, true},
	} {
		conn, err := tls.Dial("tcp", d.main.Addr().String(), &tls.Config{
			InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: test.version,
		})
		if err == nil {
			conn.Close()
		}
		if got := err == nil; got != test.want {
			t.Errorf("%s: got a connection: %t, %v, want %t", test.why, got, err, test.want)
		}
	}
}

func TestComplaint(t *testing.T) {
	for _, test := range []struct{ why, text, want string }{
		{"any client can fail to speak TLS", "http: TLS handshake error from 127.0.0.1:1: EOF", "DEBUG"},
		{"a failing listener is worth a look", "http: Accept error: too many open files; retrying in 5ms", "WARN"},
	} {
		var b bytes.Buffer
		complaints(slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))).Println(test.text)
		if got, want := b.String(), fmt.Sprintf(`"level":%q,"msg":%q}`, test.want, test.text); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", test.why, got, want)
		}
	}
}
