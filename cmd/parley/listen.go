package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/parley-api/parley/webhook"
)

// hearing runs a receiver of webhooks.
type hearing struct {
	Addr    string        `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Address to listen on; every path takes deliveries."`
	Secret  []string      `sep:"none" placeholder:"SECRET" help:"whsec_…, whpk_… or whsk_…, or @FILE that holds it. Several: one must match. Without any, nothing is verified and every delivery is marked so."`
	Forward string        `placeholder:"URL" help:"Hand each delivery on with its headers and body, and answer as this URL does."`
	Fail    string        `default:"0" placeholder:"RATE" help:"Share of the deliveries to refuse, such as 0.3 or 30%, with 500 or what --status says."`
	Delay   time.Duration `default:"0s" placeholder:"DURATION" help:"Wait before each answer."`
	Status  int           `default:"200" placeholder:"CODE" help:"Answer with this status, 200 to 599."`
	JSON    bool          `name:"json" help:"Print JSON lines, as is done where standard output is no terminal."`
}

// Run receives until a signal.
func (h *hearing) Run(k *kong.Kong) error {
	ear, err := h.ear(k)
	if err != nil {
		return err
	}
	l, err := listen("--addr", h.Addr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{
		Handler: ear, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10,
	}
	fmt.Fprintf(k.Stderr, "Listening on http://%s, %s. Stop with Ctrl-C.\n", reachable(h.Addr, l.Addr()), h.about(len(ear.secrets)))
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("accepting connections: %w", err)
	case <-ctx.Done():
	}
	stop() // a second signal ends the process at once
	end, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(end) != nil {
		server.Close()
	}
	return nil
}

// about says what is done with deliveries.
func (h *hearing) about(secrets int) string {
	what := "verifying signatures"
	if secrets == 0 {
		what = "verifying nothing (give --secret to verify)"
	}
	if h.Forward != "" {
		what += ", forwarding"
	}
	return what
}

// ear checks the flags and makes the handler.
func (h *hearing) ear(k *kong.Kong) (*ear, error) {
	e := &ear{delay: h.Delay, status: h.Status}
	var err error
	if e.secrets, err = readSecrets(h.Secret); err != nil {
		return nil, err
	}
	if e.rate, err = parseRate(h.Fail); err != nil {
		return nil, misuse{err}
	}
	switch {
	case h.Status < 200 || h.Status > 599:
		return nil, misuse{errors.New("--status must be 200 to 599")}
	case h.Delay < 0:
		return nil, misuse{errors.New("--delay must not be negative")}
	case e.rate > 0 && h.Status == 200:
		e.status = http.StatusInternalServerError
	case e.rate == 0 && h.Status != 200:
		e.rate = 1
	}
	if h.Forward != "" {
		if e.target, err = url.Parse(h.Forward); err != nil || e.target.Host == "" || e.target.Scheme != "http" && e.target.Scheme != "https" {
			return nil, misuse{errors.New("--forward must be an http or https URL")}
		}
	}
	e.client = newForwarder()
	e.paper = &paper{out: k.Stdout, json: h.JSON || !terminal(os.Stdout), colour: colourful(os.Stdout)}
	if len(e.secrets) > 0 {
		e.receiver = webhook.NewReceiver(e.secrets, e.enqueue, &webhook.ReceiverOptions{
			Timeout: h.Delay + time.Minute, Observe: e.observe,
		})
	}
	return e, nil
}

// parseRate reads a share: 0.3 or 30%.
func parseRate(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	rate, err := strconv.ParseFloat(number, 64)
	if percent {
		rate /= 100
	}
	if err != nil || !(rate >= 0 && rate <= 1) {
		return 0, errors.New("--fail must be a share from 0 to 1, such as 0.3 or 30%")
	}
	return rate, nil
}

// terminal reports whether somebody watches.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
