package parley_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/digest"
	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/resource"
)

// A tenant is an account with rows, a key that has every scope but admin, and
// one that has admin.
type tenant struct {
	caller
	boss    caller
	account string              // its id
	key     string              // id of the key
	mark    string              // stands in every row
	once    string              // the header with the Idempotency-Key of an action it took
	sum     string              // the digest of one of its files
	rows    map[string][]string // ids by collection, those of deleted rows too; by pattern for those below another
	told    string              // the id of an event that its endpoints were told of
}

// common are collections that show every account the same.
var common = map[string]string{"/largefile": "its bytes are the same for all"}

// filters are queries that name rows of a tenant and find none of another's, by
// collection. No filter of the events names a row.
var filters = map[string]func(t *tenant) []string{
	"/event-types":       func(*tenant) []string { return nil }, // it has none
	"/webhook-topics":    func(*tenant) []string { return nil },
	"/webhook-endpoints": func(*tenant) []string { return []string{"enabled=false"} },
	"/deliveries": func(t *tenant) []string {
		return []string{"endpoint_id=" + t.rows["/webhook-endpoints"][0], "event_id=" + t.told, "status=dead&endpoint_id=" + t.rows["/webhook-endpoints"][1]}
	},
	"/dead-letters": func(t *tenant) []string {
		return []string{"endpoint_id=" + t.rows["/webhook-endpoints"][0], "event_id=" + t.told}
	},
	"/tasks": func(t *tenant) []string {
		return []string{"assignee_id=" + t.rows["/users"][0], "assignee_id=" + t.rows["/users"][1] + "&status=pending"}
	},
	"/users":  func(t *tenant) []string { return []string{"email=" + url.QueryEscape(t.mark+"-0@example.com")} },
	"/files":  func(t *tenant) []string { return []string{"name=" + t.mark + "-0", "digest=" + url.QueryEscape(t.sum)} },
	"/images": func(t *tenant) []string { return []string{"name=" + t.mark + "-1&content_type=image/gif"} },
	"/events": func(*tenant) []string { return []string{"type=task.deleted&since=2100-01-01T00:00:00Z"} },
}

// unsorted are the lists that have one order.
var unsorted = []string{"/event-types"}

// worldwide are collections whose names are taken for all accounts, and why.
var worldwide = map[string]string{"/webhook-topics": "a topic is an address of the whole service"}

// borrowed are bodies that refer to a row of somebody else, by collection: %s
// is its id.
var borrowed = map[string][]string{
	"/tasks":       {`{"title":"borrowed","assignee_id":%s}`},
	"/users":       nil, // refers to nothing, as those below do
	"/event-types": nil, "/webhook-topics": nil, "/webhook-endpoints": nil, "/files": nil, "/images": nil,
}

// admit makes an account with rows.
func admit(s *service, t *testing.T, name string) *tenant {
	admin := caller{t, s.URL, adminKey}
	a := &tenant{mark: "sigil-" + name, once: "Idempotency-Key: once-" + name, rows: make(map[string][]string)}
	a.account = created(admin, "/accounts", `{"name":"`+a.mark+`"}`)
	a.caller, a.key = issue(admin, a.account, scopesBut(s, "admin")...)
	a.boss, _ = issue(admin, a.account, "admin")
	for i := range 2 {
		a.hold("/users", fmt.Sprintf(`{"name":"%s","email":"%[1]s-%d@example.com"}`, a.mark, i))
	}
	a.hold("/users", `{"name":"`+a.mark+`","email":"shared@example.com"}`)
	for i := range 4 {
		a.hold("/tasks", fmt.Sprintf(`{"title":"%s %d","assignee_id":%s}`, a.mark, i, a.rows["/users"][i%2]))
	}
	for i := range 2 {
		at := fmt.Sprintf("?name=%s-%d", a.mark, i)
		bytes := fmt.Sprintf("%s %d", a.mark, i)
		a.sum = digest.Format(sha256.Sum256([]byte(bytes)))
		a.rows["/files"] = append(a.rows["/files"], created(a.caller, "/files"+at, bytes, typeOf("/files")...))
		a.rows["/images"] = append(a.rows["/images"], created(a.caller, "/images"+at, "GIF89a "+bytes, typeOf("/images")...))
	}
	if got := a.call(http.MethodPost, "/tasks/"+a.rows["/tasks"][2]+"/complete", "", a.once); got.status != http.StatusOK {
		t.Fatalf("completing a task: got %s", got)
	}
	if got := a.call(http.MethodDelete, "/tasks/"+a.rows["/tasks"][3], ""); got.status != http.StatusNoContent {
		t.Fatalf("deleting a task: got %s", got)
	}
	a.listen(s)
	for _, r := range s.Routes() {
		if owned(r) && r.Method == http.MethodGet && !strings.Contains(r.Pattern, "{") && r.Pattern != "/event-types" {
			ids, _, _ := a.list(r.Pattern + "?page=1&size=100")
			for _, id := range ids {
				if !slices.Contains(a.rows[r.Pattern], id) {
					a.rows[r.Pattern] = append(a.rows[r.Pattern], id)
				}
			}
		}
	}
	return a
}

