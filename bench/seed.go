package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/bench/internal/server"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
	"github.com/parley-api/parley/store"
)

// prepare gives every contender a database of its own with the same rows.
func (b *bench) prepare(ctx context.Context, dsn string) error {
	var err error
	if b.fsync, err = flushTime(b.dir); err != nil {
		return err
	}
	if filesystem(b.dir) == "tmpfs" {
		b.say("note: %s is in memory, so that no write there is durable; name another folder with -cache", b.cache)
	}
	if uses(b.contenders, "sqlite") {
		if err := b.prepareSQLite(ctx); err != nil {
			return fmt.Errorf("preparing the SQLite files: %w", err)
		}
	}
	if uses(b.contenders, "postgres") {
		if err := b.preparePostgres(ctx, dsn); err != nil {
			return fmt.Errorf("preparing PostgreSQL: %w", err)
		}
	}
	for _, c := range b.contenders {
		if c.engine == "pocketbase" {
			if err := b.preparePeer(ctx, c); err != nil {
				return fmt.Errorf("preparing %s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (b *bench) prepareSQLite(ctx context.Context) error {
	print, err := fingerprint(ctx, filepath.Join(b.dir, "empty.db"))
	if err != nil {
		return err
	}
	kept := filepath.Join(b.cache, fmt.Sprintf("sqlite-%d-%s.db", b.tasks, print))
	if !isFile(kept) {
		made := filepath.Join(b.dir, "seed.db")
		if err := b.seedWith(ctx, b.self, server.Options{Kind: "sqlite", Source: made, Tasks: b.tasks}); err != nil {
			return err
		}
		old, _ := filepath.Glob(filepath.Join(b.cache, fmt.Sprintf("sqlite-%d-*.db", b.tasks)))
		for _, path := range old {
			os.Remove(path)
		}
		if err := os.Rename(made, kept); err != nil {
			return err
		}
	}
	for _, c := range b.contenders {
		if c.engine != "sqlite" {
			continue
		}
		c.source = filepath.Join(b.dir, c.name+".db")
		b.say("copying the rows for %s", c.name)
		if err := copyFile(c.source, kept); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint names the tables of the service as it is now, so that files of
// an older one are not used.
func fingerprint(ctx context.Context, path string) (string, error) {
	app, err := openApp(ctx, parley.Config{Database: path, Data: filepath.Dir(path), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	if err := app.Close(); err != nil {
		return "", err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return "", err
	}
	defer db.Close()
	found, err := db.QueryContext(ctx, "SELECT coalesce(sql, '') FROM sqlite_master UNION ALL SELECT definition FROM shape ORDER BY 1")
	if err != nil {
		return "", err
	}
	defer found.Close()
	hash := sha256.New()
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			return "", err
		}
		io.WriteString(hash, text)
	}
	hash.Write(document(1))
	return hex.EncodeToString(hash.Sum(nil)[:6]), found.Err()
}

// seedWith has a program fill a database, in a process of its own.
func (b *bench) seedWith(ctx context.Context, program string, o server.Options) error {
	b.say("filling %s with %d tasks", o.Kind, o.Tasks)
	cmd := exec.CommandContext(ctx, program, append([]string{"seed"}, o.Args()...)...)
	cmd.Stdout, cmd.Stderr = b.progress, b.progress
	return cmd.Run()
}

// preparePeer gives a peer a copy of a folder that it has filled itself.
func (b *bench) preparePeer(ctx context.Context, c *contender) error {
	kept := filepath.Join(b.cache, fmt.Sprintf("%s-%d", c.name, b.tasks))
	if _, err := os.Stat(kept); err != nil {
		made := filepath.Join(b.dir, c.name+"-seed")
		if err := b.seedWith(ctx, c.binary, server.Options{Kind: c.name, Source: made, Tasks: b.tasks}); err != nil {
			return err
		}
		if err := os.Rename(made, kept); err != nil {
			return err
		}
	}
	c.source = filepath.Join(b.dir, c.name)
	b.say("copying the rows for %s", c.name)
	return os.CopyFS(c.source, os.DirFS(kept))
}

// seed is the process that fills a database of the service, through its store.
func seed(ctx context.Context, o server.Options) error {
	data, err := os.MkdirTemp("", "parley-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	app, err := openApp(ctx, parley.Config{Database: o.Source, Data: data, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return errors.Join(fill(ctx, app.Store(), o.Tasks), app.Close())
}

// together is how many rows are written in one transaction.
const together = 2000

func fill(ctx context.Context, s *store.Store, tasks int) error {
	var people []store.Write
	for i := range users {
		people = append(people, user.Resource.Record(&user.User{Name: fmt.Sprint("User ", i+1), Email: fmt.Sprintf("user%d@example.com", i+1)}))
	}
	if _, err := s.Commit(ctx, &store.Tx{Account: 1, Writes: people}); err != nil {
		return err
	}
	said := time.Now()
	for id := int64(1); id <= int64(tasks); {
		var writes []store.Write
		for ; id <= int64(tasks) && len(writes) < together; id++ {
			t := seeded(id)
			w := task.Resource.Record(&t)
			w.Events, w.Version = []string{"task.created"}, "2026-11-01"
			writes = append(writes, w)
		}
		if _, err := s.Commit(ctx, &store.Tx{Account: 1, Writes: writes}); err != nil {
			return err
		}
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "  %d of %d\n", id-1, tasks)
		}
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// flushTime is how long a small write takes to reach the disk: the median.
func flushTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "flush-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block, all := make([]byte, 4096), make([]time.Duration, 100)
	for i := range all {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}
