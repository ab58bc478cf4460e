package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pin keeps every thread of a process on one core. Threads and processes that
// it starts later inherit it.
func pin(pid, core int) error {
	var set unix.CPUSet
	set.Set(core)
	folder := fmt.Sprintf("/proc/%d/task", pid)
	for seen := -1; ; {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		if len(entries) == seen { // none was started meanwhile by one that was free
			return nil
		}
		seen = len(entries)
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
				return fmt.Errorf("pinning process %d to core %d: %w", pid, core, err)
			}
		}
	}
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

// filesystem names the type of the one that holds a path.
func filesystem(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return "unknown"
	}
	switch s.Type {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	}
	return fmt.Sprintf("%#x", s.Type)
}

// pause stops a process where it stands, so that it takes nothing from the one
// that is measured; resume lets it go on.
func pause(pid int) error  { return syscall.Kill(pid, syscall.SIGSTOP) }
func resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// become turns this process into another program.
func become(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) }