// listen gives a tenant a part in webhooks: types of its own, endpoints that
// nothing reaches, topics with receipts.
func (a *tenant) listen(s *service) {
	a.hold("/event-types", `{"name":"`+a.mark+`.raised","description":"`+a.mark+`","schema":{}}`)
	a.hold("/event-types", `{"name":"`+a.mark+`.lowered","description":"`+a.mark+`","schema":{}}`)
	created(a.caller, "/event-types", `{"name":"neutral.happened","schema":{}}`) // everybody has one of this name
	for i := range 2 {
		a.hold("/webhook-endpoints", fmt.Sprintf(`{"url":"%s%s/%d","description":"%[2]s","event_types":["%[2]s.*"]}`, nowhere, a.mark, i))
		a.hold("/webhook-topics", fmt.Sprintf(`{"name":"%s-%d"}`, a.mark, i))
	}
	a.hold("/webhook-topics", `{"name":"`+a.mark+`-signed","secret":"`+topicSecret+`"}`)
	for i := range 2 {
		a.told = created(a.caller, "/events", `{"type":"`+a.mark+`.raised","data":{"text":"`+a.mark+`"}}`)
		a.deliver(a.mark+"-signed", fmt.Sprintf("%s-%d", a.mark, i), time.Now())
		below := "/webhook-endpoints/" + a.rows["/webhook-endpoints"][0]
		a.rows["/webhook-endpoints/{id}/recoveries"] = append(a.rows["/webhook-endpoints/{id}/recoveries"],
			created(a.caller, below+"/recoveries", `{"since":"2026-01-01T00:00:00Z","dry_run":true}`))
		a.rows["/webhook-endpoints/{id}/secret-rotations"] = append(a.rows["/webhook-endpoints/{id}/secret-rotations"],
			created(a.caller, below+"/secret-rotations", `{}`))
	}
	a.rows["/webhook-topics/{name}/receipts"], _, _ = a.list("/webhook-topics/" + a.mark + "-signed/receipts")
	settled(a.t, s)
}

// owned reports whether a route shows rows of the account that asks.
func owned(r *resource.Route) bool {
	return !r.Public && r.Scope != "admin" && common[collectionOf(r.Pattern)] == ""
}

// collectionOf is the first segment of a pattern.
func collectionOf(pattern string) string {
	first, _, _ := strings.Cut(pattern[1:], "/")
	return "/" + first
}

// scopesBut returns every scope that a route asks for, but one and admin.
func scopesBut(s *service, but string) []string {
	var all []string
	for _, r := range s.Routes() {
		if r.Scope != "" && r.Scope != "admin" && r.Scope != but && !slices.Contains(all, r.Scope) {
			all = append(all, r.Scope)
		}
	}
	return all
}

