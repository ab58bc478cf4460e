package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/internal/journal"
	"github.com/parley-api/parley/rooms/file"
	"github.com/parley-api/parley/rooms/image"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
)

// serve runs the service.
type serve struct {
	parley.Config

	File     string `name:"config" env:"PARLEY_CONFIG" placeholder:"FILE" group:"Operations" help:"YAML file of settings, with the names of these flags."`
	LogLevel string `default:"info" enum:"debug,info,warn,error" env:"PARLEY_LOG_LEVEL" placeholder:"LEVEL" group:"Operations" help:"The least that is logged: debug, info, warn or error. Logs go to standard error, as JSON where that is no terminal."`
}

// BeforeResolve is called by the parser between flags and their values.
func (*serve) BeforeResolve(ctx *kong.Context) error { return settle(ctx) }

// Run serves until a signal or a failure.
func (s *serve) Run(k *kong.Kong) error {
	still := make([]byte, ballast)
	defer runtime.KeepAlive(&still)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := s.Config
	cfg.Log = newLog(os.Stderr, s.LogLevel)
	cfg.LargeFile = true
	trim(cfg.TrustedProxies)
	trim(cfg.CORSOrigins)
	door, err := open(&cfg)
	if err != nil {
		return err
	}
	defer door.close()
	app, err := compose(ctx, cfg)
	if ctx.Err() != nil && err != nil {
		return nil // told to stop before there was anything to stop
	}
	if err != nil {
		return explain(err, &cfg)
	}
	greet(k.Stdout, door, app, cfg.AdminKey != "")
	info, _ := debug.ReadBuildInfo()
	cfg.Log.Info("started", "version", versionOf(info), "addr", cfg.Addr, "base_url", app.BaseURL())
	return door.serve(ctx, stop, app, cfg.Log)
}

// ballast is how much memory, in bytes, is never touched, and so takes none: it
// is made first, of what the system gives. The collector of garbage waits until
// the heap has doubled, and counts it in. In a service with little to hold it has
// half as much to do.
const ballast = 2 << 20

// compose makes the service. That leaves more garbage behind than any request:
// it is collected early, or the most memory that the process ever has would be
// that of its start, a seventh more than it needs.
func compose(ctx context.Context, cfg parley.Config) (*parley.App, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	return parley.New(ctx, cfg, task.Resource, user.Resource, file.Resource, image.Resource)
}

func trim(list []string) {
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
}

// explain says what to do about a service that could not be composed.
func explain(err error, cfg *parley.Config) error {
	if _, ok := errors.AsType[*parley.SettingError](err); ok {
		return misuse{err}
	}
	switch {
	case strings.HasPrefix(cfg.Database, "postgres"):
		return fmt.Errorf("%w; check that the server is running and that --database is right", err)
	case cfg.Database != "":
		return fmt.Errorf("%w; --database chooses another file", err)
	}
	return fmt.Errorf("%w; --data chooses another folder than %s", err, cfg.Data)
}

// greet says where the service is, and at its first start how to get in.
func greet(w io.Writer, door *door, app *parley.App, keyed bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "Parley is listening on %s\n", door.url)
	if door.metrics != nil {
		fmt.Fprintf(&b, "Metrics are at http://%s/metrics\n", door.metrics.Addr())
	}
	switch key := app.FirstKey(); {
	case key != "":
		fmt.Fprintf(&b, "Admin key (shown once, keep it): %s\n", key)
		fmt.Fprintf(&b, "Try: curl -H \"Authorization: Bearer %s\" %s/tasks\n", key, app.BaseURL())
	case !keyed:
		b.WriteString("Admin key lost? Set a new one with --admin-key or PARLEY_ADMIN_KEY.\n")
	}
	io.WriteString(w, b.String())
}

// newLog logs as text on a terminal, else as JSON.
func newLog(f *os.File, level string) *slog.Logger {
	var options slog.HandlerOptions
	var least slog.Level
	if least.UnmarshalText([]byte(level)) == nil {
		options.Level = least
	}
	if terminal(f) {
		return slog.New(slog.NewTextHandler(f, &options))
	}
	return slog.New(journal.New(f, options.Level))
}
