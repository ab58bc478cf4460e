package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/parley-api/parley/webhook"
)

// A paper is what parley listen prints on. It is safe for concurrent use.
type paper struct {
	mu     sync.Mutex
	out    io.Writer
	json   bool
	colour bool
}

// An entry is one request, as a line of JSON. It has no signature.
type entry struct {
	Time      string          `json:"time"`
	Result    string          `json:"result"` // verified, unverified, duplicate or refused
	Status    int             `json:"status"` // of the answer
	Reason    string          `json:"reason,omitempty"`
	ID        string          `json:"webhook-id,omitempty"`
	Timestamp string          `json:"webhook-timestamp,omitempty"`
	Type      string          `json:"type,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"` // where it is JSON
	Text      string          `json:"text,omitempty"` // where it is not

	delivery *webhook.Delivery
}

// print writes an entry with one call of Write.
func (p *paper) print(e entry) {
	e.Time = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if d := e.delivery; d != nil {
		e.ID, e.Timestamp = d.ID, d.Header.Get(webhook.HeaderTimestamp)
		if event, err := webhook.ParseEvent(d.Body); err == nil {
			e.Type = event.Type
		}
		if json.Valid(d.Body) {
			e.Body = d.Body
		} else {
			e.Text = string(d.Body[:min(len(d.Body), 4096)])
		}
	}
	var b bytes.Buffer
	if p.json {
		lines := json.NewEncoder(&b)
		lines.SetEscapeHTML(false)
		lines.Encode(e) // what was received is valid JSON or text: cannot fail
	} else {
		p.text(&b, &e)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Write(b.Bytes())
}

var colours = map[string]string{"verified": "\x1b[32m", "unverified": "\x1b[33m", "duplicate": "\x1b[36m", "refused": "\x1b[31m"}

// text writes an entry for people: a line, and below it the body.
func (p *paper) text(b *bytes.Buffer, e *entry) {
	on, off := "", ""
	if p.colour {
		on, off = colours[e.Result], "\x1b[0m"
	}
	fmt.Fprintf(b, "%s %s%-10s%s %d", e.Time[11:19], on, e.Result, off, e.Status)
	for _, word := range []string{e.Type, e.ID} {
		if word != "" {
			b.WriteString(" " + tame(word))
		}
	}
	if e.Reason != "" {
		b.WriteString(" (" + tame(e.Reason) + ")")
	}
	b.WriteByte('\n')
	if e.Result == "duplicate" {
		return
	}
	body := e.Text
	if e.Body != nil {
		var pretty bytes.Buffer
		json.Indent(&pretty, e.Body, "", "  ")
		body = pretty.String()
	}
	for line := range strings.Lines(body) {
		b.WriteString("    " + tame(strings.TrimRight(line, "\r\n")) + "\n")
	}
}

// tame makes text safe for a terminal: what is not printable is escaped.
func tame(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
