// Parley is an HTTP + JSON API with first-rate manners, as a program.
//
//	parley serve     run the service
//	parley listen    receive webhooks on this machine
//	parley sign      print the signature of a webhook
//	parley verify    check the signature of a webhook
//	parley diff      say what a change of an interface does to its clients
//	parley keys      rotate the keys that seal cursors
//	parley versions  list the versions of the interface, and retire one
//	parley version   print the version
//
// A setting is a flag, a variable of the environment or a line of a YAML file;
// the first of these that has it wins. The exit code is 0 for success, 1 for
// a failure at run time and 2 for wrong usage.
package main

import (
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// commands is the grammar of the command line.
type commands struct {
	Serve    serve        `cmd:"" help:"Run the service until SIGTERM or Ctrl-C."`
	Listen   hearing      `cmd:"" help:"Receive webhooks on this machine: verify, print, hand on."`
	Sign     signing      `cmd:"" help:"Print the webhook-signature of a body."`
	Verify   verification `cmd:"" help:"Check a webhook-signature: prints verified, or the step that fails."`
	Diff     differ       `cmd:"" help:"Say what a change of an interface does to its clients."`
	Keys     keys         `cmd:"" help:"Rotate the keys of the service."`
	Versions versions     `cmd:"" help:"List the versions of the interface, and retire one."`
	Version  version      `cmd:"" help:"Print the version of this program."`
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
