package hand

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres reads on a pool of connections; what waits to be written at the
// same time goes to the server as arrays, one statement for all of it.
type postgres struct {
	readers *pgxpool.Pool
	writers *pgxpool.Pool
	group   group[*change]
	work    sync.WaitGroup
	ids     block
	seqs    block
}

// A change is a row to insert, or with a rev one to update.
type change struct {
	id, rev, seq int64
	created      int64
	document     Document
	doc          string
	written      bool
	err          error
	done         chan struct{}
}

// OpenPostgres opens a database that the service has made. Commits are as
// durable as the server's settings say.
func OpenPostgres(ctx context.Context, dsn string) (Database, error) {
	p := &postgres{group: newGroup[*change]()}
	var err error
	if p.readers, err = pool(ctx, dsn, readers); err != nil {
		return nil, err
	}
	if p.writers, err = pool(ctx, dsn, writers); err != nil {
		p.readers.Close()
		return nil, err
	}
	if err := p.number(ctx); err != nil {
		p.shut()
		return nil, err
	}
	for range writers {
		p.work.Go(p.run)
	}
	return p, nil
}

// writers is the number of connections that write: while one waits for the
// disk, the other sends.
const writers = 2

func pool(ctx context.Context, dsn string, size int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = size, size
	return pgxpool.NewWithConfig(ctx, config)
}

// number finds the ids that are free, in blocks that a sequence hands out.
func (p *postgres) number(ctx context.Context) error {
	for _, b := range []struct {
		block         *block
		name, highest string
	}{
		{&p.ids, "hand_id", "SELECT coalesce(max(id), 0) FROM r_tasks"},
		{&p.seqs, "hand_seq", "SELECT coalesce(max(seq), 0) FROM event"},
	} {
		var last int64
		if err := p.writers.QueryRow(ctx, b.highest).Scan(&last); err != nil {
			return err
		}
		_, err := p.writers.Exec(ctx, fmt.Sprintf("DROP SEQUENCE IF EXISTS %s; CREATE SEQUENCE %[1]s START %d INCREMENT %d", b.name, last+1, blockSize))
		if err != nil {
			return err
		}
		b.block.take = func() (first int64, err error) {
			err = p.readers.QueryRow(context.Background(), "SELECT nextval($1::text::regclass)", b.name).Scan(&first)
			return first, err
		}
	}
	return nil
}

// A block hands out numbers, many for one question to the database.
type block struct {
	mu        sync.Mutex
	next, end int64
	take      func() (int64, error)
}

const blockSize = 10_000

func (b *block) one() (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == b.end {
		first, err := b.take()
		if err != nil {
			return 0, err
		}
		b.next, b.end = first, first+blockSize
	}
	b.next++
	return b.next - 1, nil
}

func (p *postgres) shut() {
	p.readers.Close()
	p.writers.Close()
}

// Close may be called when no other call is under way.
func (p *postgres) Close() error {
	close(p.group.queue)
	p.work.Wait()
	p.shut()
	return nil
}

func (p *postgres) Get(id int64) (Task, error) {
	t := Task{ID: id}
	err := p.readers.QueryRow(context.Background(), "SELECT created, doc FROM r_tasks WHERE account = 1 AND id = $1", id).Scan(&t.Created, &t.Doc)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	return t, err
}

