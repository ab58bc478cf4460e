package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pin keeps every thread of a process on one core. Threads that it starts
// later inherit it.
func pin(pid, core int) error {
	var set unix.CPUSet
	set.Set(core)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("there is no process %d", pid)
	}
	for _, name := range threads {
		tid, _ := strconv.Atoi(filepath.Base(name))
		if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
			return fmt.Errorf("pinning process %d to core %d: %w", pid, core, err)
		}
	}
	return nil
}

// startPinned starts a command on one core. It ends when this process does.
func startPinned(c *exec.Cmd, core int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var was, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &was); err != nil {
		return err
	}
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to core %d: %w", core, err)
	}
	defer unix.SchedSetaffinity(0, &was)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c.Start()
}

// family returns a process and those that it has started.
func family(pid int) []int {
	list := []int{pid}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range files {
		for child := range strings.FieldsSeq(proc(name, "")) {
			if n, err := strconv.Atoi(child); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// cpuOf returns the CPU time that a process and its children have used, to the
// nanosecond.
func cpuOf(pid int) (sum time.Duration, err error) {
	for _, p := range family(pid) {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p))
		if len(files) == 0 {
			return 0, fmt.Errorf("process %d has no times: has it ended?", p)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				continue // the thread has ended
			}
			first, _, _ := strings.Cut(string(text), " ")
			n, err := strconv.ParseInt(first, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("reading the times of process %d: %w", p, err)
			}
			sum += time.Duration(n)
		}
	}
	return sum, nil
}

// peakOf returns the most memory that a process and its children had resident,
// in bytes.
func peakOf(pid int) (sum int64, err error) {
	for _, p := range family(pid) {
		value := strings.TrimSuffix(proc(fmt.Sprintf("/proc/%d/status", p), "VmHWM"), " kB")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the memory of process %d: %w", p, err)
		}
		sum += n << 10
	}
	return sum, nil
}
