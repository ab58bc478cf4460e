package parley

import (
	"net/http"
	"slices"
	"strings"

	"github.com/parley-api/parley/negotiate"
	"github.com/parley-api/parley/resource"
)

// surface fills the table of routes: the whole service on one page. Every path
// answers at /…, /v<major>/… and /api/v<major>/… alike; the hall takes the
// mount away before it looks here.
func (a *App) surface(events []*resource.Route) error {
	a.metrics = newMetrics()
	for _, room := range a.rooms { // /tasks, /users … and /accounts, /api-keys
		if room.Definition != a.webhooks.types { // part of the events
			a.add(room.Routes()...)
		}
	}
	a.add(events...)          // /events, /event-types, /deliveries, /dead-letters, /webhooks …
	a.add(a.uses.Routes()...) // /versions/{name}/usage

	get := func(pattern, operation, summary string, offers *negotiate.Offers, serve func(*resource.Call) error) *resource.Route {
		return &resource.Route{
			Method: http.MethodGet, Pattern: pattern, Public: true, Offers: offers, Serve: serve,
			Operation: operation, Summary: summary,
		}
	}
	json := a.offer()
	people := a.offer("text/html")
	s := newSite(a, a.webhooks.log)
	a.add(
		get("/", "getIndex", "Where to begin", people, s.index),
		get("/healthz", "getHealth", "Whether the service is alive", json, s.health),
		get("/readyz", "getReadiness", "Whether the service can answer", json, s.ready),
		get("/problems", "listProblems", "List the kinds of problems", people, s.problems),
		get("/problems/{name}", "getProblem", "Get a kind of problem", people, s.problem),
		get("/versions", "listVersions", "List the versions of the interface", people, s.versions),
		get("/versions/{name}", "getVersion", "Get a version and how to move on from it", people, s.version),
		get("/openapi", "getDescription", "Get this description", a.offer("application/yaml", "application/openapi+json", "application/openapi+yaml"), s.openapi),
		get("/docs", "getDocs", "Read the documentation", negotiate.New("text/html"), s.docs),
		&resource.Route{Method: http.MethodGet, Pattern: "/docs/{file}", Public: true, Single: true, Serve: s.docs, Operation: "getDocsFile", Summary: "Get a file of the documentation"},
		&resource.Route{Method: http.MethodGet, Pattern: "/metrics", Scope: "admin", Offers: negotiate.New("text/plain"), Serve: s.metrics, Operation: "getMetrics", Summary: "Get the metrics"},
	)
	if a.set.LargeFile {
		a.add(s.largeRoute())
	}
	return s.prove()
}

// octets is the one type of the large file.
var octets = negotiate.New("application/octet-stream")

// offer is JSON, also under the names that carry a version, and further types. A
// request that accepts the name of a version is served in that version, so one
// offer does for all.
func (a *App) offer(more ...string) *negotiate.Offers {
	return negotiate.New(slices.Concat([]string{resource.TypeJSON}, a.vendors(), more)...)
}

func (a *App) add(routes ...*resource.Route) {
	for _, r := range routes {
		a.routes.Add(r.Method, r.Pattern, &passage{Route: r, traffic: a.metrics.of(r.Pattern, r.Method), operation: a.ledger.Operation(r.Operation)})
	}
}

// Routes returns every route of the service, in order of patterns.
func (a *App) Routes() []*resource.Route {
	var all []*resource.Route
	for _, e := range a.routes.Routes() {
		all = append(all, e.Value.Route)
	}
	return all
}

// allow answers OPTIONS: what can be done here, and the preflight of a
// browser.
func (a *App) allow(v *visit) {
	h := v.rec.Header()
	h.Set("Allow", v.match.Allow)
	h["Cache-Control"] = never
	for _, e := range a.routes.Routes() {
		if e.Pattern != v.match.Pattern || e.Value.Accepts == nil {
			continue
		}
		switch e.Method {
		case http.MethodPost:
			h.Set("Accept-Post", strings.Join(e.Value.Accepts, ", "))
		case http.MethodPatch:
			h.Set("Accept-Patch", strings.Join(e.Value.Accepts, ", "))
		}
	}
	if v.call.R.Header["Access-Control-Request-Method"] != nil && h["Access-Control-Allow-Origin"] != nil {
		h.Set("Access-Control-Allow-Methods", v.match.Allow)
		h.Set("Access-Control-Allow-Headers", "Accept, API-Version, Authorization, Content-Digest, Content-Disposition, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, If-Range, Range, Repr-Digest")
		h.Set("Access-Control-Max-Age", "600")
	}
	v.rec.WriteHeader(http.StatusNoContent)
}

// cors lets configured web origins read the answer.
func (a *App) cors(h http.Header, r *http.Request) {
	if len(a.set.CORSOrigins) == 0 {
		return
	}
	h["Vary"] = varyOrigin
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(a.set.CORSOrigins, origin) && !slices.Contains(a.set.CORSOrigins, "*") {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Accept-Ranges, API-Version, Content-Digest, Content-Disposition, Content-Range, Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Repr-Digest, Retry-After, Sunset, X-Request-Id")
}

var varyOrigin = []string{"Accept, API-Version, Authorization, Origin"}
