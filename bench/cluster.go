package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-api/parley/bench/internal/server"
)

// A cluster is the PostgreSQL server with the databases of this run.
type cluster struct {
	dsn       string
	version   string
	settings  string // that durability depends on
	pid       int    // of the postmaster; 0: it runs elsewhere
	pinned    bool
	databases []string
}

// preparePostgres fills one database and copies it for each contender.
func (b *bench) preparePostgres(ctx context.Context, dsn string) error {
	p := &cluster{dsn: dsn}
	b.postgres = p
	if err := p.describe(ctx); err != nil {
		return err
	}
	first, err := p.create(ctx, "seed", "")
	if err != nil {
		return err
	}
	if err := b.seedWith(ctx, b.self, server.Options{Kind: "postgres", Source: first, Tasks: b.tasks}); err != nil {
		return err
	}
	b.say("tidying PostgreSQL and copying the rows")
	if err := run1(ctx, first, "VACUUM ANALYZE"); err != nil {
		return err
	}
	for _, c := range b.contenders {
		if c.engine != "postgres" {
			continue
		}
		if c.source, err = p.create(ctx, strings.ReplaceAll(c.name, "-", "_"), p.databases[0]); err != nil {
			return err
		}
	}
	return run1(ctx, dsn, "CHECKPOINT")
}

func run1(ctx context.Context, dsn, sql string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, sql)
	return err
}

// create makes a database, a copy of another where one is named, and returns
// its DSN.
func (p *cluster) create(ctx context.Context, name, template string) (string, error) {
	name = fmt.Sprintf("parley_bench_%d_%s", os.Getpid(), name)
	sql := "CREATE DATABASE " + name
	if template != "" {
		sql += " TEMPLATE " + template + " STRATEGY file_copy"
	}
	if err := run1(ctx, p.dsn, sql); err != nil {
		return "", err
	}
	p.databases = append(p.databases, name)
	u, err := url.Parse(p.dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// drop removes the databases.
func (p *cluster) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range p.databases {
		if err := run1(ctx, p.dsn, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			fmt.Fprintln(os.Stderr, "bench: dropping a database:", err)
		}
	}
}

// describe asks the server who it is.
func (p *cluster) describe(ctx context.Context) error {
	c, err := pgx.Connect(ctx, p.dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, `SELECT current_setting('server_version'),
		'fsync=' || current_setting('fsync') || ' synchronous_commit=' || current_setting('synchronous_commit') ||
		' full_page_writes=' || current_setting('full_page_writes') || ' wal_sync_method=' || current_setting('wal_sync_method') ||
		' shared_buffers=' || current_setting('shared_buffers')`).Scan(&p.version, &p.settings)
	if err != nil {
		return err
	}
	var backend int
	if err := c.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return err
	}
	if s, err := statOf(backend); err == nil && strings.HasPrefix(s.name, "postgres") {
		p.pid = s.parent
	}
	return nil
}

// pin puts the server's processes on the servers' core.
func (p *cluster) pin(b *bench) {
	if p.pid == 0 {
		b.say("note: PostgreSQL does not run here; its core and its CPU time are its own")
		return
	}
	for _, pid := range append([]int{p.pid}, children(p.pid)...) {
		if err := pin(pid, serverCore); err != nil {
			b.say("note: PostgreSQL runs on any core: %v", err)
			return
		}
	}
	p.pinned = true
}

// cpu is the CPU time of all of the server's processes.
func (p *cluster) cpu() time.Duration {
	if p.pid == 0 {
		return 0
	}
	return family(p.pid)
}