// created makes something and returns what stands for it in its path.
func created(c caller, path, body string, lines ...string) string {
	c.t.Helper()
	got := c.call(http.MethodPost, path, body, lines...)
	if got.status != http.StatusCreated {
		c.t.Fatalf("POST %s: got %s, want 201", path, got)
	}
	at := got.header.Get("Location")
	return at[strings.LastIndex(at, "/")+1:]
}

// issue makes a key of an account.
func issue(admin caller, account string, scopes ...string) (holder caller, id string) {
	admin.t.Helper()
	list, _ := json.Marshal(scopes)
	got := admin.call(http.MethodPost, "/api-keys", `{"name":"test","account_id":`+account+`,"scopes":`+string(list)+`}`)
	var key struct {
		ID  json.Number
		Key string
	}
	if err := json.Unmarshal(got.body, &key); err != nil || got.status != http.StatusCreated {
		admin.t.Fatalf("POST /api-keys: got %s, want 201", got)
	}
	return caller{admin.t, admin.url, key.Key}, key.ID.String()
}

// hold makes a row.
func (a *tenant) hold(collection, body string) {
	a.rows[collection] = append(a.rows[collection], created(a.caller, collection, body))
}

// list asks for a page and returns the ids on it, and the total and the next
// cursor or token where it shows them.
func (c caller) list(path string, lines ...string) (ids []string, total int, next string) {
	c.t.Helper()
	got := c.call(http.MethodGet, path, "", lines...)
	var page map[string]json.RawMessage
	if err := json.Unmarshal(got.body, &page); err != nil || got.status != http.StatusOK && got.status != http.StatusPartialContent {
		c.t.Fatalf("GET %s: got %s, want a page", path, got)
	}
	total = -1
	for name, raw := range page {
		var rows []struct {
			ID    json.RawMessage
			Name  string
			Links struct{ Self struct{ Href string } } `json:"_links"`
		}
		var pagination struct {
			Total *int
			Next  string `json:"next_cursor"`
		}
		switch {
		case name == "pagination":
			json.Unmarshal(raw, &pagination)
			if next = pagination.Next; pagination.Total != nil {
				total = *pagination.Total
			}
		case name == "total":
			json.Unmarshal(raw, &total)
		case name == "next_page_token":
			json.Unmarshal(raw, &next)
		case json.Unmarshal(raw, &rows) == nil:
			for _, row := range rows {
				id := cmp.Or(strings.Trim(string(row.ID), `"`), row.Name)
				if at := row.Links.Self.Href; at != "" {
					id = at[strings.LastIndex(at, "/")+1:]
				}
				ids = append(ids, id)
			}
		}
	}
	return ids, total, next
}

// A break-in is one tenant who tries to get at the rows of another.
type breakIn struct {
	t       *testing.T
	service *service
	mount   string
	thief   *tenant
	by      caller // one of the thief's keys
	victim  *tenant
	covered map[string]bool
}

// try makes a request, whose answer must not show anything of the victim.
func (b *breakIn) try(method, path, body string, lines ...string) *reply {
	b.t.Helper()
	got := b.by.call(method, b.mount+path, body, lines...)
	shown := strings.ReplaceAll(string(got.body)+fmt.Sprint(got.header), path, "") // instance, and the link to a successor
	if _, query, found := strings.Cut(path, "?"); found {
		for pair := range strings.SplitSeq(query, "&") {
			shown = strings.ReplaceAll(shown, pair, "") // links repeat the query
		}
	}
	if strings.Contains(shown, b.victim.mark) {
		b.t.Errorf("%s %s %s %q: the answer shows a row of another account: %s %v", method, b.mount+path, body, lines, got, got.header)
	}
	if got.status >= 500 {
		b.t.Errorf("%s %s %s: got %s", method, b.mount+path, body, got)
	}
	return got
}

// neverWas returns an id of the same form that nothing has.
func neverWas(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "evt", "ep":
		return event.Name(prefix+"_", 987654321987654321)
	case "msg":
		return event.DeliveryID(987654321987654321, 987654321987654321)
	case "dl":
		return event.DeadLetterID(987654321987654321, 987654321987654321)
	}
	if _, err := strconv.Atoi(id); err != nil {
		return "never.was"
	}
	return "987654321987654321"
}

