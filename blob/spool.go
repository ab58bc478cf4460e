package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// A Spool is a folder in which bytes become complete before they are stored.
type Spool struct{ Folder string }

// A Spooled is a temporary file with all the bytes that were to be read, at
// its beginning. Close it, which deletes it unless it was renamed.
type Spooled struct {
	*os.File
	Info Info
}

// Close closes the file and deletes it where it still has its temporary name.
func (f *Spooled) Close() error {
	err := f.File.Close()
	os.Remove(f.Name()) // gone where it was renamed
	return err
}

// Take reads r to its end into a new file of the folder. The bytes are flushed
// to disk unless volatile is set. Its other arguments and its errors are those
// of Store.Put.
func (s Spool) Take(ctx context.Context, r io.Reader, limit int64, check func(Info) error, volatile bool) (*Spooled, error) {
	file, err := os.CreateTemp(s.Folder, "put-*")
	if err != nil {
		return nil, full(fmt.Errorf("blob: making a temporary file: %w", err))
	}
	f := &Spooled{File: file}
	if err := f.fill(ctx, r, limit, check, volatile); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Spooled) fill(ctx context.Context, r io.Reader, limit int64, check func(Info) error, volatile bool) error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	hash := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buffer[:])
		hash.Write(buffer[:n])
		if f.Info.Size += int64(n); limit > 0 && f.Info.Size > limit {
			return ErrTooLarge
		}
		if _, werr := f.Write(buffer[:n]); werr != nil {
			return full(fmt.Errorf("blob: writing a temporary file: %w", werr))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	hash.Sum(f.Info.Digest[:0])
	if check != nil {
		if err := check(f.Info); err != nil {
			return err
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("blob: rewinding a temporary file: %w", err)
	}
	if volatile {
		return nil
	}
	if err := f.Sync(); err != nil {
		return full(fmt.Errorf("blob: flushing a temporary file: %w", err))
	}
	return nil
}

const bufferSize = 128 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// full makes the errors of a disk without room ErrFull.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// List goes through the files of the folder.
func (s Spool) List(yield func(Entry, error) bool) {
	files, err := os.ReadDir(s.Folder)
	if err != nil {
		yield(Entry{}, fmt.Errorf("blob: listing temporary files: %w", err))
		return
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			continue // gone meanwhile
		}
		if !yield(Entry{Name: f.Name(), Place: Temporary, Time: info.ModTime()}, nil) {
			return
		}
	}
}

// Remove deletes a file of the folder by the name that List gave it.
func (s Spool) Remove(name string) error {
	err := os.Remove(filepath.Join(s.Folder, filepath.Base(name)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
