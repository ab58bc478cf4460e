package openapi

// A field is a header field of responses as components define it.
type field struct {
	name, about string
	always      bool   // wherever a response lists it, it is there
	schema      object // nil means a string
	example     any
}

// partRange is the component for the Content-Range of bytes, which is not there
// where several parts are sent.
const partRange = "Content-Range-Part"

// fields are the header fields this package knows. They are made anew for each
// document because one of them depends on the calendar.
func fields(versions []string) []field {
	text := func(pattern string) object { return obj("type", "string", "pattern", pattern) }
	only := func(values ...string) object { return obj("type", "string", "enum", texts(values)) }
	return []field{
		{"API-Version", "The version that served the request, by its name.", true, only(versions...), versions[len(versions)-1]},
		{"Accept", "The media types that are accepted as a body.", false, nil, "application/json"},
		{"Accept-Encoding", "The content codings that are accepted for a body.", false, nil, "identity"},
		{"Accept-Patch", "The media types that PATCH accepts.", false, nil, "application/merge-patch+json, application/json, application/json-patch+json"},
		{"Accept-Post", "The media types that POST accepts.", false, nil, "application/json"},
		{"Accept-Ranges", "The unit of Range, or none.", true, nil, "none"},
		{"Allow", "The methods of the resource.", true, nil, "GET, HEAD, OPTIONS"},
		{"Cache-Control", "Whether the answer may be stored.", true, nil, "private, no-cache"},
		{"Content-Security-Policy", "What a page for people may load.", false, nil, "default-src 'none'"},
		{"Content-Digest", "A digest of the body.", false, nil, "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"},
		{"Content-Disposition", "Whether to show or to save the bytes, and under which name.", false, nil, `attachment; filename="notes.txt"`},
		{"Content-Range", "The part that was sent and the total, or after a 416 the total alone.", true,
			text(`^([a-z-]+ [0-9]+-[0-9]+/[0-9]+|([a-z-]+ )?\*/[0-9]+)$`), "items 0-9/42"},
		{partRange, "The part that was sent and the total. Of several parts each has its own, inside the body.", false,
			text(`^bytes [0-9]+-[0-9]+/[0-9]+$`), "bytes 0-1023/4096"},
		{"Deprecation", "The version is deprecated: true, or @ and the Unix time of the deprecation.", false, text(`^(true|@[0-9]+)$`), "true"},
		{"ETag", "Names the state of the representation, for If-Match and If-None-Match.", true, text(`^(W/)?"[^"]*"$`), `"7-2026-11-01"`},
		{"Idempotency-Replayed", "The answer is that of an earlier request with the same Idempotency-Key.", false, only("true"), "true"},
		{"Last-Modified", "When the representation was last changed.", false, nil, "Sun, 01 Nov 2026 12:00:00 GMT"},
		{"Link", "Neighbouring pages (next, prev, first, last); of a deprecated version its successor-version and deprecation.", false, nil,
			`</items?page=2>; rel="next"`},
		{"Location", "The path of what was created.", true, obj("type", "string", "format", "uri-reference"), "/items/1"},
		{"RateLimit", "Requests left and the seconds until the quota is full again.", false, text(`^"[^"]+";r=[0-9]+;t=[0-9]+$`), `"default";r=999;t=1`},
		{"RateLimit-Policy", "The quota and its window in seconds.", false, text(`^"[^"]+";q=[0-9]+;w=[0-9]+$`), `"default";q=6000;w=60`},
		{"Referrer-Policy", "What a page for people tells other sites about itself.", false, nil, "no-referrer"},
		{"Repr-Digest", "A digest of the whole representation.", false, nil, "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"},
		{"Retry-After", "Seconds to wait before trying again.", false, obj("type", "integer", "minimum", 1), 1},
		{"Sunset", "When the version is retired.", false, nil, "Mon, 01 Nov 2027 00:00:00 GMT"},
		{"Vary", "The request header fields that the answer depends on.", true, nil, "Accept, API-Version, Authorization"},
		{"WWW-Authenticate", "How to authenticate.", true, text(`^Bearer`), "Bearer"},
		{"X-Content-Type-Options", "The media type is the one that is declared.", true, only("nosniff"), "nosniff"},
		{"X-Request-Id", "Names the request in the log of the service.", true, nil, "8f14e45fceea167a"},
	}
}

// object renders the Header Object.
func (f field) object() object {
	o := obj("description", f.about)
	if f.always {
		o.set("required", true)
	}
	if f.schema == nil {
		f.schema = obj("type", "string")
	}
	o.set("schema", f.schema)
	if f.example != nil {
		o.set("example", f.example)
	}
	return o
}

// common are the header fields of every response.
func (i *Info) common() []string {
	all := []string{"API-Version", "Cache-Control", "RateLimit", "RateLimit-Policy", "Vary", "X-Content-Type-Options", "X-Request-Id"}
	if i.deprecated() {
		all = append(all, "Deprecation", "Link", "Sunset")
	}
	return all
}
