//go:build !linux

package main

import (
	"errors"
	"os/exec"
)

var errLinux = errors.New("the benchmark gives servers and load a core each, and can do so on Linux only")

func pin(pid, core int) error                 { return errLinux }
func startPinned(c *exec.Cmd, core int) error { return errLinux }
func filesystem(path string) string           { return "unknown" }
func pause(pid int) error                     { return errLinux }
func resume(pid int) error                    { return errLinux }
func become(path string, args []string) error { return errLinux }
