package byterange

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
)

// The bounds of the load tests.
const (
	slowReaders   = 10_000
	perSlowReader = 64 << 10         // bytes of heap and stack
	slowAnswer    = 10 * time.Second // of another client meanwhile, on a machine that is busy
	perHeaderByte = 8                // bytes of memory for each byte of a Range header
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManyRanges sends headers with as many ranges as they hold. Whatever they
// ask for, time and memory depend on the length of the header alone.
func TestManyRanges(t *testing.T) {
	const size = 1 << 30
	list := func(n int, each func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(each(i) + ",")
		}
		return "bytes=" + b.String()
	}
	for _, tt := range []struct {
		why    string
		header string
		status int
		length int64 // of the parts, together
	}{
		{"a thousand apart", list(1000, func(i int) string { return fmt.Sprintf("%d-%d", 2*i, 2*i) }), 416, 0},
		{"a thousand apart, then one over all", list(1000, func(i int) string { return fmt.Sprintf("%d-%d", 2*i, 2*i) }) + "0-1998", 206, 1999},
		{"a thousand times all", list(1000, func(int) string { return "0-" }), 206, size},
		{"a thousand, each within the one before", list(1000, func(i int) string { return fmt.Sprintf("%d-%d", i, 9999-i) }), 206, 10_000},
		{"a thousand, each over the next", list(1000, func(i int) string { return fmt.Sprintf("%d-%d", i*100, i*100+150) }), 206, 100_051},
		{"a thousand, from the last to the first", list(1000, func(i int) string { return fmt.Sprintf("%d-%d", (999-i)*100, (999-i)*100+99) }), 206, 100_000},
		{"a thousand suffixes", list(1000, func(i int) string { return fmt.Sprintf("-%d", i) }), 206, 999},
		{"a thousand in two heaps", list(1000, func(i int) string { return fmt.Sprintf("%d-%d", i%2*1_000_000+i, i%2*1_000_000+i+9) }), 206, 1008 + 1008},
		{"a thousand beyond the end", list(1000, func(i int) string { return fmt.Sprintf("%d-", size+i) }), 416, 0},
		{"a million bytes of ranges apart", list(80_000, func(i int) string { return fmt.Sprintf("%d-%d", 2*i, 2*i) }), 416, 0},
		{"a million bytes of the same", list(300_000, func(int) string { return "0-" }), 206, size},
		{"a million bytes of nothing", "bytes=0-0" + strings.Repeat(",", 1_000_000), 206, 1},
		{"a million digits", "bytes=0-" + strings.Repeat("9", 1_000_000), 206, size},
	} {
		var ranges []Range
		var err error
		used := allocated(func() { ranges, err = Parse(tt.header, size, nil) })
		var length int64
		for _, r := range ranges {
			length += r.Length
		}
		if got := judged(ranges, err); got.status != tt.status || length != tt.length {
			t.Errorf("%s: got %d with %d bytes, want %d with %d", tt.why, got.status, length, tt.status, tt.length)
		}
		most := uint64(max(perHeaderByte*len(tt.header), 16<<10))
		if raced {
			most *= 2 // the detector allocates, too
		}
		if used > most {
			t.Errorf("%s: a header of %d bytes took %d bytes, want at most %d", tt.why, len(tt.header), used, most)
		}
	}
	if _, err := Parse(list(1000, func(i int) string { return fmt.Sprintf("%d-%d", 2*i, 2*i) }), size, nil); problem.From(err).Maximum != DefaultMaxRanges {
		t.Errorf("a thousand parts: got %v, want the maximum", err)
	}
}

// TestSlowReaders has many clients that take next to nothing, in every way
// that bytes go. Each costs the server a bounded piece of memory, and another
// client is served.
func TestSlowReaders(t *testing.T) {
	const window = 4 << 10
	name := writeFile(t, pattern(32<<20))
	addr := startProcess(t, name, window)
	before := askNumber(t, "http://"+addr+"/memory")

	conns := dialSlow(t, addr, window)
	check := func(when string) {
		t.Helper()
		each := (askNumber(t, "http://"+addr+"/memory") - before) / slowReaders
		t.Logf("%s: %.0f bytes for each of %d slow readers", when, each, slowReaders)
		if each > perSlowReader {
			t.Errorf("%s: %.0f bytes for each slow reader, want at most %d", when, each, perSlowReader)
		}
	}
	check("when all wait")

	fast, request := dial(t, addr), "GET /byterange HTTP/1.1\r\nHost: x\r\nRange: bytes=1000000-1065535\r\n\r\n"
	var moving sync.WaitGroup
	moving.Go(func() { trickle(t, conns) })
	for range 200 {
		begun := time.Now()
		status, length, err := fast.ask(request)
		if took := time.Since(begun); err != nil || status != 206 || length != 65536 || took > slowAnswer {
			t.Fatalf("another client: got %d with %d bytes after %v, error %v", status, length, took, err)
		}
	}
	moving.Wait()
	check("when all have moved")
}

// slowRequests are what slow readers ask for: the kernel's way, the buffer's,
// and parts in both.
var slowRequests = []string{
	"GET /byterange HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /shared HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /byterange HTTP/1.1\r\nHost: x\r\nRange: " + ten(64<<10) + "\r\n\r\n",
	"GET /shared HTTP/1.1\r\nHost: x\r\nRange: " + ten(64<<10) + "\r\n\r\n",
}

// dialSlow opens the connections, a few at a time, and returns when each has
// been answered with a status.
func dialSlow(t *testing.T, addr string, window int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, slowReaders)
	t.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	})
	const lanes = 16
	errs := make([]error, lanes)
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			d := net.Dialer{Control: socketBuffers(window), Timeout: 30 * time.Second}
			for i := lane; i < slowReaders && errs[lane] == nil; i += lanes {
				conn, err := d.Dial("tcp", addr)
				if err == nil {
					conns[i] = conn
					_, err = io.WriteString(conn, slowRequests[i%len(slowRequests)])
				}
				errs[lane] = errors.Join(err, readSome(conn, len("HTTP/1.1 200")))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return conns
}

// readSome reads n bytes.
func readSome(conn net.Conn, n int) error {
	if conn == nil {
		return errors.New("no connection: the system may allow too few open files")
	}
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, err := io.ReadFull(conn, make([]byte, n))
	return err
}

// trickle lets every client take a little.
func trickle(t *testing.T, conns []net.Conn) {
	for _, c := range conns {
		if err := readSome(c, 3000); err != nil {
			t.Errorf("a slow reader: %v", err)
			return
		}
	}
}
