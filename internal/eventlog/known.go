package eventlog

import (
	"context"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// known keeps the schemas of types that were read a moment ago. What is changed
// on this node is seen at once; a change on another node can go unnoticed for
// as long as knownFor, and only so far that an event passes which the new
// schema would refuse, or whose type was deleted: what is refused is looked up
// again first.
type known struct {
	mu    sync.Mutex
	of    map[kindKey]knownKind
	epoch int // how often it was forgotten
}

type kindKey struct {
	account int64
	name    string
}

type knownKind struct {
	schema *jsonschema.Schema
	until  time.Time
}

const (
	knownFor  = 2 * time.Second
	mostKnown = 10_000
)

func (k *known) get(key kindKey, now time.Time) *jsonschema.Schema {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kind, ok := k.of[key]; ok && now.Before(kind.until) {
		return kind.schema
	}
	return nil
}

// begin is called before a type is read, and gives what put wants.
func (k *known) begin() (epoch int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.epoch
}

// put keeps a schema, unless something was changed since begin.
func (k *known) put(epoch int, key kindKey, s *jsonschema.Schema, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if epoch != k.epoch {
		return
	}
	if k.of == nil || len(k.of) >= mostKnown {
		k.of = make(map[kindKey]knownKind)
	}
	k.of[key] = knownKind{s, now.Add(knownFor)}
}

func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch++
	clear(k.of)
}

// readSchema returns the schema of a type as it is in the database now, or the error
// of store.Find.
func (rm *Room) readSchema(ctx context.Context, key kindKey) (*jsonschema.Schema, error) {
	epoch := rm.known.begin()
	row, err := rm.store.Find(ctx, rm.own.Table(), key.account, "name", key.name)
	if err != nil {
		return nil, err
	}
	var own Own
	if err := rm.own.Decode(row.Doc, &own); err != nil {
		return nil, err
	}
	schema, err := rm.schemas.get(string(own.Schema))
	if err == nil {
		rm.known.put(epoch, key, schema, rm.options.Now())
	}
	return schema, err
}
