package usage

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// A Room shows who uses a version. It is safe for concurrent use.
type Room struct {
	ledger   *Ledger
	store    *store.Store
	accounts *resource.Definition
	options  resource.Options
	pages    paginate.List
}

const reading = "listVersionUsage"

// Pin is the column of the accounts that names their version.
const Pin = "api_version"

// NewRoom returns the room over what the nodes of a service have written. The
// accounts are those that can be pinned to a version.
func NewRoom(l *Ledger, s *store.Store, accounts *resource.Definition, o resource.Options) *Room {
	return &Room{ledger: l, store: s, accounts: accounts, options: o, pages: paginate.List{
		Collection: "usage", Limits: o.Limits, RFC: o.RFC, Parameters: []string{"api-version", "since", "version"},
	}}
}

// Routes returns the methods of the room.
func (rm *Room) Routes() []*resource.Route {
	return []*resource.Route{{
		Method: http.MethodGet, Pattern: "/versions/{name}/usage", Scope: "admin", Serve: rm.list,
		Operation: reading, Summary: "List the accounts that use a version or are pinned to it",
	}}
}

// A user is an account that uses a version, or would by its pin.
type user struct {
	Account    int64   `json:"account_id"`
	Name       *string `json:"name"`
	Pinned     bool    `json:"pinned"`
	Count      int64   `json:"count"`
	First      *string `json:"first_seen"`
	Last       *string `json:"last_seen"`
	Operations []deed  `json:"operations"`

	rev int64
}

// A deed is what a user did.
type deed struct {
	Operation string `json:"operation"`
	Count     int64  `json:"count"`
	First     string `json:"first_seen"`
	Last      string `json:"last_seen"`
}

func (rm *Room) list(c *resource.Call) error {
	v := rm.options.Calendar.Find(c.Args[0])
	if v == nil || v.Name != c.Args[0] {
		return problem.NotFound.New("There is no such version.")
	}
	plan, err := rm.pages.Parse(c.R.URL.RawQuery, resource.Ranges(c))
	if err != nil {
		return err
	}
	q := store.UserQuery{Version: v.Name, Bound: store.Key{Table: rm.accounts.Table(), Column: Pin}}
	scope := paginate.Scope{Collection: "usage of " + v.Name, Account: c.Account}
	if since, ok := plan.Value("since"); ok {
		if q.Since, err = resource.ParseTime("since", since); err != nil {
			return err
		}
		scope.Filters = strconv.FormatInt(q.Since, 10)
	}
	ctx := c.Context()
	if err := rm.ledger.Flush(ctx); err != nil { // so that it shows what this node served so far
		return err
	}
	return resource.Serve(c, resource.Listing[user]{
		Pages: &rm.pages, Plan: plan, Scope: scope, Keys: rm.options.Keys(plan.Cursor), Now: rm.options.Now(),
		Fetch: func(w resource.Window) ([]user, error) {
			q.Mark, q.Back, q.Offset, q.Limit = w.Mark, w.Back, w.Offset, w.Limit
			if w.After {
				q.After = w.ID
			}
			return rm.users(ctx, v, q)
		},
		Mark:  func() (int64, error) { return rm.mark(ctx, v) },
		Count: func() (int64, error) { return rm.store.CountUsers(ctx, q) },
		Place: func(u *user) resource.Place { return resource.Place{ID: u.Account, Rev: u.rev} },
		Item: func(dst []byte, u *user) ([]byte, error) {
			b, err := json.Marshal(u)
			return append(dst, b...), err
		},
	})
}

// mark is the highest id that a walk which begins now will show.
func (rm *Room) mark(ctx context.Context, v *version.Version) (int64, error) {
	used, err := rm.store.UserMark(ctx, v.Name)
	if err != nil {
		return 0, err
	}
	made, err := rm.store.Mark(ctx, rm.accounts.Table(), 0)
	return max(used, made), err
}

// users reads a page of accounts and what each did.
func (rm *Room) users(ctx context.Context, v *version.Version, q store.UserQuery) ([]user, error) {
	ids, err := rm.store.Users(ctx, q)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	uses, err := rm.store.Uses(ctx, v.Name, q.Since, ids[0], ids[len(ids)-1])
	if err != nil {
		return nil, err
	}
	users := make([]user, len(ids))
	for i, id := range ids {
		u := &users[i]
		u.Account, u.Operations = id, []deed{}
		if err := rm.name(ctx, u, v); err != nil {
			return nil, err
		}
		n := 0
		for n < len(uses) && uses[n].Account <= id {
			n++
		}
		u.add(uses[:n])
		uses = uses[n:]
	}
	return users, nil
}

// add takes in what the account did.
func (u *user) add(uses []store.Use) {
	var first, last int64
	for i := range uses {
		d := &uses[i]
		u.Operations = append(u.Operations, deed{d.Operation, d.Count, stamp(d.First), stamp(d.Last)})
		u.Count += d.Count
		if first == 0 || d.First < first {
			first = d.First
		}
		last = max(last, d.Last)
	}
	if last != 0 {
		from, to := stamp(first), stamp(last)
		u.First, u.Last = &from, &to
	}
	u.rev += u.Count*31 + last
}

func stamp(at int64) string { return string(resource.AppendTime(nil, at)) }

// name finds the account. One that is not the service's own, or was deleted,
// has no name.
func (rm *Room) name(ctx context.Context, u *user, v *version.Version) error {
	row, err := rm.store.Get(ctx, rm.accounts.Table(), 0, u.Account)
	if err == store.ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	var doc struct {
		Name       string  `json:"name"`
		APIVersion *string `json:"api_version"`
	}
	if err := json.Unmarshal(row.Doc, &doc); err != nil {
		return err
	}
	u.Name, u.Pinned, u.rev = &doc.Name, doc.APIVersion != nil && *doc.APIVersion == v.Name, row.Rev*1_000_003
	return nil
}