func (p *postgres) List(after int64, limit int) ([]Task, error) {
	rows, err := p.readers.Query(context.Background(), "SELECT id, created, doc FROM r_tasks WHERE account = 1 AND id > $1 ORDER BY id LIMIT $2", after, limit)
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

func (p *postgres) Create(d Document) (Task, error) {
	doc, err := json.Marshal(&d)
	if err != nil {
		return Task{}, err
	}
	c := &change{document: d, doc: string(doc)}
	if c.id, err = p.ids.one(); err != nil {
		return Task{}, err
	}
	if err := p.submit(c); err != nil {
		return Task{}, err
	}
	if !c.written {
		return Task{}, ErrAssignee
	}
	return Task{ID: c.id, Created: c.created, Doc: doc}, nil
}

// Patch reads the row, changes it and writes it if it has not moved on; then
// it tries again.
func (p *postgres) Patch(id int64, patch Patch) (Task, error) {
	ctx := context.Background()
	if a := patch.AssigneeID; a != nil {
		var one int
		err := p.readers.QueryRow(ctx, "SELECT 1 FROM r_users WHERE account = 1 AND id = $1", *a).Scan(&one)
		if errors.Is(err, pgx.ErrNoRows) {
			return Task{}, ErrAssignee
		} else if err != nil {
			return Task{}, err
		}
	}
	for {
		c := &change{id: id}
		t := Task{ID: id}
		err := p.readers.QueryRow(ctx, "SELECT rev, created, doc FROM r_tasks WHERE account = 1 AND id = $1", id).Scan(&c.rev, &t.Created, &t.Doc)
		if errors.Is(err, pgx.ErrNoRows) {
			return t, ErrNotFound
		} else if err != nil {
			return t, err
		}
		if c.document, t.Doc, err = patch.apply(t.Doc); err != nil {
			return t, err
		}
		c.doc = string(t.Doc)
		if err := p.submit(c); err != nil || c.written {
			return t, err
		}
	}
}

func (p *postgres) submit(c *change) (err error) {
	if c.seq, err = p.seqs.one(); err != nil {
		return err
	}
	c.done = make(chan struct{})
	p.group.queue <- c
	<-c.done
	return c.err
}

// run is a goroutine that writes.
func (p *postgres) run() {
	var batch []*change
	for {
		batch = p.group.take(batch)
		if batch == nil {
			return
		}
		err := p.writeAll(batch)
		for _, c := range batch {
			c.err = err
			close(c.done)
		}
	}
}

const insertSQL = `WITH fresh AS (
	INSERT INTO r_tasks (account, id, rev, seq, created, updated, doc, k_assignee_id, k_status)
	SELECT 1, u.id, 1, u.seq, $1, $1, u.doc, u.assignee, 'pending'
	FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[]) AS u (id, seq, doc, assignee)
	WHERE u.assignee IS NULL OR EXISTS (SELECT 1 FROM r_users WHERE account = 1 AND id = u.assignee)
	RETURNING id, seq, doc
), noted AS (
	INSERT INTO event (account, seq, type, at, resource, subject, rev, created, updated, version, doc)
	SELECT 1, seq, 'task.created', $1, 'tasks', id, 1, $1, $1, '2026-11-01', doc FROM fresh
)
SELECT id FROM fresh`

const updateSQL = `WITH fresh AS (
	UPDATE r_tasks AS t SET rev = t.rev + 1, seq = u.seq, updated = $1, doc = u.doc, k_assignee_id = u.assignee, k_status = u.status
	FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[]) AS u (id, seq, doc, assignee, rev, status)
	WHERE t.account = 1 AND t.id = u.id AND t.rev = u.rev
	RETURNING t.id, t.rev, t.seq, t.created, t.doc
), noted AS (
	INSERT INTO event (account, seq, type, at, resource, subject, rev, created, updated, version, doc)
	SELECT 1, seq, 'task.updated', $1, 'tasks', id, rev, created, $1, '2026-11-01', doc FROM fresh
)
SELECT id FROM fresh`

// columns are changes turned on their side.
type columns struct {
	changes        []*change
	ids, seqs, rev []int64
	docs, statuses []string
	assignees      []*int64
}

func (s *columns) add(c *change) {
	s.changes = append(s.changes, c)
	s.ids, s.seqs, s.rev = append(s.ids, c.id), append(s.seqs, c.seq), append(s.rev, c.rev)
	s.docs, s.statuses = append(s.docs, c.doc), append(s.statuses, c.document.Status)
	s.assignees = append(s.assignees, c.document.AssigneeID)
}

// writeAll sends a group in one round trip, which is one transaction. Of two
// changes of one row in it the second is left out; its caller tries again.
func (p *postgres) writeAll(batch []*change) error {
	now := time.Now().UnixMicro()
	var inserts, updates columns
	slices.SortStableFunc(batch, func(a, b *change) int { return cmp.Compare(a.id, b.id) })
	for i, c := range batch {
		c.created = now
		if c.rev == 0 {
			inserts.add(c)
		} else if i == 0 || batch[i-1].id != c.id {
			updates.add(c)
		}
	}
	var b pgx.Batch
	if len(inserts.ids) > 0 {
		b.Queue(insertSQL, now, inserts.ids, inserts.seqs, inserts.docs, inserts.assignees).Query(inserts.settle)
	}
	if len(updates.ids) > 0 {
		b.Queue(updateSQL, now, updates.ids, updates.seqs, updates.docs, updates.assignees, updates.rev, updates.statuses).Query(updates.settle)
	}
	return p.writers.SendBatch(context.Background(), &b).Close()
}

// settle marks the changes that were written.
func (s *columns) settle(rows pgx.Rows) error {
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if i, ok := slices.BinarySearch(s.ids, id); ok {
			s.changes[i].written = true
		}
	}
	return rows.Err()
}
