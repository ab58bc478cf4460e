package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// code is a program: code N COMMAND… runs the command, which must exit with N
// within 10 s.
func code() {
	want, err := strconv.Atoi(os.Args[1])
	must(err)
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	began := time.Now()
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != want {
		fail("exit code %d, want %d", got, want)
	}
	if took := time.Since(began); took > 10*time.Second {
		fail("took %v, want less than 10 s", took)
	}
}

// request is a program: request METHOD URL KEY [BODY] prints the status, the
// headers and the body of the answer.
func request() {
	body := ""
	if len(os.Args) > 4 {
		body = os.Args[4]
	}
	r, err := http.NewRequest(os.Args[1], os.Args[2], strings.NewReader(body))
	must(err)
	if os.Args[3] != "" {
		r.Header.Set("Authorization", "Bearer "+os.Args[3])
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Timeout: slow}
	resp, err := client.Do(r)
	must(err)
	fmt.Println(resp.Proto, resp.Status)
	resp.Header.Write(os.Stdout)
	io.Copy(os.Stdout, resp.Body)
}

// linger is a program: linger PID ADDR KEY finish|hang|insist begins a
// request, sends SIGTERM to the service while its body is under way, and waits
// until no new connection is taken. Then it sends the rest and prints the
// answer, or hangs until the service breaks off, or insists by a second signal
// that it does so at once.
func linger() {
	pid, err := strconv.Atoi(os.Args[1])
	must(err)
	addr, key, body := os.Args[2], os.Args[3], `{"title":"slow"}`
	conn, err := net.Dial("tcp", addr)
	must(err)
	defer conn.Close()
	must(conn.SetDeadline(time.Now().Add(slow)))
	in := bufio.NewReader(conn)
	fmt.Fprintf(conn, "POST /tasks HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", addr, key, len(body))
	line, err := in.ReadString('\n') // 100 Continue: the service reads the body now
	must(err)
	if !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		fail("got %q, want 100 Continue", line)
	}
	_, err = in.ReadString('\n')
	must(err)
	fmt.Fprint(conn, body[:5])
	must(syscall.Kill(pid, syscall.SIGTERM))
	must(syscall.Kill(pid, syscall.SIGTERM)) // as timeout(1) does
	refused(addr)
	if os.Args[4] == "finish" {
		fmt.Fprint(conn, body[5:])
		resp, err := http.ReadResponse(in, nil)
		must(err)
		fmt.Println(resp.Proto, resp.Status)
		io.Copy(os.Stdout, resp.Body)
		return
	}
	least, most := 5*time.Second, 12*time.Second
	if os.Args[4] == "insist" {
		time.Sleep(2 * echo)
		must(syscall.Kill(pid, syscall.SIGINT))
		least, most = 0, 5*time.Second
	}
	began := time.Now()
	io.Copy(os.Stdout, in)
	if took := time.Since(began); took < least || took > most {
		fail("broken off after %v, want %v to %v", took, least, most)
	}
}

// certify writes a certificate of 127.0.0.1 and its key into a folder.
func certify(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

// refused waits until nothing listens on an address.
func refused(addr string) {
	for deadline := time.Now().Add(slow); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			conn.Close()
		}
	}
	fail("%s still takes connections", addr)
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
