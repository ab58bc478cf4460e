package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parley-api/parley"
)

// After a signal, what is in flight has patience to finish, and the program
// ends before limit in any case. A second signal within echo is the first one
// again: timeout(1) and others signal a process and then its whole group.
const (
	patience = 9 * time.Second
	limit    = 9800 * time.Millisecond
	echo     = 250 * time.Millisecond
)

// A door is where requests come in.
type door struct {
	main    net.Listener
	metrics net.Listener // nil: none
	tls     *tls.Config  // nil: plain HTTP
	url     string       // of main, for somebody on this machine
}

// open listens on the addresses of the configuration and writes the real ones
// into it, the base URL too where none is given. It comes before the service,
// so that nothing is made or shown once where nobody could be served.
func open(cfg *parley.Config) (*door, error) {
	d := new(door)
	scheme := "http://"
	if cfg.TLSCert != "" && cfg.TLSKey != "" {
		pair, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
		if err != nil {
			return nil, misuse{fmt.Errorf("--tls-cert and --tls-key must name a certificate and its key in PEM: %w", err)}
		}
		d.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		scheme = "https://"
	}
	var err error
	if d.main, err = listen("--addr", cfg.Addr); err != nil {
		return nil, err
	}
	if cfg.MetricsAddr != "" {
		if d.metrics, err = listen("--metrics-addr", cfg.MetricsAddr); err != nil {
			d.close()
			return nil, err
		}
	}
	d.url = scheme + reachable(cfg.Addr, d.main.Addr())
	if cfg.BaseURL == "" {
		cfg.BaseURL = d.url
	}
	cfg.Addr = d.main.Addr().String()
	return d, nil
}

// listen opens one address. The error says what to do.
func listen(flag, addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, misuse{fmt.Errorf("%s must be HOST:PORT, such as 127.0.0.1:8080 or :8080, not %q", flag, addr)}
	}
	l, err := net.Listen("tcp", addr)
	if _, wrong := errors.AsType[*net.AddrError](err); wrong {
		return nil, misuse{fmt.Errorf("%s: %w", flag, err)}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is already in use; stop the program that has it, or choose another address with %s", addr, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("no permission to listen on %s; choose a port above 1023 with %s", addr, flag)
	case err != nil:
		return nil, fmt.Errorf("%w; choose another address with %s", err, flag)
	}
	return l, nil
}

// reachable is the address that was asked for with the port that was given,
// and a host that can be connected to.
func reachable(asked string, given net.Addr) string {
	host, port, _ := net.SplitHostPort(asked)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if tcp, ok := given.(*net.TCPAddr); ok {
		port = strconv.Itoa(tcp.Port)
	}
	return net.JoinHostPort(host, port)
}

func (d *door) close() {
	d.main.Close()
	if d.metrics != nil {
		d.metrics.Close()
	}
}

// serve answers requests until ctx ends or a listener fails, then closes the
// App. It calls stop as it begins to close, so that a second signal ends the
// process at once.
func (d *door) serve(ctx context.Context, stop func(), app *parley.App, log *slog.Logger) error {
	requests, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error, 2)
	front := newServer(requests, app, d.tls, log)
	servers := []*http.Server{front}
	go func() {
		if d.tls != nil {
			failed <- front.ServeTLS(d.main, "", "")
		} else {
			failed <- parley.Serve(front, d.main)
		}
	}()
	if d.metrics != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", app.Metrics())
		side := newServer(requests, mux, nil, log)
		servers = append(servers, side)
		go func() { failed <- side.Serve(d.metrics) }()
	}
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("accepting connections: %w", err)
	case <-ctx.Done():
		log.Info("stopping", "patience", patience.String())
	}
	time.AfterFunc(echo, stop)
	return errors.Join(err, drain(servers, cancel, app, log))
}

// newServer is an HTTP server that trusts nobody to be quick or brief. It
// speaks HTTP/2 with TLS only.
func newServer(requests context.Context, handler http.Handler, secure *tls.Config, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(secure != nil)
	return &http.Server{
		Handler:                      handler,
		TLSConfig:                    secure,
		Protocols:                    protocols,
		ReadHeaderTimeout:            10 * time.Second,
		ReadTimeout:                  30 * time.Second,
		WriteTimeout:                 60 * time.Second,
		IdleTimeout:                  120 * time.Second,
		MaxHeaderBytes:               32 << 10,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     complaints(log),
		BaseContext:                  func(net.Listener) context.Context { return requests },
	}
}

// drain lets what is in flight finish, cancels what is left when patience
// ends, and closes the App.
func drain(servers []*http.Server, cancel func(), app *parley.App, log *slog.Logger) error {
	end := time.After(limit)
	ctx, release := context.WithTimeout(context.Background(), patience)
	defer release()
	closed := make(chan error, 1)
	go func() {
		for _, s := range servers {
			if s.Shutdown(ctx) != nil {
				log.Warn("cancelling the requests that are still in flight")
				cancel()
				s.Close()
			}
		}
		closed <- app.Close()
	}()
	select {
	case err := <-closed:
		if err != nil {
			return fmt.Errorf("closing the database: %w", err)
		}
		log.Info("stopped")
	case <-end:
		log.Warn("stopped without waiting any longer; what was acknowledged is safe")
	}
	return nil
}

// complaints logs what net/http says of connections. Clients cause most of it
// at will, so it is worth no more than debug; the rest is a warning.
func complaints(l *slog.Logger) *log.Logger {
	return log.New(complaint{l}, "", 0)
}

type complaint struct{ log *slog.Logger }

func (c complaint) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	level := slog.LevelWarn
	if strings.HasPrefix(text, "http: TLS handshake error") || strings.HasPrefix(text, "http2:") {
		level = slog.LevelDebug
	}
	c.log.Log(context.Background(), level, text)
	return len(line), nil
}
