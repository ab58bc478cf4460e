package parley_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/blob"
	"github.com/parley-api/parley/blob/blobtest"
	"github.com/parley-api/parley/digest"
)

// TestBucket has the conversations about bytes again, with the bytes in a
// bucket of a real S3 server.
func TestBucket(t *testing.T) {
	server := blobtest.Serve(t)
	for _, f := range readWireFiles(t) {
		if !slices.Contains([]string{"files", "images", "empty", "rfcbytes"}, f.name) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			w := openWire(t, f, "sqlite", func(cfg *parley.Config) {
				cfg.Blobs = strings.Replace(server.URL, "/bytes?", "/bytes/"+f.name+"?", 1)
			})
			w.seen, w.docs = newTally(), newDescriptions()
			w.play()
		})
	}
	objects, err := filepath.Glob(filepath.Join(server.Folder, "files", "kept", "*"))
	if err != nil || len(objects) < 5 {
		t.Errorf("the bucket has %d objects, %v, want those of the files", len(objects), err)
	}
}

// zeros is a body of zeros.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// transmit sends a body without holding it in memory.
func transmit(t testing.TB, url, method string, body io.Reader, lines ...string) *reply {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminKey)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &reply{resp.StatusCode, resp.Header, b}
}

// TestUploadMemory sends 256 MiB, raw and as a form, and looks at the heap
// meanwhile: it does not grow with the upload.
func TestUploadMemory(t *testing.T) {
	const size, bound = 256 << 20, 48 << 20
	svc := start(t, "sqlite", nil)
	h := sha256.New()
	io.Copy(h, io.LimitReader(zeros{}, size))
	sum := digest.Format(digest.Sum(h.Sum(nil)))
	head := "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"z\"\r\n\r\n"
	for _, c := range []struct {
		why, contentType string
		body             io.Reader
	}{
		{"raw", "application/octet-stream", io.LimitReader(zeros{}, size)},
		{"a form", "multipart/form-data; boundary=XX", io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, size), strings.NewReader("\r\n--XX--\r\n"))},
	} {
		peak := watchHeap()
		got := transmit(t, svc.URL+"/files", "POST", c.body, "Content-Type: "+c.contentType)
		most := peak()
		if got.status != 201 || got.json()["size"] != float64(size) || got.json()["digest"] != sum {
			t.Errorf("%s: got %s, want 201 with %d bytes", c.why, got, size)
		}
		if most > bound {
			t.Errorf("%s: the heap grew by %d MiB, want at most %d", c.why, most>>20, bound>>20)
		}
		t.Logf("%s: the heap grew by %.1f MiB", c.why, float64(most)/(1<<20))
	}
}

// watchHeap returns a function that ends the watch and returns by how many
// bytes the heap grew at most.
func watchHeap() func() int64 {
	live := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before := live()
	var most atomic.Int64
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				most.Store(max(most.Load(), live()-before))
			}
		}
	})
	return func() int64 {
		close(done)
		watch.Wait()
		return most.Load()
	}
}

// slowly gives a few bytes at a time.
type slowly struct {
	left  int
	pause time.Duration
}

func (s *slowly) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(s.pause)
	s.left--
	return copy(b, "drip"), nil
}

