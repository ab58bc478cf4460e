package blob

import (
	"errors"
	"os"
	"sync"
	"time"
)

// maxIdle is how many files a Folder keeps open that nobody reads.
const maxIdle = 64

// rest is how long a file stays open that nobody reads, at least; at most it
// is twice as long. Bytes that another process deletes take room until then.
const rest = 5 * time.Second

// idle holds open files that nobody reads. A file has one reader at a time:
// its offset is moved. It is safe for concurrent use.
type idle struct {
	mu     sync.Mutex
	files  []idleFile // the one that came last is the last
	age    uint64     // how often files were to be forgotten
	timer  *time.Timer
	closed bool
}

type idleFile struct {
	digest Digest
	file   *os.File
	size   int64
	stale  bool // since the timer last rang
}

// take returns an open file of the digest, nil where there is none, and the
// age to give it back with.
func (i *idle) take(d Digest) (file *os.File, size int64, age uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := len(i.files) - 1; n >= 0; n-- {
		if at := &i.files[n]; at.digest == d {
			file, size = at.file, at.size
			i.remove(n)
			break
		}
	}
	return file, size, i.age
}

func (i *idle) remove(n int) {
	copy(i.files[n:], i.files[n+1:])
	i.files[len(i.files)-1] = idleFile{}
	i.files = i.files[:len(i.files)-1]
}

// give takes a file that was opened at an age, and closes it where files have
// been forgotten since, or another where there are too many.
func (i *idle) give(d Digest, file *os.File, size int64, age uint64) error {
	i.mu.Lock()
	over := file
	if !i.closed && age == i.age {
		over = nil
		if len(i.files) == maxIdle {
			over = i.files[0].file
			i.remove(0)
		}
		i.files = append(i.files, idleFile{digest: d, file: file, size: size})
		i.ring()
	}
	i.mu.Unlock()
	if over == nil {
		return nil
	}
	return over.Close()
}

// ring has the timer ring, unless it is going to.
func (i *idle) ring() {
	if i.timer == nil {
		i.timer = time.AfterFunc(rest, i.expire)
	}
}

// expire closes the files that have been here since it last ran.
func (i *idle) expire() {
	i.mu.Lock()
	i.timer = nil
	old := i.drop(func(f *idleFile) bool {
		was := f.stale
		f.stale = true
		return was
	})
	if len(i.files) > 0 {
		i.ring()
	}
	i.mu.Unlock()
	shut(old)
}

// forget closes the files of a digest. Those that are being read are closed
// when they come back.
func (i *idle) forget(d Digest) {
	i.mu.Lock()
	i.age++
	gone := i.drop(func(f *idleFile) bool { return f.digest == d })
	i.mu.Unlock()
	shut(gone)
}

// close closes all files, and from now on those that come back.
func (i *idle) close() error {
	i.mu.Lock()
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
	}
	all := i.drop(func(*idleFile) bool { return true })
	i.mu.Unlock()
	return shut(all)
}

// drop takes files out.
func (i *idle) drop(which func(*idleFile) bool) (out []*os.File) {
	kept := i.files[:0]
	for _, f := range i.files {
		if which(&f) {
			out = append(out, f.file)
		} else {
			kept = append(kept, f)
		}
	}
	clear(i.files[len(kept):])
	i.files = kept
	return out
}

func shut(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
