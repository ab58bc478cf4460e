package hand

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// memory answers GET of one task, out of memory, with what the service sends:
// the same fields, the same body, the same check of a key, the same line in
// the log. Everything that one request in a million could need is left out.
type memory struct {
	rows   *Rows
	keys   map[[32]byte]holder
	mu     sync.RWMutex // of keys, as they can be revoked
	log    *slog.Logger
	prefix string
	number atomic.Uint64
	quota  quota
}

type holder struct {
	account    int64
	credential string
}

// Memory serves rows to the holder of a key.
func Memory(rows *Rows, key string, log *slog.Logger) http.Handler {
	m := &memory{rows: rows, log: log, prefix: "handmade-"}
	m.keys = map[[32]byte]holder{sha256.Sum256([]byte(key)): {account, "key-1"}}
	m.quota.left = quotaBurst
	return m
}

// The fields that are the same on every answer.
var (
	nosniff  = []string{"nosniff"}
	vary     = []string{"Accept, API-Version, Authorization"}
	named    = []string{version}
	noCache  = []string{"private, no-cache"}
	noRanges = []string{"none"}
	policy   = []string{`"default";q=` + strconv.Itoa(quotaBurst*6) + `;w=60`}
)

const version = "2026-11-01"

// quotaBurst is a sixth of the quota of a minute that the benchmark sets.
const quotaBurst = 10_000_000

// A quota counts down and is filled again every minute.
type quota struct {
	mu   sync.Mutex
	left int64
	full int64 // the second at which it is
}

func (q *quota) take(now time.Time) (left, reset int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	second := now.Unix()
	if second >= q.full {
		q.left, q.full = quotaBurst, second+60
	}
	q.left--
	return q.left, q.full - second
}

func (m *memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	var b [64]byte
	id := string(strconv.AppendUint(append(b[:0], m.prefix...), m.number.Add(1), 36))
	h := w.Header()
	h["X-Request-Id"] = []string{id}
	h["X-Content-Type-Options"] = nosniff
	h["Vary"] = vary
	h["API-Version"] = named

	number, isTask := strings.CutPrefix(r.URL.Path, "/tasks/")
	var key string
	isBearer := false
	if a := r.Header["Authorization"]; len(a) == 1 {
		key, isBearer = strings.CutPrefix(a[0], "Bearer ")
	}
	sum := sha256.Sum256([]byte(key))
	m.mu.RLock()
	who, known := m.keys[sum]
	m.mu.RUnlock()
	if !isTask || !isBearer || !known || r.Method != http.MethodGet {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	left, reset := m.quota.take(start)
	h["RateLimit-Policy"] = policy
	q := strconv.AppendInt(append(b[:0], `"default";r=`...), left, 10)
	q = strconv.AppendInt(append(q, ";t="...), reset, 10)
	h["RateLimit"] = []string{string(q)}

	n, err := strconv.ParseInt(number, 10, 64)
	row, ok := m.rows.Row(n)
	if err != nil || !ok {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	buf := buffers.Get().(*buffer)
	body := appendShown(buf.b[:0], row.ID, row.Created, row.Updated, row.Doc)
	etag := strconv.AppendInt(append(b[:0], '"'), row.Rev, 10)
	h["Etag"] = []string{string(append(etag, `-`+version+`"`...))}
	h["Cache-Control"] = noCache
	h["Accept-Ranges"] = noRanges
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(http.StatusOK)
	w.Write(body)
	m.log.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.String("id", id), slog.String("method", r.Method), slog.String("route", "/tasks/{id}"),
		slog.Int("status", http.StatusOK), slog.Duration("duration", time.Since(start)), slog.Int64("bytes", int64(len(body))),
		slog.Int64("account", who.account), slog.String("credential", who.credential), slog.String("version", version))
	buf.b = body[:0]
	buffers.Put(buf)
}

var (
	assignee = []byte(`"assignee_id":`)
	done     = []byte(`"status":"done"}`)
)

// appendShown writes a task as the service shows it, links included.
func appendShown(b []byte, id, created, updated int64, doc []byte) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), id, 10)
	b = append(append(b, ','), doc[1:len(doc)-1]...)
	b = appendTime(append(b, `,"created_at":"`...), created)
	b = appendTime(append(b, `","updated_at":"`...), updated)
	b = append(b, `","_links":{"self":{"href":"/tasks/`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `"},"collection":{"href":"/tasks"}`...)
	if _, rest, ok := bytes.Cut(doc, assignee); ok && rest[0] != 'n' {
		owner := rest[:bytes.IndexByte(rest, ',')] // the status is behind it
		b = append(append(append(b, `,"owner":{"href":"/users/`...), owner...), `"}`...)
	}
	if !bytes.HasSuffix(doc, done) {
		b = append(b, `,"complete":{"href":"/tasks/`...)
		b = strconv.AppendInt(b, id, 10)
		b = append(b, `/complete","method":"POST"}`...)
	}
	return append(b, "}}"...)
}
