// Package webhook is both ends of a signed webhook: secrets, signatures, their
// verification, and a receiver for those who consume them. It follows the
// Standard Webhooks specification, so that what it signs can be verified by
// any library of that family, and the other way round.
//
// A webhook is a POST with three header fields:
//
//	webhook-id         names the delivery; the same over all retries
//	webhook-timestamp  when this attempt was made, in Unix seconds
//	webhook-signature  one or more entries <scheme>,<base64>, space-delimited
//
// What is signed is <webhook-id>.<webhook-timestamp>.<raw body>. Scheme v1 is
// HMAC-SHA256 with a secret that both ends share; scheme v1a is Ed25519, where
// the consumer has the public key only and could not sign if it wanted to.
//
// # Receiving
//
// [NewReceiver] gives an [http.Handler] that does the whole of it: it verifies
// (401), asks its [Store] whether the delivery is known (200, and nothing is
// done twice), hands it to your queue and answers 200 at once:
//
//	secret, err := webhook.ParseSecret(os.Getenv("WEBHOOK_SECRET"))
//	…
//	http.Handle("/webhooks/tasks", webhook.NewReceiver([]webhook.Secret{secret}, enqueue, nil))
//
// Who has a router or framework of another kind uses [Verifier.Verify] alone.
//
// A webhook endpoint is called by machines without cookies: exempt it from
// protection against cross-site request forgery. Give the handler the body as
// it came. A middleware that parses and rewrites it breaks the signature.
//
// # Sending
//
// [NewSecret] and [NewKeyPair] make secrets, [Secret.AppendSignature] and
// [Sign] sign with them.
//
// # Rotation
//
// While a secret is replaced, the sender signs with the old and the new one,
// and the header has two entries. A consumer is content with one that matches,
// so it can change its secret at any moment of the overlap. A [Verifier] takes
// several secrets, for consumers that cannot choose the moment.
//
// # Secrets in logs
//
// Whatever prints a [Secret] prints [REDACTED]; [Secret.Reveal] is the one way
// to its text. No error of this package holds a part of a secret, a signature
// or a value that was received.
package webhook

import "time"

// The names of the header fields, in the form that [http.Header] has as keys.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const (
	// Tolerance is how far a timestamp may be from the present, both ways,
	// where nothing else is asked for.
	Tolerance = 300 * time.Second

	// Retention is how long the id of an accepted delivery is remembered,
	// where nothing else is asked for: as long as a sender may retry.
	Retention = 72 * time.Hour

	// MaxID is the length of the longest webhook-id, in bytes.
	MaxID = 256

	// MaxSignatures is the largest number of entries of a webhook-signature.
	MaxSignatures = 16
)
