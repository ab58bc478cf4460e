package notice

import (
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// pins is a table as that of the accounts.
var pins = &store.Table{
	Name: "accounts", Columns: []store.Column{{Name: "api_version", Kind: store.Text, Index: true}},
	Fields: []store.Field{{Name: "api_version", Type: "string"}},
}

// open returns a herald on the database in a folder.
func open(t *testing.T, dir string) *Herald {
	t.Helper()
	told := NewTable()
	s, err := store.Open(t.Context(), filepath.Join(dir, "parley.db"), nil, pins, told)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &Herald{
		Store: s, Calendar: version.BuiltIn(), Told: told, Bound: store.Key{Table: pins, Column: "api_version"},
		BaseURL: "https://api.example.com", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
}

func (h *Herald) tell(t *testing.T, day string) {
	t.Helper()
	if err := h.Tell(t.Context(), date(day)); err != nil {
		t.Fatal(err)
	}
}

// heard are the types of an account's events.
func (h *Herald) heard(t *testing.T, account int64) []string {
	t.Helper()
	events, err := h.Store.Events(t.Context(), store.EventQuery{Account: account})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		var data struct{ Name, Status, Successor, Guide string }
		if err := json.Unmarshal(e.Doc, &data); err != nil {
			t.Fatal(err)
		}
		if want := "https://api.example.com/versions/" + data.Name; data.Guide != want || data.Successor == "" {
			t.Errorf("got %s, want the guide %s and a successor", e.Doc, want)
		}
		types = append(types, data.Name+" "+e.Type[len("api-version."):])
	}
	return types
}

func (h *Herald) use(t *testing.T, version string, accounts ...int64) {
	t.Helper()
	var uses []store.Use
	for _, id := range accounts {
		uses = append(uses, store.Use{Account: id, Version: version, Operation: "getTask", Count: 1, First: 1, Last: 1})
	}
	if err := h.Store.AddUses(t.Context(), uses); err != nil {
		t.Fatal(err)
	}
}

func TestHerald(t *testing.T) {
	dir := t.TempDir()
	h := open(t, dir)
	h.use(t, "2025-11-01", 5, 6)
	for _, v := range []string{"2026-11-01", "2025-11-01"} { // accounts 1 and 2
		_, err := h.Store.Commit(t.Context(), &store.Tx{Writes: []store.Write{{Table: pins, Op: store.Insert, Doc: []byte(`{"api_version":"` + v + `"}`), Keys: []any{v}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(why string, account int64, types ...string) {
		t.Helper()
		if got := h.heard(t, account); !slices.Equal(got, types) {
			t.Errorf("%s: account %d heard %q, want %q", why, account, got, types)
		}
	}
	h.tell(t, "2026-10-31")
	want("nothing has happened yet", 5)
	h.tell(t, "2026-11-01")
	h.tell(t, "2026-11-02")
	want("seen using it", 5, "2025-11-01 deprecated")
	want("pinned to it", 2, "2025-11-01 deprecated")
	want("pinned to the latest", 1)
	h.use(t, "2025-11-01", 7)
	h.Store.Close()
	h = open(t, dir)
	h.tell(t, "2027-10-31")
	want("told before the restart", 6, "2025-11-01 deprecated")
	want("began to use it late", 7, "2025-11-01 deprecated")
	h.use(t, "2025-11-01", 8)
	h.tell(t, "2027-11-01")
	h.tell(t, "2028-11-01")
	want("both, in order", 5, "2025-11-01 deprecated", "2025-11-01 retired")
	want("too late for a warning", 8, "2025-11-01 retired")
}

// Many heralds at once tell more accounts than a page holds, each once.
func TestHeralds(t *testing.T) {
	h := open(t, t.TempDir())
	var ids []int64
	for id := int64(1); id <= 700; id++ {
		ids = append(ids, id)
	}
	h.use(t, "2025-11-01", ids...)
	var all sync.WaitGroup
	for range 3 {
		other := *h
		all.Go(func() { other.tell(t, "2026-11-01") })
	}
	all.Wait()
	for _, id := range ids {
		if got := h.heard(t, id); len(got) != 1 {
			t.Fatalf("account %d heard %q, want it once", id, got)
		}
	}
}

// A herald looks at the calendar's dates, and at latecomers now and then.
func TestHeraldWaits(t *testing.T) {
	h := open(t, t.TempDir())
	for _, tt := range []struct {
		why  string
		now  time.Time
		want time.Time
	}{
		{"a date comes before", date("2026-11-01").Add(-time.Minute), date("2026-11-01")},
		{"no date comes", date("2026-11-01"), date("2026-11-01").Add(again)},
	} {
		h.Now, h.next = func() time.Time { return tt.now }, time.Time{}
		if h.look(t.Context()); !h.next.Equal(tt.want) {
			t.Errorf("%s: it looks again at %v, want %v", tt.why, h.next, tt.want)
		}
	}
	h.Now, h.next = func() time.Time { return date("2026-11-01") }, time.Time{}
	h.use(t, "2025-11-01", 1)
	h.Store.Close()
	if h.look(t.Context()); !h.next.Equal(date("2026-11-01").Add(5 * time.Second)) {
		t.Errorf("after a failure it looks again at %v, want a few seconds later", h.next)
	}
	if err := h.Tell(t.Context(), date("2026-11-01")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v, want the error of the store", err)
	}
}

func TestSchema(t *testing.T) {
	var schema struct {
		Required   []string
		Properties map[string]any
	}
	if err := json.Unmarshal([]byte(Schema), &schema); err != nil {
		t.Fatal(err)
	}
	h := &Herald{BaseURL: "https://api.example.com"}
	b, err := json.Marshal(h.data(version.BuiltIn().Find("0"), version.Deprecated))
	if err != nil {
		t.Fatal(err)
	}
	var data map[string]any
	json.Unmarshal(b, &data)
	for _, name := range schema.Required {
		if _, ok := data[name]; !ok || schema.Properties[name] == nil {
			t.Errorf("%s is required, and is not in %s or not described", name, b)
		}
	}
	if len(data) != len(schema.Required) {
		t.Errorf("got %s, want the members %v", b, schema.Required)
	}
}
