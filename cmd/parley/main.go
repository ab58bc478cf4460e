// Parley is an HTTP + JSON API with first-rate manners, as a program.
//
//	parley serve     run the service
//	parley listen    receive webhooks on this machine
//	parley sign      print the signature of a webhook
//	parley verify    check the signature of a webhook
//	parley diff      say what a change of an interface does to its clients
//	parley keys      rotate the keys that seal cursors
//	parley version   print the version
//
// A setting is a flag, a variable of the environment or a line of a YAML file;
// the first of these that has it wins. The exit code is 0 for success, 1 for
// a failure at run time and 2 for wrong usage.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// commands is the grammar of the command line.
type commands struct {
	Serve   serve        `cmd:"" help:"Run the service until SIGTERM or Ctrl-C."`
	Listen  hearing      `cmd:"" help:"Receive webhooks on this machine: verify, print, hand on."`
	Sign    signing      `cmd:"" help:"Print the webhook-signature of a body."`
	Verify  verification `cmd:"" help:"Check a webhook-signature: prints verified, or the step that fails."`
	Diff    differ       `cmd:"" help:"Say what a change of an interface does to its clients."`
	Keys    keys         `cmd:"" help:"Rotate the keys of the service."`
	Version version      `cmd:"" help:"Print the version of this program."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program, and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parser := newParser(new(commands), stdout, stderr)
	ctx, err := parser.Parse(args)
	if err == nil {
		err = ctx.Run()
	}
	return report(stderr, err)
}

// newParser panics where the grammar is wrong.
func newParser(grammar *commands, stdout, stderr io.Writer) *kong.Kong {
	k := kong.Must(grammar, append(values(), append(help(), kong.Name("parley"), kong.Writers(stdout, stderr))...)...)
	arrange(k)
	return k
}

// A misuse is a fault of what was asked for rather than of carrying it out.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// A verdict is the exit code of a command that has said all there is to say.
type verdict int

func (v verdict) Error() string { return fmt.Sprintf("exit code %d", int(v)) }

// report writes an error as one line and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	if v, ok := errors.AsType[verdict](err); ok {
		return int(v)
	}
	text, code := err.Error(), 1
	if text == "" { // told
		return code
	}
	if _, ok := errors.AsType[misuse](err); ok {
		code = 2
	} else if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		text, code = pointer(wrong), 2
	}
	fmt.Fprintln(w, "parley: "+strings.Join(strings.Fields(text), " "))
	return code
}
