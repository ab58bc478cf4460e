package main

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/parley-api/parley/webhook"
)

// verification checks the signature of a delivery.
type verification struct {
	Secret    []string `required:"" sep:"none" placeholder:"SECRET" help:"whsec_…, whpk_… or whsk_…, or @FILE that holds it. Several: one must match."`
	ID        string   `required:"" placeholder:"ID" help:"The webhook-id."`
	Timestamp string   `required:"" placeholder:"SECONDS" help:"The webhook-timestamp."`
	Signature string   `required:"" placeholder:"VALUE" help:"The webhook-signature, all of it."`
	At        string   `placeholder:"SECONDS" help:"When the delivery arrived, in Unix seconds. Default: now."`
	File      string   `arg:"" optional:"" default:"-" help:"File with the raw body; - is standard input."`
}

// Run prints verified, or the step that failed.
func (v *verification) Run(k *kong.Kong) error {
	secrets, err := readSecrets(v.Secret)
	if err != nil {
		return err
	}
	at := time.Now()
	if v.At != "" {
		seconds, err := strconv.ParseUint(v.At, 10, 62)
		if err != nil {
			return misuse{errors.New("--at must be Unix time in whole seconds, such as 1700000000")}
		}
		at = time.Unix(int64(seconds), 0)
	}
	body, err := readBody(v.File)
	if err != nil {
		return err
	}
	header := http.Header{
		webhook.HeaderID:        {v.ID},
		webhook.HeaderTimestamp: {v.Timestamp},
		webhook.HeaderSignature: {v.Signature},
	}
	if err := webhook.NewVerifier(secrets, nil).Verify(header, body, at); err != nil {
		fmt.Fprintln(k.Stdout, plain(err))
		return told{}
	}
	_, err = fmt.Fprintln(k.Stdout, "verified")
	return err
}

// told is a failure of which everything has been said.
type told struct{}

func (told) Error() string { return "" }
