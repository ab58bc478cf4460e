// Command peers measures other projects doing the same work, beside the
// service and in the same run: PocketBase, and huma over the handler that the
// benchmark has written by hand.
//
//	cd bench/peers && go run .
//
// Its flags are those of the benchmark, which it builds and runs; this program
// only serves. It is a module of its own, so that nothing of it is needed to
// build the service.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/parley-api/parley/bench/internal/server"
)

func main() {
	err := dispatch(os.Args[1:])
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode()) // it has said why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// dispatch runs the benchmark or, in a process that it has started, a part.
func dispatch(args []string) error {
	if len(args) == 0 || args[0] != "serve" && args[0] != "seed" {
		return measure(args)
	}
	var o server.Options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] + " " + o.Kind {
	case "seed pocketbase":
		return seedPocketBase(o)
	case "serve pocketbase":
		return o.Profiled(func() error { return servePocketBase(o) })
	case "serve huma-sqlite":
		return o.Profiled(func() error { return serveHuma(o) })
	}
	return fmt.Errorf("there is no server %q", o.Kind)
}

// measure builds the benchmark and runs it with this program as the peers.
func measure(args []string) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "parley-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, bench := filepath.Join(here, "..", ".."), filepath.Join(dir, "bench")
	build := exec.Command("go", "build", "-o", bench, "./bench")
	build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the benchmark, in %s: %w", root, err)
	}
	signal.Ignore(os.Interrupt) // the benchmark gets it too, and ends in order
	run := exec.Command(bench, append([]string{"-peers", self, "-out", filepath.Join(here, "results.json")}, args...)...)
	run.Dir, run.Stdin, run.Stdout, run.Stderr = root, os.Stdin, os.Stdout, os.Stderr
	return run.Run()
}

// versions names modules of this program with their versions.
func versions(paths ...string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var all []string
	for _, path := range paths {
		for _, d := range info.Deps {
			if d.Path != path {
				continue
			}
			if d.Replace != nil {
				d = d.Replace
			}
			all = append(all, d.Path+" "+d.Version)
		}
	}
	return strings.Join(all, ", ")
}
