package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/parley-api/parley/webhook"
)

// signing prints the signature of a delivery.
type signing struct {
	Secret    []string `required:"" sep:"none" placeholder:"SECRET" help:"whsec_… or whsk_…, or @FILE that holds it. Several: an entry each."`
	ID        string   `required:"" placeholder:"ID" help:"The webhook-id."`
	Timestamp string   `required:"" placeholder:"SECONDS" help:"The webhook-timestamp: Unix time in seconds."`
	File      string   `arg:"" optional:"" default:"-" help:"File with the raw body; - is standard input."`
}

// Run prints the value of webhook-signature.
func (s *signing) Run(k *kong.Kong) error {
	secrets, err := readSecrets(s.Secret)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseUint(s.Timestamp, 10, 62)
	if err != nil {
		return misuse{errors.New("--timestamp must be Unix time in whole seconds, such as 1700000000")}
	}
	body, err := readBody(s.File)
	if err != nil {
		return err
	}
	value, err := webhook.Sign(secrets, s.ID, int64(seconds), body)
	switch {
	case errors.Is(err, webhook.ErrCannotSign):
		return misuse{errors.New("--secret: a public key cannot sign; give the private key, whsk_…, or a shared secret, whsec_…")}
	case err != nil:
		return misuse{plain(err)}
	}
	_, err = fmt.Fprintln(k.Stdout, value)
	return err
}

// readSecrets reads the values of --secret.
func readSecrets(texts []string) ([]webhook.Secret, error) {
	var secrets []webhook.Secret
	for _, text := range texts {
		if path, ok := strings.CutPrefix(text, "@"); ok {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, misuse{fmt.Errorf("--secret: %w", err)}
			}
			text = string(data)
		}
		secret, err := webhook.ParseSecret(text)
		if err != nil {
			return nil, misuse{fmt.Errorf("--secret: %w", plain(err))}
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// readBody reads a file, or standard input for -.
func readBody(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, misuse{err}
	}
	return body, nil
}

// plain is an error of package webhook without the package's name.
func plain(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "webhook: ")) }
