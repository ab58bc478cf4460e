package resource

import (
	"bytes"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/parley-api/parley/idempotency"
	"github.com/parley-api/parley/precond"
	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/store"
)

// Get answers GET of an item, for a route beside those of the room.
func (rm *Room) Get(c *Call) error { return rm.read(c) }

// read answers GET and HEAD of an item.
func (rm *Room) read(c *Call) error {
	if err := NoParameters(c); err != nil {
		return err
	}
	row, err := rm.load(c)
	if err != nil {
		return err
	}
	return rm.describe(c, &row)
}

// describe answers GET and HEAD with a row.
func (rm *Room) describe(c *Call, row *store.Row) error {
	etag := rm.etag(c, row.Rev)
	result, err := precond.Check(c.R, etag, time.Time{})
	if err != nil {
		return err
	}
	if result == precond.NotModified && rm.live == nil { // what is live may have changed
		c.notModified(etag)
		return nil
	}
	return rm.show(c, http.StatusOK, row)
}

// show answers with a row.
func (rm *Room) show(c *Call, status int, row *store.Row) error {
	body, err := rm.appendRow(c.Buf, c, row)
	c.Buf = body[:0]
	if err != nil {
		return err
	}
	c.W.Header()["Accept-Ranges"] = rangesNone
	c.Send(status, rm.etag(c, row.Rev), body)
	return nil
}

// create answers POST of a collection.
func (rm *Room) create(c *Call) error {
	if err := NoParameters(c); err != nil {
		return err
	}
	over, err := rm.over(c)
	if err != nil {
		return err
	}
	next, err := rm.fresh(c)
	if err != nil {
		return err
	}
	return rm.insert(c, next, over)
}

// insert stores a new row and answers with it. Over is the parent's row; nil:
// there is none.
func (rm *Room) insert(c *Call, next reflect.Value, over *store.Row) error {
	secret, also, err := rm.complete(c, next, over)
	if err != nil {
		return err
	}
	tx := &store.Tx{Account: rm.account(c), Writes: []store.Write{{
		Table: rm.table, Op: store.Insert, Version: rm.writes, Events: rm.events("created"),
		Doc: rm.plan.append(nil, next.Elem(), true), Keys: rm.keys(next.Elem()),
	}}}
	tx.Writes = append(tx.Writes, also...)
	tx.Replay = rm.replay(c, http.StatusCreated)
	rows, err := rm.Store.Commit(c.Context(), tx)
	if err != nil {
		return rm.failed(c, err)
	}
	row := &rows[0]
	c.W.Header()["Location"] = []string{string(rm.appendPath(nil, c, row.ID, row.Doc))}
	if rm.shown == "" {
		return rm.show(c, http.StatusCreated, row)
	}
	member := rm.shown
	if secret == "" {
		member = ""
	}
	body, err := rm.appendRowWith(c.Buf, c, row, member, secret)
	if err != nil {
		return err
	}
	c.Send(http.StatusCreated, "", body)
	return nil
}

// complete sets what a client does not give, and finds what is shown once and
// what is written along.
func (rm *Room) complete(c *Call, next reflect.Value, over *store.Row) (secret string, also []store.Write, err error) {
	if rm.owner != nil {
		next.Elem().Field(rm.owner.index).SetInt(c.Account)
	}
	if over != nil {
		next.Elem().Field(rm.parent.index).SetInt(over.ID)
	}
	switch {
	case rm.along != nil:
		return rm.along(next.Interface(), over)
	case rm.reveal != nil:
		secret, err = rm.reveal(next.Interface(), c.Account)
	}
	return secret, nil, err
}

// fresh reads the body of a create into a value of the latest shape. Its errors
// have the names of the client's version.
func (rm *Room) fresh(c *Call) (reflect.Value, error) {
	p := rm.plans[c.Version.Index()]
	sent := reflect.New(p.typ)
	if err := p.decode(c.Body, sent.Elem(), modeCreate); err != nil {
		return sent, err
	}
	next := sent
	if !rm.chain.Same(c.Version) {
		up, err := rm.chain.Up(c.Version, sent.Interface(), nil)
		if err != nil {
			return sent, err
		}
		next = reflect.New(rm.plan.typ)
		next.Elem().Set(reflect.ValueOf(up))
	}
	if rm.state != nil {
		next.Elem().Field(rm.state.index).SetString(rm.states.Initial)
	}
	return next, rm.chain.Problem(c.Version, rm.checked(next, reflect.Value{}))
}

// checked runs the definition's own rules.
func (rm *Room) checked(next, was reflect.Value) error {
	if rm.check == nil {
		return nil
	}
	var before any
	if was.IsValid() {
		before = was.Interface()
	}
	if errs := rm.check(next.Interface(), before); len(errs) > 0 {
		return Invalid(errs...)
	}
	return nil
}

// keys gives the columns their values.
func (d *Definition) keys(v reflect.Value) []any {
	keys := make([]any, len(d.columns))
	for i, f := range d.columns {
		keys[i] = f.key(v)
	}
	return keys
}

