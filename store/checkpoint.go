package store

import (
	"log/slog"
	"sync"
	"sync/atomic"

	sqlite3 "modernc.org/sqlite/lib"
)

// A checkpointer moves pages from SQLite's log into its file, beside the
// writer. Alone it never gets to the end of the log, which would then grow for
// ever; when the log is long it stops the writer for the little that is left,
// and the log starts anew.
type checkpointer struct {
	c      *conn
	e      *sqliteEngine
	log    *slog.Logger
	wake   chan struct{}
	done   sync.WaitGroup
	growth atomic.Int64 // pages written since the last move
}

const (
	movePages = 4 << 20 / pageSize  // a move begins when the log grew by this
	longPages = 32 << 20 / pageSize // a log that is to start anew
	fewPages  = 1 << 20 / pageSize  // that the writer may be made to wait for
	passes    = 8                   // after which it waits for whatever is left
)

func newCheckpointer(path string, e *sqliteEngine, log *slog.Logger) (*checkpointer, error) {
	c, err := openConn(path, "PRAGMA busy_timeout = 20", "PRAGMA synchronous = FULL", "PRAGMA wal_autocheckpoint = 0")
	if err != nil {
		return nil, err
	}
	k := &checkpointer{c: c, e: e, log: log, wake: make(chan struct{}, 1)}
	k.done.Go(k.run)
	return k, nil
}

// note tells how many pages a commit has added to the log.
func (k *checkpointer) note(pages int64) {
	if k.growth.Add(pages) >= movePages {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

func (k *checkpointer) close() error {
	close(k.wake)
	k.done.Wait()
	return k.c.close()
}

func (k *checkpointer) run() {
	for range k.wake {
		if err := k.move(); err != nil && sqliteCode(err) != sqlite3.SQLITE_BUSY {
			k.log.Error("checkpoint", "error", err)
		}
	}
}

// move brings pages into the file. Where the log is long it goes on until the
// writer is no more than a few pages ahead, so that it has to wait for those
// few only.
func (k *checkpointer) move() error {
	for pass := range passes {
		k.growth.Store(0)
		log, moved, err := k.c.checkpoint(sqlite3.SQLITE_CHECKPOINT_PASSIVE)
		if err != nil || log < longPages {
			return err
		}
		if left := log - moved + k.growth.Load(); left <= fewPages || pass == passes-1 {
			return k.restart()
		}
	}
	return nil
}

// restart moves what is left while the writer waits. A reader that stays in
// the log for long keeps it from starting anew; then it is tried again later.
func (k *checkpointer) restart() error {
	k.e.gate.Lock()
	defer k.e.gate.Unlock()
	_, _, err := k.c.checkpoint(sqlite3.SQLITE_CHECKPOINT_RESTART)
	return err
}
