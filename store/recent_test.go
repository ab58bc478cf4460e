package store

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestRecent(t *testing.T) {
	const sql = "SELECT"
	row := func(id int64, doc string) Row { return Row{Account: 1, ID: id, Doc: []byte(doc)} }
	// known makes a row that is remembered.
	known := func() *recent {
		r := newRecent()
		for range 2 {
			_, at, _ := r.find(sql, 1, 7)
			r.keep(sql, at, row(7, "a"))
		}
		return r
	}
	for _, tt := range []struct {
		why  string
		do   func(r *recent)
		want bool
	}{
		{"a row that was read twice is remembered", func(*recent) {}, true},
		{"until something is committed", func(r *recent) { r.commit(func() error { return nil }) }, false},
		{"or may have been", func(r *recent) { r.commit(func() error { return errors.New("disk") }) }, false},
		{"while it is being committed nobody knows", func(r *recent) { r.turn.Add(1) }, false},
		{"for a while", func(r *recent) { r.began = r.began.Add(-2 * freshness) }, false},
		{"it stands for its statement", func(r *recent) { r.rows[0].Store(nil); forget(r, func(m *memory) { m.sql = "other" }) }, false},
		{"and its account", func(r *recent) { forget(r, func(m *memory) { m.row.Account = 2 }) }, false},
		{"and its id", func(r *recent) { forget(r, func(m *memory) { m.row.ID = 8 }) }, false},
	} {
		r := known()
		tt.do(r)
		if got, _, found := r.find(sql, 1, 7); found != tt.want || found && string(got.Doc) != "a" {
			t.Errorf("%s: got %v, %v", tt.why, got, found)
		}
	}

	r := newRecent()
	_, at, _ := r.find(sql, 1, 7)
	r.keep(sql, at, row(7, "a"))
	if _, _, found := r.find(sql, 1, 7); found {
		t.Error("a row that was read once is remembered")
	}
	_, at, _ = r.find(sql, 1, 7)
	r.commit(func() error { return nil })
	r.keep(sql, at, row(7, "old"))
	if _, _, found := r.find(sql, 1, 7); found {
		t.Error("a row that was read before a commit is remembered after it")
	}
	r.turn.Add(1)
	for range 3 {
		_, at, _ = r.find(sql, 1, 7)
		r.keep(sql, at, row(7, "between"))
	}
	if _, _, found := r.find(sql, 1, 7); found {
		t.Error("a row that was read during a commit is remembered")
	}
	r = known()
	_, at, _ = r.find(sql, 1, 9)
	r.keep(sql, at, row(9, string(make([]byte, maxMemory+1))))
	r.keep(sql, at, row(9, string(make([]byte, maxMemory+1))))
	if _, _, found := r.find(sql, 1, 9); found {
		t.Error("a large row is remembered")
	}
}

// forget changes what is remembered.
func forget(r *recent, f func(*memory)) {
	for i := range r.rows {
		if m := r.rows[i].Load(); m != nil {
			changed := *m
			f(&changed)
			r.rows[i].Store(&changed)
		}
	}
}

// TestRecentNeverOld has readers look while a number rises: none may see one
// that is lower than what was committed before it looked.
func TestRecentNeverOld(t *testing.T) {
	r := newRecent()
	var stored, acknowledged atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(300 * time.Millisecond)
	for range 4 {
		wg.Go(func() {
			for time.Now().Before(end) {
				least := acknowledged.Load()
				row, at, found := r.find("SELECT", 1, 7)
				if !found {
					row = Row{Account: 1, ID: 7, Rev: stored.Load()}
					r.keep("SELECT", at, row)
				}
				if row.Rev < least {
					t.Errorf("got %d after %d was acknowledged", row.Rev, least)
					return
				}
			}
		})
	}
	for n := int64(1); time.Now().Before(end); n++ {
		r.commit(func() error { stored.Store(n); return nil })
		acknowledged.Store(n)
		if n%3 == 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
	wg.Wait()
}
