// Package idempotency lets a client repeat a POST without fear: the
// Idempotency-Key request header field (the IETF's draft
// draft-ietf-httpapi-idempotency-key-header), as a convention for any
// net/http service.
//
// A client makes up a key for each thing it wants done and sends it with the
// request. When it hears nothing, it sends the same request with the same key:
//
//   - The first request was done: the first answer comes again, with
//     Idempotency-Replayed: true, and nothing is done a second time.
//   - The key came with another request before: 422, problem.KeyReused.
//   - The first request is still running: 409, problem.KeyInUse, with
//     Retry-After: 1.
//
// A request is the same when method, target, Content-Type and body are
// ([Fingerprint]). Keys belong to a scope, as a rule the account, so that two
// accounts may choose the same key. They are kept for [Retention].
//
// # What is kept
//
// Only an answer of the class 2xx is kept. Any other answer says that nothing
// took effect, so there is nothing to protect from happening twice, and the
// key stays free: the client may correct the request and send it with the key
// it has, and a request that failed in passing (429, 503) can succeed later
// instead of having its failure replayed for a day. A handler must therefore
// not answer 4xx or 5xx after it did part of its work.
//
// # Two ways to use it
//
// [Handler] wraps any http.Handler and does the whole convention with a
// [Keeper]. Between the handler's write and the keeper's lies a moment in
// which the process can die; and two processes that share a keeper do not see
// each other's running requests.
//
// A service that must not duplicate even then stores the [Record] in the
// transaction of the write itself, under a unique key of scope and key. It
// uses the parts: [Key], [Fingerprint], [Flights] for what is under way,
// [Check] on the stored record, [Answer.AppendAnswer] and [ParseAnswer] for
// the stored form.
//
// # Secrets
//
// An answer that shows a secret, such as a new API key, must not lie in a
// store for a day. Its replay leaves the secret out: a service that stores
// records itself puts the answer without the secret into the record; under
// [Handler], [Conceal] names the body that replays get.
package idempotency

import "time"

const (
	// Header is the name of the request header field that carries the key.
	Header = "Idempotency-Key"

	// Replayed is the name of the response header field, with the value
	// "true", that tells a repeated answer from a first one.
	Replayed = "Idempotency-Replayed"

	// Retention is how long a key is remembered after its request was done.
	// After that the same key is a new one.
	Retention = 24 * time.Hour

	// MaxKey is the length of the longest key, in characters.
	MaxKey = 255

	// MaxBody is the size of the largest request body that [Handler] takes
	// with a key, in bytes.
	MaxBody = 1 << 20
)
