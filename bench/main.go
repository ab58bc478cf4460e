// Command bench measures the service beside what a good engineer writes by
// hand, in one run: requests a second, latency and CPU time of GET, POST and
// PATCH on a million tasks. Every server is a process of its own on one core,
// the load comes from another.
//
//	go run ./bench -help
//
// It exits with 1 where the service misses one of its bars.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/parley-api/parley/bench/internal/server"
)

// settings are the flags.
type settings struct {
	tasks   int
	conns   int
	seconds float64
	warm    float64
	rounds  int
	only    *regexp.Regexp
	cache   string
	out     string
	peers   string
	profile string
	root    string // of the module
	self    string // this program
}

// The cores of servers and load.
const (
	serverCore = 0
	loadCore   = 1
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		if !errors.Is(err, errMissed) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

// dispatch runs the benchmark or, in a process that it has started, a part.
func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 && (args[0] == "serve" || args[0] == "seed") {
		var o server.Options
		flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
		o.Flags(flags)
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		if args[0] == "seed" {
			return seed(ctx, o)
		}
		return o.Profiled(func() error { return serve(ctx, o) })
	}
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	return run(ctx, s)
}

func parseFlags(args []string) (*settings, error) {
	s := new(settings)
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&s.tasks, "tasks", 1_000_000, "tasks in each database")
	flags.IntVar(&s.conns, "conns", 64, "keep-alive connections")
	flags.Float64Var(&s.seconds, "seconds", 3, "seconds that are counted, of each measurement")
	flags.Float64Var(&s.warm, "warm", 1, "seconds before them that are not")
	flags.IntVar(&s.rounds, "rounds", 5, "rounds over everything; the medians count")
	only := flags.String("only", "", "a regular `expression`: measure only operations and servers, such as \"GET one parley-sqlite\", that match it")
	flags.StringVar(&s.cache, "cache", "", "`folder` of the databases, kept for the next run (default parley-bench in the user's cache)")
	flags.StringVar(&s.out, "out", "", "`file` of the results (default bench/results.json)")
	flags.StringVar(&s.peers, "peers", "", "a `program` that serves the peers")
	flags.StringVar(&s.profile, "profile", "", "`folder` for a CPU profile of each server, which then is slower")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if s.tasks < 1 || s.conns < 1 || s.seconds <= 0 || s.warm < 0 || s.rounds < 1 {
		return nil, errors.New("-tasks, -conns, -seconds and -rounds must be positive")
	}
	if runtime.NumCPU() < 2 {
		return nil, errors.New("servers and load need a core each; this machine has one")
	}
	var err error
	if s.only, err = regexp.Compile("(?i)" + *only); err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if s.root, err = findRoot(); err != nil {
		return nil, err
	}
	if s.out == "" {
		s.out = filepath.Join(s.root, "bench", "results.json")
	}
	if s.cache == "" {
		folder, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w; name a folder with -cache", err)
		}
		s.cache = filepath.Join(folder, "parley-bench")
	}
	return s, os.MkdirAll(s.cache, 0o700)
}

// findRoot returns the folder of the module, at or above the current one.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/parley-api/parley\n") {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("run the benchmark inside its repository")
		}
		dir = filepath.Dir(dir)
	}
}

// errMissed says that a bar was missed, which the table has shown.
var errMissed = errors.New("a bar was missed")

// run is the benchmark.
func run(ctx context.Context, s *settings) error {
	list := contenders(s)
	if len(list) == 0 {
		return errors.New("-only matches nothing")
	}
	dsn := os.Getenv("PARLEY_TEST_POSTGRES")
	if dsn == "" && uses(list, "postgres") {
		script := filepath.Join(s.root, "scripts", "with-postgres")
		return become(script, append([]string{script, s.self}, os.Args[1:]...))
	}
	dir, err := os.MkdirTemp(s.cache, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{settings: s, dir: dir, contenders: list, progress: os.Stderr}
	defer b.close()
	if err := b.prepare(ctx, dsn); err != nil {
		return err
	}
	if b.allocations, err = allocations(ctx, dir); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	verdicts := judge(b)
	printTable(os.Stdout, b, verdicts)
	if err := writeResults(b, verdicts); err != nil {
		return err
	}
	for _, v := range verdicts {
		if !v.Pass {
			return errMissed
		}
	}
	return nil
}

// A bench is one run.
type bench struct {
	*settings
	dir         string // of this run
	contenders  []*contender
	postgres    *cluster // nil: not used
	figures     []*figure
	allocations float64
	fsync       time.Duration
	progress    io.Writer
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

func (b *bench) close() {
	for _, c := range b.contenders {
		c.stop()
	}
	if b.postgres != nil {
		b.postgres.drop()
	}
}
