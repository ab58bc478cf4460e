// Package topic is the room of the receiving side: topics that others send
// webhooks to, and receipts of what was accepted.
package topic

import (
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/webhook"
)

// A Topic is a place that a sender delivers to: POST /webhooks/{topic}.
type Topic struct {
	Name    string  `json:"name" parley:"required,max=100,unique,immutable" about:"Lower-case letters, digits and hyphens; unique in the whole service."`
	Secret  *string `json:"secret" parley:"writeonly,max=200,line" about:"What the sender signs with: whsec_…, or whpk_… for v1a. Without it one is made and shown once."`
	Account int64   `json:"account" parley:"hidden"`
}

// A Receipt is a delivery that was accepted.
type Receipt struct {
	WebhookID  string    `json:"webhook-id" parley:"readonly" about:"Of the sender: the same delivery has the same."`
	Type       string    `json:"type" parley:"readonly" about:"Of the event; empty where the body is no event."`
	ReceivedAt time.Time `json:"received_at" parley:"readonly"`
	Body       string    `json:"body" parley:"readonly" about:"As it was sent."`
	Dedupe     string    `json:"dedupe" parley:"hidden,unique"`
	Topic      int64     `json:"topic" parley:"hidden"`
}

var name = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Resource defines the topics.
func Resource() *resource.Definition {
	return resource.Define("webhook-topic", "webhook-topics", resource.Rules[Topic]{
		About:  "Where others deliver webhooks to.",
		Key:    "name",
		Owner:  "account",
		Silent: true,
		Check: func(next, was *Topic) (errs []problem.FieldError) {
			if !name.MatchString(next.Name) {
				errs = append(errs, problem.FieldError{Pointer: "/name", Detail: "must be lower-case letters and digits, with hyphens between words"})
			}
			if was != nil && next.Secret == nil {
				next.Secret = was.Secret
			}
			if next.Secret != nil {
				if key, err := parse(*next.Secret); err != nil || key.Size() < 24 || key.Size() > 64 {
					errs = append(errs, problem.FieldError{Pointer: "/secret", Detail: "must be whsec_ and base64 of 24 to 64 bytes, or whpk_ and base64 of 32"})
				}
			}
			return errs
		},
		Shown: "secret",
		Reveal: func(next *Topic, _ int64) (string, error) {
			if next.Secret != nil {
				return "", nil // the sender's: known already
			}
			secret := webhook.NewSecret().Reveal()
			next.Secret = &secret
			return secret, nil
		},
	})
}

// parse reads a secret that verifies.
func parse(text string) (webhook.Secret, error) {
	if len(text) > 5 && (text[:5] == "whpk_" || text[:5] == "whsk_") {
		return webhook.ParsePublicKey(text)
	}
	return webhook.ParseSecret(text)
}

// Receipts defines what was accepted.
func Receipts(topics *resource.Definition) *resource.Definition {
	return resource.Define("receipt", "receipts", resource.Rules[Receipt]{
		About:   "A delivery that was accepted.",
		Silent:  true,
		Parent:  resource.Parent{Of: topics, Member: "topic"},
		Methods: []resource.Kind{resource.List, resource.Read},
	})
}

// A Receiver takes deliveries for all topics. It is safe for concurrent use.
type Receiver struct {
	store            *store.Store
	topics, receipts *resource.Definition
	now              func() time.Time
	verifiers        sync.Map // id of a topic → *verifier
}

// A verifier is made of the secret that a topic had when it was last used.
type verifier struct {
	*webhook.Verifier
	secret string
}

// NewReceiver returns the receiving side of the topics.
func NewReceiver(s *store.Store, topics, receipts *resource.Definition, now func() time.Time) *Receiver {
	return &Receiver{store: s, topics: topics, receipts: receipts, now: now}
}

// Routes returns the one method of the receiver. It asks for no key: the
// signature is the credential. No cookie is ever read here, so that a forged
// request of a browser gains nothing.
func (rc *Receiver) Routes() []*resource.Route {
	return []*resource.Route{{
		Method: http.MethodPost, Pattern: "/webhooks/{topic}", Public: true, Single: true, Serve: rc.receive,
		Operation: "receiveWebhook", Summary: "Deliver a webhook to a topic",
	}}
}

// maxBody is the size of the largest delivery.
const maxBody = 1 << 20

// receive verifies, then writes the receipt: its unique column is the
// idempotency store, and its row is the queue.
func (rc *Receiver) receive(c *resource.Call) error {
	if err := resource.NoParameters(c); err != nil {
		return err
	}
	row, err := rc.store.Find(c.Context(), rc.topics.Table(), 0, "name", c.Args[0])
	if errors.Is(err, store.ErrNotFound) {
		return problem.NotFound.New("There is no such topic.")
	}
	if err != nil {
		return err
	}
	var t Topic
	if err := rc.topics.Decode(row.Doc, &t); err != nil {
		return err
	}
	body, err := read(c)
	if err != nil {
		return err
	}
	verifier, err := rc.verifier(row.ID, *t.Secret)
	if err != nil {
		return err
	}
	now := rc.now()
	if err := verifier.Verify(c.R.Header, body, now); err != nil {
		return webhook.Problem(err)
	}
	if err := rc.keep(c, row.ID, &t, body, now); err != nil {
		return err
	}
	c.Send(http.StatusOK, "", []byte(`{"status":"accepted"}`)) // the same for one that is known
	return nil
}

// keep writes the receipt, once for each webhook-id.
func (rc *Receiver) keep(c *resource.Call, topic int64, t *Topic, body []byte, now time.Time) error {
	id := c.R.Header.Get("webhook-id")
	r := Receipt{WebhookID: id, ReceivedAt: now.UTC().Truncate(time.Microsecond), Body: string(body), Topic: topic, Dedupe: strconv.FormatInt(topic, 10) + "/" + id}
	if e, err := webhook.ParseEvent(body); err == nil {
		r.Type = e.Type
	}
	_, err := rc.store.Commit(c.Context(), &store.Tx{Account: t.Account, Writes: []store.Write{rc.receipts.Record(&r)}})
	if _, known := errors.AsType[*store.DuplicateError](err); known {
		return nil
	}
	return err
}

func (rc *Receiver) verifier(topic int64, secret string) (*verifier, error) {
	if v, ok := rc.verifiers.Load(topic); ok && v.(*verifier).secret == secret {
		return v.(*verifier), nil
	}
	s, err := parse(secret)
	if err != nil {
		return nil, err
	}
	v := &verifier{webhook.NewVerifier([]webhook.Secret{s}, nil), secret}
	rc.verifiers.Store(topic, v)
	return v, nil
}

func read(c *resource.Call) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(c.R.Body, maxBody+1))
	switch {
	case len(body) > maxBody:
		p := problem.ContentTooLarge.Newf("A delivery may have at most %d bytes.", maxBody)
		p.Maximum = maxBody
		return nil, p
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem.RequestTimeout.New("The body did not arrive in time.").Because(err)
	case err != nil:
		return nil, problem.BadRequest.New("The body could not be read.").Because(err)
	}
	return body, nil
}
