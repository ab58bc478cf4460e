package main_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley/blob/blobtest"
)

// The promise under test: kill -9 at any moment of an upload or a replacement
// leaves no half file, no row without its bytes, and nothing that was
// acknowledged is lost.
const (
	cutUploads = 200 // uploads and replacements that a kill cuts short; a tenth with -short and in a bucket
	uploaders  = 4
	filesEach  = 6
)

// A stored is a file as its uploader knows it.
type stored struct {
	name string
	id   int64  // 0: nobody said yet that it exists
	sum  string // of what was acknowledged last, as in Repr-Digest
	next string // of what was sent and not acknowledged; "" none
	key  string // of the upload, if it has one
	body []byte // of what was sent last
}

// description is a file as the service describes it.
type description struct {
	ID     int64
	Name   string
	Size   int64
	Digest string
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// hesitant sends a body in pieces, with pauses.
type hesitant struct{ rest []byte }

func (h *hesitant) Read(b []byte) (int, error) {
	if len(h.rest) == 0 {
		return 0, io.EOF
	}
	if rand.IntN(3) == 0 {
		time.Sleep(rand.N(4 * time.Millisecond))
	}
	n := copy(b[:min(len(b), 1+rand.IntN(16<<10))], h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// An uploader makes and replaces files of its own, one after the other.
type uploader struct {
	name   string
	made   int
	files  []*stored
	cut    *stored // what was under way when the service was killed; nil nothing
	acked  int
	faults []string
}

// send makes a request about bytes.
func (c *client) bytes(method, path, key string, body []byte) (*http.Response, []byte, error) {
	r, err := http.NewRequest(method, c.url+path, nil)
	if err != nil {
		return nil, nil, err
	}
	if body != nil {
		r.Body = io.NopCloser(&hesitant{body})
		if r.ContentLength = int64(len(body)); rand.IntN(2) == 0 {
			r.ContentLength = -1 // in chunks
		}
	}
	r.Header.Set("Authorization", "Bearer "+killKey)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, b, err
}

// run uploads until the service is gone.
func (u *uploader) run(c *client, killed *atomic.Bool) {
	for u.step(c, killed) {
	}
}

func (u *uploader) step(c *client, killed *atomic.Bool) bool {
	u.made++
	body := make([]byte, rand.IntN(96<<10))
	rand.NewChaCha8([32]byte{byte(u.made), byte(u.made >> 8), u.name[1]}).Read(body)
	var f *stored
	if len(u.files) < filesEach {
		f = &stored{name: fmt.Sprintf("%s-%d", u.name, u.made)}
		if rand.IntN(2) == 0 {
			f.key = "key-" + f.name
		}
	} else {
		f = u.files[rand.IntN(len(u.files))]
	}
	f.body, f.next = body, sumOf(body)
	u.cut = f
	if err := u.put(c, f); err != nil {
		if !killed.Load() {
			u.faults = append(u.faults, fmt.Sprintf("%s: before the kill: %v", f.name, err))
		}
		return false
	}
	u.cut = nil
	u.acked++
	return len(u.faults) == 0
}

// put sends what is next of a file and takes note of the answer. An error means
// that no whole answer came.
func (u *uploader) put(c *client, f *stored) error {
	method, path, want := http.MethodPost, "/files?name="+f.name, http.StatusCreated
	if f.id != 0 {
		method, path, want = http.MethodPut, "/files/"+strconv.FormatInt(f.id, 10), http.StatusOK
	}
	resp, b, err := c.bytes(method, path, f.key, f.body)
	if err != nil {
		return err
	}
	var got description
	if err := json.Unmarshal(b, &got); err != nil || resp.StatusCode != want || got.Digest != f.next || got.Size != int64(len(f.body)) {
		u.faults = append(u.faults, fmt.Sprintf("%s %s: got %d %s, want %d with %s", method, f.name, resp.StatusCode, b, want, f.next))
		return nil
	}
	if f.id == 0 {
		f.id = got.ID
		u.files = append(u.files, f)
	}
	f.sum, f.next, f.key = f.next, "", ""
	return nil
}

// look checks a file of which nothing but its row is known: its bytes are
// those that the row describes. It returns their digest.
func look(c *client, d description) (string, error) {
	resp, b, err := c.bytes(http.MethodGet, "/files/"+strconv.FormatInt(d.ID, 10), "", nil)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: got %d %s: a row without its bytes", d.Name, resp.StatusCode, bytes.TrimSpace(b[:min(len(b), 300)]))
	}
	if sum := sumOf(b); sum != d.Digest || sum != resp.Header.Get("Repr-Digest") || int64(len(b)) != d.Size {
		return "", fmt.Errorf("%s: got %d bytes with %s, described as %d with %s", d.Name, len(b), sum, d.Size, d.Digest)
	}
	return d.Digest, nil
}

// settle finds out, after a kill, what became of an upload that it cut short.
func (u *uploader) settle(c *client) {
	fault := func(format string, args ...any) { u.faults = append(u.faults, fmt.Sprintf(format, args...)) }
	f := u.cut
	if u.cut = nil; f == nil {
		return
	}
	created := f.id == 0
	if created && f.key != "" { // sent again with its key, it happens once
		if err := u.put(c, f); err != nil {
			fault("%s, sent again after the kill: %v", f.name, err)
		}
	}
	rows, err := walk[description](c, "/files?limit=100&name="+url.QueryEscape(f.name))
	if err != nil {
		fault("%s: %v", f.name, err)
		return
	}
	if len(rows) > 1 || !created && len(rows) != 1 || created && f.id != 0 && len(rows) != 1 {
		fault("%s: got %d rows", f.name, len(rows))
		return
	}
	if len(rows) == 0 {
		return // it did not happen
	}
	sum, err := look(c, rows[0])
	switch {
	case err != nil:
		fault("after the kill: %v", err)
	case sum != f.sum && sum != f.next:
		fault("%s: got %s, want %s or %s", f.name, sum, f.sum, f.next)
	case f.id == 0:
		f.id = rows[0].ID
		u.files = append(u.files, f)
	}
	f.sum, f.next, f.key = sum, "", ""
}

// TestUploadKill kills the real program while files are uploaded to it and
// replaced, with the bytes in its folder and in a bucket.
func TestUploadKill(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "parley")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	want := cutUploads
	if testing.Short() {
		want /= 10
	}
	t.Run("folder", func(t *testing.T) {
		cutShort(t, want, func() func() { return func() {} }, binary)
	})
	t.Run("bucket", func(t *testing.T) {
		dsn, quiet := emptyDatabase(t)
		cutShort(t, cutUploads/10, quiet, binary, "--database", dsn, "--blobs", blobtest.Serve(t).URL)
	})
}

// cutShort kills the service until enough uploads were cut short. Quiet is as
// in besiege.
func cutShort(t *testing.T, want int, quiet func() func(), binary string, flags ...string) {
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	s := &siege{t: t, stderr: stderr, command: slices.Concat([]string{
		binary, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--admin-key", killKey, "--rate-limit", "off", "--log-level", "error",
	}, flags)}
	var all []*uploader
	for i := range uploaders {
		all = append(all, &uploader{name: fmt.Sprintf("u%d", i)})
	}
	cmd, c := s.begin()
	cut, kills := 0, 0
	for cut < want && kills < 2*want {
		var killed atomic.Bool
		var work sync.WaitGroup
		for _, u := range all {
			work.Go(func() { u.run(c, &killed) })
		}
		time.Sleep(5*time.Millisecond + rand.N(120*time.Millisecond))
		killed.Store(true)
		cmd.Process.Kill()
		cmd.Wait()
		work.Wait()
		c.CloseIdleConnections()
		kills++
		settled := quiet()
		cmd, c = s.begin()
		settled()
		for _, u := range all {
			if u.cut != nil {
				cut++
			}
			u.settle(c)
			s.report(u.faults)
		}
	}
	acked := inspectAll(s, c, all)
	cmd.Process.Kill()
	cmd.Wait()
	t.Logf("%d kills cut %d uploads and replacements short; %d were acknowledged, none of them lost", kills, cut, acked)
	if least := want / 4; cut < want || acked < least { // on a busy machine most are cut short
		t.Errorf("got %d cut short and %d acknowledged, want %d and %d at least", cut, acked, want, least)
	}
}

// inspectAll looks at every row, and for every file that was acknowledged.
func inspectAll(s *siege, c *client, all []*uploader) (acked int) {
	rows, err := walk[description](c, "/files?limit=100")
	if err != nil {
		s.t.Fatal(err)
	}
	present := make(map[int64]string)
	for _, d := range rows {
		sum, err := look(c, d)
		if err != nil {
			s.report([]string{err.Error()})
		}
		present[d.ID] = sum
	}
	for _, u := range all {
		acked += u.acked
		for _, f := range u.files {
			if got := present[f.id]; got != f.sum {
				s.report([]string{fmt.Sprintf("%s: got %q, want %s", f.name, got, f.sum)})
			}
			delete(present, f.id)
		}
	}
	if len(present) > 0 {
		s.report([]string{fmt.Sprintf("there are %d files that nobody knows: %v", len(present), strings.Join(strings.Fields(fmt.Sprint(present)), " "))})
	}
	return acked
}
