package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/parley-api/parley/webhook"
)

// The consumer of a sender's webhooks, in five lines. The queue of this one
// prints; a real one inserts a row and returns.
func Example() {
	secret, _ := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	http.Handle("/webhooks/tasks", webhook.NewReceiver([]webhook.Secret{secret}, func(ctx context.Context, d *webhook.Delivery) error {
		fmt.Println("queued", d.ID)
		return nil
	}, nil))

	// The sender delivers, does not hear the answer, and delivers again.
	body := `{"webhook-id":"msg_1","type":"task.created","timestamp":"2026-11-15T12:00:00Z","data":{"id":1}}`
	now := time.Now().Unix()
	signature, _ := webhook.Sign([]webhook.Secret{secret}, "msg_1", now, []byte(body))
	for range 2 {
		r := httptest.NewRequest("POST", "/webhooks/tasks", strings.NewReader(body))
		r.Header.Set("webhook-id", "msg_1")
		r.Header.Set("webhook-timestamp", strconv.FormatInt(now, 10))
		r.Header.Set("webhook-signature", signature)
		w := httptest.NewRecorder()
		http.DefaultServeMux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// queued msg_1
	// 200
	// 200
}

// Signing: what a sender puts into webhook-signature, in a buffer it re-uses.
func ExampleSecret_AppendSignature() {
	secret, err := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		fmt.Println(err)
		return
	}
	buffer := make([]byte, 0, 128)
	value, err := secret.AppendSignature(buffer, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, []byte(`{"test": 2432232314}`))
	fmt.Println(string(value), err)
	// Output: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= <nil>
}

// Rotation: the sender signs with both secrets, and consumers of either agree.
func ExampleSign() {
	old, next := webhook.NewSecret(), webhook.NewSecret()
	body := []byte(`{}`)
	signature, _ := webhook.Sign([]webhook.Secret{next, old}, "msg_1", 1700000000, body)
	header := http.Header{
		webhook.HeaderID:        {"msg_1"},
		webhook.HeaderTimestamp: {"1700000000"},
		webhook.HeaderSignature: {signature},
	}
	for _, secret := range []webhook.Secret{old, next, webhook.NewSecret()} {
		fmt.Println(webhook.NewVerifier([]webhook.Secret{secret}, nil).Verify(header, body, time.Unix(1700000000, 0)))
	}
	// Output:
	// <nil>
	// <nil>
	// webhook: no signature matches the secret and the body
}

// Verifying alone, for a consumer with a framework of its own.
func ExampleVerifier_Verify() {
	public, _ := webhook.ParseSecret("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
	verifier := webhook.NewVerifier([]webhook.Secret{public}, nil)

	header := make(http.Header)
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==")
	body := []byte(`{"test": 2432232314}`)

	arrived := time.Unix(1614265335, 0)
	fmt.Println(verifier.Verify(header, body, arrived))
	err := verifier.Verify(header, body, arrived.Add(time.Hour))
	fmt.Println(err, errors.Is(err, webhook.ErrTooOld))
	// Output:
	// <nil>
	// webhook: the timestamp is too old true
}

// A secret does not show itself by accident.
func ExampleSecret_Reveal() {
	secret, _ := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	fmt.Println(secret)
	fmt.Println(secret.Reveal())
	// Output:
	// [REDACTED]
	// whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
}

func ExampleParseEvent() {
	e, err := webhook.ParseEvent([]byte(`{"webhook-id":"msg_1","type":"report.ready","timestamp":"2026-11-15T12:00:00Z",
		"data":{"href":"https://api.example.com/events/evt_1?version=2026-11-01"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.ID, e.Type, e.Timestamp)
	if url, ok := e.Href(); ok {
		fmt.Println("too large to send, read", url)
	}
	// Output:
	// msg_1 report.ready 2026-11-15 12:00:00 +0000 UTC
	// too large to send, read https://api.example.com/events/evt_1?version=2026-11-01
}
