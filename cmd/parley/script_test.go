package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// slow is how long a script waits for what should take a moment.
const slow = 2 * time.Minute

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"parley":  main,
		"code":    code,
		"request": request,
		"linger":  linger,
		"deliver": deliver,
	})
}

// TestScript runs the scripts. Beside the usual commands they have
//
//	start NAME [FLAG…]   run parley serve until it says where it listens. Sets URL, ADDR and PID,
//	                     KEY and METRICS where they are shown. What it writes is in NAME.out and NAME.err
//	stop NAME            send SIGTERM; it must exit with 0
//	[!] await NAME       it must (not) exit with 0 by itself
//	hear NAME [FLAG…]    run parley listen; see listen_test.go
//
// the variable MUTE, an address that takes connections and never answers, the
// files cert.pem and key.pem, and the programs code, request, linger and
// deliver; see client_test.go and listen_test.go.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Defer(func() { l.Close() })
			env.Setenv("MUTE", l.Addr().String())
			env.Values["processes"] = processes{}
			return certify(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start,
			"hear":  hear,
			"stop":  func(ts *testscript.TestScript, neg bool, args []string) { end(ts, neg, args, syscall.SIGTERM) },
			"await": func(ts *testscript.TestScript, neg bool, args []string) { end(ts, neg, args, nil) },
		},
	})
}

// processes are the running services of a script, by name.
type processes map[string]*process

type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: start NAME [FLAG…]")
	}
	out, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer errs.Close()
	cmd := exec.Command(program(ts), append([]string{"serve"}, args[1:]...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	cmd.Stdout, cmd.Stderr = out, errs
	ts.Check(cmd.Start())
	p := &process{cmd, make(chan struct{})}
	go func() { cmd.Wait(); close(p.done) }()
	ts.Defer(func() { cmd.Process.Kill(); <-p.done })
	ts.Value("processes").(processes)[args[0]] = p
	listening(ts, p, out.Name(), errs.Name())
}

// program finds parley as the script would.
func program(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "parley"); exec.Command(path).Err == nil {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	ts.Fatalf("parley is not in PATH")
	return ""
}

// environment is what the script has set of it.
func environment(ts *testscript.TestScript) []string {
	names := []string{"PATH", "HOME", "TMPDIR", "GOCOVERDIR"}
	for _, flag := range serveFlags() {
		names = append(names, flag.Envs...)
	}
	var env []string
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

var shown = map[string]*regexp.Regexp{
	"URL":     regexp.MustCompile(`(?m)^Parley is listening on (https?://\S+)$`),
	"ADDR":    regexp.MustCompile(`(?m)^Parley is listening on https?://(\S+)$`),
	"METRICS": regexp.MustCompile(`(?m)^Metrics are at (http://\S+)$`),
	"KEY":     regexp.MustCompile(`(?m)^Admin key \(shown once, keep it\): (pk_\S+)$`),
}

// listening waits for the greeting, which is one write, and gives the script
// what it shows.
func listening(ts *testscript.TestScript, p *process, out, errs string) {
	deadline := time.Now().Add(slow)
	for !shown["URL"].MatchString(read(out)) {
		select {
		case <-p.done:
			ts.Fatalf("it ended: %v\n%s", p.cmd.ProcessState, read(errs))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			ts.Fatalf("it does not listen after %v:\n%s\n%s", slow, read(out), read(errs))
		}
	}
	ts.Setenv("PID", strconv.Itoa(p.cmd.Process.Pid))
	for name, pattern := range shown {
		if m := pattern.FindStringSubmatch(read(out)); m != nil {
			ts.Setenv(name, m[1])
		}
	}
}

func read(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// end waits for a process, which must exit with 0, or not where neg.
func end(ts *testscript.TestScript, neg bool, args []string, signal os.Signal) {
	p := ts.Value("processes").(processes)[strings.Join(args, " ")]
	if p == nil {
		ts.Fatalf("usage: stop|await NAME")
	}
	if signal != nil {
		ts.Check(p.cmd.Process.Signal(signal))
	}
	select {
	case <-p.done:
	case <-time.After(slow):
		ts.Fatalf("it runs on")
	}
	if got := p.cmd.ProcessState.ExitCode(); got != 0 != neg {
		ts.Fatalf("%s: %v\n%s", args[0], p.cmd.ProcessState, read(ts.MkAbs(args[0]+".err")))
	}
}
