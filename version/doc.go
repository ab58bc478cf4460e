// Package version gives an HTTP API its versions: when each begins and ends,
// how a request names one, what a response says about it, and how a value of
// one version becomes a value of the next.
//
// A [Calendar] holds every version of the whole API, oldest first. A version
// has a name, usually its date, and where it is a major version a number. It
// is upcoming, then active, then deprecated, then retired; each date takes
// effect at 00:00:00 UTC. The calendar names the [Policy] it promises to keep
// and cannot be made where it would break it.
//
// # A request
//
// [Calendar.Choose] finds the version that a request names, in the path
// (/v1/tasks, /api/v1/tasks, /2026-11-01/tasks), the API-Version header, the
// query (api-version or version) or the Accept header
// (application/vnd.parley.v1+json). A request that names none is left to the
// caller, who knows the account and its pin and otherwise takes
// [Calendar.Latest]. A pin goes through [Calendar.Serving], and where that is
// still retired the answer is [Calendar.Retired]. In the end
// [Calendar.Announce] writes the version that serves into the response, and
// for a deprecated one the dates and links of its retirement.
//
// A service whose version can come from headers or from the account must send
// "Vary: Accept, API-Version, Authorization" on every response that a cache
// may keep; this package does not touch Vary.
//
// # A change
//
// A [Change] says once, in Go types, how a value of a version and of its
// successor become each other; [Between] makes it a [Step] whose types are
// erased, and a [Chain] of steps leads from any version of the calendar to its
// newest and back.
//
// A Calendar, its versions and a Chain do not change once made and are safe
// for concurrent use. The package reads no clock: the caller passes the time.
package version