// A target is a path to a row of the victim. The second path names nothing in
// the places where the first names what is not the thief's.
type target struct{ there, nowhere string }

// missing makes a request about a row of the victim, which must be answered as
// one about a row that never was.
func (b *breakIn) missing(method string, at target, body string, lines ...string) {
	b.t.Helper()
	there, nowhere := at.there, at.nowhere
	got, want := b.try(method, there, body, lines...), b.try(method, nowhere, body, lines...)
	if got.status != http.StatusNotFound {
		b.t.Errorf("%s %s %s %q: got %s, want 404", method, b.mount+there, body, lines, got)
	}
	blank := func(r *reply, path string) string {
		object := r.json()
		delete(object, "request_id")
		if object["instance"] == path {
			delete(object, "instance")
		}
		text, _ := json.Marshal(object)
		return string(text)
	}
	if g, w := blank(got, b.mount+there), blank(want, b.mount+nowhere); g != w || got.status != want.status {
		b.t.Errorf("%s %s: got %d %s, want %d %s as for an id that never was", method, b.mount+there, got.status, g, want.status, w)
	}
}

// targets are the paths that a pattern is tried with: the victim's and, for
// what is below another, each of its ids beside one of the thief's.
func (b *breakIn) targets(pattern string) (all []target) {
	collection := collectionOf(pattern)
	parts := placeholders.Split(pattern, -1)
	if len(parts) == 2 {
		for _, id := range b.victim.rows[collection] {
			all = append(all, target{parts[0] + id + parts[1], parts[0] + neverWas(id) + parts[1]})
		}
		return all
	}
	over := func(a *tenant) string {
		if collection == "/webhook-topics" {
			return a.mark + "-signed"
		}
		return a.rows[collection][0]
	}
	below := pattern[:strings.LastIndex(pattern, "/{")]
	theirs, ours := parts[0]+over(b.victim)+parts[1], parts[0]+over(b.thief)+parts[1]
	nobodys := parts[0] + neverWas(over(b.victim)) + parts[1]
	for _, id := range b.victim.rows[below] {
		all = append(all, target{theirs + id, nobodys + neverWas(id)}, target{theirs + id, nobodys + id}, target{ours + id, ours + neverWas(id)})
	}
	for _, id := range b.thief.rows[below] {
		all = append(all, target{theirs + id, nobodys + id})
	}
	return all
}

// route tries everything on one route.
func (b *breakIn) route(r *resource.Route) {
	collection := collectionOf(r.Pattern)
	switch {
	case !owned(r):
		b.system(r)
	case strings.Contains(r.Pattern, "{"):
		targets := b.targets(r.Pattern)
		if len(targets) < 2 {
			b.t.Errorf("%s %s: the victim has no rows", r.Method, r.Pattern)
		}
		for _, at := range targets {
			b.item(r, collection, at)
		}
	case r.Method == http.MethodGet:
		b.lists(collection)
	case r.Kind == resource.Create || r.Pattern == "/events":
		b.create(r, collection)
	default:
		b.t.Errorf("%s %s: no attack is known for this shape", r.Method, r.Pattern)
		return
	}
	b.covered[r.Method+" "+r.Pattern] = true
}

var placeholders = regexp.MustCompile(`\{[a-z_]+\}`)

// system asks what belongs to nobody, or to the admin alone.
func (b *breakIn) system(r *resource.Route) {
	if r.Scope == "admin" && b.by == b.thief.boss {
		return // who runs the service sees its accounts and keys
	}
	arg := map[string]string{"/accounts": b.victim.account, "/api-keys": b.victim.key}[collectionOf(r.Pattern)]
	if arg == "" {
		arg = "1"
	}
	path, rest, found := strings.Cut(r.Pattern, "/{")
	if found {
		_, rest, _ = strings.Cut(rest, "}")
		path += "/" + arg + rest
	}
	body := ""
	if r.Method != http.MethodGet && r.Method != http.MethodDelete {
		body = `{"name":"theft","scopes":["admin"],"account_id":` + b.victim.account + `}`
	}
	if got := b.try(r.Method, path, body); r.Scope == "admin" && got.status != http.StatusForbidden {
		b.t.Errorf("%s %s: got %s, want 403", r.Method, b.mount+path, got)
	}
}

