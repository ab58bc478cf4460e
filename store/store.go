// Package store keeps resources, their events and the records of idempotent
// requests, in SQLite or in PostgreSQL, behind one contract.
//
// A write is data: a [Tx] says what to write, which revision it expects and
// what must hold, and [Store.Commit] returns when it is on disk, the row with
// its events, in one transaction. Concurrent commits share a transaction and
// its flush; one that fails does not spoil the others.
//
// One clock orders all changes: it hands out sequence numbers in commit order,
// ids that are never used twice, and strictly increasing microsecond times, on
// every node alike, even when a wall clock goes back.
package store

import (
	"errors"
	"fmt"

	"github.com/parley-api/parley/event"
)

// A Kind is the type of a key column.
type Kind uint8

// The kinds of key columns and the Go types of their values in Write.Keys and
// Condition.Value. A nil value is NULL.
const (
	Int  Kind = iota // int64
	Text             // string
	Bool             // bool
)

// OnDelete says what happens to a row when the row it refers to is deleted.
type OnDelete uint8

const (
	Restrict OnDelete = iota // the deletion fails with a ReferencedError
	SetNull                  // the reference becomes null, in the row and its document
)

// A Table describes the rows of one collection. The fixed columns (id, account,
// rev, seq, created, updated, doc) are implied. A Table is not changed after
// Open and may be opened in several stores.
type Table struct {
	Name    string   // the collection's name: lower case, hyphens, plural
	Columns []Column // the members that are filtered, unique or references
	Fields  []Field  // every member, for the view that people query

	// Clear returns doc, in the latest shape, with the member of a column set
	// to null, and the types of the events to emit. It must be given where a
	// column has SetNull. It runs inside a transaction: pure and quick.
	Clear func(doc []byte, column string) (cleared []byte, events []string, err error)
}

// A Column is a member of the document that has a real column beside it.
type Column struct {
	Name     string // the member's name in the document
	Kind     Kind
	Unique   bool     // within the account; nulls are never equal
	Index    bool     // can be used in Query.Where
	Ref      string   // the name of the table whose id it holds, in the same account
	OnDelete OnDelete // of the row that Ref names
	Held     bool     `json:",omitempty"` // can be asked for with Store.Held, over all accounts; Text
	Summed   bool     `json:",omitempty"` // can be asked for with Store.Sum; Int
}

// A Field is a member of the document as the view shows it.
type Field struct {
	Name string
	Type string // JSON type: string, integer, number, boolean, object or array
}

// A Row is a stored resource.
type Row struct {
	ID, Account int64
	Rev         int64 // 1 when created, one more with every change
	Seq         int64 // of its last change, in commit order over everything
	Created     int64 // microseconds since 1970 UTC
	Updated     int64
	Doc         []byte // JSON of the latest shape, without id and times

	// Reshape is set when the row was last written under another definition
	// of its table: its document may lack members that were added since.
	Reshape bool
}

// An Op is what a Write does.
type Op uint8

const (
	Insert Op = iota + 1
	Update
	Delete
)

// A Write changes one row.
type Write struct {
	Table *Table
	Op    Op
	ID    int64  // of the row; an Insert is given one
	Doc   []byte // Insert and Update
	Keys  []any  // Insert and Update: values of Table.Columns, in order
	IfRev int64  // Update and Delete: the revision to change; 0 means any

	// Events are the types of the events to store with the change. Their
	// document is the row's after it, or for a Delete the row's before it.
	Events  []string
	Version string // the API version in whose shape Doc is written

	// Quiet makes an Update leave the row's revision, sequence number and times
	// as they are: nobody changed the resource. It emits no events.
	Quiet bool

	// Redo is called when the row has another revision than IfRev. It returns
	// the write to do instead, with any Op but Insert, or nil to leave the row
	// as it is. It runs inside the transaction and must be pure and quick.
	// Where Redo itself is nil the Tx fails with ErrStale.
	Redo func(current Row) (*Write, error)
}

