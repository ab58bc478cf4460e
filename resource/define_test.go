package resource_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

// A Job has one of everything that a definition can say.
type Job struct {
	Name   string   `json:"name" parley:"required,max=20,line,unique" about:"What it is called."`
	UserID *int64   `json:"user_id" parley:"ref=users,ondelete=null"`
	Status string   `json:"status"`
	Parts  []Part   `json:"parts" parley:"max=3"`
	Spot   *Spot    `json:"spot"`
	Origin *string  `json:"origin" parley:"immutable"`
	Total  int64    `json:"total" parley:"readonly"`
	Token  string   `json:"token" parley:"hidden"`
	Urgent bool     `json:"urgent,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

// A Part is an element of a list.
type Part struct {
	Name   string `json:"name" parley:"required"`
	Amount int64  `json:"amount" parley:"min=0"`
}

// A Spot is an object that may be null.
type Spot struct {
	Lat float64 `json:"lat" parley:"required"`
	Lon float64 `json:"lon"`
}

// An OldJob is a job as version 2025-11-01 showed it.
type OldJob struct {
	Title  string `json:"title" parley:"required,max=20,line"`
	UserID *int64 `json:"user_id" parley:"ref=users"`
	Done   bool   `json:"done" parley:"state"`
	Parts  []Part `json:"parts" parley:"max=3"`
	Total  int64  `json:"total" parley:"readonly"`
}

// jobRules are those of the tests; each takes its own copy.
func jobRules() resource.Rules[Job] {
	return resource.Rules[Job]{
		About: "Something to do.",
		States: resource.States{
			Field: "status", Initial: "new",
			Moves: map[string][]string{"new": {"running", "done"}, "running": {"done", "new"}, "done": {"running"}},
			Enter: map[string]string{"done": "finished"},
		},
		Actions: resource.Actions{"finish": {To: "done", About: "Finish a job"}, "start": {To: "running", About: "Start a job"}},
		Filters: []string{"status", "user_id", "urgent"},
		Links:   resource.Links{"owner": resource.Ref("user_id")},
		Check: func(next, was *Job) []problem.FieldError {
			next.Total = 0
			for _, p := range next.Parts {
				next.Total += p.Amount
			}
			if next.Total > 100 {
				return []problem.FieldError{{Pointer: "/parts", Detail: "must not amount to more than 100"}}
			}
			if next.Name == "taken back" && was != nil {
				return []problem.FieldError{{Pointer: "/name", Detail: "cannot be taken back"}}
			}
			return nil
		},
		Changes: []version.Step{version.Between("2025-11-01", "2026-11-01", jobChange)},
	}
}

var jobChange = version.Change[OldJob, Job]{
	Down: func(j Job) OldJob {
		return OldJob{Title: j.Name, UserID: j.UserID, Done: j.Status == "done", Parts: j.Parts, Total: j.Total}
	},
	Up: func(old OldJob, was *Job) (Job, error) {
		j := Job{Status: "new"}
		if was != nil {
			j = *was
		}
		j.Name, j.UserID, j.Parts, j.Total = old.Title, old.UserID, old.Parts, old.Total
		switch {
		case old.Done:
			j.Status = "done"
		case j.Status == "done":
			j.Status = "running"
		}
		return j, nil
	},
	Fields:  map[string]string{"/title": "/name", "/done": "/status"},
	Filters: map[string]string{"done": "status"},
	Values:  map[string]map[string][]string{"done": {"true": {"done"}, "false": {"new", "running"}}},
}

// A Person is what a job refers to.
type Person struct {
	Name string `json:"name" parley:"required"`
}

var (
	jobs   = resource.Define("job", "jobs", jobRules())
	people = resource.Define("user", "users", resource.Rules[Person]{Silent: true})
)

func TestDefinition(t *testing.T) {
	if got, want := [...]string{jobs.Singular(), jobs.Plural(), jobs.About()}, [...]string{"job", "jobs", "Something to do."}; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if jobs.System() {
		t.Error("the jobs are the service's own")
	}
	if got, want := jobs.EventTypes(), []string{"job.created", "job.updated", "job.deleted", "job.finished"}; !slices.Equal(got, want) {
		t.Errorf("event types %q, want %q", got, want)
	}
	if got := people.EventTypes(); len(got) != 0 {
		t.Errorf("a silent resource has the event types %q", got)
	}
	want := []store.Column{
		{Name: "name", Kind: store.Text, Unique: true},
		{Name: "user_id", Kind: store.Int, Index: true, Ref: "users", OnDelete: store.SetNull},
		{Name: "status", Kind: store.Text, Index: true},
		{Name: "urgent", Kind: store.Bool, Index: true},
	}
	if got := jobs.Table().Columns; !slices.Equal(got, want) {
		t.Errorf("columns %+v\nwant %+v", got, want)
	}
	if got, want := len(jobs.Table().Fields), reflect.TypeFor[Job]().NumField()-1; got != want {
		t.Errorf("%d fields in the view, want %d: all but the hidden one", got, want)
	}
	if got, want := jobs.Table().Fields[3], (store.Field{Name: "parts", Type: "array"}); got != want {
		t.Errorf("field %v, want %v", got, want)
	}
}

func TestTableClear(t *testing.T) {
	doc, events, err := jobs.Table().Clear([]byte(`{"name":"a","user_id":7,"token":"z"}`), "user_id")
	if err != nil || !slices.Equal(events, []string{"job.updated"}) {
		t.Errorf("got %v, %v, want job.updated", events, err)
	}
	if want := `{"name":"a","user_id":null,"status":"","parts":[],"spot":null,"origin":null,"total":0,"token":"z"}`; string(doc) != want {
		t.Errorf("got %s, want %s", doc, want)
	}
	if _, _, err := jobs.Table().Clear([]byte(`{`), "user_id"); err == nil {
		t.Error("a broken document was cleared")
	}
}

func TestRecordAndDecode(t *testing.T) {
	user := int64(3)
	w := jobs.Record(&Job{Name: "a", UserID: &user, Status: "new", Token: "z", Urgent: true})
	if w.Op != store.Insert || w.Table != jobs.Table() || w.Events != nil {
		t.Errorf("got %+v, want an insertion without events", w)
	}
	if want := []any{"a", int64(3), "new", true}; !reflect.DeepEqual(w.Keys, want) {
		t.Errorf("keys %v, want %v", w.Keys, want)
	}
	var back Job
	if err := jobs.Decode(w.Doc, &back); err != nil || back.Name != "a" || *back.UserID != 3 || back.Token != "z" || !back.Urgent {
		t.Errorf("got %+v, %v from %s", back, err, w.Doc)
	}
	if w := jobs.Record(new(Job)); w.Keys[1] != nil {
		t.Errorf("a reference to nobody has the key %v, want nil", w.Keys[1])
	}
}

func TestDefinePanics(t *testing.T) {
	define := func(change func(r *resource.Rules[Job])) func() {
		return func() {
			rules := jobRules()
			change(&rules)
			resource.Define("job", "jobs", rules)
		}
	}
	type own struct {
		ID int64 `json:"id"`
	}
	type state struct {
		Done bool `json:"done" parley:"state"`
	}
	type list struct {
		Tags []string  `json:"tags"`
		At   time.Time `json:"at"`
		Size int64     `json:"size"`
		Code float64   `json:"code" parley:"unique"`
	}
	type plain struct {
		Size   int64   `json:"size"`
		Tags   []int64 `json:"tags"`
		Status *string `json:"status"`
		Phase  string  `json:"phase" parley:"required"`
		Secret string  `json:"secret" parley:"hidden"`
		Key    string  `json:"key"`
	}
	plainRules := func(rules resource.Rules[plain]) func() {
		return func() { resource.Define("plain", "plains", rules) }
	}
	reveal := func(*plain, int64) (string, error) { return "", nil }
	for _, test := range []struct {
		why  string
		do   func()
		want string
	}{
		{"no name", func() { resource.Define("", "jobs", jobRules()) }, `the name "" is not lower case with hyphens`},
		{"a name in capitals", func() { resource.Define("Job", "jobs", jobRules()) }, `the name "Job" is not`},
		{"an underscore", func() { resource.Define("job", "my_jobs", jobRules()) }, `the name "my_jobs" is not`},
		{"a slash", func() { resource.Define("job", "my/jobs", jobRules()) }, `the name "my/jobs" is not`},
		{"a digit", func() { resource.Define("job", "jobs2", jobRules()) }, `the name "jobs2" is not`},
		{"a hyphen first", func() { resource.Define("-job", "jobs", jobRules()) }, `the name "-job" is not`},
		{"a hyphen last", func() { resource.Define("job-", "jobs", jobRules()) }, `the name "job-" is not`},
		{"two hyphens", func() { resource.Define("a--b", "jobs", jobRules()) }, `the name "a--b" is not`},
		{"a member of the service's own", func() { resource.Define("own", "owns", resource.Rules[own]{}) }, `the member "id" is added by the service`},
		{"not a struct", func() { resource.Define("own", "owns", resource.Rules[int]{}) }, `int is not a struct`},
		{"the tag state in the latest shape", func() { resource.Define("own", "owns", resource.Rules[state]{}) }, `the member "done" has the tag state`},
		{"unique, and no column can hold it", func() { resource.Define("own", "owns", resource.Rules[list]{}) }, `the member "code" cannot be a filter or unique`},

		{"an unknown state member", define(func(r *resource.Rules[Job]) { r.States.Field = "phase" }), `the state member "phase" is not a string`},
		{"a state that is no text", define(func(r *resource.Rules[Job]) { r.States.Field = "total" }), `the state member "total" is not a string`},
		{"a state that may be null", plainRules(resource.Rules[plain]{States: resource.States{Field: "status", Initial: "a"}}), `the state member "status" is not a string`},
		{"a state that is required", plainRules(resource.Rules[plain]{States: resource.States{Field: "phase", Initial: "a"}}), `the state member "phase" needs an initial state and has no other rules`},
		{"no initial state", define(func(r *resource.Rules[Job]) { r.States.Initial = "" }), `the state member "status" needs an initial state`},
		{"a state that is never reached", define(func(r *resource.Rules[Job]) { r.States.Moves["lost"] = []string{"new"} }), `the state "lost" cannot be reached from "new"`},
		{"an event of an unknown state", define(func(r *resource.Rules[Job]) { r.States.Enter = map[string]string{"over": "ended"} }), `Enter names the unknown state "over"`},
		{"actions without states", plainRules(resource.Rules[plain]{Actions: resource.Actions{"x": {}}}), "actions need States"},
		{"an action to an unknown state", define(func(r *resource.Rules[Job]) { r.Actions["end"] = resource.Action{To: "over"} }), `the action "end" needs a lower-case name and a known state`},
		{"an action in capitals", define(func(r *resource.Rules[Job]) { r.Actions["End"] = resource.Action{To: "done"} }), `the action "End" needs a lower-case name`},

		{"a link by no member", define(func(r *resource.Rules[Job]) { r.Links["boss"] = resource.Ref("boss_id") }), `the link "boss" needs a member with a ref tag`},
		{"a link by a member that is no reference", define(func(r *resource.Rules[Job]) { r.Links["boss"] = resource.Ref("total") }), `the link "boss" needs a member with a ref tag`},
		{"a link that every item has", define(func(r *resource.Rules[Job]) { r.Links["self"] = resource.Ref("user_id") }), `the link "self" needs a lower-case name that is not taken`},
		{"a link that is an action", define(func(r *resource.Rules[Job]) { r.Links["finish"] = resource.Ref("user_id") }), `the link "finish" needs a lower-case name that is not taken`},
		{"a link whose name breaks JSON", define(func(r *resource.Rules[Job]) { r.Links[`a"b`] = resource.Ref("user_id") }), `needs a lower-case name that is not taken`},

		{"an unknown filter", define(func(r *resource.Rules[Job]) { r.Filters = []string{"colour"} }), `the filter "colour" is not a member`},
		{"a filter by a list", plainRules(resource.Rules[plain]{Filters: []string{"tags"}}), `the member "tags" cannot be a filter or unique`},
		{"a filter that every list has, for its pages", plainRules(resource.Rules[plain]{Filters: []string{"size"}}), `the filter "size" is hidden or has the name of a parameter`},
		{"a filter by what is hidden", plainRules(resource.Rules[plain]{Filters: []string{"secret"}}), `the filter "secret" is hidden`},

		{"a secret that is never shown", plainRules(resource.Rules[plain]{Reveal: reveal}), "Reveal and Shown belong together"},
		{"a place for a secret that is never made", plainRules(resource.Rules[plain]{Shown: "code"}), "Reveal and Shown belong together"},
		{"a secret in the place of a member", plainRules(resource.Rules[plain]{Reveal: reveal, Shown: "key"}), "Shown is no member of the struct"},
		{"an older shape that cannot be served", define(func(r *resource.Rules[Job]) {
			type bad struct {
				Name []byte `json:"name"`
			}
			r.Changes = []version.Step{version.Between("2025-11-01", "2026-11-01", version.Change[bad, Job]{
				Down: func(Job) bad { return bad{} }, Up: func(bad, *Job) (Job, error) { return Job{}, nil },
			})}
		}), "cannot be a member"},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "resource: ") || !strings.Contains(text, test.want) {
					t.Errorf("%s: panics with %q, want it to say %q", test.why, text, test.want)
				}
			}()
			test.do()
		}()
	}
}

