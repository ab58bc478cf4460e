// Package interop holds package webhook against the libraries of others, both
// ways: what it signs they verify, and what they sign it verifies. It is a
// module of its own, so that none of them is a dependency of Parley.
package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/parley-api/parley/webhook"
)

// A peer is somebody else's implementation of one scheme.
type peer interface {
	sign(m *message) (string, error)
	verify(m *message) error
}

// A message is a delivery and the text of the secret that the peer uses.
type message struct {
	Peer      string `json:"peer"`
	Act       string `json:"act"`
	Secret    string `json:"secret"`
	ID        string `json:"id"`
	Timestamp int64  `json:"timestamp"`
	Body      string `json:"body"`
	Signature string `json:"signature"`
}

// golang is the library of Standard Webhooks for Go.
type golang struct{}

func (golang) sign(m *message) (string, error) {
	w, err := standardwebhooks.NewWebhook(m.Secret)
	if err != nil {
		return "", err
	}
	return w.Sign(m.ID, time.Unix(m.Timestamp, 0), []byte(m.Body))
}

func (golang) verify(m *message) error {
	w, err := standardwebhooks.NewWebhook(m.Secret)
	if err != nil {
		return err
	}
	return w.Verify([]byte(m.Body), header(m))
}

// node is a library in peer.mjs.
type node struct {
	name string
	in   io.Writer
	out  *bufio.Reader
}

func (n node) ask(act string, m message) (string, error) {
	m.Peer, m.Act = n.name, act
	line, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	if _, err := n.in.Write(append(line, '\n')); err != nil {
		return "", err
	}
	if line, err = n.out.ReadBytes('\n'); err != nil {
		return "", err
	}
	var answer struct{ Value, Error string }
	if err := json.Unmarshal(line, &answer); err != nil {
		return "", err
	}
	if answer.Error != "" {
		return "", refusal(answer.Error)
	}
	return answer.Value, nil
}

// A refusal is what a library said, as opposed to a failure to ask it.
type refusal string

func (r refusal) Error() string { return string(r) }

func (n node) sign(m *message) (string, error) { return n.ask("sign", *m) }

func (n node) verify(m *message) error {
	_, err := n.ask("verify", *m)
	return err
}

// start installs the npm packages in a throwaway folder and runs peer.mjs.
func start(t *testing.T) (in io.Writer, out *bufio.Reader) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "peer.mjs"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error")
	install.Dir = dir
	if text, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, text)
	}
	cmd := exec.Command("node", "peer.mjs")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	return stdin, bufio.NewReader(stdout)
}

func header(m *message) http.Header {
	h := make(http.Header)
	h.Set(webhook.HeaderID, m.ID)
	h.Set(webhook.HeaderTimestamp, strconv.FormatInt(m.Timestamp, 10))
	h.Set(webhook.HeaderSignature, m.Signature)
	return h
}

var bodies = []struct{ why, body string }{
	{"an envelope", `{"webhook-id":"msg_1","type":"task.created","timestamp":"2026-11-15T12:00:00Z","data":{"id":1}}`},
	{"nothing in it", `{}`},
	{"white space that a parser would lose", "{ \"a\" :\t1\n}\n"},
	{"letters beyond ASCII", `{"title":"Grüße, 世界 🌍"}`},
	{"escapes", `{"title":"\u00fc\n\\\"<>&"}`},
	{"dots and commas, as in the header", `{"a":"v1,x.y.z"}`},
	{"large", `{"a":"` + strings.Repeat("x", 19_000) + `"}`},
}

func TestPeers(t *testing.T) {
	in, out := start(t)
	for _, test := range []struct {
		name   string
		peer   peer
		secret func() webhook.Secret
	}{
		{"Go standard-webhooks", golang{}, webhook.NewSecret},
		{"npm standardwebhooks", node{"standardwebhooks", in, out}, webhook.NewSecret},
		{"npm svix", node{"svix", in, out}, webhook.NewSecret},
		{"Ed25519 of Node", node{"ed25519", in, out}, webhook.NewKeyPair},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i, b := range bodies {
				roundTrip(t, test.peer, test.secret(), fmt.Sprintf("msg_%d", i), b.why, b.body)
			}
		})
	}
}

// roundTrip lets each end verify what the other has signed, and refuse it when
// it was altered or signed with another secret.
func roundTrip(t *testing.T, p peer, secret webhook.Secret, id, why, body string) {
	t.Helper()
	now := time.Now()
	m := message{Secret: secret.Public().Reveal(), ID: id, Timestamp: now.Unix(), Body: body}

	// We sign, they verify: alone, and beside the signature of a next secret.
	next := webhook.NewSecret()
	for _, secrets := range [][]webhook.Secret{{secret}, {next, secret}, {secret, webhook.NewKeyPair()}} {
		var err error
		if m.Signature, err = webhook.Sign(secrets, m.ID, m.Timestamp, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if err := p.verify(&m); err != nil {
			t.Errorf("%s: they refuse what we signed with %d secrets: %v", why, len(secrets), err)
		}
	}
	altered := m
	altered.Body += " "
	if err := p.verify(&altered); !refused(err) {
		t.Errorf("%s: they accept another body: %v", why, err)
	}

	// They sign, we verify.
	private := m
	private.Secret = secret.Reveal()
	signature, err := p.sign(&private)
	if err != nil {
		t.Fatal(err)
	}
	m.Signature = signature
	verifier := webhook.NewVerifier([]webhook.Secret{secret.Public()}, nil)
	if err := verifier.Verify(header(&m), []byte(body), now); err != nil {
		t.Errorf("%s: we refuse what they signed: %v", why, err)
	}
	if err := verifier.Verify(header(&m), []byte(body+" "), now); !errors.Is(err, webhook.ErrNoMatch) {
		t.Errorf("%s: another body: got %v, want %v", why, err, webhook.ErrNoMatch)
	}
	stranger := webhook.NewVerifier([]webhook.Secret{webhook.NewSecret(), webhook.NewKeyPair()}, nil)
	if err := stranger.Verify(header(&m), []byte(body), now); !errors.Is(err, webhook.ErrNoMatch) {
		t.Errorf("%s: another secret: got %v, want %v", why, err, webhook.ErrNoMatch)
	}
	// One secret, one message, one signature: byte for byte the same.
	if ours, err := webhook.Sign([]webhook.Secret{secret}, m.ID, m.Timestamp, []byte(body)); err != nil || ours != signature {
		t.Errorf("%s: we sign %s, %v; they sign %s", why, ours, err, signature)
	}
}

// refused reports whether a library said no.
func refused(err error) bool {
	_, said := errors.AsType[refusal](err)
	return said || errors.Is(err, standardwebhooks.ErrNoMatchingSignature)
}
