package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// A Folder keeps bytes in files: kept/ab/abcd…, trash/abcd…, tmp/put-…. All of
// it must be on one file system. Make one with OpenFolder, and Close it.
//
// Bytes never change, so a Folder keeps up to 64 files open that were closed a
// few seconds ago, for those who ask for the same bytes next. What Move deletes
// is gone at once. What another process deletes can be opened for up to ten
// seconds more, and takes its room on disk as long.
type Folder struct {
	root  string
	spool *Spool
	now   func() time.Time
	idle  idle
}

// FolderOptions of OpenFolder. Nil means the defaults.
type FolderOptions struct {
	Now func() time.Time // nil means time.Now
}

// OpenFolder opens a folder, which is made if missing, readable by its owner
// alone.
func OpenFolder(root string, o *FolderOptions) (*Folder, error) {
	f := &Folder{root: root, spool: NewSpool(filepath.Join(root, "tmp")), now: time.Now}
	if o != nil && o.Now != nil {
		f.now = o.Now
	}
	for _, name := range []string{"tmp", "kept", "trash"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			return nil, fmt.Errorf("blob: making the folder: %w", err)
		}
	}
	return f, flush(root)
}

// Close closes the files that nobody reads. The others are closed with their
// Source; the Folder can still be used, and keeps no more files open.
func (f *Folder) Close() error { return f.idle.close() }

func (f *Folder) kept(d Digest) string {
	name := d.String()
	return filepath.Join(f.root, "kept", name[:2], name)
}

func (f *Folder) trash(d Digest) string { return filepath.Join(f.root, "trash", d.String()) }

// Put implements Store.
func (f *Folder) Put(ctx context.Context, r io.Reader, limit int64, check func(Info) error) (Info, error) {
	file, err := f.spool.Take(ctx, r, limit, check, false)
	if err != nil {
		return Info{}, err
	}
	defer file.Close()
	now := f.now()
	if err := os.Chtimes(file.Name(), time.Time{}, now); err != nil {
		return Info{}, fmt.Errorf("blob: dating a temporary file: %w", err)
	}
	if err := f.place(file.Name(), f.kept(file.Info.Digest)); err != nil {
		return Info{}, err
	}
	f.idle.forget(file.Info.Digest) // what it took the place of may be damaged
	return file.Info, nil
}

// place gives a file its name, and returns when that is on disk. What has the
// name already has the same bytes.
func (f *Folder) place(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) { // of one in 256 the folder
		if err = os.Mkdir(filepath.Dir(to), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return full(fmt.Errorf("blob: making a folder: %w", err))
		}
		if err := flush(filepath.Dir(filepath.Dir(to))); err != nil {
			return err
		}
		err = os.Rename(from, to)
	}
	if err != nil {
		return full(fmt.Errorf("blob: naming a file: %w", err))
	}
	return flush(filepath.Dir(to))
}

// flush puts the names in a folder on disk.
func flush(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("blob: flushing a folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return full(fmt.Errorf("blob: flushing a folder: %w", err))
	}
	return nil
}

// A File is bytes in a folder. It belongs to whom Open gave it, with its offset,
// which can be anywhere, until Close; after that it must not be used.
type File struct {
	*os.File
	size   int64
	digest Digest
	age    uint64
	from   *Folder // nil after Close
}

// Close implements Source. A second Close gives os.ErrClosed.
func (f *File) Close() error {
	from := f.from
	if from == nil {
		return os.ErrClosed
	}
	f.from = nil
	return from.idle.give(f.digest, f.File, f.size, f.age)
}

// Size implements Source.
func (f *File) Size() int64 { return f.size }

// Section implements Source.
func (f *File) Section(_ context.Context, offset, length int64) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(f.File, offset, length)), nil
}

// Open implements Store. The Source is a *File.
func (f *Folder) Open(_ context.Context, d Digest) (Source, error) {
	file, size, age := f.idle.take(d)
	if file == nil {
		var err error
		if file, size, err = f.open(d); err != nil {
			return nil, err
		}
	}
	return &File{file, size, d, age, f}, nil
}

func (f *Folder) open(d Digest) (*os.File, int64, error) {
	var file *os.File
	err := fs.ErrNotExist
	// It may be moved to the trash, or back, between two looks.
	for _, name := range []string{f.kept(d), f.trash(d), f.kept(d)} {
		if file, err = os.Open(name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, ErrNotFound
	}
	if err != nil {
		return nil, 0, fmt.Errorf("blob: opening a file: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, fmt.Errorf("blob: opening a file: %w", err)
	}
	return file, info.Size(), nil
}

// List implements Store.
func (f *Folder) List(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		more := true
		each := func(e Entry, err error) bool {
			if err == nil {
				err = ctx.Err()
			}
			more = yield(e, err) && err == nil
			return more
		}
		f.spool.List(each)
		if more {
			list(filepath.Join(f.root, "trash"), Trash, each)
		}
		shelves, err := os.ReadDir(filepath.Join(f.root, "kept"))
		if err != nil && more {
			each(Entry{}, fmt.Errorf("blob: listing a folder: %w", err))
		}
		for i := 0; more && i < len(shelves); i++ {
			list(filepath.Join(f.root, "kept", shelves[i].Name()), Kept, each)
		}
	}
}

// list goes through the files of one folder that are named for a digest.
func list(folder string, place Place, each func(Entry, error) bool) {
	files, err := os.ReadDir(folder)
	if err != nil {
		each(Entry{}, fmt.Errorf("blob: listing a folder: %w", err))
		return
	}
	for _, file := range files {
		d, ok := Parse(file.Name())
		info, err := file.Info()
		if !ok || err != nil {
			continue // not ours, or gone meanwhile
		}
		if !each(Entry{Digest: d, Place: place, Time: info.ModTime()}, nil) {
			return
		}
	}
}

// Move implements Store.
func (f *Folder) Move(_ context.Context, e Entry, to Place) error {
	from := f.kept(e.Digest)
	if e.Place == Trash {
		from = f.trash(e.Digest)
	}
	var err error
	switch {
	case e.Place == Temporary:
		err = f.spool.Remove(e.Name)
	case to == Gone:
		err = os.Remove(from)
	case to == Trash:
		// Dated before it is moved: a crash in between leaves it where it was.
		if err = os.Chtimes(from, time.Time{}, f.now()); err == nil {
			err = f.place(from, f.trash(e.Digest))
		}
	case to == Kept:
		if err = os.Chtimes(from, time.Time{}, f.now()); err == nil {
			err = f.place(from, f.kept(e.Digest))
		}
	}
	if e.Place != Temporary {
		f.idle.forget(e.Digest)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
