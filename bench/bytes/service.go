package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// serviceKey is the admin key of a service that lives as long as the run.
const serviceKey = "pk_bench_of_bytes_admin"

// parley is the service as a whole, with every convention on: the one that runs
// at -url, or one of its own.
func (b *bench) parley(ctx context.Context) (*contender, error) {
	c := &contender{name: "parley", about: "the whole service"}
	if b.url == "" {
		return c, b.startService(ctx, c)
	}
	u, err := url.Parse(b.url)
	if err != nil {
		return nil, fmt.Errorf("-url: %w", err)
	}
	c.addr, c.path, c.key, c.pid = u.Host, u.RequestURI(), b.key, b.pid
	return c, pin(b.pid, serverCore)
}

// startService starts the service as it is shipped, on SQLite in a folder that
// goes with the run, with a quota that does not bite and a log in a file, and
// uploads the file to it.
func (b *bench) startService(ctx context.Context, c *contender) error {
	c.about = "the whole service, on SQLite, with a quota and a log"
	program := b.program
	if program == "" {
		program = filepath.Join(b.dir, "parley")
		cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/parley")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build has it
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building the service: %w\n%s", err, out)
		}
	}
	said, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return err
	}
	c.version, _, _ = strings.Cut(strings.TrimSpace(string(said)), "\n")
	if c.addr, err = freeAddr(); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(b.dir, "parley.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, program, "serve", "--addr", c.addr, "--data", filepath.Join(b.dir, "data"), "--rate-limit", "60000000/1m")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "PARLEY_ADMIN_KEY="+serviceKey)
	if err := c.listen(cmd, log); err != nil {
		return err
	}
	c.key = serviceKey
	if err = b.upload(ctx, c); err != nil {
		text, _ := os.ReadFile(log.Name())
		err = fmt.Errorf("uploading the file: %w\n%s", err, text[max(0, len(text)-2000):])
	}
	return err
}

// upload stores the file in the service.
func (b *bench) upload(ctx context.Context, c *contender) error {
	say("uploading %d MiB to the service", b.size>>20)
	f, err := os.Open(b.file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.addr+"/files", f)
	if err != nil {
		return err
	}
	r.ContentLength = b.size
	r.Header = http.Header{"Authorization": {"Bearer " + c.key}, "Content-Type": {"application/octet-stream"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("got status %d: %s, error %v", resp.StatusCode, bytes.TrimSpace(body), err)
	}
	c.path = resp.Header.Get("Location")
	return nil
}
