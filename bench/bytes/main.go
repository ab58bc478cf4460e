// Command bytes measures what serving bytes costs: the CPU time of a server for
// a whole file of 1 GiB, one range and ten ranges of it, beside
// http.ServeContent, nginx and Caddy, in one run. Every server is a process of
// its own on one core, the load comes from another.
//
//	go run ./bench/bytes -help
//
// The contender "parley" is the whole service, with every convention on: it is
// built, started on SQLite in a folder of its own, and given the file. "byterange"
// is the package in a handler, without bars. To measure a service that runs,
// upload the file that -file names, and give the URL of its bytes and the
// process:
//
//	go run ./bench/bytes -url http://127.0.0.1:8080/files/1 -pid 1234 -key pk_…
//
// It exits with 1 where a bar is missed.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// settings are the flags.
type settings struct {
	size     int64
	requests int
	wholes   int
	conns    int
	rounds   int
	file     string
	program  string
	caddy    string
	nginx    string
	out      string
	url      string
	pid      int
	key      string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		if !errors.Is(err, errMissed) {
			fmt.Fprintln(os.Stderr, "bytes:", err)
		}
		os.Exit(1)
	}
}

// dispatch runs the benchmark or, in a process that it has started, a server.
func dispatch(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "serve" {
		return serve(args[1], args[2])
	}
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	return run(ctx, s)
}

func parseFlags(args []string) (*settings, error) {
	s := new(settings)
	flags := flag.NewFlagSet("bytes", flag.ContinueOnError)
	size := flags.Int64("mib", 1024, "size of the file in MiB, at least 16")
	flags.IntVar(&s.requests, "requests", 1500, "requests for ranges, of each measurement")
	flags.IntVar(&s.wholes, "wholes", 1, "requests for the whole file, of each measurement")
	flags.IntVar(&s.conns, "conns", 8, "keep-alive connections that ask for ranges; one asks for the whole")
	flags.IntVar(&s.rounds, "rounds", 25, "rounds over everything; the medians count")
	flags.StringVar(&s.file, "file", "", "the `file` that is served, made if missing and kept (default in the user's cache)")
	flags.StringVar(&s.program, "parley", "", "the parley `program`, built by the go command if not named")
	flags.StringVar(&s.nginx, "nginx", "/usr/sbin/nginx", "the nginx `program`, installed by scripts/need where it is missing; - leaves nginx out")
	flags.StringVar(&s.caddy, "caddy", "", "the Caddy `program`, built by the go command if not named; - leaves Caddy out")
	flags.StringVar(&s.out, "out", filepath.Join("bench", "bytes", "results.json"), "`file` of the results; - for none")
	flags.StringVar(&s.url, "url", "", "`URL` of the file in a service that runs, to be measured as \"parley\" in place of one that is started")
	flags.IntVar(&s.pid, "pid", 0, "its process")
	flags.StringVar(&s.key, "key", "", "an API `key` for it")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	s.size = *size << 20
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag", flags.Arg(0))
	case *size < 16 || s.requests < 1 || s.wholes < 1 || s.conns < 1 || s.rounds < 1:
		return nil, errors.New("a number is too small")
	case (s.url == "") != (s.pid == 0):
		return nil, errors.New("-url and -pid belong together")
	}
	folder, err := cache()
	if err != nil {
		return nil, err
	}
	if s.file == "" {
		s.file = filepath.Join(folder, fmt.Sprintf("bytes-%d", *size))
	}
	return s, nil
}

// cache returns the folder of what is kept between runs.
func cache() (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w; set HOME", err)
	}
	folder = filepath.Join(folder, "parley-bench")
	return folder, os.MkdirAll(folder, 0o755)
}

// errMissed says that a bar was missed, which the table has shown.
var errMissed = errors.New("a bar was missed")

// run is the benchmark.
func run(ctx context.Context, s *settings) error {
	if err := makeFile(s.file, s.size); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "parley-bytes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{settings: s, dir: dir}
	defer b.close()
	if err := b.start(ctx); err != nil {
		return err
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	verdicts := b.judge()
	b.print(os.Stdout, verdicts)
	if err := b.write(verdicts); err != nil {
		return err
	}
	for _, v := range verdicts {
		if !v.Pass {
			return errMissed
		}
	}
	return nil
}

// makeFile writes a file whose every word is its own number, unless there is
// one of the size.
func makeFile(name string, size int64) error {
	if info, err := os.Stat(name); err == nil && info.Size() == size {
		return nil
	}
	say("writing %d MiB to %s", size>>20, filepath.Base(name))
	f, err := os.CreateTemp(filepath.Dir(name), "bytes-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriterSize(f, 1<<20)
	var word [8]byte
	for i := range size / 8 {
		binary.LittleEndian.PutUint64(word[:], uint64(i)*0x9e3779b97f4a7c15)
		w.Write(word[:])
	}
	if err := errors.Join(w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func say(format string, args ...any) {
	fmt.Fprintln(os.Stderr, strings.TrimSpace(fmt.Sprintf(format, args...)))
}
