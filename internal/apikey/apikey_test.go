package apikey

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/store"
	"github.com/parley-api/parley/version"
)

func TestNew(t *testing.T) {
	form := regexp.MustCompile(`^pk_[A-Za-z0-9_-]{43}$`)
	seen := make(map[string]bool)
	for range 1000 {
		key := New()
		if !form.MatchString(key) {
			t.Fatalf("a key of %d characters is not %s", len(key), form)
		}
		if seen[key] {
			t.Fatal("a key was made twice")
		}
		seen[key] = true
	}
}

func TestHash(t *testing.T) {
	for _, test := range []struct{ why, key, want string }{
		{"SHA-256 in hexadecimal: the vector of FIPS 180", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"of nothing", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	} {
		if got := Hash(test.key); got != test.want {
			t.Errorf("%s: got %s, want %s", test.why, got, test.want)
		}
	}
	if Hash("pk_a") == Hash("pk_A") {
		t.Error("keys that differ by case have the same hash")
	}
}

// A recorder keeps the last write.
type recorder struct {
	resource.Store
	write store.Write
}

func (r *recorder) Commit(_ context.Context, tx *store.Tx) ([]store.Row, error) {
	r.write = tx.Writes[0]
	return []store.Row{{ID: 1, Rev: 1, Doc: r.write.Doc}}, nil
}

func TestCreate(t *testing.T) {
	for _, test := range []struct {
		why, body string
		status    int
		account   string // in the answer
		part      string
	}{
		{"for the account that makes it", `{"name":"ci","scopes":["tasks:read"]}`, 201, `"account_id":7`, `"scopes":["tasks:read"]`},
		{"for another", `{"name":"ci","scopes":["admin"],"account_id":9}`, 201, `"account_id":9`, `"last_used_at":null`},
		{"a scope that does not exist", `{"name":"ci","scopes":["tasks:read","tasks:own"]}`, 422, "", `{"pointer":"/scopes","detail":"must be of: tasks:read, tasks:write, admin"}`},
		{"no scopes", `{"name":"ci","scopes":[]}`, 422, "", `{"pointer":"/scopes","detail":"must not be empty"}`},
		{"a hash of the client's", `{"name":"ci","scopes":["admin"],"hash":"x"}`, 422, "", `{"pointer":"/hash","detail":"is not a member of this resource"}`},
		{"a key of the client's", `{"name":"ci","scopes":["admin"],"key":"pk_x"}`, 422, "", `{"pointer":"/key","detail":"is not a member of this resource"}`},
	} {
		calendar, kept := version.BuiltIn(), new(recorder)
		room := Resource([]string{"tasks:read", "tasks:write", "admin"}).Open(resource.Options{Store: kept, Calendar: calendar})
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/api-keys", nil)
		create := room.Routes()[1]
		if create.Kind != resource.Create || create.Scope != "admin" {
			t.Fatalf("the second route is %+v", create)
		}
		err := create.Serve(&resource.Call{W: w, R: r, Route: create, Version: calendar.Find("1"), Account: 7, Type: resource.TypeJSON, Body: []byte(test.body)})
		if err != nil {
			problem.Write(w, r, err)
		}
		body := w.Body.String()
		if w.Code != test.status || !strings.Contains(body, test.part) || !strings.Contains(body, test.account) {
			t.Errorf("%s: %d %s, want %d with %s and %s", test.why, w.Code, body, test.status, test.part, test.account)
		}
		if test.status != 201 {
			continue
		}
		var made struct{ Key string }
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || !strings.HasPrefix(made.Key, Prefix) {
			t.Errorf("%s: no key in the answer: %v", test.why, err)
		}
		if doc := string(kept.write.Doc); strings.Contains(doc, made.Key) || !strings.Contains(doc, Hash(made.Key)) {
			t.Errorf("%s: stored is %s, want the hash and not the key", test.why, doc)
		}
		if strings.Contains(body, Hash(made.Key)) || kept.write.Events != nil || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the hash is shown, an event tells of it, or a cache may keep it: %s", test.why, body)
		}
	}
}
