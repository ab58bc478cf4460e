// Package hand holds what a good engineer writes by hand when one resource and
// its speed are all that counts: the handlers that the benchmark measures the
// service against.
//
// The database handlers work on the service's own tables, rows and indexes,
// are as durable, commit in groups and store the event of a change with it.
// They check no key, negotiate nothing, know one version and write no log.
package hand

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Constant answers every request with the same bytes.
func Constant(body string) http.Handler {
	b, size := []byte(body), []string{strconv.Itoa(len(body))}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Content-Type"], h["Content-Length"] = typeJSON, size
		w.Write(b)
	})
}

// A Task is a row. Doc has its members but for the id and the times.
type Task struct {
	ID, Created int64 // microseconds since 1970
	Doc         []byte
}

// A Document is what Doc holds.
type Document struct {
	Title      string `json:"title"`
	AssigneeID *int64 `json:"assignee_id"`
	Status     string `json:"status"`
}

// A Patch is what a PATCH changes; nil leaves a member as it is.
type Patch struct {
	Title      *string `json:"title"`
	AssigneeID *int64  `json:"assignee_id"`
	Status     *string `json:"status"`
}

// A Database keeps tasks. Its methods may be called concurrently; a write
// returns when it is on disk.
type Database interface {
	Get(id int64) (Task, error)
	List(after int64, limit int) ([]Task, error) // in order of ids
	Create(d Document) (Task, error)
	Patch(id int64, p Patch) (Task, error)
	Close() error
}

// Errors of a Database.
var (
	ErrNotFound = errors.New("no such task")
	ErrAssignee = errors.New("no such assignee")
	ErrInvalid  = errors.New("invalid task")
)

// account is the one whose rows the benchmark uses.
const account = 1

// apply changes a document as a patch says.
func (p *Patch) apply(doc []byte) (Document, []byte, error) {
	var d Document
	if err := json.Unmarshal(doc, &d); err != nil {
		return d, nil, err
	}
	if p.Title != nil {
		d.Title = *p.Title
	}
	if p.AssigneeID != nil {
		d.AssigneeID = p.AssigneeID
	}
	if p.Status != nil {
		if d.Status == "done" && *p.Status == "pending" {
			return d, nil, ErrInvalid
		}
		d.Status = *p.Status
	}
	if !d.valid() {
		return d, nil, ErrInvalid
	}
	next, err := json.Marshal(&d)
	return d, next, err
}

func (d *Document) valid() bool {
	return d.Title != "" && utf8.RuneCountInString(d.Title) <= 500 &&
		(d.Status == "pending" || d.Status == "in_progress" || d.Status == "done")
}

// Handler serves a Database.
func Handler(db Database) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, "/tasks")
		if !ok {
			http.NotFound(w, r)
			return
		}
		if rest == "" && r.Method == http.MethodGet {
			list(db, w, r)
			return
		}
		var t Task
		var err error
		status := http.StatusOK
		switch {
		case rest == "" && r.Method == http.MethodPost:
			status = http.StatusCreated
			t, err = create(db, r)
		case rest != "" && r.Method == http.MethodGet:
			t, err = get(db, rest)
		case rest != "" && r.Method == http.MethodPatch:
			t, err = patch(db, rest, r)
		default:
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, status, &t)
	})
}

func parseID(rest string) (int64, error) {
	if rest[0] != '/' {
		return 0, ErrNotFound
	}
	id, err := strconv.ParseInt(rest[1:], 10, 64)
	if err != nil {
		return 0, ErrNotFound
	}
	return id, nil
}

func get(db Database, rest string) (Task, error) {
	id, err := parseID(rest)
	if err != nil {
		return Task{}, err
	}
	return db.Get(id)
}

// list answers with a page behind an id, and where the next one begins.
func list(db Database, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, after := 20, int64(0)
	var err error
	if s := query.Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > 100 {
			fail(w, ErrInvalid)
			return
		}
	}
	if s := query.Get("after"); s != "" {
		if after, err = strconv.ParseInt(s, 10, 64); err != nil {
			fail(w, ErrInvalid)
			return
		}
	}
	tasks, err := db.List(after, limit+1)
	if err != nil {
		fail(w, err)
		return
	}
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	b := append(buf.b[:0], `{"data":[`...)
	more := len(tasks) > limit
	tasks = tasks[:min(limit, len(tasks))]
	for i := range tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendTask(b, &tasks[i])
	}
	b = append(b, `],"next":`...)
	if more {
		b = strconv.AppendInt(b, tasks[limit-1].ID, 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, '}')
	buf.b = b[:0]
	h := w.Header()
	h["Content-Type"], h["Content-Length"] = typeJSON, []string{strconv.Itoa(len(b))}
	w.Write(b)
}

func create(db Database, r *http.Request) (Task, error) {
	d := Document{Status: "pending"}
	if err := decode(r, &d); err != nil {
		return Task{}, err
	}
	if d.Status != "pending" || !d.valid() {
		return Task{}, ErrInvalid
	}
	return db.Create(d)
}

func patch(db Database, rest string, r *http.Request) (Task, error) {
	id, err := parseID(rest)
	if err != nil {
		return Task{}, err
	}
	var p Patch
	if err := decode(r, &p); err != nil {
		return Task{}, err
	}
	return db.Patch(id, p)
}

// buffers are of bodies, in and out.
var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 2048)} }}

type buffer struct{ b []byte }

const maxBody = 1 << 20

func decode(r *http.Request, to any) error {
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		return ErrInvalid
	}
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	n := int(r.ContentLength)
	if cap(buf.b) < n {
		buf.b = make([]byte, 0, n)
	}
	body := buf.b[:n]
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return ErrInvalid
	}
	if json.Unmarshal(body, to) != nil {
		return ErrInvalid
	}
	return nil
}

var typeJSON = []string{"application/json"}

func answer(w http.ResponseWriter, status int, t *Task) {
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	b := AppendTask(buf.b[:0], t)
	buf.b = b[:0]
	h := w.Header()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	if status == http.StatusCreated {
		h["Location"] = []string{"/tasks/" + strconv.FormatInt(t.ID, 10)}
	}
	w.WriteHeader(status)
	w.Write(b)
}

// AppendTask writes a task as JSON.
func AppendTask(b []byte, t *Task) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), t.ID, 10)
	b = append(append(b, ','), t.Doc[1:len(t.Doc)-1]...)
	b = appendTime(append(b, `,"created_at":"`...), t.Created)
	return append(b, `"}`...)
}

// appendTime writes microseconds since 1970 as an ISO 8601 UTC timestamp.
func appendTime(b []byte, micros int64) []byte {
	t := time.UnixMicro(micros).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = append(two(two(b, year/100), year%100), '-')
	b = append(two(b, int(month)), '-')
	b = append(two(b, day), 'T')
	b = append(two(b, hour), ':')
	b = append(two(b, minute), ':')
	b = append(two(b, second), '.')
	u := int(micros % 1e6)
	return append(two(two(two(b, u/10000), u/100%100), u%100), 'Z')
}

func two(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrAssignee):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
