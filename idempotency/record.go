package idempotency

import (
	"context"
	"time"

	"github.com/parley-api/parley/problem"
)

// A Record says what a key was used for and how that was answered.
type Record struct {
	Scope, Key string
	Print      Print
	Answer     *Answer // nil means that the request is under way, perhaps in another process
	Created    time.Time
}

// A Keeper remembers records for [Handler]. Its methods are called
// concurrently. The record of a scope and a key is live until [Retention] has
// passed since Created; scope and key are compared octet by octet.
type Keeper interface {
	// Lookup returns the live record of the scope and the key, or nil and no
	// error where there is none.
	Lookup(ctx context.Context, scope, key string) (*Record, error)

	// Keep stores the record. Where a live one exists for its scope and key,
	// that one stays and Keep returns nil: the first answer is the answer.
	Keep(ctx context.Context, rec Record) error
}

// Check decides a request by the record of its key; print is the request's
// own. It returns
//
//   - nil and nil if rec is nil: the key is new, do the work;
//   - the answer to send again with [Answer.Write];
//   - a problem.KeyReused (422) if the record is that of another request;
//   - the problem of [InUse] (409) if the record has no answer yet.
func Check(rec *Record, print Print) (*Answer, error) {
	switch {
	case rec == nil:
		return nil, nil
	case rec.Print != print:
		p := problem.KeyReused.New("This key was used before with another method, target, media type or body.")
		p.Parameter = Header
		return nil, p
	case rec.Answer == nil:
		return nil, InUse()
	}
	return rec.Answer, nil
}

// InUse returns the problem for a request whose key is that of a request
// still under way: problem.KeyInUse (409), with Retry-After: 1.
func InUse() *problem.Problem {
	p := problem.KeyInUse.New("A request with this key has not finished yet.")
	p.RetryAfter = 1
	return p
}
