package hand

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// sqlite reads on several connections and writes on one, in groups.
type sqlite struct {
	readers *sql.DB
	get     *sql.Stmt
	list    *sql.Stmt
	writes  *sql.DB
	group   group[*write]
	done    chan struct{}

	// Of the goroutine that writes.
	conn                              *sql.Conn
	begin, commit, back               *sql.Stmt
	insert, find, change, note, known *sql.Stmt
	id, seq                           int64 // the last ones used
}

// A write is a create, or with a patch a change of the row id.
type write struct {
	document Document
	doc      []byte
	id       int64
	patch    *Patch
	task     Task
	err      error
	done     chan struct{}
}

// OpenSQLite opens a file that the service has made. Its settings are the
// service's: WAL, synchronous=FULL, caches of the same size.
func OpenSQLite(path string) (Database, error) {
	s := &sqlite{group: newGroup[*write](), done: make(chan struct{})}
	if err := s.open(path); err != nil {
		s.shut()
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	go s.run()
	return s, nil
}

func source(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append(pragmas, "busy_timeout(10000)", "temp_store(memory)")}
	return "file:" + path + "?" + q.Encode()
}

func (s *sqlite) open(path string) (err error) {
	s.writes, err = sql.Open("sqlite", source(path, "journal_mode(wal)", "synchronous(full)", "cache_size(-65536)", "wal_autocheckpoint(4000)"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	if s.conn, err = s.writes.Conn(ctx); err != nil {
		return err
	}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.back, "ROLLBACK"},
		{&s.insert, `INSERT INTO r_tasks (account, id, rev, seq, created, updated, doc, k_assignee_id, k_status)
			SELECT 1, ?1, 1, ?2, ?3, ?3, ?4, ?5, 'pending' WHERE ?5 IS NULL OR EXISTS (SELECT 1 FROM r_users WHERE account = 1 AND id = ?5)`},
		{&s.find, "SELECT rev, created, doc FROM r_tasks WHERE account = 1 AND id = ?"},
		{&s.known, "SELECT 1 FROM r_users WHERE account = 1 AND id = ?"},
		{&s.change, "UPDATE r_tasks SET rev = ?, seq = ?, updated = ?, doc = ?, k_assignee_id = ?, k_status = ? WHERE account = 1 AND id = ?"},
		{&s.note, `INSERT INTO event (account, seq, type, at, resource, subject, rev, created, updated, version, doc)
			VALUES (1, ?1, ?2, ?3, 'tasks', ?4, ?5, ?6, ?3, '2026-11-01', ?7)`},
	} {
		if *p.stmt, err = s.conn.PrepareContext(ctx, p.text); err != nil {
			return err
		}
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM r_tasks WHERE account = 1").Scan(&s.id); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM event WHERE account = 1").Scan(&s.seq); err != nil {
		return err
	}
	if s.readers, err = sql.Open("sqlite", source(path, "query_only(on)", "cache_size(-8192)")); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(readers)
	s.readers.SetMaxIdleConns(readers)
	if s.get, err = s.readers.Prepare("SELECT created, doc FROM r_tasks WHERE account = 1 AND id = ?"); err != nil {
		return err
	}
	s.list, err = s.readers.Prepare("SELECT id, created, doc FROM r_tasks WHERE account = 1 AND id > ? ORDER BY id LIMIT ?")
	return err
}

// readers is the number of connections that read, the service's own.
const readers = 8

func (s *sqlite) shut() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.writes != nil {
		errs = append(errs, s.writes.Close())
	}
	return errors.Join(errs...)
}

// Close may be called when no other call is under way.
func (s *sqlite) Close() error {
	close(s.group.queue)
	<-s.done
	return s.shut()
}

func (s *sqlite) Get(id int64) (Task, error) {
	t := Task{ID: id}
	err := s.get.QueryRow(id).Scan(&t.Created, &t.Doc)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return t, err
}

func (s *sqlite) List(after int64, limit int) ([]Task, error) {
	rows, err := s.list.Query(after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tasks := make([]Task, 0, limit)
	for rows.Next() {
		var t Task
		if err := rows.Scan(&t.ID, &t.Created, &t.Doc); err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, rows.Err()
}

func (s *sqlite) Create(d Document) (Task, error) {
	doc, err := json.Marshal(&d)
	if err != nil {
		return Task{}, err
	}
	return s.submit(&write{document: d, doc: doc})
}

func (s *sqlite) Patch(id int64, p Patch) (Task, error) {
	return s.submit(&write{id: id, patch: &p})
}

func (s *sqlite) submit(w *write) (Task, error) {
	w.done = make(chan struct{})
	s.group.queue <- w
	<-w.done
	return w.task, w.err
}

// run is the goroutine that writes.
func (s *sqlite) run() {
	defer close(s.done)
	var batch []*write
	for {
		batch = s.group.take(batch)
		if batch == nil {
			return
		}
		err := s.writeAll(batch)
		for _, w := range batch {
			if err != nil {
				w.err = err
			}
			close(w.done)
		}
	}
}

func (s *sqlite) writeAll(batch []*write) error {
	if _, err := s.begin.Exec(); err != nil {
		return err
	}
	now := time.Now().UnixMicro()
	id, seq := s.id, s.seq
	for _, w := range batch {
		var err error
		if w.patch == nil {
			err = s.create(w, now)
		} else {
			err = s.update(w, now)
		}
		switch {
		case err == nil:
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrAssignee), errors.Is(err, ErrInvalid):
			w.err = err
		default:
			s.id, s.seq = id, seq
			s.back.Exec()
			return err
		}
	}
	if _, err := s.commit.Exec(); err != nil {
		s.id, s.seq = id, seq
		s.back.Exec()
		return err
	}
	return nil
}

func (s *sqlite) create(w *write, now int64) error {
	result, err := s.insert.Exec(s.id+1, s.seq+1, now, string(w.doc), w.document.AssigneeID)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return ErrAssignee
	}
	s.id++
	s.seq++
	w.task = Task{ID: s.id, Created: now, Doc: w.doc}
	_, err = s.note.Exec(s.seq, "task.created", now, s.id, 1, now, string(w.doc))
	return err
}

func (s *sqlite) update(w *write, now int64) error {
	w.task = Task{ID: w.id}
	var rev int64
	err := s.find.QueryRow(w.id).Scan(&rev, &w.task.Created, &w.task.Doc)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	} else if err != nil {
		return err
	}
	if a := w.patch.AssigneeID; a != nil {
		var one int
		if err := s.known.QueryRow(*a).Scan(&one); errors.Is(err, sql.ErrNoRows) {
			return ErrAssignee
		} else if err != nil {
			return err
		}
	}
	d, doc, err := w.patch.apply(w.task.Doc)
	if err != nil {
		return err
	}
	s.seq++
	w.task.Doc = doc
	text := string(doc)
	if _, err := s.change.Exec(rev+1, s.seq, now, text, d.AssigneeID, d.Status, w.id); err != nil {
		return err
	}
	_, err = s.note.Exec(s.seq, "task.updated", now, w.id, rev+1, w.task.Created, text)
	return err
}
