package store

import (
	"context"
	"path/filepath"
	"testing"
)

// TestChore shows that a chore alone waits for no flush, and that all that was
// promised does, whatever came before it or with it.
func TestChore(t *testing.T) {
	notes := &Table{Name: "notes"}
	onBoth(t, func(t *testing.T, open func(tables ...*Table) (*Store, error)) {
		s := opened(t, open, notes)
		ask, full, loose := "SHOW synchronous_commit", "on", "off"
		if _, ok := s.engine.(*sqliteEngine); ok {
			ask, full, loose = "PRAGMA synchronous", "2", "1"
		}
		var level string
		read := func(db session) error { return db.query(ask, nil, func(c cursor) { level = c.text(0) }) }
		steps := []struct {
			why  string
			do   func(context.Context, func(session) error) error
			want string
		}{
			{"work, at first", s.work, full},
			{"a chore", s.chore, loose},
			{"another", s.chore, loose},
			{"work after a chore", s.work, full},
			{"a chore after work", s.chore, loose},
			{"what has the database to itself", s.engine.alone, full},
			{"a chore after that", s.chore, loose},
		}
		for _, step := range steps {
			if err := step.do(t.Context(), read); err != nil {
				t.Fatalf("%s: %v", step.why, err)
			}
			if level != step.want {
				t.Errorf("%s: got %s %q, want %q", step.why, ask, level, step.want)
			}
		}
	})
}

// TestChoreWithOthers shows that a group is flushed if any of it was promised.
func TestChoreWithOthers(t *testing.T) {
	notes := &Table{Name: "notes"}
	s := openFile(t, filepath.Join(t.TempDir(), "a.db"), notes)
	tx := func() *job {
		j, err := s.job(&Tx{Account: 1, Writes: []Write{{Table: notes, Op: Insert, Doc: []byte("{}")}}})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	var level string
	run := func(loose bool) *job {
		return &job{loose: loose, run: func(db session) error {
			return db.query("PRAGMA synchronous", nil, func(c cursor) { level = c.text(0) })
		}}
	}
	g := newGroup(s.list)
	g.subs = &s.subs
	for _, test := range []struct {
		why  string
		jobs []*job
		want string
	}{
		{"chores", []*job{run(true), run(true)}, "1"},
		{"a chore before a Tx", []*job{run(true), tx()}, "2"},
		{"a chore after a Tx", []*job{tx(), run(true)}, "2"},
		{"a chore and work", []*job{run(true), run(false)}, "2"},
	} {
		level = ""
		if err := s.attempt(g, test.jobs); err != nil {
			t.Fatalf("%s: %v", test.why, err)
		}
		if level != test.want {
			t.Errorf("%s: got synchronous %s, want %s", test.why, level, test.want)
		}
	}
}

// TestYielding shows when a group lets others hand something in.
func TestYielding(t *testing.T) {
	tx, run := &job{tx: new(Tx)}, &job{run: func(session) error { return nil }}
	for _, test := range []struct {
		why   string
		group []*job
		so    int
		want  int
	}{
		{"one writes", []*job{tx}, 2, 0},
		{"many write", []*job{tx, tx}, 0, 2},
		{"one writes beside a chore", []*job{run, tx, run}, 2, 0},
		{"nobody writes, and nobody did", []*job{run}, 0, 0},
		{"nobody writes, and many did", []*job{run, run}, 2, 2},
	} {
		if got := yielding(test.group, test.so); got != test.want {
			t.Errorf("%s: got %d, want %d", test.why, got, test.want)
		}
	}
}
