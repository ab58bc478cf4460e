//go:build !linux

package main

import (
	"errors"
	"os/exec"
	"time"
)

var errLinux = errors.New("the benchmark reads the times of processes as Linux shows them, and runs there only")

func pin(pid, core int) error                 { return errLinux }
func startPinned(c *exec.Cmd, core int) error { return errLinux }
func cpuOf(pid int) (time.Duration, error)    { return 0, errLinux }
func peakOf(pid int) (int64, error)           { return 0, errLinux }
