package main

import (
	"context"
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
	"github.com/parley-api/parley/paginate"
	calendar "github.com/parley-api/parley/version"
)

// retireVersion helps to end a version. It changes nothing by itself: the dates
// are in the calendar, which every node reads at its start.
type retireVersion struct {
	Name string `arg:"" help:"The name of the version, such as 2025-11-01."`

	DryRun   bool   `group:"Who would break" help:"List the accounts that would break, from a running service."`
	Days     int    `default:"90" placeholder:"N" group:"Who would break" help:"An account that used the version in the last N days would break; one that is pinned to it does in any case."`
	URL      string `name:"url" default:"http://127.0.0.1:8080" env:"PARLEY_URL" placeholder:"URL" group:"Who would break" help:"Where the service is."`
	Key      string `env:"PARLEY_ADMIN_KEY" placeholder:"KEY" group:"Who would break" help:"An admin key of it."`
	ExitCode bool   `group:"Who would break" help:"Exit with 1 if an account would break."`

	Deprecated string `placeholder:"DATE" group:"Announcing" help:"The day of the announcement. Default: the one in the calendar, else today."`
	Sunset     string `placeholder:"DATE" group:"Announcing" help:"The day of the end. Default: the one in the calendar, else 12 months later or what the policy asks for."`
	dates
}

// BeforeResolve is called by the parser between flags and their values.
func (*retireVersion) BeforeResolve(ctx *kong.Context) error { return settle(ctx) }

// Run says who would break, or what to write into the calendar.
func (r *retireVersion) Run(k *kong.Kong) error {
	if r.DryRun {
		return r.rehearse(k.Stdout)
	}
	c, err := parley.ReadCalendar(parley.Config{VersionCalendar: r.VersionCalendar})
	if err != nil {
		return misuse{err}
	}
	v := c.Find(r.Name)
	if v == nil || v.Name != r.Name {
		return misuse{fmt.Errorf("there is no version %q; parley versions lists them", r.Name)}
	}
	moved, err := r.announce(c, v, time.Now().UTC().Truncate(24*time.Hour))
	if err != nil {
		return err
	}
	if r.JSON {
		return printJSON(k.Stdout, map[string]any{"name": v.Name, "deprecated": day(moved.Deprecated), "sunset": day(moved.Sunset), "policy": c.Policy()})
	}
	_, err = fmt.Fprintf(k.Stdout, `# Nothing was changed: the dates of versions are in the calendar file. Put these
# lines into it and start every node with --version-calendar or
# PARLEY_VERSION_CALENDAR. The policy %s allows them.
versions:
  - name: %[2]s
    deprecated: %[3]s   # from then on: Sunset, Deprecation and Link on every answer, and an event to whoever uses it
    sunset: %[4]s       # from then on: 410 Gone
# Before:     parley versions retire %[2]s --dry-run
# Afterwards: parley versions --at %[4]s --version-calendar FILE
`, c.Policy(), v.Name, *day(moved.Deprecated), *day(moved.Sunset))
	return err
}

// announce finds the dates, and has the calendar judge them.
func (r *retireVersion) announce(c *calendar.Calendar, v *calendar.Version, today time.Time) (calendar.Move, error) {
	m := calendar.Move{Name: v.Name, Deprecated: v.Deprecated, Sunset: v.Sunset}
	if m.Deprecated.IsZero() {
		m.Deprecated = today
	}
	for _, d := range []struct {
		flag, text string
		at         *time.Time
	}{{"--deprecated", r.Deprecated, &m.Deprecated}, {"--sunset", r.Sunset, &m.Sunset}} {
		if d.text == "" {
			continue
		}
		t, err := time.Parse(time.DateOnly, d.text)
		if err != nil {
			return m, misuse{fmt.Errorf("%s must be a date such as 2027-11-01", d.flag)}
		}
		*d.at = t
	}
	if !m.Sunset.IsZero() {
		_, err := c.Move(m)
		return m, wrongDate(err)
	}
	var err error
	for months := 12; months <= 36; months++ { // what is usual, or else what the policy asks for
		m.Sunset = m.Deprecated.AddDate(0, months, 0)
		if _, err = c.Move(m); err == nil {
			return m, nil
		}
	}
	return m, wrongDate(err)
}

func wrongDate(err error) error {
	if err == nil {
		return nil
	}
	return misuse{err}
}