// A Tx is what one request changes: all of it or nothing.
type Tx struct {
	Account int64
	Writes  []Write
	Events  []event.Event // events about no row; Commit fills in Seq and Account, and At where it is 0
	Replay  *Replay       // nil: the request is not idempotent

	// Revive gives a dead delivery a fresh budget of attempts, the first due at
	// once. Where it is not dead the Tx fails with ErrStale.
	Revive *event.Delivery

	outbox bool // instead of all that: take in what is in the outbox
}

// A Replay is the record of an idempotent request, kept with what it wrote.
type Replay struct {
	Key    string
	Print  [32]byte
	Answer func(rows []Row) []byte // pure and quick: renders what to answer again
}

// Kept is a stored Replay.
type Kept struct {
	Print   [32]byte
	Answer  []byte
	Created int64
}

// A Condition is on an indexed column, whose value must be one of Values: one
// is the usual case. A nil value means null.
type Condition struct {
	Column string
	Values []any
}

// An Order is the column a list is sorted by; the id breaks ties.
type Order uint8

const (
	ByID      Order = iota // also the order of creation
	ByUpdated              // the order of the last change
)

// A Query selects rows of one table.
type Query struct {
	Account int64
	Where   []Condition
	Since   int64 // only rows with Updated >= Since; 0 means all
	Mark    int64 // from Begin: only rows up to it, by ID or, with ByUpdated, by Updated; 0 means all
	Order   Order
	Desc    bool
	After   *Position // start behind this row; nil means at the first
	Back    bool      // walk the other way; rows still come back in the asked order
	Offset  int
	Limit   int // 0 means 20
}

func (q *Query) limit() int {
	if q.Limit <= 0 {
		return 20
	}
	return q.Limit
}

// A Position is the place of a row in an Order.
type Position struct {
	Key int64 // Updated for ByUpdated; unused for ByID
	ID  int64
}

// An EventQuery selects events of one account in order of Seq.
type EventQuery struct {
	Account int64
	Type    string   // exact; "" means all
	Types   []string // exact, or a prefix and *; none means all
	For     int64    // an endpoint: events for another one alone are left out; 0 means none are
	Since   int64    // only events with At >= Since; 0 means all
	Mark    int64    // only events with Seq <= Mark; 0 means all
	After   int64    // Seq to start behind; 0 means from the first
	Desc    bool
	Back    bool // as in Query
	Offset  int
	Limit   int // 0 means 20
}

func (q *EventQuery) limit() int {
	if q.Limit <= 0 {
		return 20
	}
	return q.Limit
}

// Errors of Commit and Get. Use errors.Is and errors.As.
var (
	ErrNotFound = errors.New("store: no such row")
	ErrStale    = errors.New("store: the row has another revision")
	ErrClosed   = errors.New("store: closed")
	// ErrUnavailable wraps the error of a database that cannot be reached or
	// written right now; the write did not happen and may be tried again.
	ErrUnavailable = errors.New("store: database unavailable")
)

// A DuplicateError says that another row of the account has the same value in
// a unique column.
type DuplicateError struct{ Column string }

func (e *DuplicateError) Error() string { return fmt.Sprintf("store: duplicate %s", e.Column) }

// A MissingRefError says that a column refers to a row that does not exist.
type MissingRefError struct{ Column string }

func (e *MissingRefError) Error() string { return fmt.Sprintf("store: %s refers to no row", e.Column) }

// A ReferencedError says that a row cannot be deleted because others refer to
// it with OnDelete Restrict.
type ReferencedError struct{ Table string }

func (e *ReferencedError) Error() string { return "store: still referenced by " + e.Table }

// A ReplayedError says that the Tx's Replay.Key is already taken: nothing was
// written. Kept is the record that has it.
type ReplayedError struct{ Kept Kept }

func (e *ReplayedError) Error() string { return "store: idempotency key already used" }
