package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func openFile(t *testing.T, path string, tables ...*Table) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, nil, tables...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openFile(t, path)
	_, err := Open(t.Context(), path, nil)
	if err == nil || !strings.Contains(err.Error(), "another process") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line that says that another process has it", err)
	}
	s.Close()
	openFile(t, path)
}

func TestBadFile(t *testing.T) {
	folder := t.TempDir()
	garbage := filepath.Join(folder, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{garbage, filepath.Join(folder, "missing", "a.db"), folder} {
		if s, err := Open(t.Context(), path, nil); err == nil {
			s.Close()
			t.Errorf("%s was opened", path)
		}
	}
	openFile(t, filepath.Join(folder, "file:odd?name=1&mode=ro.db")) // a path, nothing more
}

// TestFull lets the file reach a size limit, as a full disk would.
func TestFull(t *testing.T) {
	notes := &Table{Name: "notes"}
	s := openFile(t, filepath.Join(t.TempDir(), "a.db"), notes)
	e := s.engine.(*sqliteEngine)
	limit := func(pages string) {
		e.gate.Lock()
		defer e.gate.Unlock()
		if err := e.writer.script("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	w := note(strings.Repeat("x", 5000))
	w.Table, w.Events = notes, []string{"note.created"}
	limit("60")
	made := 0
	var err error
	for err == nil && made < 1000 {
		if _, err = s.Commit(t.Context(), &Tx{Account: 1, Writes: []Write{w}}); err == nil {
			made++
		}
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("error %v after %d rows, want ErrUnavailable", err, made)
	}
	limit("100000")
	if _, err := s.Commit(t.Context(), &Tx{Account: 1, Writes: []Write{w}}); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Count(t.Context(), notes, Query{Account: 1})
	if err != nil || rows != int64(made+1) {
		t.Errorf("%d rows, %v, want %d", rows, err, made+1)
	}
	if events, err := s.CountEvents(t.Context(), EventQuery{Account: 1}); err != nil || events != rows {
		t.Errorf("%d events, %v, want %d", events, err, rows)
	}
}

// TestLogStaysShort writes far more than the log may hold, with readers.
func TestLogStaysShort(t *testing.T) {
	notes := &Table{Name: "notes"}
	path := filepath.Join(t.TempDir(), "a.db")
	s := openFile(t, path, notes)
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := s.Page(t.Context(), notes, Query{Account: 1, Desc: true, Limit: 50}); err != nil {
				t.Error(err)
			}
		}
	})
	var longest int64
	w := note(strings.Repeat("x", 7000))
	w.Table = notes
	for range 100 {
		tx := &Tx{Account: 1}
		for range 250 {
			tx.Writes = append(tx.Writes, w)
		}
		if _, err := s.Commit(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		if f, err := os.Stat(path + "-wal"); err == nil {
			longest = max(longest, f.Size())
		}
	}
	close(done)
	all.Wait()
	if longest > 64<<20 {
		t.Errorf("the log grew to %d MB", longest>>20)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !os.IsNotExist(err) {
		t.Errorf("the log is left after Close: %v", err)
	}
}

// TestKill kills a process that commits, several times, and looks for what it
// had acknowledged. Run with TestKillChild as the child.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	notes := &Table{Name: "notes"}
	var acknowledged int64
	for range 5 {
		child := exec.Command(os.Args[0], "-test.run=^TestKillChild$")
		child.Env = append(os.Environ(), "PARLEY_TEST_CHILD="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		kill := sync.OnceFunc(func() {
			time.AfterFunc(50*time.Millisecond, func() { child.Process.Kill() })
		})
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var id int64
			if n, _ := fmt.Sscanf(lines.Text(), "made %d", &id); n == 1 {
				acknowledged = max(acknowledged, id)
				kill()
			}
		}
		child.Wait()
		s := openFile(t, path, notes)
		rows, err := s.Page(t.Context(), notes, Query{Account: 1, Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		events, err := s.CountEvents(t.Context(), EventQuery{Account: 1})
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(rows)) < acknowledged || int64(len(rows)) != events {
			t.Errorf("%d rows, %d events, %d acknowledged", len(rows), events, acknowledged)
		}
		for i, r := range rows {
			if r.ID != int64(i+1) {
				t.Fatalf("row %d has id %d", i, r.ID)
			}
		}
		s.Close()
	}
	if acknowledged == 0 {
		t.Error("the child committed nothing")
	}
}

// TestKillChild is the process that TestKill kills. By itself it does nothing.
func TestKillChild(t *testing.T) {
	path := os.Getenv("PARLEY_TEST_CHILD")
	if path == "" {
		return
	}
	notes := &Table{Name: "notes"}
	s := openFile(t, path, notes)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				w := note("x")
				w.Table, w.Events = notes, []string{"note.created"}
				rows, err := s.Commit(t.Context(), &Tx{Account: 1, Writes: []Write{w}})
				if err != nil {
					return
				}
				fmt.Printf("made %d\n", rows[0].ID)
			}
		})
	}
	all.Wait()
}