// A consumer is an account as GET /versions/{name}/usage lists it.
type consumer struct {
	Account    int64   `json:"account_id"`
	Name       *string `json:"name"`
	Pinned     bool    `json:"pinned"`
	Count      int64   `json:"count"`
	First      *string `json:"first_seen"`
	Last       *string `json:"last_seen"`
	Operations []struct {
		Operation string `json:"operation"`
		Count     int64  `json:"count"`
		First     string `json:"first_seen"`
		Last      string `json:"last_seen"`
	} `json:"operations"`
}

// A rehearsal is what a retirement would do.
type rehearsal struct {
	Version  string     `json:"version"`
	Since    time.Time  `json:"since"`
	Accounts []consumer `json:"accounts"`
}

// rehearse asks a service who uses the version.
func (r *retireVersion) rehearse(w io.Writer) error {
	if r.Key == "" {
		return misuse{errors.New("--dry-run asks a running service and needs an admin key: --key or PARLEY_ADMIN_KEY")}
	}
	base, err := url.Parse(r.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return misuse{errors.New("--url must look like http://127.0.0.1:8080")}
	}
	if r.Days < 1 {
		return misuse{errors.New("--days must be at least 1")}
	}
	plan := rehearsal{Version: r.Name, Since: time.Now().UTC().AddDate(0, 0, -r.Days).Truncate(time.Second), Accounts: []consumer{}}
	at := base.JoinPath("versions", r.Name, "usage")
	at.RawQuery = url.Values{"since": {plan.Since.Format(time.RFC3339)}, "limit": {"100"}}.Encode()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	header := http.Header{"Authorization": {"Bearer " + r.Key}}
	for u, err := range paginate.All[consumer](ctx, nil, at.String(), &paginate.Options{Header: header}) {
		if err != nil {
			return r.refused(err)
		}
		plan.Accounts = append(plan.Accounts, u)
	}
	if r.JSON {
		err = printJSON(w, plan)
	} else {
		err = plan.print(w, r.Days)
	}
	if err == nil && r.ExitCode && len(plan.Accounts) > 0 {
		return fmt.Errorf("%s would break %s", r.Name, accounts(len(plan.Accounts)))
	}
	return err
}

// refused says what to do about a service that does not tell.
func (r *retireVersion) refused(err error) error {
	f, ok := errors.AsType[*paginate.Failure](err)
	if !ok {
		return fmt.Errorf("%w; check that a service is running there, or name it with --url", err)
	}
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return errors.New("the service refuses the key; --key must be an admin key of it")
	case http.StatusNotFound:
		return misuse{fmt.Errorf("the service has no version %q; %s/versions lists them", r.Name, strings.TrimRight(r.URL, "/"))}
	case http.StatusBadRequest:
		return fmt.Errorf("%w; --days or the page size may be more than the service allows", err)
	}
	return err
}

func (p *rehearsal) print(w io.Writer, days int) error {
	if len(p.Accounts) == 0 {
		_, err := fmt.Fprintf(w, "Nobody would break: no account is pinned to %s, and none used it in the last %d days.\n", p.Version, days)
		return err
	}
	fmt.Fprintf(w, "Retiring %s would break %s, which are pinned to it or used it in the last %d days:\n\n", p.Version, accounts(len(p.Accounts)), days)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ACCOUNT\tNAME\tPINNED\tREQUESTS\tLAST USE\tOPERATIONS")
	for _, u := range p.Accounts {
		pinned, operations := "no", make([]string, 0, len(u.Operations))
		if u.Pinned {
			pinned = "yes"
		}
		for _, o := range u.Operations {
			operations = append(operations, fmt.Sprintf("%s %d×, last %s", o.Operation, o.Count, minute(&o.Last)))
		}
		if len(operations) == 0 {
			operations = append(operations, "-")
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%s\n", u.Account, dash(u.Name), pinned, u.Count, minute(u.Last), strings.Join(operations, "; "))
	}
	return t.Flush()
}

// minute is a timestamp without what nobody needs to know.
func minute(at *string) string {
	if at == nil || len(*at) < len("2006-01-02T15:04") {
		return "never"
	}
	return strings.Replace((*at)[:len("2006-01-02T15:04")], "T", " ", 1)
}

func accounts(n int) string {
	if n == 1 {
		return "1 account"
	}
	return fmt.Sprintf("%d accounts", n)
}
