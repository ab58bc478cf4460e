package parley_test

import (
	"os/signal"
	"syscall"
)

// ignoreFileSize makes a write beyond RLIMIT_FSIZE an error instead of the end.
func ignoreFileSize() error {
	signal.Ignore(syscall.SIGXFSZ)
	return nil
}
