package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

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
