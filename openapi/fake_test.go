package openapi

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/rooms/task"
	"github.com/parley-api/parley/rooms/user"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// memory is a store of a few rows of one account, enough to have real answers.
type memory struct{ rows map[string][]store.Row }

func (m *memory) Get(_ context.Context, t *store.Table, _, id int64) (store.Row, error) {
	for _, r := range m.rows[t.Name] {
		if r.ID == id {
			return r, nil
		}
	}
	return store.Row{}, store.ErrNotFound
}

func (m *memory) Page(_ context.Context, t *store.Table, q store.Query) ([]store.Row, error) {
	all := slices.Clone(m.rows[t.Name])
	if q.After != nil {
		all = slices.DeleteFunc(all, func(r store.Row) bool { return r.ID <= q.After.ID })
	}
	all = all[min(q.Offset, len(all)):]
	return all[:min(q.Limit, len(all))], nil
}

func (m *memory) Count(_ context.Context, t *store.Table, _ store.Query) (int64, error) {
	return int64(len(m.rows[t.Name])), nil
}

func (m *memory) Begin(ctx context.Context, t *store.Table, q store.Query) ([]store.Row, int64, error) {
	rows, err := m.Page(ctx, t, q)
	return rows, int64(len(m.rows[t.Name])), err
}

func (m *memory) Commit(_ context.Context, tx *store.Tx) ([]store.Row, error) {
	w := tx.Writes[0]
	rows := m.rows[w.Table.Name]
	const at = 1_793_534_400_000_000
	if w.Op == store.Insert {
		row := store.Row{ID: int64(len(rows) + 1), Rev: 1, Created: at, Updated: at, Doc: w.Doc}
		m.rows[w.Table.Name] = append(rows, row)
		return []store.Row{row}, nil
	}
	i, found := slices.BinarySearchFunc(rows, w.ID, func(r store.Row, id int64) int { return cmp.Compare(r.ID, id) })
	if !found {
		return nil, store.ErrNotFound
	}
	if w.Op == store.Delete {
		m.rows[w.Table.Name] = slices.Delete(rows, i, i+1)
		return []store.Row{{}}, nil
	}
	rows[i].Doc = w.Doc
	rows[i].Rev++
	return []store.Row{rows[i]}, nil
}

// A Key stands for the resources that show a secret once.
type key struct {
	Name   string   `json:"name" parley:"required,max=20"`
	Scopes []string `json:"scopes" parley:"required,min=1,max=10"`
	Owner  *int64   `json:"owner_id" parley:"immutable"`
	Secret string   `json:"hash" parley:"hidden"`
}

// everything has a member of every sort.
type everything struct {
	Text   string     `json:"text" about:"May be empty."`
	Code   string     `json:"code" parley:"required,min=8,max=9,line"`
	Colour string     `json:"colour" parley:"enum=red|green"`
	Paint  *string    `json:"paint" parley:"enum=red|green"`
	Mail   string     `json:"mail" parley:"format=email"`
	Count  int64      `json:"count" parley:"min=3,max=9"`
	Ratio  float64    `json:"ratio"`
	Flag   bool       `json:"flag"`
	At     time.Time  `json:"at"`
	Seen   *time.Time `json:"seen" parley:"readonly"`
	Parts  []part     `json:"parts" parley:"min=2"`
	Whole  part       `json:"whole"`
	Maybe  *part      `json:"maybe"`
	Remark string     `json:"remark,omitempty" parley:"max=3"`
}

type part struct {
	Name string  `json:"name" parley:"required"`
	Size *int64  `json:"size" parley:"min=1"`
	Note *string `json:"note" parley:"readonly"`
}

func open(t testing.TB, defs ...*resource.Definition) (rooms []*resource.Room, routes []*resource.Route) {
	t.Helper()
	keys, err := paginate.NewKeys(paginate.Key{ID: 1, Secret: [32]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{rows: make(map[string][]store.Row)}
	for _, d := range defs {
		rm := d.Open(resource.Options{Store: m, Calendar: version.BuiltIn(), Keys: func(string) *paginate.Keys { return keys }})
		rooms, routes = append(rooms, rm), append(routes, rm.Routes()...)
	}
	return rooms, routes
}

// all are the definitions that the tests describe.
func all() []*resource.Definition {
	return []*resource.Definition{
		task.Resource, user.Resource,
		resource.Define("api-key", "api-keys", resource.Rules[key]{
			About: "Opens things.", System: true, Shown: "key",
			Reveal: func(k *key, _ int64) (string, error) { k.Secret = "hash"; return "pk_secret", nil },
		}),
		resource.Define("thing", "things", resource.Rules[everything]{About: "One of each.", Filters: []string{"colour", "count", "flag", "mail"}}),
	}
}

// extra are operations that are described by hand.
func extra() []Operation {
	system := Tag{"system", "What runs the service."}
	event := Schema{"Event", `{"type": "object", "description": "What happened.", "properties": {"id": {"type": "string"}}, "required": ["id"]}`}
	return []Operation{
		{Method: "GET", Pattern: "/healthz", ID: "getHealth", Summary: "Whether the service is alive", Tag: system, Public: true,
			Shows: Schema{JSON: `{"type": "object"}`}, Answers: []Answer{{Status: 200, Media: []Media{{"application/json", Schema{JSON: `{"type": "object"}`}}}}}},
		{Method: "GET", Pattern: "/events", ID: "listEvents", Summary: "List events", Tag: Tag{"events", "What happened."}, Scope: "events:read",
			Kind: resource.List, Collection: "events", Shows: event,
			Parameters: []Parameter{{Name: "type", About: "Only events of this type."}, {Name: "updated_since"}}},
		{Method: "GET", Pattern: "/events/{id}", ID: "getEvent", Summary: "Get an event", Tag: Tag{Name: "events"}, Scope: "events:read",
			Kind: resource.Read, Shows: Schema{Name: "Event"}, Also: []Media{{"text/html", Schema{JSON: `{"type": "string"}`}}}},
		{Method: "POST", Pattern: "/pings", ID: "sendPing", Summary: "Send a ping", Tag: system,
			Takes: []Media{{"application/json", Schema{JSON: `{"type": "object"}`}}}},
		{Method: "GET", Pattern: "/versions/{name}", ID: "getVersion", Summary: "Get a version", Tag: system, Public: true,
			Parameters: []Parameter{{Name: "name", About: "Its name or number."}},
			Answers: []Answer{{Status: 200, About: "The version.", Media: []Media{{"application/json", Schema{JSON: `{"type": "object"}`}}, {"text/html", Schema{JSON: `{"type": "string"}`}}},
				Headers: []Header{{Name: "ETag"}, {Name: "Content-Language", About: "The language of the page."}}}}},
	}
}

func info(v *version.Version) Info {
	return Info{
		Title: "Parley", Description: "The manners of a first-rate HTTP and JSON API.", ServerURL: "https://api.parley.dev",
		Calendar: version.BuiltIn(), Version: v,
	}
}

func build(t testing.TB, v *version.Version) []byte {
	t.Helper()
	_, routes := open(t, all()...)
	text, err := Build(info(v), routes, extra()...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