// item tries a method on one row of the victim.
func (b *breakIn) item(r *resource.Route, collection string, at target) {
	old := b.mount == "/v0"
	etag := b.victim.call(http.MethodGet, at.there, "").header.Get("Etag")
	conditions := []string{"If-Match: *", "If-None-Match: *", "If-None-Match: " + etag, "If-Match: " + etag}
	if etag == "" {
		conditions = conditions[:2]
	}
	body := newborns[collection]
	if below := newborns[r.Pattern]; below != "" {
		body = below
	}
	body = strings.ReplaceAll(strings.ReplaceAll(body, "%s", "stolen"), "%[1]s", "stolen")
	send := func(method, body string, lines ...string) {
		b.missing(method, at, body, lines...)
		for _, condition := range conditions {
			b.missing(method, at, body, append([]string{condition}, lines...)...)
		}
	}
	switch r.Method {
	case http.MethodGet:
		send(http.MethodGet, "")
		send(http.MethodHead, "")
		send(http.MethodGet, "", "Range: bytes=0-")
	case http.MethodPut:
		send(http.MethodPut, body)
		send(http.MethodPut, `{}`)
	case http.MethodPatch:
		for _, typ := range []string{resource.TypeMerge, resource.TypeJSON} {
			send(http.MethodPatch, body, "Content-Type: "+typ)
		}
		for _, ops := range []string{
			`[{"op":"test","path":"/title","value":"` + b.victim.mark + ` 0"}]`,
			`[{"op":"test","path":"/title","value":"wrong"}]`,
			`[{"op":"replace","path":"/title","value":"stolen"},{"op":"replace","path":"/name","value":"stolen"}]`,
			`[{"op":"copy","from":"/title","path":"/name"}]`,
		} {
			send(http.MethodPatch, ops, "Content-Type: "+resource.TypePatch)
		}
		if !old {
			b.borrow(collection)
		}
	case http.MethodDelete:
		send(http.MethodDelete, "")
	case http.MethodPost:
		if r.Accepts == nil {
			body = ""
		}
		send(http.MethodPost, body)
		b.missing(http.MethodPost, at, body, b.victim.once)
	default:
		b.t.Errorf("%s %s: no attack is known for this method", r.Method, r.Pattern)
	}
}

// borrow makes rows of the thief's own refer to those of the victim.
func (b *breakIn) borrow(collection string) {
	bodies, known := borrowed[collection]
	if !known {
		b.t.Errorf("borrowed does not say what %s can refer to", collection)
	}
	refused := func(method, path, body, user string, lines ...string) string {
		got := b.try(method, path, fmt.Sprintf(body, user), lines...)
		if !got.isProblem(http.StatusUnprocessableEntity, "validation-failed") {
			b.t.Errorf("%s %s %s: got %s, want 422", method, b.mount+path, fmt.Sprintf(body, user), got)
		}
		return fmt.Sprint(got.json()["errors"])
	}
	same := func(method, path, body string, lines ...string) {
		got, want := refused(method, path, body, b.victim.rows["/users"][0], lines...), refused(method, path, body, "987654321987654321", lines...)
		if got != want {
			b.t.Errorf("%s %s: got %s, want %s as for a user that never was", method, b.mount+path, got, want)
		}
	}
	for _, body := range bodies {
		own := collection + "/" + b.thief.rows[collection][0]
		same(http.MethodPost, collection, body)
		same(http.MethodPut, own, body)
		same(http.MethodPatch, own, body, "Content-Type: "+resource.TypeMerge)
		same(http.MethodPatch, own, `[{"op":"add","path":"/assignee_id","value":%s}]`, "Content-Type: "+resource.TypePatch)
	}
}

