package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/parley-api/parley/bench/internal/server"
)

// caddyVersion is the one that is built where none is named.
const caddyVersion = "v2.11.7"

// The cores of servers and load.
const (
	serverCore = 0
	loadCore   = 1
)

// A contender is a server that is measured.
type contender struct {
	name    string
	about   string
	version string
	addr    string
	path    string
	key     string // sent as a bearer; "" means none
	pid     int
	cmd     *exec.Cmd // nil: it was running
}

// A bench is one run.
type bench struct {
	*settings
	dir        string
	contenders []*contender
	figures    []*figure
}

// start starts the servers, one after the other, on the servers' core.
func (b *bench) start(ctx context.Context) error {
	runtime.GOMAXPROCS(1)
	if runtime.NumCPU() < 2 {
		return errors.New("servers and load need a core each; this machine has one")
	}
	if err := pin(os.Getpid(), loadCore); err != nil {
		return err
	}
	for _, f := range []func(context.Context) (*contender, error){b.standard, b.parley, b.byterange, b.startNginx, b.startCaddy} {
		c, err := f(ctx)
		if c != nil {
			b.contenders = append(b.contenders, c) // also one that must be stopped
		}
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if err := b.agree(c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (b *bench) close() {
	for _, c := range b.contenders {
		if c.cmd == nil {
			continue
		}
		c.cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(5*time.Second, func() { c.cmd.Process.Kill() })
		c.cmd.Wait()
		late.Stop()
	}
}

func (b *bench) standard(ctx context.Context) (*contender, error) {
	return b.self(ctx, &contender{name: "standard", about: "http.ServeContent"})
}

// byterange is the package by itself, for comparison: it has no bars.
func (b *bench) byterange(ctx context.Context) (*contender, error) {
	return b.self(ctx, &contender{name: "byterange", about: "the package in a handler"})
}

// self serves with this very program.
func (b *bench) self(ctx context.Context, c *contender) (*contender, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "serve", c.name, b.file)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := startPinned(cmd, serverCore); err != nil {
		return nil, err
	}
	ready, err := server.ReadReady(out)
	if err != nil {
		return nil, err
	}
	c.cmd, c.pid, c.addr, c.path, c.version = cmd, cmd.Process.Pid, ready.Addr, "/", ready.Version
	return c, nil
}

// nginxConf is nginx with one worker, as fast as it serves a file.
const nginxConf = `
worker_processes 1;
daemon off;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    default_type application/octet-stream;
    client_body_temp_path %[1]s/body;
    proxy_temp_path %[1]s/proxy;
    fastcgi_temp_path %[1]s/fastcgi;
    uwsgi_temp_path %[1]s/uwsgi;
    scgi_temp_path %[1]s/scgi;
    server { listen %[2]s; root %[3]s; }
}
`

func (b *bench) startNginx(ctx context.Context) (*contender, error) {
	if b.nginx == "-" {
		return nil, nil
	}
	if out, err := exec.CommandContext(ctx, filepath.Join("scripts", "need"), "nginx-light="+b.nginx).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("installing nginx: %w\n%s", err, out)
	}
	c := &contender{name: "nginx", about: "one worker, sendfile on, no access log", path: "/" + filepath.Base(b.file)}
	said, err := exec.CommandContext(ctx, b.nginx, "-v").CombinedOutput()
	if err != nil {
		return nil, err
	}
	c.version = strings.TrimSpace(string(said[bytes.LastIndexByte(said, '/')+1:]))
	if c.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	conf := filepath.Join(b.dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, b.dir, c.addr, filepath.Dir(b.file)), 0o600); err != nil {
		return nil, err
	}
	args := []string{"-e", "stderr", "-c", conf}
	if os.Getuid() == 0 {
		args = append(args, "-g", "user root;") // the folders are ours alone
	}
	return c, c.listen(exec.CommandContext(ctx, b.nginx, args...), nil)
}

func (b *bench) startCaddy(ctx context.Context) (*contender, error) {
	if b.caddy == "-" {
		return nil, nil
	}
	c := &contender{name: "caddy", about: "file-server, no access log", path: "/" + filepath.Base(b.file)}
	program := b.caddy
	if program == "" {
		folder, err := cache()
		if err != nil {
			return nil, err
		}
		program = filepath.Join(folder, "caddy-"+caddyVersion, "caddy")
		if err := buildCaddy(ctx, program); err != nil {
			return nil, err
		}
	}
	said, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return nil, err
	}
	if c.version, _, _ = strings.Cut(strings.TrimSpace(string(said)), " "); b.caddy == "" {
		c.version = caddyVersion // one that was built here does not know
	}
	if c.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "file-server", "--listen", c.addr, "--root", filepath.Dir(b.file))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "XDG_DATA_HOME="+b.dir, "XDG_CONFIG_HOME="+b.dir)
	return c, c.listen(cmd, nil)
}

// buildCaddy has the go command build it, once.
func buildCaddy(ctx context.Context, program string) error {
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	say("building Caddy %s, which takes minutes", caddyVersion)
	cmd := exec.CommandContext(ctx, "go", "install", "github.com/caddyserver/caddy/v2/cmd/caddy@"+caddyVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+filepath.Dir(program))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building Caddy: %w (leave it out with -caddy -)\n%s", err, out)
	}
	return nil
}

// listen starts a program and waits until it listens. What it says goes to a
// file, or where that is nil into the error.
func (c *contender) listen(cmd *exec.Cmd, log *os.File) error {
	var said bytes.Buffer
	if cmd.Stderr = &said; log != nil {
		cmd.Stderr = log
	}
	if err := startPinned(cmd, serverCore); err != nil {
		return err
	}
	c.cmd, c.pid = cmd, cmd.Process.Pid
	for range 500 {
		if conn, err := net.DialTimeout("tcp", c.addr, time.Second); err == nil {
			return conn.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	cmd.Process.Kill()
	cmd.Wait()
	c.cmd = nil
	return fmt.Errorf("%s does not listen: %s", c.name, &said)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
