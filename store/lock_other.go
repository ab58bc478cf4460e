//go:build !unix

package store

import "os"

// lockFile opens the file; the system has no lock that this package knows.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
