package parley

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/parley-api/parley/internal/journal"
)

// requestIDs gives requests ids: a random part for this process and a number.
type requestIDs struct {
	prefix string
	last   atomic.Uint64
}

func (q *requestIDs) seed() {
	var b [5]byte
	rand.Read(b[:])
	q.prefix = strings.ToLower(base32.StdEncoding.EncodeToString(b[:])) + "-"
}

// of takes the id that a proxy or client gave the request, if it is harmless
// in a log, or makes one.
func (q *requestIDs) of(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && harmless(given[0]) {
		return given[0]
	}
	var b [32]byte
	return string(strconv.AppendUint(append(b[:0], q.prefix...), q.last.Add(1), 36))
}

func harmless(id string) bool {
	for _, c := range []byte(id) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 64
}

// record writes the line of a request: what was asked and how it went, never
// a header, a body or a key.
func (a *App) record(v *visit) {
	now := a.now()
	took := now.Sub(v.start)
	status := v.rec.status
	if status == 0 {
		status = http.StatusOK
	}
	pattern := v.match.Pattern
	a.metrics.observe(v, status, took)
	if v.asked != nil && v.call.Account != 0 && v.match.Value != nil && v.match.Value.operation >= 0 {
		a.ledger.Note(v.call.Account, v.asked, v.match.Value.operation, v.start)
	}
	level := slog.LevelInfo
	if status >= 500 || v.cause != nil && v.aborted {
		level = slog.LevelError
	}
	if !a.log.Enabled(context.Background(), level) {
		return
	}
	var room [10]slog.Attr
	attrs := append(room[:0],
		slog.String("id", v.id[0]), slog.String("method", v.call.R.Method), slog.String("route", pattern),
		slog.Int("status", status), slog.Duration("duration", took), slog.Int64("bytes", v.rec.bytes),
	)
	if v.call.Account != 0 {
		attrs = append(attrs, slog.Int64("account", v.call.Account), slog.String("credential", v.who.Credential))
	}
	if v.call.Version != nil {
		attrs = append(attrs, slog.String("version", v.call.Version.Name))
	}
	if v.cause != nil {
		attrs = append(attrs, slog.String("error", v.cause.Error()))
	}
	// Not by a method of the Logger, which would look for its caller each time.
	_ = journal.Log(a.log.Handler(), now, level, "request", attrs...) // a log that fails fails nobody
}

// address is where a request without a credential comes from: the peer, or
// what a trusted proxy says of it.
func (a *App) address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if len(a.set.proxies) == 0 || !a.trusted(host) {
		return host
	}
	hops := hops(r.Header)
	for i := len(hops) - 1; i >= 0; i-- {
		hop := hops[i]
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		if host = hop; !a.trusted(hop) {
			break
		}
	}
	return host
}

// hops are the addresses that proxies wrote down, the nearest last: those of
// Forwarded (RFC 7239) or else of X-Forwarded-For.
func hops(h http.Header) []string {
	var all []string
	for element := range strings.SplitSeq(strings.Join(h["Forwarded"], ","), ",") {
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if strings.EqualFold(name, "for") {
				all = append(all, node(strings.Trim(value, `"`)))
			}
		}
	}
	if all == nil {
		for value := range strings.SplitSeq(strings.Join(h["X-Forwarded-For"], ","), ",") {
			all = append(all, node(strings.TrimSpace(value)))
		}
	}
	return all
}

// node takes brackets and port off an address.
func node(s string) string {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().String()
	}
	return strings.Trim(s, "[]")
}

func (a *App) trusted(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	addr = addr.Unmap()
	for _, p := range a.set.proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
