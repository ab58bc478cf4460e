package store

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"
)

// TestReaders makes sure that connections are opened as they are needed, no
// more than there may be, and used again.
func TestReaders(t *testing.T) {
	const most = 3
	opened, err := openSQLite(filepath.Join(t.TempDir(), "db"), &Options{Readers: most, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	e := opened.(*sqliteEngine)
	defer e.close()
	for range 5 { // one after the other
		c, err := e.reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e.release(c)
	}
	if got := len(e.readers); got != 1 {
		t.Errorf("one reader at a time: got %d connections, want 1", got)
	}
	held := make(map[*conn]bool)
	for range most {
		c, err := e.reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held[c] = true
	}
	if len(held) != most {
		t.Errorf("got %d connections, want %d", len(held), most)
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.reader(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one more than there may be: got error %v, want %v", err, context.DeadlineExceeded)
	}
	for c := range held {
		e.release(c)
	}
	broken := errors.New("broken")
	e.readers, e.open = nil, func() (*conn, error) { return nil, broken }
	for range most + 1 { // a failure takes no place away
		if _, err := e.reader(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got error %v, want %v", err, broken)
		}
	}
	for c := range held {
		e.readers = append(e.readers, c) // to be closed
	}
}