// replay is the record of an idempotent call: what it would answer again,
// without a secret that was shown once.
func (rm *Room) replay(c *Call, status int) *store.Replay {
	if c.Replay == nil {
		return nil
	}
	again := *c // the store renders it while the call waits
	return &store.Replay{Key: c.Replay.Key, Print: c.Replay.Print, Answer: func(rows []store.Row) []byte {
		row := &rows[0]
		body, err := rm.appendRow(nil, &again, row)
		if err != nil {
			body = nil
		}
		a := idempotency.Answer{Status: status, Body: body, Header: []idempotency.Field{
			{Name: "Content-Type", Value: again.Type},
			{Name: "Cache-Control", Value: cacheNo[0]},
			{Name: "Etag", Value: rm.etag(&again, row.Rev)},
			{Name: "Accept-Ranges", Value: "none"},
		}}
		if status == http.StatusCreated && rm.shown != "" { // as the answer with the secret was
			a.Header = a.Header[:2]
			a.Header[1].Value = cacheNever[0]
		}
		if status == http.StatusCreated {
			a.Header = append(a.Header, idempotency.Field{Name: "Location", Value: string(rm.appendPath(nil, &again, row.ID, row.Doc))})
		}
		return a.AppendAnswer(nil)
	}}
}

// A change makes the next value of a resource from the current one. Both are
// pointers. It must be pure: where the row moved on it runs again.
type change func(was reflect.Value, row *store.Row) (reflect.Value, error)

// modify answers a request that changes a row.
func (rm *Room) modify(c *Call, f change) error {
	if err := NoParameters(c); err != nil {
		return err
	}
	return rm.alter(c, f)
}

// alter is modify whatever the query says.
func (rm *Room) alter(c *Call, f change) error {
	row, err := rm.load(c)
	if err != nil {
		return err
	}
	if err := rm.guard(c, &row); err != nil {
		return err
	}
	w, err := rm.rewrite(c, row, f)
	if err != nil {
		return err
	}
	if w == nil {
		return rm.show(c, http.StatusOK, &row)
	}
	if !conditional(c.R) {
		w.Redo = func(current store.Row) (*store.Write, error) { return rm.rewrite(c, current, f) }
	}
	tx := &store.Tx{Account: rm.account(c), Writes: []store.Write{*w}, Replay: rm.replay(c, http.StatusOK)}
	rows, err := rm.Store.Commit(c.Context(), tx)
	if err != nil {
		return rm.failed(c, err)
	}
	return rm.show(c, http.StatusOK, &rows[0])
}

// conditional reports whether a write was asked for one state of the resource
// only, so that it must not be redone on another.
func conditional(r *http.Request) bool {
	return precond.HasMatch(r) || r.Header["If-None-Match"] != nil
}

// rewrite applies a change to a row, or returns nil where nothing changes. Its
// errors have the names of the client's version.
func (rm *Room) rewrite(c *Call, row store.Row, f change) (*store.Write, error) {
	was, err := rm.value(row.Doc)
	if err != nil {
		return nil, err
	}
	next, err := f(was, &row)
	if err != nil {
		return nil, err
	}
	actions := []string{"updated"}
	if rm.state != nil {
		from, to := was.Elem().Field(rm.state.index).String(), next.Elem().Field(rm.state.index).String()
		if err := rm.move(c, from, to); err != nil {
			return nil, err
		}
		if extra, ok := rm.states.Enter[to]; ok && from != to {
			actions = append(actions, extra)
		}
	}
	if err := rm.checked(next, was); err != nil {
		return nil, rm.chain.Problem(c.Version, err)
	}
	doc := rm.plan.append(nil, next.Elem(), true)
	if bytes.Equal(doc, row.Doc) {
		return nil, nil
	}
	return &store.Write{
		Table: rm.table, Op: store.Update, ID: row.ID, IfRev: row.Rev, Version: rm.writes,
		Doc: doc, Keys: rm.keys(next.Elem()), Events: rm.events(actions...),
	}, nil
}

// move checks a transition. To stay is always allowed.
func (rm *Room) move(c *Call, from, to string) error {
	if from == to || slices.Contains(rm.states.Moves[from], to) {
		return nil
	}
	return rm.stuck(c, from, "A "+rm.singular+" that is "+from+" cannot become "+to+".")
}

// stuck is the answer to a transition that is not allowed. A client of an older
// version reads of the states that it knows only.
func (rm *Room) stuck(c *Call, from, detail string) error {
	moves := rm.states.Moves[from]
	if !rm.chain.Same(c.Version) {
		detail = "The " + rm.singular + " cannot change that way in the state it is in."
		moves = rm.chain.Values(c.Version, rm.state.name, moves...)
		if rm.plans[c.Version.Index()].byName[rm.chain.Parameter(c.Version, rm.state.name)] == nil {
			moves = nil // it has no states
		}
	}
	p := problem.InvalidTransition.New(detail)
	p.Allowed = moves
	return p
}

// replace answers PUT: what the client does not send is reset, but for what it
// cannot set and for the state.
func (rm *Room) replace(c *Call) error {
	return rm.modify(c, func(was reflect.Value, _ *store.Row) (reflect.Value, error) {
		return rm.overwrite(c, c.Body, was)
	})
}