// lists asks for a list in every style, with filters that name the victim's
// rows and with its cursors.
func (b *breakIn) lists(collection string) {
	theirs := filters[collection]
	if theirs == nil {
		b.t.Errorf("filters does not say how to ask %s for rows of the victim", collection)
		return
	}
	own, count, _ := b.by.list(b.mount + collection + "?page=1&size=100&include_total=true")
	if len(own) == 0 || count != len(own) {
		b.t.Errorf("%s: got %d rows and the total %d, want the thief's own", collection, len(own), count)
	}
	check := func(query string, want int, lines ...string) {
		b.t.Helper()
		b.try(http.MethodGet, collection+query, "", lines...)
		ids, total, _ := b.by.list(b.mount+collection+query, lines...)
		for _, id := range ids {
			if slices.Contains(b.victim.rows[collection], id) {
				b.t.Errorf("GET %s: the row %s of another account is listed", b.mount+collection+query, id)
			}
		}
		if want >= 0 && (len(ids) != want || total > want) {
			b.t.Errorf("GET %s: got %d rows and the total %d, want %d", b.mount+collection+query, len(ids), total, want)
		}
	}
	for _, style := range []string{"limit=100", "page=1&size=100", "page_size=100"} {
		check("?"+style+"&include_total=true", len(own))
		if !slices.Contains(unsorted, collection) {
			check("?sort=-id&"+style, len(own))
		}
		for _, filter := range theirs(b.victim) {
			check("?"+filter+"&include_total=true&"+style, 0)
		}
	}
	check("", min(20, len(own)))
	check("", len(own), "Range: "+collection[1:]+"=0-99")
	b.cursors(collection)
}

// cursors uses those of the victim.
func (b *breakIn) cursors(collection string) {
	_, _, cursor := b.victim.list(b.mount + collection + "?limit=1")
	_, _, token := b.victim.list(b.mount + collection + "?page_size=1")
	if cursor == "" || token == "" {
		b.t.Errorf("%s: the victim has no second page", collection)
	}
	for _, query := range []string{"?cursor=" + cursor, "?limit=1&cursor=" + cursor, "?page_token=" + token, "?page_size=1&page_token=" + token} {
		if got := b.try(http.MethodGet, collection+query, ""); !got.isProblem(http.StatusBadRequest, "invalid-cursor") {
			b.t.Errorf("GET %s: got %s, want 400 invalid-cursor", b.mount+collection+query, got)
		}
	}
}

// create makes rows with the victim's unique values and idempotency keys: each
// account has its own.
func (b *breakIn) create(r *resource.Route, collection string) {
	n := strconv.Itoa(len(b.thief.rows[collection]))
	unique := hex.EncodeToString([]byte(b.mount + n + b.by.key[len(b.by.key)-4:]))
	body := fmt.Sprintf(newborns[collection], "neutral-"+unique)
	lines := append(typeOf(collection), "Idempotency-Key: neutral-"+collection[1:]+unique)
	path := b.mount + collection
	first := b.victim.call(http.MethodPost, path, body, lines...)
	if worldwide[collection] != "" {
		if got := b.try(http.MethodPost, collection, body, lines...); !got.isProblem(http.StatusConflict, "duplicate") {
			b.t.Errorf("POST %s with a name that is taken: got %s, want 409", path, got)
		}
		body = fmt.Sprintf(newborns[collection], "thief-"+unique)
	}
	got := b.try(http.MethodPost, collection, body, lines...)
	other := b.try(http.MethodPost, collection, fmt.Sprintf(newborns[collection], "other-"+unique), lines...)
	if first.status != http.StatusCreated || got.status != http.StatusCreated || got.json()["id"] == first.json()["id"] || got.header.Get("Idempotency-Replayed") != "" {
		b.t.Errorf("POST %s with the key of another account: got %s %v, want a row of its own, unlike %s", path, got, got.header, first)
	}
	if !other.isProblem(http.StatusUnprocessableEntity, "idempotency-key-reused") {
		b.t.Errorf("POST %s with a key of its own: got %s, want 422", path, other)
	}
	if r.Kind != resource.Create { // an event stays; a type of the victim's is none of the thief's
		theirs := b.try(http.MethodPost, collection, `{"type":"`+b.victim.mark+`.raised","data":{}}`)
		nobodys := b.try(http.MethodPost, collection, `{"type":"never.raised","data":{}}`)
		if g, w := fmt.Sprint(theirs.json()["errors"]), fmt.Sprint(nobodys.json()["errors"]); g != w || !theirs.isProblem(http.StatusUnprocessableEntity, "validation-failed") {
			b.t.Errorf("POST %s of a type of another account: got %s, want 422 with %s", path, theirs, w)
		}
		return
	}
	for _, made := range []struct {
		by     caller
		answer *reply
	}{{b.victim.caller, first}, {b.by, got}} { // leave no trace but events
		if left := made.by.call(http.MethodDelete, made.answer.header.Get("Location"), ""); left.status != http.StatusNoContent {
			b.t.Errorf("DELETE %s: got %s, want 204", made.answer.header.Get("Location"), left)
		}
	}
}