func TestOpenPanics(t *testing.T) {
	rules := jobRules()
	rules.Changes = []version.Step{version.Between("2023-11-01", "2024-11-01", jobChange)}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "resource: jobs: ") || !strings.Contains(text, "no such version") {
			t.Errorf("a change between unknown versions panics with %q", text)
		}
	}()
	resource.Define("job", "jobs", rules).Open(resource.Options{Calendar: version.BuiltIn()})
}

func TestDescription(t *testing.T) {
	calendar := version.BuiltIn()
	room := jobs.Open(resource.Options{Store: newMemory(), Calendar: calendar})
	names := func(members []resource.Member) []string {
		var all []string
		for _, m := range members {
			all = append(all, m.Name)
		}
		return all
	}
	for _, test := range []struct {
		why, version     string
		members, filters []string
	}{
		{"the latest, without what is hidden", "2026-11-01",
			[]string{"name", "user_id", "status", "parts", "spot", "origin", "total", "urgent", "labels"}, []string{"status", "urgent", "user_id"}},
		{"an older shape", "2025-11-01", []string{"title", "user_id", "done", "parts", "total"}, []string{"done", "user_id"}},
		{"a version before it that had the same", "2024-11-01", []string{"title", "user_id", "done", "parts", "total"}, []string{"done", "user_id"}},
	} {
		v := calendar.Find(test.version)
		if got := names(room.Members(v)); !slices.Equal(got, test.members) {
			t.Errorf("%s: members %q, want %q", test.why, got, test.members)
		}
		if got := names(room.FilterMembers(v)); !slices.Equal(got, test.filters) {
			t.Errorf("%s: filters %q, want %q", test.why, got, test.filters)
		}
	}

	latest := room.Members(calendar.Find("1"))
	one, twenty, zero, three := int64(1), int64(20), int64(0), int64(3)
	for i, want := range map[int]resource.Member{
		0: {Name: "name", Type: "string", About: "What it is called.", Required: true, Line: true, Min: &one, Max: &twenty},
		1: {Name: "user_id", Type: "integer", Format: "int64", Nullable: true, Min: &one},
		2: {Name: "status", Type: "string", NoCreate: true, Enum: []string{"new", "running", "done"}},
		3: {Name: "parts", Type: "array", Max: &three, Items: &resource.Member{Type: "object", Members: []resource.Member{
			{Name: "name", Type: "string", Required: true, Min: &one}, {Name: "amount", Type: "integer", Format: "int64", Min: &zero},
		}}},
		5: {Name: "origin", Type: "string", Nullable: true, Fixed: true},
		6: {Name: "total", Type: "integer", Format: "int64", ReadOnly: true},
		7: {Name: "urgent", Type: "boolean", Optional: true},
	} {
		if got := latest[i]; !reflect.DeepEqual(got, want) {
			t.Errorf("member %d is %+v\nwant %+v", i, got, want)
		}
	}
	links, actions := room.LinkNames()
	if !slices.Equal(links, []string{"self", "collection", "owner", "finish", "start"}) || !slices.Equal(actions, []string{"finish", "start"}) {
		t.Errorf("links %q and actions %q", links, actions)
	}
	if got, want := room.Sorts(), []string{"id", "-id", "created_at", "-created_at"}; !slices.Equal(got, want) {
		t.Errorf("sorts %q, want %q", got, want)
	}
	if got := room.Reveals(); got != "" {
		t.Errorf("a job shows %q once", got)
	}
}

