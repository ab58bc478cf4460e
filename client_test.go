package parley_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A front stands before a service and notes what was asked and answered. It
// gives requests the admin key where they have none.
type front struct {
	*httptest.Server
	mu   sync.Mutex
	seen []exchanged
}

// exchanged is one request and its answer.
type exchanged struct {
	method, path, asked, status, given string // the Range and the Content-Range
}

func newFront(t *testing.T, svc *service) *front {
	t.Helper()
	origin, err := url.Parse(svc.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := new(front)
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // clients go away when they have enough
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(origin)
			r.Out.Header["Range"] = r.In.Header["Range"]
			if r.In.Header.Get("Authorization") == "" {
				r.Out.Header.Set("Authorization", "Bearer "+adminKey)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen = append(f.seen, exchanged{r.Request.Method, r.Request.URL.Path, r.Request.Header.Get("Range"), fmt.Sprint(r.StatusCode), r.Header.Get("Content-Range")})
			return nil
		},
	}
	f.Server = httptest.NewServer(proxy)
	t.Cleanup(f.Close)
	return f
}

// take returns what was seen since the last time.
func (f *front) take() []exchanged {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.seen
	f.seen = nil
	return seen
}

// tool runs a program in a folder. It must be installed: scripts/test does
// that.
func tool(t *testing.T, dir string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "no_proxy=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestClients downloads with the programs that people have.
func TestClients(t *testing.T) {
	svc := start(t, "sqlite", nil)
	f := newFront(t, svc)
	body := make([]byte, 24<<20)
	rand.NewChaCha8([32]byte{7}).Read(body)
	made := post(t, svc.URL+"/files?name=random.bin", "POST", bytes.NewReader(body))
	if made.status != 201 {
		t.Fatal(made)
	}
	at, sum := f.URL+made.header.Get("Location"), sha256.Sum256(body)
	whole := func(t *testing.T, path string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil || sha256.Sum256(b) != sum {
			t.Errorf("got %d other bytes, %v", len(b), err)
		}
	}
	half := func(t *testing.T, path string) {
		t.Helper()
		if err := os.WriteFile(path, body[:10_000_000], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ranges := func(t *testing.T, want ...string) {
		t.Helper()
		var got []string
		for _, e := range f.take() {
			got = append(got, e.status+" "+e.asked)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		name, why string
		run       func(t *testing.T, dir, path string)
	}{
		{"curl --range", "a part, and two of them", func(t *testing.T, dir, path string) {
			tool(t, dir, "curl", "-sS", "--fail", "--range", "100-199", "-o", path, at)
			if b, _ := os.ReadFile(path); !bytes.Equal(b, body[100:200]) {
				t.Errorf("got %d other bytes", len(b))
			}
			out := tool(t, dir, "curl", "-sS", "--range", "0-0,-1", "-o", path, "-w", "%{http_code} %{content_type}", at)
			if !strings.HasPrefix(out, "206 multipart/byteranges; boundary=") {
				t.Errorf("two parts: got %s", out)
			}
			out = tool(t, dir, "curl", "-sS", "--range", "99999999-", "-o", path, "-w", "%{http_code} %{content_type}", at)
			if out != "416 application/problem+json" {
				t.Errorf("beyond the end: got %s", out)
			}
			ranges(t, "206 bytes=100-199", "206 bytes=0-0,-1", "416 bytes=99999999-")
		}},
		{"curl -C -", "a download that was broken off goes on", func(t *testing.T, dir, path string) {
			half(t, path)
			tool(t, dir, "curl", "-sS", "--fail", "-C", "-", "-o", path, at)
			whole(t, path)
			ranges(t, "206 bytes=10000000-")
		}},
		{"wget -c", "the same", func(t *testing.T, dir, path string) {
			half(t, path)
			tool(t, dir, "wget", "-q", "-c", "-O", path, at)
			whole(t, path)
			ranges(t, "206 bytes=10000000-")
		}},
		{"wget by name", "the file is saved under its own name", func(t *testing.T, dir, _ string) {
			tool(t, dir, "wget", "-q", "--content-disposition", at)
			whole(t, filepath.Join(dir, "random.bin"))
			f.take()
		}},
		{"aria2c -x8", "eight connections fetch a part each", func(t *testing.T, dir, path string) {
			tool(t, dir, "aria2c", "-q", "-x8", "-s8", "-k1M", "--file-allocation=none", "-d", dir, "-o", filepath.Base(path), at)
			whole(t, path)
			parts := 0
			for _, e := range f.take() {
				if e.status == "206" && strings.HasPrefix(e.asked, "bytes=") {
					parts++
				} else if e.status != "200" && e.status != "206" {
					t.Errorf("got %+v", e)
				}
			}
			if parts < 4 {
				t.Errorf("got %d parts, want several", parts)
			}
		}},
		{"curl -T", "an upload streams, and its digest is checked", func(t *testing.T, dir, path string) {
			half(t, path)
			out := tool(t, dir, "curl", "-sS", "-X", "POST", "-T", path, f.URL+"/files?name=half")
			if !strings.Contains(out, `"size":10000000`) {
				t.Errorf("got %s", out)
			}
			out = tool(t, dir, "curl", "-sS", "-F", "file=@"+path+";filename=form.bin", f.URL+"/files")
			if !strings.Contains(out, `"name":"form.bin","size":10000000`) {
				t.Errorf("got %s", out)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			f.take()
			c.run(t, dir, filepath.Join(dir, "out"))
		})
	}
}

// TestNginxSlice puts nginx with the module slice in front, which fetches and
// keeps a file in parts: same bytes, right statuses.
func TestNginxSlice(t *testing.T) {
	svc := start(t, "sqlite", nil)
	f := newFront(t, svc)
	body := make([]byte, 5<<20+12345)
	rand.NewChaCha8([32]byte{9}).Read(body)
	at := post(t, svc.URL+"/files", "POST", bytes.NewReader(body)).header.Get("Location")
	addr := startSlice(t, strings.TrimPrefix(f.URL, "http://"))
	get := func(asked string) *reply {
		t.Helper()
		r, err := http.NewRequest("GET", "http://"+addr+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if asked != "" {
			r.Header.Set("Range", asked)
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
	for _, c := range []struct {
		why, asked  string
		first, last int // of the bytes
		status      int
	}{
		{"a part within one slice", "bytes=100-199", 100, 199, 206},
		{"a part over three", "bytes=1000000-3000000", 1000000, 3000000, 206},
		{"to the end", "bytes=5000000-", 5000000, len(body) - 1, 206},
		{"the whole", "", 0, len(body) - 1, 200},
		{"the whole again, from the cache", "", 0, len(body) - 1, 200},
	} {
		got := get(c.asked)
		if got.status != c.status || !bytes.Equal(got.body, body[c.first:c.last+1]) {
			t.Errorf("%s: got %d and %d bytes, want %d and %d", c.why, got.status, len(got.body), c.status, c.last-c.first+1)
		}
		if want := fmt.Sprintf("bytes %d-%d/%d", c.first, c.last, len(body)); c.status == 206 && got.header.Get("Content-Range") != want {
			t.Errorf("%s: got Content-Range %q, want %q", c.why, got.header.Get("Content-Range"), want)
		}
	}
	seen := f.take()
	for _, e := range seen {
		if e.status != "206" || !strings.HasPrefix(e.asked, "bytes=") {
			t.Errorf("nginx asked %+v, want parts only", e)
		}
	}
	if len(seen) > 6 {
		t.Errorf("nginx asked %d times, want each of six slices once", len(seen))
	}
}

// startSlice starts nginx as it is set up for large files.
func startSlice(t *testing.T, upstream string) string {
	t.Helper()
	dir, listen := t.TempDir(), freeAddr(t)
	conf := strings.NewReplacer("LISTEN", listen, "UPSTREAM", upstream, "STATE", dir).Replace(`
pid STATE/nginx.pid;
error_log STATE/error.log warn;
events {}
http {
    client_body_temp_path STATE/body;
    proxy_temp_path STATE/proxy;
    fastcgi_temp_path STATE/fastcgi;
    uwsgi_temp_path STATE/uwsgi;
    scgi_temp_path STATE/scgi;
    access_log off;
    proxy_cache_path STATE/cache keys_zone=slices:1m;
    server {
        listen LISTEN;
        location / {
            slice 1m;
            proxy_cache slices;
            proxy_cache_key $uri$slice_range;
            proxy_cache_valid 200 206 1h;
            proxy_ignore_headers Cache-Control Vary;
            proxy_set_header Range $slice_range;
            proxy_http_version 1.1;
            proxy_pass http://UPSTREAM;
        }
    }
}
`)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	globals := "daemon off;"
	if os.Getuid() == 0 {
		globals += " user root;"
	}
	cmd := exec.Command(cmp.Or(os.Getenv("PARLEY_TEST_NGINX"), "/usr/sbin/nginx"), "-e", "stderr", "-c", file, "-g", globals)
	var said journal
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting nginx: %v: install it, or name it in PARLEY_TEST_NGINX", err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	for range 200 {
		if conn, err := net.DialTimeout("tcp", listen, time.Second); err == nil {
			conn.Close()
			return listen
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("nginx does not listen: %s", said.String())
	return ""
}

// wave is a sound of some seconds: 44,100 samples a second, two channels.
func wave(seconds int) (header []byte, size int64) {
	const rate, frame = 44100, 4
	data := uint32(seconds * rate * frame)
	b := append([]byte("RIFF"), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[4:], 36+data)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate*frame)
	b = binary.LittleEndian.AppendUint16(b, frame)
	b = binary.LittleEndian.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, data)
	return b, int64(len(b)) + int64(data)
}

// TestVideo has a browser play a file of ten minutes and seek in it: it asks
// for the part it needs and gets that. What is in the file, sound or pictures,
// makes no difference to how it is fetched.
func TestVideo(t *testing.T) {
	svc := start(t, "sqlite", nil)
	f := newFront(t, svc)
	header, size := wave(600)
	made := post(t, svc.URL+"/files?name=sound.wav", "POST", io.MultiReader(bytes.NewReader(header), io.LimitReader(zeros{}, size-int64(len(header)))), "Content-Type: audio/wav")
	if made.status != 201 {
		t.Fatal(made)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			f.Config.Handler.ServeHTTP(w, r) // one origin for the page and the file
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><video id="v" src="%s" preload="metadata" muted></video>`, made.header.Get("Location"))
	}))
	defer page.Close()

	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(cmp.Or(os.Getenv("PARLEY_TEST_CHROMIUM"), "/usr/bin/chromium")), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
	}
	for _, name := range []string{"headless", "no-sandbox", "disable-gpu", "mute-audio", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(name, true))
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() { chromedp.Cancel(ctx) })
	if err := chromedp.Do(ctx, chromedp.Navigate(page.URL)); err != nil {
		t.Fatal(err)
	}
	look := func(script, want string) {
		t.Helper()
		var got string
		var err error
		for range 600 {
			got, err = chromedp.Run(ctx, chromedp.Evaluate[string]("String("+script+")"))
			if err != nil || got == want {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil || got != want {
			t.Fatalf("%s: got %s, %v, want %s", script, got, err, want)
		}
	}
	look("v.error ? v.error.message : Math.round(v.duration)", "600")
	f.take()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string]("v.currentTime = 570; ''")); err != nil {
		t.Fatal(err)
	}
	look("!v.seeking && v.readyState >= 2 && Math.round(v.currentTime)", "570")
	found := false
	for _, e := range f.take() {
		var first int64
		if n, _ := fmt.Sscanf(e.asked, "bytes=%d-", &first); n == 1 && e.status == "206" && first > size*8/10 {
			found = found || strings.HasPrefix(e.given, fmt.Sprintf("bytes %d-%d/%d", first, size-1, size))
		}
		if e.path == made.header.Get("Location") && e.status != "206" && e.status != "304" && e.status != "200" {
			t.Errorf("got %+v", e)
		}
	}
	if !found {
		t.Error("the browser did not fetch the part that it seeked to")
	}
}
