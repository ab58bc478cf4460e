package problem

// The kinds of the contract. Add one here and it has a page, an entry in the
// OpenAPI description and a place in Kinds.
var (
	MalformedJSON     = &Kind{"malformed-json", "Malformed JSON", 400, "The request body is not one well-formed JSON text: it does not parse, repeats a member, is not UTF-8, is nested too deeply, or has data after its end.", "Check the body with a JSON validator and send it again."}
	BadRequest        = &Kind{"bad-request", "Bad request", 400, "A header field or another part of the request is malformed.", "Read the detail, correct the request and send it again."}
	InvalidParameter  = &Kind{"invalid-parameter", "Invalid query parameter", 400, "A query parameter is unknown, repeated, empty, or has a value that is not accepted.", "The member parameter names it; allowed lists what is accepted, where that is a list."}
	InvalidPageSize   = &Kind{"invalid-page-size", "Invalid page size", 400, "The requested page size is above the maximum, or is not a positive whole number.", "Ask for at most the number in the member maximum."}
	InvalidCursor     = &Kind{"invalid-cursor", "Invalid cursor", 400, "The cursor or page token was not issued for this list, with these filters, this order and this account, or it was altered.", "Start again from the first page and pass cursors back unchanged."}
	ExpiredCursor     = &Kind{"expired-cursor", "Expired cursor", 400, "The cursor or page token is older than 72 hours.", "Start again from the first page."}
	MalformedRange    = &Kind{"malformed-range", "Malformed Range header", 400, "The Range header does not follow the grammar of RFC 9110, section 14.", "Send unit=first-last, unit=first- or unit=-count."}
	DigestMismatch    = &Kind{"digest-mismatch", "Digest mismatch", 400, "The bytes that arrived do not have the digest that Content-Digest or Repr-Digest names. Nothing was stored.", "Send them again; if it happens twice, compute the digest anew."}
	UnknownVersion    = &Kind{"unknown-version", "Unknown API version", 400, "The request names a version of the API that does not exist.", "The member allowed lists the versions; /versions describes them."}
	VersionMismatch   = &Kind{"version-mismatch", "Conflicting API versions", 400, "The request names different versions of the API in two places.", "Name the version in one place only."}
	Unauthorized      = &Kind{"unauthorized", "Missing or invalid credentials", 401, "The request carries no API key, or one that is unknown or revoked.", "Send Authorization: Bearer <key> with a valid key."}
	InvalidSignature  = &Kind{"invalid-signature", "Invalid webhook signature", 401, "The webhook's signature headers are missing, too old, or do not match the body.", "Sign the raw body with the shared secret and a current timestamp."}
	Forbidden         = &Kind{"forbidden", "Not permitted", 403, "The API key is valid and lacks the scope that this request needs.", "Use a key with the scope that the detail names."}
	NotFound          = &Kind{"not-found", "Not found", 404, "There is no such resource for this account.", "Check the path and the id."}
	MethodNotAllowed  = &Kind{"method-not-allowed", "Method not allowed", 405, "The resource exists and does not support this method.", "The Allow header lists the methods it supports."}
	NotAcceptable     = &Kind{"not-acceptable", "Not acceptable", 406, "None of the media types in the Accept header can be produced.", "The member allowed lists the media types that can."}
	RequestTimeout    = &Kind{"request-timeout", "Request timeout", 408, "The request did not arrive completely in time.", "Send it again."}
	Conflict          = &Kind{"conflict", "Conflict with the current state", 409, "The request conflicts with the resource's current state.", "Read the resource again and decide anew."}
	Duplicate         = &Kind{"duplicate", "Already exists", 409, "Another resource already has a value that must be unique.", "Use the existing resource, or another value for the members that errors points at."}
	InvalidTransition = &Kind{"invalid-transition", "Invalid transition", 409, "The resource cannot go from its current state to the one asked for.", "The member allowed lists the states it can go to."}
	StillReferenced   = &Kind{"still-referenced", "Still referenced", 409, "The resource cannot be deleted while others refer to it.", "Delete or change those first."}
	KeyInUse          = &Kind{"idempotency-key-in-use", "Request still running", 409, "A request with the same Idempotency-Key has not finished yet.", "Wait a moment and send the same request again."}
	VersionRetired    = &Kind{"version-retired", "API version retired", 410, "The version's end-of-life date has passed.", "Move to the successor version; the Link header points at it and at the migration guide."}
	PreconditionFail  = &Kind{"precondition-failed", "Precondition failed", 412, "The resource is not in the state that If-Match, If-None-Match or If-Unmodified-Since asks for.", "Read it again, apply the change to what you get, and retry with the new ETag."}
	ContentTooLarge   = &Kind{"content-too-large", "Content too large", 413, "The request body is larger than the limit.", "Send at most the number of bytes in the member maximum."}
	UnsupportedMedia  = &Kind{"unsupported-media-type", "Unsupported media type", 415, "The request body is of a media type, or in a content coding, that is not accepted here.", "The Accept-Post or Accept-Patch header lists the accepted types."}
	RangeUnsatisfied  = &Kind{"range-not-satisfiable", "Range not satisfiable", 416, "No part of the requested range exists, or its unit is not supported.", "The Content-Range header gives the total length."}
	ValidationFailed  = &Kind{"validation-failed", "Invalid content", 422, "The body is well-formed JSON and not a valid resource.", "The member errors points at each member that is wrong and says why."}
	KeyReused         = &Kind{"idempotency-key-reused", "Idempotency-Key used for another request", 422, "The Idempotency-Key was used before with a different request.", "Use a new key for a new request."}
	RateLimited       = &Kind{"rate-limited", "Rate limit exceeded", 429, "The credential has used up its quota.", "Wait for the number of seconds in Retry-After."}
	Internal          = &Kind{"internal-error", "Internal server error", 500, "The server failed in a way it did not expect.", "Report the request_id to the people who run the service."}
	Unavailable       = &Kind{"unavailable", "Temporarily unavailable", 503, "The service cannot handle the request right now, for example because its database is out of reach.", "Try again after the number of seconds in Retry-After."}
	StorageFull       = &Kind{"insufficient-storage", "Insufficient storage", 507, "There is no room left for the bytes. What was stored before is as it was.", "Tell the people who run the service, or delete what is not needed; the room is free some hours later."}
)

// Kinds returns every kind, in order of status. The slice is the caller's.
func Kinds() []*Kind {
	return []*Kind{
		MalformedJSON, BadRequest, InvalidParameter, InvalidPageSize, InvalidCursor, ExpiredCursor,
		MalformedRange, DigestMismatch, UnknownVersion, VersionMismatch, Unauthorized, InvalidSignature, Forbidden,
		NotFound, MethodNotAllowed, NotAcceptable, RequestTimeout, Conflict, Duplicate,
		InvalidTransition, StillReferenced, KeyInUse, VersionRetired, PreconditionFail,
		ContentTooLarge, UnsupportedMedia, RangeUnsatisfied, ValidationFailed, KeyReused,
		RateLimited, Internal, Unavailable, StorageFull,
	}
}