func TestRoutes(t *testing.T) {
	options := resource.Options{Store: newMemory(), Calendar: version.BuiltIn()}
	var got []string
	for _, r := range jobs.Open(options).Routes() {
		got = append(got, fmt.Sprint(r.Method, " ", r.Pattern, " ", r.Scope, " ", r.Operation, " ", len(r.Accepts)))
		if r.Public || r.Serve == nil || r.Room == nil || r.Summary == "" {
			t.Errorf("%s %s: %+v", r.Method, r.Pattern, r)
		}
	}
	want := []string{
		"GET /jobs jobs:read listJobs 0", "POST /jobs jobs:write createJob 1", "GET /jobs/{id} jobs:read getJob 0",
		"PUT /jobs/{id} jobs:write replaceJob 1", "PATCH /jobs/{id} jobs:write updateJob 3", "DELETE /jobs/{id} jobs:write deleteJob 0",
		"POST /jobs/{id}/finish jobs:write finishJob 0", "POST /jobs/{id}/start jobs:write startJob 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	rules := jobRules()
	rules.Actions = resource.Actions{"mark-done": {To: "done"}}
	routes := resource.Define("job", "jobs", rules).Open(options).Routes()
	if got, want := routes[6].Operation, "markDoneJob"; got != want || routes[6].Pattern != "/jobs/{id}/mark-done" {
		t.Errorf("operation %s at %s, want %s", got, routes[6].Pattern, want)
	}
	system := resource.Define("api-key", "api-keys", resource.Rules[Person]{System: true}).Open(options)
	for _, r := range system.Routes() {
		if r.Scope != "admin" {
			t.Errorf("%s of the service's own needs the scope %q, want admin", r.Operation, r.Scope)
		}
	}
	if got, want := system.Routes()[1].Operation, "createApiKey"; got != want {
		t.Errorf("operation %s, want %s", got, want)
	}
}
