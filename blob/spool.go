package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// A Spool is a folder in which bytes become complete before they are stored. It
// is safe for concurrent use, and several processes may have one on a folder.
type Spool struct {
	folder string
	mu     sync.Mutex
	busy   map[string]bool // names of files that this process writes
}

// NewSpool returns a spool on a folder that exists.
func NewSpool(folder string) *Spool { return &Spool{folder: folder, busy: make(map[string]bool)} }

// A Spooled is a temporary file with all the bytes that were to be read, at
// its beginning. Close it, which deletes it unless it was renamed.
type Spooled struct {
	*os.File
	Info Info
	from *Spool
}

// Close closes the file and deletes it where it still has its temporary name.
func (f *Spooled) Close() error {
	err := f.File.Close()
	os.Remove(f.Name()) // gone where it was renamed
	f.from.mu.Lock()
	defer f.from.mu.Unlock()
	delete(f.from.busy, filepath.Base(f.Name()))
	return err
}

// Take reads r to its end into a new file of the folder. The bytes are flushed
// to disk unless volatile is set. Its other arguments and its errors are those
// of Store.Put.
func (s *Spool) Take(ctx context.Context, r io.Reader, limit int64, check func(Info) error, volatile bool) (*Spooled, error) {
	file, err := s.create()
	if err != nil {
		return nil, full(fmt.Errorf("blob: making a temporary file: %w", err))
	}
	f := &Spooled{File: file, from: s}
	if err := f.fill(ctx, r, limit, check, volatile); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (s *Spool) create() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := os.CreateTemp(s.folder, "put-*")
	if err == nil {
		s.busy[filepath.Base(file.Name())] = true
	}
	return file, err
}

func (f *Spooled) fill(ctx context.Context, r io.Reader, limit int64, check func(Info) error, volatile bool) error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	hash := sha256.New()
	for {
		n, err := readFull(ctx, r, buffer[:])
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

// readFull reads until b is full, there is an error or ctx ends. The file is
// written in whole buffers then, which the kernel keeps in large pieces: to send
// it later costs a tenth less than where it was written as it came.
func readFull(ctx context.Context, r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		if err = ctx.Err(); err == nil {
			var more int
			more, err = r.Read(b[n:])
			n += more
		}
	}
	return n, err
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

// List goes through the files of the folder but for those that this process is
// writing, however old a clock that was set makes them seem.
func (s *Spool) List(yield func(Entry, error) bool) {
	files, err := s.idle()
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

// idle returns the files that this process does not write.
func (s *Spool) idle() ([]os.DirEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, err := os.ReadDir(s.folder)
	return slices.DeleteFunc(files, func(f os.DirEntry) bool { return s.busy[f.Name()] }), err
}

// Remove deletes a file of the folder by the name that List gave it.
func (s *Spool) Remove(name string) error {
	err := os.Remove(filepath.Join(s.folder, filepath.Base(name)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
