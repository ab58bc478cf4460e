package parley

import (
	"fmt"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/parley-api/parley/internal/notice"
	"github.com/parley-api/parley/internal/usage"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// calendarFile is what --version-calendar names: dates of known versions to
// move, and the policy to keep.
type calendarFile struct {
	Policy   version.Policy `yaml:"policy"`
	Versions []struct {
		Name        string `yaml:"name"`
		Deprecated  string `yaml:"deprecated"`
		Sunset      string `yaml:"sunset"`
		FallForward *bool  `yaml:"fall_forward"`
	} `yaml:"versions"`
}

// ReadCalendar returns the calendar of the service that a configuration
// describes: the built-in one or the configuration's own, with the dates of its
// calendar file. An error is a [SettingError].
func ReadCalendar(cfg Config) (*version.Calendar, error) {
	set, err := cfg.settle()
	if err != nil {
		return nil, err
	}
	return set.calendar, nil
}

// moveDates applies a calendar file to a calendar. The error says which line
// or date is wrong.
func moveDates(c *version.Calendar, path string) (*version.Calendar, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file calendarFile
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %s", path, yaml.FormatError(err, false, false))
	}
	policy := file.Policy
	if policy == "" {
		policy = c.Policy()
	}
	var moves []version.Move
	for _, v := range file.Versions {
		m := version.Move{Name: v.Name, FallForward: v.FallForward}
		if m.Deprecated, err = parseDay(v.Deprecated); err == nil {
			m.Sunset, err = parseDay(v.Sunset)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: version %s: %w", path, v.Name, err)
		}
		moves = append(moves, m)
	}
	moved, err := c.Revise(policy, moves...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return moved, nil
}

// parseDay reads a date; an empty text is the zero time.
func parseDay(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, fmt.Errorf("%q is not a date such as 2027-11-01", text)
	}
	return t, nil
}

// watch begins what goes on besides requests: the ledger of versions is
// written, and accounts are told when theirs is deprecated or retired.
func (a *App) watch(accounts *resource.Definition, told *store.Table) {
	go a.ledger.Run()
	a.herald = &notice.Herald{
		Store: a.store, Calendar: a.calendar, Told: told, Bound: store.Key{Table: accounts.Table(), Column: usage.Pin},
		BaseURL: a.set.BaseURL, Now: a.now, Log: a.log,
	}
	a.herald.Start()
}
