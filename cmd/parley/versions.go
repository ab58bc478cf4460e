package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/parley-api/parley"
	"github.com/parley-api/parley/problem"
	calendar "github.com/parley-api/parley/version"
)

// versions are the commands about the versions of the interface.
type versions struct {
	List   listVersions  `cmd:"" default:"withargs" help:"List the versions, or with --at what each will answer on a day."`
	Retire retireVersion `cmd:"" help:"Find out who would break, and how to announce the end of a version."`
}

// dates is where the dates of versions come from.
type dates struct {
	VersionCalendar string `env:"PARLEY_VERSION_CALENDAR" placeholder:"FILE" group:"Versions" help:"YAML file that moves the deprecated and sunset dates of versions, as for parley serve."`
	JSON            bool   `name:"json" group:"Output" help:"Print JSON instead of text."`
}

// listVersions prints the calendar.
type listVersions struct {
	At      string `placeholder:"DATE" group:"Versions" help:"Show what every version answers on this day, such as 2027-06-01. Default: today, without the answers."`
	BaseURL string `name:"base-url" default:"http://127.0.0.1:8080" env:"PARLEY_BASE_URL" placeholder:"URL" group:"Versions" help:"Where clients reach the service; links begin with it."`
	Profile string `default:"spec" enum:"spec,rfc" env:"PARLEY_PROFILE" placeholder:"spec|rfc" group:"Versions" help:"As for parley serve: rfc writes Deprecation as RFC 9745 has it."`
	dates
}

// BeforeResolve is called by the parser between flags and their values.
func (*listVersions) BeforeResolve(ctx *kong.Context) error { return settle(ctx) }

// Run prints the versions.
func (l *listVersions) Run(k *kong.Kong) error {
	at := time.Now().UTC()
	if l.At != "" {
		var err error
		if at, err = time.Parse(time.DateOnly, l.At); err != nil {
			return misuse{errors.New("--at must be a date such as 2027-06-01")}
		}
	}
	c, err := parley.ReadCalendar(parley.Config{VersionCalendar: l.VersionCalendar, BaseURL: l.BaseURL, Profile: l.Profile})
	if err != nil {
		return misuse{err}
	}
	list := outlook(c, at)
	if l.JSON {
		return printJSON(k.Stdout, list)
	}
	if l.At == "" {
		return printCalendar(k.Stdout, c, list)
	}
	return printAnswers(k.Stdout, c, list, at)
}

// A forecast is a version and what it answers on some day.
type forecast struct {
	Name        string          `json:"name"`
	Major       *int            `json:"major"`
	Status      calendar.Status `json:"status"`
	Released    string          `json:"released"`
	Deprecated  *string         `json:"deprecated"`
	Sunset      *string         `json:"sunset"`
	Successor   *string         `json:"successor"`
	FallForward bool            `json:"fall_forward"`
	Answer      answer          `json:"answer"`
}

// An answer is what a request that names the version gets.
type answer struct {
	Request string              `json:"request"`
	Status  int                 `json:"status"` // 200 stands for whatever the service answers
	Headers map[string][]string `json:"headers"`
	Detail  string              `json:"detail,omitempty"` // of the problem
}

// fields are the header fields that tell of a version, in the order of the
// contract.
var fields = []string{"API-Version", "Sunset", "Deprecation", "Link"}

// outlook asks the calendar what it would answer, as the service does.
func outlook(c *calendar.Calendar, at time.Time) []forecast {
	var list []forecast
	for _, v := range c.Versions() {
		f := forecast{
			Name: v.Name, Status: v.Status(at), Released: *day(v.Released), Deprecated: day(v.Deprecated), Sunset: day(v.Sunset),
			FallForward: v.FallForward, Answer: answer{Status: http.StatusOK, Headers: make(map[string][]string)},
		}
		mount := "/" + v.Name
		if v.Major >= 0 {
			f.Major, mount = &v.Major, fmt.Sprintf("/v%d", v.Major)
		}
		if next := v.Successor(); next != nil {
			f.Successor = &next.Name
		}
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: mount + "/tasks"}, Header: http.Header{}}
		f.Answer.Request = r.Method + " " + r.URL.Path
		choice, err := c.Choose(r, at)
		h := make(http.Header)
		if p, ok := errors.AsType[*problem.Problem](err); ok {
			f.Answer.Status, f.Answer.Detail, h = p.Kind.Status, p.Detail, p.Header
		} else {
			c.Announce(h, choice.Version, at, choice.Mount, r.URL)
		}
		for _, name := range fields {
			if values := h.Values(name); len(values) > 0 {
				f.Answer.Headers[name] = values
			}
		}
		list = append(list, f)
	}
	return list
}

// day is a date as text, nil where there is none.
func day(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.Format(time.DateOnly)
	return &text
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func printCalendar(w io.Writer, c *calendar.Calendar, list []forecast) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tMAJOR\tSTATUS\tRELEASED\tDEPRECATED\tSUNSET\tSUCCESSOR")
	for _, f := range list {
		major := "-"
		if f.Major != nil {
			major = fmt.Sprint(*f.Major)
		}
		fmt.Fprintln(t, strings.Join([]string{f.Name, major, string(f.Status), f.Released, dash(f.Deprecated), dash(f.Sunset), dash(f.Successor)}, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nPolicy: %s. See what each answers on a day with --at, such as --at %s.\n", c.Policy(), time.Now().UTC().AddDate(1, 0, 0).Format(time.DateOnly))
	return err
}

func dash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// printAnswers prints each version as a client would see it.
func printAnswers(w io.Writer, c *calendar.Calendar, list []forecast, at time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "On %s, from 00:00:00 UTC. New accounts get %s.\n", at.Format(time.DateOnly), c.Latest(at).Name)
	for _, f := range list {
		fmt.Fprintf(&b, "\n%s is %s\n  %s\n", f.Name, f.Status, f.Answer.Request)
		switch served := f.Answer.Headers["API-Version"]; {
		case f.Answer.Status == http.StatusGone:
			fmt.Fprintf(&b, "  410 Gone: %s\n", f.Answer.Detail)
		case served[0] != f.Name:
			fmt.Fprintf(&b, "  served as %s: it falls forward\n", served[0])
		case f.Status == calendar.Upcoming:
			fmt.Fprintf(&b, "  served, since the request names it\n")
		default:
			fmt.Fprintf(&b, "  served\n")
		}
		for _, name := range fields {
			for _, value := range f.Answer.Headers[name] {
				fmt.Fprintf(&b, "  %s: %s\n", name, value)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
