package byterange

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func benchmark(b *testing.B, size int64, status int, header string) {
	name := writeFile(b, pattern(size))
	addr := startProcess(b, name, 0)
	used := func() float64 { return askNumber(b, "http://"+addr+"/cpu") }
	for _, path := range []string{"/standard", "/byterange"} {
		b.Run(path[1:], func(b *testing.B) {
			request := "GET " + path + " HTTP/1.1\r\nHost: x\r\n"
			if header != "" {
				request += "Range: " + header + "\r\n"
			}
			request += "\r\n"
			c := dial(b, addr)
			b.ReportAllocs()
			var length int64
			before, n := used(), 0
			for b.Loop() {
				got, body, err := c.ask(request)
				if err != nil || got != status {
					b.Fatalf("got %d, error %v, want %d", got, err, status)
				}
				length = body
				n++
			}
			b.SetBytes(length)
			b.ReportMetric((used()-before)/float64(n), "cpu-us/op")
		})
	}
}

// A sink is a response that nobody reads.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(b []byte) (int, error) { return len(b), nil }
func (s sink) WriteHeader(int)             {}

// BenchmarkServe is the work of the package alone.
func BenchmarkServe(b *testing.B) {
	shared := bytes.NewReader(pattern(32 << 20))
	for _, bb := range []struct{ name, header string }{
		{"small", ""}, {"one", "bytes=1000000-1004095"}, {"ten", ten(4 << 10)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := Content{Size: shared.Size(), ETag: `"file"`, ReaderAt: shared}
			r := &http.Request{Method: "GET", Header: http.Header{}}
			if bb.header != "" {
				r.Header.Set("Range", bb.header)
			} else {
				c.Size = 1000
			}
			w := sink{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				if err := Serve(w, r, c, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// ten returns a header of ten ranges of n bytes, far from each other.
func ten(n int) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, ",%d-%d", i*3_000_000+17, i*3_000_000+17+n-1)
	}
	return "bytes=" + b.String()[1:]
}

// The CPU time of the server's process is the figure to look at: cpu-us/op.
func BenchmarkWhole(b *testing.B)  { benchmark(b, 256<<20, 200, "") }
func BenchmarkOne4K(b *testing.B)  { benchmark(b, 32<<20, 206, "bytes=1000000-1004095") }
func BenchmarkOne(b *testing.B)    { benchmark(b, 32<<20, 206, "bytes=1000000-1065535") }
func BenchmarkTen4K(b *testing.B)  { benchmark(b, 32<<20, 206, ten(4<<10)) }
func BenchmarkTen64K(b *testing.B) { benchmark(b, 32<<20, 206, ten(64<<10)) }
