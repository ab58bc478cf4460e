package parley_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestCredentials asks every route without a key, with a wrong one, with one
// that lacks the scope, and with one that was revoked a moment ago.
func TestCredentials(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			s := start(t, engine, deaf)
			admin := caller{t, s.URL, adminKey}
			a := admit(s, t, "holder")
			lacking := map[string]caller{"admin": a.caller}
			for _, scope := range scopesBut(s, "admin") {
				lacking[scope], _ = issue(admin, a.account, scopesBut(s, scope)...)
			}
			revoked, id := issue(admin, a.account, append(scopesBut(s, "admin"), "admin")...)
			if got := revoked.call(http.MethodGet, "/tasks", ""); got.status != http.StatusOK {
				t.Fatalf("GET /tasks: got %s, want 200", got)
			}
			if got := admin.call(http.MethodDelete, "/api-keys/"+id, ""); got.status != http.StatusNoContent {
				t.Fatalf("DELETE /api-keys/%s: got %s, want 204", id, got)
			}
			strangers := []caller{revoked, {t, s.URL, ""}, {t, s.URL, "pk_unknown"}, {t, s.URL, a.caller.key + "x"}, {t, s.URL, a.caller.key[:len(a.caller.key)-1]}}
			for _, r := range s.Routes() {
				if r.Public {
					continue
				}
				methods := []string{r.Method}
				if r.Method == http.MethodGet {
					methods = append(methods, http.MethodHead)
				}
				for _, method := range methods {
					for _, path := range paths(a, r.Pattern) {
						for _, who := range strangers {
							a.refused(who, method, path, http.StatusUnauthorized)
						}
						a.refused(lacking[r.Scope], method, path, http.StatusForbidden)
						if got := admin.call(method, path, "{"); got.status == http.StatusUnauthorized || got.status == http.StatusForbidden {
							t.Errorf("%s %s: got %s, want the admin let in", method, path, got)
						}
					}
				}
			}
			narrowed, id := issue(admin, a.account, "tasks:read", "tasks:write")
			a.admitted(narrowed, "/tasks", http.StatusOK)
			if got := admin.call(http.MethodPatch, "/api-keys/"+id, `{"scopes":["users:read"]}`); got.status != http.StatusOK {
				t.Fatalf("PATCH /api-keys/%s: got %s, want 200", id, got)
			}
			a.admitted(narrowed, "/tasks", http.StatusForbidden)
			a.admitted(narrowed, "/users", http.StatusOK)
		})
	}
}

// paths gives a pattern ids that never were and, where the tenant has rows
// there, some of its own. The admin of another account cannot harm those.
func paths(a *tenant, pattern string) []string {
	if !strings.Contains(pattern, "{") {
		return []string{pattern}
	}
	all := []string{placeholders.ReplaceAllString(pattern, "987654321987654321")}
	if ids := a.rows[collectionOf(pattern)]; len(ids) > 0 {
		own := strings.Replace(pattern, placeholders.FindString(pattern), ids[0], 1)
		all = append(all, placeholders.ReplaceAllString(own, "1"))
	}
	return all
}

// refused makes a request that must be turned away before anything of it is
// looked at.
func (a *tenant) refused(who caller, method, path string, want int) {
	a.t.Helper()
	for _, mount := range entrances {
		got := who.call(method, mount+path, "{", "Accept: image/png", "Content-Type: text/plain")
		if got.status != want || bytes.Contains(bytes.ReplaceAll(got.body, []byte(path), nil), []byte(a.mark)) {
			a.t.Errorf("%s %s: got %s, want %d", method, mount+path, got, want)
		}
		if asks := got.header.Get("WWW-Authenticate"); (asks == "Bearer") != (want == http.StatusUnauthorized) {
			a.t.Errorf("%s %s: got WWW-Authenticate %q with %d", method, mount+path, asks, got.status)
		}
	}
}

func (a *tenant) admitted(who caller, path string, want int) {
	a.t.Helper()
	if got := who.call(http.MethodGet, path, ""); got.status != want {
		a.t.Errorf("GET %s: got %s, want %d", path, got, want)
	}
}
