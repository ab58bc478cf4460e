// Package ratelimit gives each credential a quota of requests and tells the
// client where it stands: 429 with Retry-After when the quota is used up, and
// on every answer the fields RateLimit-Policy and RateLimit of the IETF's
// draft (draft-ietf-httpapi-ratelimit-headers).
//
//	RateLimit-Policy: "default";q=6000;w=60
//	RateLimit: "default";r=<requests left>;t=<seconds>
//
// A [Policy] is a quota in a window, for example 6,000 in a minute, and a
// burst. A credential that has been quiet may make a burst of requests at
// once; one request more becomes possible each Window/Quota (every 10 ms) until
// the burst is full again. There is no moment at which a whole quota comes
// back, hence no stampede at the top of the minute. In any window the credential
// gets at most Quota + Burst requests, and over a longer time the quota. In
// the field RateLimit, r is the number that may be made at once and t the time
// until the burst is full.
//
// The method is the generic cell rate algorithm (GCRA) in integer nanoseconds:
// one number per credential, the time at which its burst will be full again.
// A credential whose time has come is the same as one never seen, so that the
// limiter can forget it. See [Options] for the bound on memory.
//
// A [Limiter] counts what passes through its own process. Where several
// processes share one quota, they must share the count by other means.
package ratelimit
