package console

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-api/parley/problem"
)

// A line of JSON, cut after its member name. A line without one is all Rest.
type line struct{ Indent, Name, Rest string }

// sample returns the head of an example answer, line by line, and its body.
func sample(k *problem.Kind) (head []string, body []line) {
	p, ok := samples[k]
	if !ok {
		p = problem.Problem{Detail: k.About}
	}
	p.Kind = k
	if p.Instance == "" {
		p.Instance = "/tasks"
	}
	head = []string{
		"HTTP/1.1 " + strconv.Itoa(k.Status) + " " + reason(k.Status),
		"Content-Type: " + problem.ContentType,
		"Cache-Control: no-store",
	}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		for _, value := range p.Header[name] {
			head = append(head, name+": "+value)
		}
	}
	if p.RetryAfter > 0 {
		head = append(head, "Retry-After: "+strconv.Itoa(p.RetryAfter))
	}
	compact, _ := p.MarshalJSON() // strings and integers only: cannot fail
	var b bytes.Buffer
	json.Indent(&b, compact, "", "  ") // what was just marshalled
	for text := range strings.Lines(b.String()) {
		body = append(body, split(strings.TrimSuffix(text, "\n")))
	}
	return head, body
}

// split cuts a line of indented JSON. A member name has no escaped quote: the
// names are those of the problem package.
func split(text string) line {
	rest := strings.TrimLeft(text, " ")
	l := line{Indent: text[:len(text)-len(rest)], Rest: rest}
	if !strings.HasPrefix(rest, `"`) {
		return l
	}
	if end := strings.Index(rest, `": `); end > 0 {
		l.Name, l.Rest = rest[:end+1], rest[end+1:]
	}
	return l
}

// samples has, for each kind of the contract, what an answer of it says. A
// kind that is not here is shown with what it is about as its detail. Nobody
// changes it.
var samples = map[*problem.Kind]problem.Problem{
	problem.MalformedJSON:     {Detail: "The body is not well-formed JSON, at byte 17."},
	problem.BadRequest:        {Detail: "The If-Match header is neither * nor a list of entity tags.", Instance: "/tasks/42", Parameter: "If-Match"},
	problem.InvalidParameter:  {Detail: "The query parameter has a value that is not accepted.", Parameter: "sort", Allowed: []string{"id", "-id", "created_at", "-created_at"}},
	problem.InvalidPageSize:   {Detail: "The page size must be a whole number from 1 to 100.", Parameter: "limit", Maximum: 100},
	problem.InvalidCursor:     {Detail: "The cursor was not issued for this list.", Parameter: "cursor"},
	problem.ExpiredCursor:     {Detail: "The cursor is older than 72 hours.", Parameter: "cursor"},
	problem.MalformedRange:    {Detail: "The Range header is malformed.", Instance: "/files/7", Parameter: "Range"},
	problem.UnknownVersion:    {Detail: "The API-Version header names a version that does not exist.", Parameter: "API-Version", Allowed: []string{"2025-11-01", "0", "2026-11-01", "1"}},
	problem.VersionMismatch:   {Detail: "The path and the API-Version header name different versions.", Instance: "/v1/tasks", Parameter: "API-Version"},
	problem.Unauthorized:      {Detail: "The request carries no API key.", Header: http.Header{"WWW-Authenticate": {"Bearer"}}},
	problem.InvalidSignature:  {Detail: "No signature matches the body.", Instance: "/webhooks/payments"},
	problem.Forbidden:         {Detail: "This request needs a key with the scope tasks:write."},
	problem.NotFound:          {Detail: "There is no such task in this account.", Instance: "/tasks/42"},
	problem.MethodNotAllowed:  {Detail: "This resource supports GET, HEAD, POST, OPTIONS.", Header: http.Header{"Allow": {"GET, HEAD, POST, OPTIONS"}}},
	problem.NotAcceptable:     {Detail: "None of the media types in the Accept header can be produced.", Allowed: []string{"application/json"}},
	problem.RequestTimeout:    {Detail: "The body did not arrive completely in time."},
	problem.Conflict:          {Detail: "The test in operation 0 of the patch does not hold.", Instance: "/tasks/42"},
	problem.Duplicate:         {Detail: "Another user of this account has the same email.", Instance: "/users", Errors: []problem.FieldError{{Pointer: "/email", Detail: "must be unique"}}},
	problem.InvalidTransition: {Detail: "A task that is done cannot become pending.", Instance: "/tasks/42", Allowed: []string{"in_progress"}},
	problem.StillReferenced:   {Detail: "The user is still referred to by tasks.", Instance: "/users/7"},
	problem.KeyInUse:          {Detail: "A request with this key has not finished yet.", RetryAfter: 1},
	problem.VersionRetired: {
		Detail: "Version 2024-11-01 was retired on 2026-11-01. Version 2025-11-01 takes its place.", Instance: "/2024-11-01/tasks",
		Header: http.Header{"Deprecation": {"true"}, "Sunset": {"Sun, 01 Nov 2026 00:00:00 GMT"}, "Link": {
			`<https://api.example.com/v0/tasks>; rel="successor-version"`,
			`<https://api.example.com/versions/2024-11-01>; rel="deprecation"`,
		}},
	},
	problem.PreconditionFail: {Detail: "The resource is not in the state that If-Match asks for.", Instance: "/tasks/42"},
	problem.ContentTooLarge:  {Detail: "A body may have at most 1048576 bytes.", Maximum: 1 << 20},
	problem.UnsupportedMedia: {Detail: "The request body is of a media type that is not accepted here.", Header: http.Header{"Accept-Post": {"application/json"}}},
	problem.RangeUnsatisfied: {Detail: "The range begins after the last byte.", Instance: "/files/7", Header: http.Header{"Content-Range": {"*/1024"}}},
	problem.ValidationFailed: {Detail: "The body is well-formed and not valid: see errors.", Errors: []problem.FieldError{
		{Pointer: "/title", Detail: "is required"}, {Pointer: "/assignee_id", Detail: "is not a user of this account"}}},
	problem.KeyReused:   {Detail: "This key was used before with another method, target, media type or body."},
	problem.RateLimited: {Detail: "The quota of this credential is used up. Retry-After says when the next request is allowed.", RetryAfter: 12},
	problem.Internal:    {Detail: "The server met an unexpected condition. The request id identifies it in the server's log.", RequestID: "req_4m2k8d0q7x"},
	problem.Unavailable: {Detail: "The service cannot reach its database right now.", RetryAfter: 5},
}
