package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-api/parley/webhook"
)

var heard = regexp.MustCompile(`(?m)^Listening on (http://\S+), `)

// hear is a command of scripts: hear NAME [FLAG…] runs parley listen until it
// says where. Sets HOOK. What it writes is in NAME.out and NAME.err, and stop
// NAME stops it.
func hear(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hear NAME [FLAG…]")
	}
	out, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer errs.Close()
	cmd := exec.Command(program(ts), append([]string{"listen", "--addr", "127.0.0.1:0"}, args[1:]...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	cmd.Stdout, cmd.Stderr = out, errs
	ts.Check(cmd.Start())
	p := &process{cmd, make(chan struct{})}
	go func() { cmd.Wait(); close(p.done) }()
	ts.Defer(func() { cmd.Process.Kill(); <-p.done })
	ts.Value("processes").(processes)[args[0]] = p
	for deadline := time.Now().Add(slow); ; time.Sleep(10 * time.Millisecond) {
		if m := heard.FindStringSubmatch(read(errs.Name())); m != nil {
			ts.Setenv("HOOK", m[1])
			return
		}
		select {
		case <-p.done:
			ts.Fatalf("it ended: %v\n%s", cmd.ProcessState, read(errs.Name()))
		default:
		}
		if time.Now().After(deadline) {
			ts.Fatalf("it does not listen after %v", slow)
		}
	}
}

// deliver is a program: deliver URL SECRET ID BODY [AGE] sends a signed
// webhook, made AGE ago, and prints the status, the headers and the body of
// the answer. SECRET - sends it without the three fields.
func deliver() {
	at := time.Now()
	if len(os.Args) > 5 {
		age, err := time.ParseDuration(os.Args[5])
		must(err)
		at = at.Add(-age)
	}
	body := []byte(os.Args[4])
	r, err := http.NewRequest("POST", os.Args[1], bytes.NewReader(body))
	must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "deliver/1")
	if os.Args[2] != "-" {
		secret, err := webhook.ParseSecret(os.Args[2])
		must(err)
		value, err := webhook.Sign([]webhook.Secret{secret}, os.Args[3], at.Unix(), body)
		must(err)
		r.Header.Set(webhook.HeaderID, os.Args[3])
		r.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
		r.Header.Set(webhook.HeaderSignature, value)
	}
	client := http.Client{Timeout: slow}
	resp, err := client.Do(r)
	must(err)
	fmt.Println(resp.Proto, resp.Status)
	resp.Header.Write(os.Stdout)
	io.Copy(os.Stdout, resp.Body)
}

func TestParseRate(t *testing.T) {
	for _, test := range []struct {
		why, text string
		want      float64
		ok        bool
	}{
		{"none", "0", 0, true},
		{"a share", "0.3", 0.3, true},
		{"percent", "30%", 0.3, true},
		{"all", "100%", 1, true},
		{"more than all", "1.1", 0, false},
		{"more than all in percent", "101%", 0, false},
		{"negative", "-0.1", 0, false},
		{"not a number, and yet a float", "NaN", 0, false},
		{"no number", "often", 0, false},
		{"nothing", "", 0, false},
	} {
		got, err := parseRate(test.text)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%s: got %v, %v; want %v", test.why, got, err, test.want)
		}
	}
}

// What is printed for people cannot drive their terminal.
func TestPaper(t *testing.T) {
	for _, test := range []struct {
		why    string
		colour bool
		entry  entry
		want   string
	}{
		{"a delivery, its body indented", false,
			entry{Result: "verified", Status: 200, delivery: &webhook.Delivery{ID: "msg_1", Body: []byte(`{"type":"a.b","timestamp":"2026-11-15T08:00:00Z","data":{}}`)}},
			" verified   200 a.b msg_1\n    {\n      \"type\": \"a.b\",\n      \"timestamp\": \"2026-11-15T08:00:00Z\",\n      \"data\": {}\n    }\n"},
		{"in colour", true, entry{Result: "refused", Status: 401, Reason: "why"}, " \x1b[31mrefused   \x1b[0m 401 (why)\n"},
		{"a duplicate has been shown before", false,
			entry{Result: "duplicate", Status: 200, delivery: &webhook.Delivery{ID: "msg_1", Body: []byte(`{}`)}}, " duplicate  200 msg_1\n"},
		{"a body that would clear the screen", false,
			entry{Result: "unverified", Status: 200, delivery: &webhook.Delivery{ID: "a\x1b[2J", Body: []byte("\x1b[2J\u009b2J\u202e \"x\"\nnext")}},
			" unverified 200 a\\x1b[2J\n    \\x1b[2J\\u009b2J\\u202e \"x\"\n    next\n"},
	} {
		var out bytes.Buffer
		p := paper{out: &out, colour: test.colour}
		p.print(test.entry)
		if got := out.String(); len(got) < 8 || got[8:] != test.want {
			t.Errorf("%s: got %q, want the time and %q", test.why, got, test.want)
		}
	}
	if got := tame("plain\ttext"); strings.Contains(got, "\t") {
		t.Errorf("got %q, want the tab escaped", got)
	}
}
