package byterange

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serveFlag, as the first argument, makes a server of the test's program.
const serveFlag = "serve-bytes"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == serveFlag {
		if err := serveProcess(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveProcess serves a file until its standard input ends. It prints its
// address first. Where window is not 0, the kernel holds no more than about as
// many bytes for each connection.
func serveProcess(name, window string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	shared, err := os.Open(name)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(window)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{Control: socketBuffers(n)}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(l, processHandler(name, shared, info))
}

// socketBuffers makes the kernel's buffers of a socket small; 0 leaves them.
func socketBuffers(n int) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		if n == 0 {
			return nil
		}
		return c.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, n)
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, n)
		})
	}
}

// processHandler serves the file as a File at /byterange, as a ReaderAt that
// all share at /shared, and by http.ServeContent at /standard. /cpu gives the
// CPU time of the process in microseconds, /memory what its heap and stacks
// take, in bytes.
func processHandler(name string, shared *os.File, info os.FileInfo) http.HandlerFunc {
	open := func() *os.File {
		f, err := os.Open(name)
		if err != nil {
			panic(err)
		}
		return f
	}
	return func(w http.ResponseWriter, r *http.Request) {
		c := Content{Size: info.Size(), ETag: `"file"`, Modified: info.ModTime()}
		switch r.URL.Path {
		case "/cpu":
			fmt.Fprint(w, cpu().Microseconds())
			return
		case "/memory":
			fmt.Fprint(w, memory())
			return
		case "/standard":
			f := open()
			defer f.Close()
			w.Header().Set("ETag", c.ETag)
			w.Header().Set("Content-Type", "application/octet-stream")
			http.ServeContent(w, r, "", c.Modified, f)
			return
		case "/shared":
			c.ReaderAt = shared
		default:
			c.File = open()
			defer c.File.Close()
		}
		if err := Serve(w, r, c, nil); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory returns the bytes that heap and stacks take, garbage left out.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// A client asks over one connection and spends little on it.
type client struct {
	conn net.Conn
	r    *bufio.Reader
	skip []byte
}

func dial(b testing.TB, addr string) *client {
	b.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &client{conn, bufio.NewReaderSize(conn, 4<<10), make([]byte, 256<<10)}
}

// ask sends a request and returns the status and the length of the body,
// which is thrown away.
func (c *client) ask(request string) (status int, length int64, err error) {
	if _, err := io.WriteString(c.conn, request); err != nil {
		return 0, 0, err
	}
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if status == 0 {
			status, _ = strconv.Atoi(string(line[9:12]))
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64)
		}
		if len(line) == 2 {
			break
		}
	}
	left := length
	n, _ := c.r.Discard(int(min(left, int64(c.r.Buffered()))))
	for left -= int64(n); left > 0; {
		n, err := c.conn.Read(c.skip[:min(left, int64(len(c.skip)))])
		if left -= int64(n); err != nil {
			return 0, 0, err
		}
	}
	return status, length, nil
}

// program returns a program with serveProcess in it that has no limit on
// goroutines.
func program(b testing.TB) string {
	b.Helper()
	if !raced {
		return os.Args[0]
	}
	name := filepath.Join(b.TempDir(), "plain.test")
	if out, err := exec.Command("go", "test", "-c", "-race=false", "-o", name, ".").CombinedOutput(); err != nil {
		b.Fatalf("building the server: %v\n%s", err, out)
	}
	return name
}

// startProcess starts the server of a file and returns its address.
func startProcess(b testing.TB, name string, window int) string {
	b.Helper()
	cmd := exec.Command(program(b), serveFlag, name, strconv.Itoa(window))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// askNumber asks for a page that is a number.
func askNumber(b testing.TB, url string) float64 {
	b.Helper()
	a := ask(b, "GET", url, nil)
	n, err := strconv.ParseFloat(string(a.body), 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