// look reads everything that a tenant has: rows, lists, entity tags.
func (a *tenant) look(s *service) map[string]string {
	seen := make(map[string]string)
	keep := func(path string) {
		got := a.call(http.MethodGet, path, "")
		if seen[path] = strconv.Itoa(got.status); got.status == http.StatusOK {
			seen[path] += " " + got.header.Get("Etag") + " " + string(got.body)
		}
	}
	for _, r := range s.Routes() {
		if r.Method != http.MethodGet || !owned(r) {
			continue
		}
		if collection := collectionOf(r.Pattern); collection != r.Pattern {
			for _, id := range a.rows[collection] {
				keep(collection + "/" + id + strings.TrimSuffix(placeholders.ReplaceAllString(r.Pattern[len(collection)+1:], ""), "/"))
			}
		} else if collection != "/events" { // it grows by the victim's own doings
			keep(collection + "?page=1&size=100&include_total=true")
		}
	}
	return seen
}

// strays returns the events of a tenant about rows that it had before, which
// nobody should have touched.
func (a *tenant) strays() []string {
	var page struct {
		Data []struct {
			ID, Type string
			Data     struct{ ID any }
		}
	}
	json.Unmarshal(a.call(http.MethodGet, "/events?page=1&size=100&sort=-id", "").body, &page)
	var stray []string
	for _, e := range page.Data {
		collection := "/" + strings.Split(e.Type, ".")[0] + "s"
		if id := fmt.Sprint(e.Data.ID); slices.Contains(a.rows[collection], id) && !slices.Contains(a.rows["/events"], e.ID) {
			stray = append(stray, e.Type+" of "+id)
		}
	}
	return stray
}

// TestIsolation lets one account try every route of the service on the rows of
// another. It fails where a route has no attack.
func TestIsolation(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			s := start(t, engine, deaf)
			victim, thief := admit(s, t, "victim"), admit(s, t, "thief")
			before := victim.look(s)
			covered := make(map[string]bool)
			for _, by := range []caller{thief.caller, thief.boss} {
				for _, mount := range append(slices.Clone(entrances), "/v0") {
					b := &breakIn{t, s, mount, thief, by, victim, covered}
					for _, r := range s.Routes() {
						if mount != "/v0" || strings.Contains(r.Pattern, "{") { // its bodies have another shape
							b.route(r)
						}
					}
				}
			}
			for _, r := range s.Routes() {
				if !covered[r.Method+" "+r.Pattern] {
					t.Errorf("%s %s was not attacked", r.Method, r.Pattern)
				}
			}
			for path, got := range victim.look(s) {
				if got != before[path] {
					t.Errorf("GET %s: got %s after the attack, want %s as before", path, got, before[path])
				}
			}
			if stray := victim.strays(); len(stray) > 0 {
				t.Errorf("got events of untouched rows: %v", stray)
			}
		})
	}
}
