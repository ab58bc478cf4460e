package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const key = "pk_bench_of_the_webhooks"

// A service is `parley serve` on a core of its own.
type service struct {
	engine string
	binary string
	data   string
	dsn    string // "" on SQLite
	flags  []string
	pinned bool // to the first core

	inFlight int // deliveries that an endpoint gets at once; 0 means 8, as by default
	process  *exec.Cmd
	url      string
	addr     string
	client   http.Client
}

// command is one that runs on the first core, where it is pinned.
func command(pinned bool, name string, args ...string) *exec.Cmd {
	if pinned {
		name, args = "taskset", append([]string{"-c", "0", name}, args...)
	}
	return exec.Command(name, args...)
}

// start runs the program and returns how long it took to be ready.
func (s *service) start() (time.Duration, error) {
	args := []string{"serve", "--addr", "127.0.0.1:0", "--data", s.data, "--admin-key", key, "--rate-limit", "off", "--insecure-webhooks"}
	if s.dsn != "" {
		args = append(args, "--database", s.dsn)
	}
	s.process = command(s.pinned, s.binary, append(args, s.flags...)...)
	log, err := os.OpenFile(filepath.Join(s.data, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	s.process.Stderr = log
	out, err := s.process.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.process.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		return 0, fmt.Errorf("the service did not start: %q, %v", line, err)
	}
	s.url, s.addr = url, strings.TrimPrefix(url, "http://")
	s.client = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	for {
		if resp, err := s.client.Get(s.url + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == 200 {
				return time.Since(began), nil
			}
		}
		if time.Since(began) > 2*time.Minute {
			return 0, fmt.Errorf("the service is not ready after two minutes")
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *service) kill() {
	s.process.Process.Kill()
	s.process.Wait()
	s.client.CloseIdleConnections()
}

// rss is the resident memory of the process, in MB.
func (s *service) rss() float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n / 1024
		}
	}
	return 0
}

// cpu is the time that the process has had of its core.
func (s *service) cpu() time.Duration {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // a tick of Linux
}

func (s *service) send(method, path, body string) ([]byte, error) {
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, b)
	}
	return b, err
}

// register makes a type of event.
func (s *service) register(name string) error {
	_, err := s.send("POST", "/event-types", fmt.Sprintf(`{"name":%q,"description":"","schema":{"type":"object"}}`, name))
	return err
}

// endpoint makes an endpoint and returns its id.
func (s *service) endpoint(url string, types ...string) (string, error) {
	list, _ := json.Marshal(append([]string{}, types...))
	b, err := s.send("POST", "/webhook-endpoints", fmt.Sprintf(`{"url":%q,"event_types":%s,"max_in_flight":%d}`, url, list, max(s.inFlight, 8)))
	var made struct{ ID string }
	if err == nil {
		err = json.Unmarshal(b, &made)
	}
	return made.ID, err
}

// publish is the raw request that publishes an event.
func (s *service) publish(dst []byte, typ string, n int) []byte {
	body := fmt.Sprintf(`{"type":%q,"data":%s}`, typ, data(n))
	return fmt.Appendf(dst, "POST /events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.addr, key, len(body), body)
}

// newService makes an empty database for a service.
func newService(engine, binary, folder, admin string) (*service, error) {
	s := &service{engine: engine, binary: binary}
	var err error
	if s.data, err = os.MkdirTemp(folder, engine); err != nil || engine == "sqlite" {
		return s, err
	}
	ctx := context.Background()
	c, err := pgx.Connect(ctx, admin)
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	name := fmt.Sprintf("hooks_%d_%d", os.Getpid(), time.Now().UnixNano())
	if _, err := c.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	at := strings.LastIndex(admin, "/")
	tail := ""
	if q := strings.Index(admin[at:], "?"); q >= 0 {
		tail = admin[at+q:]
	}
	s.dsn = admin[:at] + "/" + name + tail
	return s, nil
}
