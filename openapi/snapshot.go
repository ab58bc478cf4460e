package openapi

import (
	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// Snapshot returns the JSON Schema (2020-12) of the data of events about a
// room's resource in a version: the resource without its links.
func Snapshot(rm *resource.Room, v *version.Version) []byte {
	inner := objectShape(rm.Members(v), shown)
	own, _ := inner[0].value.(object)
	required, _ := inner[1].value.(list)
	stamp := obj("type", "string", "format", "date-time")
	properties := append(obj("id", idSchema(rm)), own...)
	properties.set("created_at", stamp)
	properties.set("updated_at", stamp)
	return appendValue(nil, obj(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"type", "object",
		"properties", properties,
		"required", append(append(list{"id"}, required...), "created_at", "updated_at"),
	))
}
