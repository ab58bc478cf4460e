package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/parley-api/parley/bench/internal/server"
)

// A contender is a server that is measured.
type contender struct {
	name       string
	engine     string // of its database: sqlite, postgres, pocketbase; "" none
	about      string
	operations []operation
	binary     string // the program that serves it

	source string // its database
	log    string
	cmd    *exec.Cmd
	ready  server.Ready
}

// contenders returns those that -only leaves, with the operations it leaves.
func contenders(s *settings) []*contender {
	all, read := single, []operation{getOne}
	lists := append(single[:3:3], list, listDeep)
	every := operations
	list := []*contender{
		{name: "constant", operations: read, about: "net/http, a constant answer"},
		{name: "hand-memory", operations: read, about: "by hand, in memory: same fields, key and log line"},
		{name: "parley-memory", operations: read, about: "Parley's conventions, rows in memory"},
		{name: "hand-sqlite", engine: "sqlite", operations: lists, about: "by hand, SQLite: no conventions"},
		{name: "parley-sqlite", engine: "sqlite", operations: every, about: "Parley, SQLite"},
		{name: "hand-postgres", engine: "postgres", operations: lists, about: "by hand, PostgreSQL: no conventions"},
		{name: "parley-postgres", engine: "postgres", operations: every, about: "Parley, PostgreSQL"},
	}
	for _, c := range list {
		c.binary = s.self
	}
	if s.peers != "" {
		list = append(list,
			&contender{name: "huma-sqlite", engine: "sqlite", operations: all, binary: s.peers, about: "huma over hand-sqlite"},
			&contender{name: "pocketbase", engine: "pocketbase", operations: append(lists[:5:5], listTotal), binary: s.peers, about: "PocketBase"},
		)
	}
	for _, c := range list {
		c.operations = slices.DeleteFunc(slices.Clone(c.operations), func(o operation) bool {
			return !s.only.MatchString(o.name + " " + c.name)
		})
	}
	return slices.DeleteFunc(list, func(c *contender) bool { return len(c.operations) == 0 })
}

func uses(list []*contender, engine string) bool {
	return slices.ContainsFunc(list, func(c *contender) bool { return c.engine == engine })
}

// start starts the servers, one after the other, each on the server's core.
func (b *bench) start(ctx context.Context) error {
	runtime.GOMAXPROCS(1)
	if err := pin(os.Getpid(), loadCore); err != nil {
		return err
	}
	if b.postgres != nil {
		b.postgres.pin(b)
	}
	for _, c := range b.contenders {
		b.say("starting %s", c.name)
		if err := c.start(ctx, b); err != nil {
			return fmt.Errorf("starting %s: %w", c.name, err)
		}
	}
	if err := b.compare(ctx); err != nil {
		return err
	}
	if err := b.walk(ctx); err != nil {
		return err
	}
	for _, c := range b.contenders {
		if err := pause(c.cmd.Process.Pid); err != nil {
			return err
		}
	}
	return nil
}

func (c *contender) start(ctx context.Context, b *bench) error {
	c.log = filepath.Join(b.dir, c.name+".log")
	errors, err := os.Create(filepath.Join(b.dir, c.name+".err"))
	if err != nil {
		return err
	}
	defer errors.Close()
	o := server.Options{Kind: c.name, Source: c.source, Log: c.log, Tasks: b.tasks}
	if b.profile != "" {
		o.Profile = filepath.Join(b.profile, c.name+".prof")
	}
	cmd := exec.CommandContext(ctx, c.binary, append([]string{"serve"}, o.Args()...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = errors
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := startPinned(cmd, serverCore); err != nil {
		return err
	}
	c.cmd = cmd
	slow := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() })
	defer slow.Stop()
	if c.ready, err = server.ReadReady(out); err != nil {
		text, _ := os.ReadFile(errors.Name())
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// stop ends the server.
func (c *contender) stop() {
	if c.cmd == nil {
		return
	}
	c.cmd.Process.Signal(syscall.SIGTERM)
	resume(c.cmd.Process.Pid)
	late := time.AfterFunc(5*time.Second, func() { c.cmd.Process.Kill() })
	defer late.Stop()
	c.cmd.Wait()
}