// overwrite reads a whole resource in the client's shape over the current one.
func (rm *Room) overwrite(c *Call, body []byte, was reflect.Value) (reflect.Value, error) {
	p := rm.plans[c.Version.Index()]
	old := rm.lower(c, was)
	sent := reflect.New(p.typ)
	for _, f := range p.fields {
		if f.readonly || f.state || f.immutable {
			sent.Elem().Field(f.index).Set(old.Elem().Field(f.index))
		}
	}
	if err := p.decode(body, sent.Elem(), modeReplace); err != nil {
		return sent, err
	}
	return rm.lift(c, sent, was)
}

// lower gives a latest value the client's shape: a pointer to a copy.
func (rm *Room) lower(c *Call, latest reflect.Value) reflect.Value {
	out := reflect.New(rm.plans[c.Version.Index()].typ)
	if rm.chain.Same(c.Version) {
		out.Elem().Set(latest.Elem())
	} else {
		out.Elem().Set(reflect.ValueOf(rm.chain.Down(c.Version, latest.Interface())))
	}
	return out
}

// lift gives a value in the client's shape the latest one.
func (rm *Room) lift(c *Call, sent, was reflect.Value) (reflect.Value, error) {
	if rm.chain.Same(c.Version) {
		return sent, nil
	}
	up, err := rm.chain.Up(c.Version, sent.Interface(), was.Interface())
	if err != nil {
		return sent, err
	}
	out := reflect.New(rm.plan.typ)
	out.Elem().Set(reflect.ValueOf(up))
	return out, nil
}

// patch answers PATCH in either format.
func (rm *Room) patch(c *Call) error {
	if c.ContentType == TypePatch {
		ops, err := parsePatch(c.Body)
		if err != nil {
			return err
		}
		return rm.modify(c, func(was reflect.Value, row *store.Row) (reflect.Value, error) {
			return rm.edit(c, ops, was, row)
		})
	}
	return rm.modify(c, func(was reflect.Value, _ *store.Row) (reflect.Value, error) {
		sent := rm.lower(c, was)
		if err := rm.plans[c.Version.Index()].decode(c.Body, sent.Elem(), modeMerge); err != nil {
			return sent, err
		}
		return rm.lift(c, sent, was)
	})
}

// edit applies a JSON Patch to what the client sees, id and times included so
// that they can be tested, and reads the result as a replacement.
func (rm *Room) edit(c *Call, ops []operation, was reflect.Value, row *store.Row) (reflect.Value, error) {
	seen := rm.lower(c, was)
	doc := rm.appendID([]byte(`{"id":`), row.ID)
	doc = appendTime(append(doc, `,"created_at":`...), row.Created)
	doc = appendTime(append(doc, `,"updated_at":`...), row.Updated)
	p := rm.plans[c.Version.Index()]
	if members := p.append(nil, seen.Elem(), false); len(members) > 2 {
		doc = append(append(doc, ','), members[1:]...)
	} else {
		doc = append(doc, '}')
	}
	after, err := applyPatch(ops, doc)
	if err != nil {
		return seen, err
	}
	var fixed []string
	for _, f := range p.fields {
		if f.readonly && !f.hidden {
			fixed = append(fixed, f.name)
		}
	}
	body, err := strip(after, doc, append(fixed, "id", "created_at", "updated_at"))
	if err != nil {
		return seen, err
	}
	return rm.overwrite(c, body, was)
}

// act answers the POST of an action.
func (rm *Room) act(c *Call, a action) error {
	return rm.modify(c, func(was reflect.Value, _ *store.Row) (reflect.Value, error) {
		next := reflect.New(rm.plan.typ)
		next.Elem().Set(was.Elem())
		state := next.Elem().Field(rm.state.index)
		if state.String() == a.To {
			return next, rm.stuck(c, a.To, "The "+rm.singular+" is already "+a.To+".")
		}
		state.SetString(a.To)
		return next, nil
	})
}

// remove answers DELETE.
func (rm *Room) remove(c *Call) error {
	if err := NoParameters(c); err != nil {
		return err
	}
	w := store.Write{Table: rm.table, Op: store.Delete, Version: rm.writes, Events: rm.events("deleted")}
	if conditional(c.R) || rm.keep != nil || rm.owner != nil || rm.key != nil || rm.parent != nil {
		row, err := rm.load(c)
		if err != nil {
			return err
		}
		w.ID = row.ID
		if err := rm.guard(c, &row); err != nil {
			return err
		}
		if rm.keep != nil {
			v, err := rm.value(row.Doc)
			if err == nil {
				err = rm.keep(v.Interface(), row.ID)
			}
			if err != nil {
				return err
			}
		}
		w.IfRev = row.Rev
	} else {
		id, err := rm.parseID(rm.name(c))
		if err != nil {
			return rm.problem(err)
		}
		w.ID = id
	}
	if _, err := rm.Store.Commit(c.Context(), &store.Tx{Account: rm.account(c), Writes: []store.Write{w}}); err != nil {
		return rm.problem(err)
	}
	c.NoContent()
	return nil
}
