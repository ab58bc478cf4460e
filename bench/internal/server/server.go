// Package server is what every server of the benchmark has in common: the
// settings of its listener, and the line in which it tells the benchmark how
// to ask it.
package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/parley-api/parley/byterange"
	"github.com/parley-api/parley/internal/journal"
)

// Options say what a server process is to serve. They travel as flags.
type Options struct {
	Kind   string // which server
	Source string // its database: a file, a folder or a DSN
	Log    string // the file that its log goes to
	Tasks  int    // how many tasks there are

	Profile string // the file that a CPU profile goes to; "" means none
}

// Flags adds the options to a set of flags.
func (o *Options) Flags(f *flag.FlagSet) {
	f.StringVar(&o.Kind, "kind", "", "")
	f.StringVar(&o.Source, "source", "", "")
	f.StringVar(&o.Log, "log", os.DevNull, "")
	f.IntVar(&o.Tasks, "tasks", 0, "")
	f.StringVar(&o.Profile, "profile", "", "")
}

// Args are the arguments that Flags reads.
func (o *Options) Args() []string {
	return []string{"-kind", o.Kind, "-source", o.Source, "-log", o.Log, "-tasks", strconv.Itoa(o.Tasks), "-profile", o.Profile}
}

// Profiled runs f under the profile, if one is asked for.
func (o *Options) Profiled(f func() error) error {
	if o.Profile == "" {
		return f()
	}
	to, err := os.Create(o.Profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(to); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, to.Close())
}

// Ready is the first line that a server process prints, as JSON.
type Ready struct {
	Addr       string `json:"addr"`
	Collection string `json:"collection"`        // path of the tasks; "" means /tasks
	ID         string `json:"id"`                // form of an id in a path; "" means %d
	Created    int    `json:"created"`           // status of a POST; 0 means 201
	Token      string `json:"token"`             // value of Authorization; "" means none is sent
	Durability string `json:"durability"`        // what a write survives, in words
	Conditions string `json:"conditions"`        // what it does beside the work, in words
	Logs       bool   `json:"logs"`              // writes a line for each request to Options.Log
	Version    string `json:"version,omitempty"` // of a peer

	// Lists are the queries of its lists, by the name of the operation. Each
	// request takes one of them.
	Lists map[string][]string `json:"lists,omitempty"`
}

// The names of the operations on lists. Deep is behind nine tenths of all
// tasks.
const (
	List       = "LIST"
	Deep       = "LIST deep"
	Token      = "LIST token"
	TokenDeep  = "LIST token deep"
	OffsetDeep = "LIST offset deep"
	Total      = "LIST total"
)

// Write prints the line.
func (r Ready) Write() error { return json.NewEncoder(os.Stdout).Encode(r) }

// ReadReady reads the line that another process prints.
func ReadReady(from io.Reader) (Ready, error) {
	var r Ready
	line, err := bufio.NewReader(from).ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("the server ended before it was ready: %w", err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("the server said %q: %w", line, err)
	}
	if r.Collection == "" {
		r.Collection = "/tasks"
	}
	if r.ID == "" {
		r.ID = "%d"
	}
	if r.Created == 0 {
		r.Created = http.StatusCreated
	}
	return r, nil
}

// Serve listens on a free port, prints the line and serves until a signal. The
// settings are those of the parley command, for every server alike.
func Serve(h http.Handler, r Ready) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.Addr = l.Addr().String()
	s := &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            10 * time.Second,
		ReadTimeout:                  30 * time.Second,
		WriteTimeout:                 60 * time.Second,
		IdleTimeout:                  120 * time.Second,
		MaxHeaderBytes:               32 << 10,
		DisableGeneralOptionsHandler: true,
		ConnContext:                  byterange.ConnContext,
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		s.Close()
	}()
	if err := r.Write(); err != nil {
		return err
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// OpenLog returns a logger that writes JSON lines to a file, a system call for
// each, as the parley command does to its standard error.
func OpenLog(path string) (*slog.Logger, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return slog.New(journal.New(f, nil)), nil
}