// TestSlowUpload sends for longer than the server's limits on time allow other
// requests to last: a client that moves is served.
func TestSlowUpload(t *testing.T) {
	svc := start(t, "sqlite", nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: svc, ReadTimeout: time.Second, WriteTimeout: time.Second}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	url := "http://" + l.Addr().String()
	got := transmit(t, url+"/files", "POST", &slowly{left: 30, pause: 100 * time.Millisecond})
	if got.status != 201 || got.json()["size"] != 120.0 {
		t.Errorf("got %s, want 201 with 120 bytes", got)
	}
	r, err := http.NewRequest("GET", url+"/largefile", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminKey)
	r.Header.Set("Range", "bytes=0-33554431")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 12 { // three seconds, and then the rest
		io.CopyN(io.Discard, resp.Body, 64<<10)
		time.Sleep(250 * time.Millisecond)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 32<<20-12*64<<10 {
		t.Errorf("a slow download: got %d more bytes, %v", n, err)
	}
}

// TestBrokenUpload goes away in the midst of an upload and of a replacement:
// nothing is left of them.
func TestBrokenUpload(t *testing.T) {
	var data string
	svc := start(t, "sqlite", func(cfg *parley.Config) { data = cfg.Data })
	first := transmit(t, svc.URL+"/files", "POST", strings.NewReader("before"))
	for _, target := range []string{"POST /files", "PUT " + first.header.Get("Location")} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(svc.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 1000000\r\n\r\n%s", target, adminKey, strings.Repeat("half", 1000))
		time.Sleep(50 * time.Millisecond)
		conn.Close()
	}
	files := func() (all []string) {
		filepath.WalkDir(filepath.Join(data, "blobs"), func(path string, d os.DirEntry, _ error) error {
			if !d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		return all
	}
	for range 100 {
		if len(files()) == 1 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got := files(); len(got) != 1 {
		t.Errorf("got %q, want one file", got)
	}
	c := caller{t, svc.URL, adminKey}
	if got := c.call("GET", first.header.Get("Location"), ""); string(got.body) != "before" {
		t.Errorf("got %s, want what was there before", got)
	}
	if got := c.call("GET", "/files?include_total=true", "").json(); member(got, "pagination", "total") != 1.0 {
		t.Errorf("got %v, want one file", got)
	}
}

// sweeping are services whose clock a test moves, with bytes in a folder and in
// a bucket. The bucket has a clock of its own, so there the App's is ahead.
func sweeping(t *testing.T, run func(t *testing.T, svc *service, later func())) {
	for _, engine := range append(engines, "bucket") {
		t.Run(engine, func(t *testing.T) {
			var ahead atomic.Int64
			svc := start(t, strings.Replace(engine, "bucket", "sqlite", 1), func(cfg *parley.Config) {
				cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
				if engine == "bucket" {
					cfg.Blobs = blobtest.Serve(t).URL
				}
			})
			run(t, svc, func() { ahead.Add(int64(90 * time.Minute)) })
		})
	}
}

func sweep(t *testing.T, svc *service) blob.Swept {
	t.Helper()
	done, err := svc.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestSweep deletes rows and replaces bytes: what no row of any account and
// table needs is gone two sweeps later, and nothing else is.
func TestSweep(t *testing.T) {
	sweeping(t, func(t *testing.T, svc *service, later func()) {
		c := caller{t, svc.URL, adminKey}
		const gif = "GIF89a shared"
		at := func(path, body string) string {
			return transmit(t, svc.URL+path, "POST", strings.NewReader(body)).header.Get("Location")
		}
		shared, picture, doomed, replaced := at("/files", gif), at("/images", gif), at("/files", "doomed"), at("/files", "old")
		transmit(t, svc.URL+replaced, "PUT", strings.NewReader("new"))
		c.call("DELETE", doomed, "")
		c.call("DELETE", shared, "")
		if got := sweep(t, svc); got != (blob.Swept{}) {
			t.Errorf("at once: got %+v, want nothing", got)
		}
		later()
		if got, want := sweep(t, svc), (blob.Swept{Trashed: 2}); got != want {
			t.Errorf("after an hour: got %+v, want %+v", got, want)
		}
		doomed = at("/files", "doomed") // again, while its bytes are in the trash
		later()
		done := sweep(t, svc)
		if done.Deleted != 1 || done.Trashed != 0 {
			t.Errorf("after two: got %+v, want one deleted", done)
		}
		later()
		later()
		sweep(t, svc)
		for path, want := range map[string]string{picture: gif, doomed: "doomed", replaced: "new"} {
			if got := c.call("GET", path, ""); string(got.body) != want {
				t.Errorf("GET %s: got %s, want %s", path, got, want)
			}
		}
		if got := sweep(t, svc); got != (blob.Swept{}) {
			t.Errorf("at last: got %+v, want nothing", got)
		}
	})
}

// TestSweepRace uploads the same few bytes, reads and deletes them while
// sweeps of an eager clock run: what was acknowledged can be read.
func TestSweepRace(t *testing.T) {
	sweeping(t, func(t *testing.T, svc *service, later func()) {
		ctx, stop := context.WithCancel(t.Context())
		var sweeper, uploads sync.WaitGroup
		sweeper.Go(func() {
			for ctx.Err() == nil {
				if _, err := svc.Sweep(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
		c := caller{t, svc.URL, adminKey}
		for u := range 4 {
			uploads.Go(func() {
				for i := range 15 {
					body := fmt.Sprintf("bytes %d", (u+i)%3)
					made := transmit(t, svc.URL+"/files", "POST", strings.NewReader(body))
					if made.status != 201 {
						t.Errorf("got %s, want 201", made)
						return
					}
					path := made.header.Get("Location")
					if i == 7 && u == 0 {
						later() // everything there was so far is old now
					}
					if got := c.call("GET", path, ""); got.status != 200 || string(got.body) != body {
						t.Errorf("GET %s: got %s, want %s", path, got, body)
					}
					if i%2 == 0 {
						c.call("DELETE", path, "")
					}
				}
			})
		}
		uploads.Wait()
		stop()
		sweeper.Wait()
		var page struct{ Data []struct{ ID json.Number } }
		json.Unmarshal(c.call("GET", "/files?limit=100", "").body, &page)
		for _, f := range page.Data {
			if got := c.call("GET", "/files/"+f.ID.String(), ""); got.status != 200 {
				t.Errorf("the file %s: got %s, want its bytes", f.ID, got)
			}
		}
	})
}

// TestDiskFull uploads to a disk that becomes full. The disk is a file system
// of 4 MiB in memory where that may be mounted, and else a limit on the size of
// files. Both are the kernel's, and the first is what really happens.
func TestDiskFull(t *testing.T) {
	data := t.TempDir()
	blobs := filepath.Join(data, "blobs")
	if err := os.Mkdir(blobs, 0o700); err != nil {
		t.Fatal(err)
	}
	limit := syscall.Rlimit{}
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", blobs).Run(); err == nil {
		t.Cleanup(func() { exec.Command("umount", blobs).Run() })
		t.Log("on a file system of 4 MiB")
	} else {
		if err := errors.Join(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit), ignoreFileSize()); err != nil {
			t.Fatal(err)
		}
		t.Log("with a limit of 4 MiB on the size of a file")
	}
	svc := start(t, "sqlite", func(cfg *parley.Config) { cfg.Data = data })
	first := transmit(t, svc.URL+"/files", "POST", strings.NewReader("before"))
	if first.status != 201 {
		t.Fatalf("got %s, want 201", first)
	}
	if limit.Max != 0 {
		small := syscall.Rlimit{Cur: 4 << 20, Max: limit.Max}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) })
	}
	c := caller{t, svc.URL, adminKey}
	for _, target := range []string{"POST /files", "PUT " + first.header.Get("Location")} {
		method, path, _ := strings.Cut(target, " ")
		got := transmit(t, svc.URL+path, method, bytes.NewReader(make([]byte, 8<<20)))
		if !got.isProblem(507, "insufficient-storage") {
			t.Errorf("%s: got %s, want 507", target, got)
		}
	}
	if got := c.call("GET", first.header.Get("Location"), ""); string(got.body) != "before" {
		t.Errorf("got %s, want the old bytes", got)
	}
	if got := transmit(t, svc.URL+"/files", "POST", strings.NewReader("small again")); got.status != 201 {
		t.Errorf("what fits: got %s, want 201", got)
	}
}

// TestAccountBytes lets an account have a hundred bytes: files and images count
// together, each account for itself, and what is replaced makes room.
func TestAccountBytes(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			svc := start(t, engine, func(cfg *parley.Config) {
				deaf(cfg)
				cfg.MaxAccountBytes = 100
			})
			other := admit(svc, t, "other")
			send := func(method, path string, n int, chunked bool) *reply {
				body := io.Reader(strings.NewReader("GIF89a" + strings.Repeat("x", n-6)))
				if chunked {
					body = io.MultiReader(body) // of unknown length
				}
				return transmit(t, svc.URL+path, method, body)
			}
			file := send("POST", "/files", 60, false)
			for _, c := range []struct {
				why, method, path string
				size              int
				chunked           bool
				want              int
			}{
				{"too much by its length", "POST", "/images", 41, false, 507},
				{"too much as it comes", "POST", "/images", 41, true, 507},
				{"as much as there is", "POST", "/images", 40, true, 201},
				{"nothing is left", "POST", "/files", 6, true, 507},
				{"a replacement that is too large", "PUT", file.header.Get("Location"), 61, true, 507},
				{"a replacement that fits", "PUT", file.header.Get("Location"), 50, false, 200},
				{"what it freed", "POST", "/files", 10, false, 201},
			} {
				got := send(c.method, c.path, c.size, c.chunked)
				if got.status != c.want || c.want == 507 && got.json()["maximum"] != 100.0 {
					t.Errorf("%s: got %s, want %d", c.why, got, c.want)
				}
			}
			if got := transmit(t, svc.URL+"/files", "POST", strings.NewReader("")); got.status != 201 {
				t.Errorf("an empty file: got %s, want 201", got)
			}
			if got := other.call("POST", "/files", "six...", typeOf("/files")...); got.status != 201 {
				t.Errorf("another account: got %s, want 201", got)
			}
		})
	}
}
