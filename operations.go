package parley

import (
	"net/http"

	"github.com/parley-api/parley/openapi"
	"github.com/parley-api/parley/resource"
)

// Schemas of what is no resource.
var (
	eventSchema = openapi.Schema{Name: "Event", JSON: `{
		"type": "object", "description": "Something that happened, once.",
		"required": ["id", "type", "timestamp", "data"],
		"properties": {
			"id": {"type": "string", "pattern": "^evt_[0-9a-v]{13}$"},
			"type": {"type": "string", "description": "resource.action", "examples": ["task.created"]},
			"timestamp": {"type": "string", "format": "date-time", "description": "When it occurred."},
			"sequence": {"type": "integer", "format": "int64", "description": "The revision of the resource: drop what is older than what you have."},
			"data": {"type": "object", "description": "The resource at that moment."}
		}}`}
	typeSchema = openapi.Schema{Name: "EventType", JSON: `{
		"type": "object", "description": "Something that can happen.",
		"required": ["name", "description", "schema"],
		"properties": {
			"name": {"type": "string", "examples": ["task.created"]},
			"description": {"type": "string"},
			"schema": {"type": "object", "description": "JSON Schema (2020-12) of the event's data."}
		}}`}
	kindSchema = openapi.Schema{Name: "ProblemKind", JSON: `{
		"type": "object", "description": "One sort of problem.",
		"required": ["type", "title", "status", "about", "remedy"],
		"properties": {
			"type": {"type": "string", "format": "uri-reference"},
			"title": {"type": "string"},
			"status": {"type": "integer", "minimum": 400, "maximum": 599},
			"about": {"type": "string", "description": "When it happens."},
			"remedy": {"type": "string", "description": "What to do about it."}
		}}`}
	versionSchema = openapi.Schema{Name: "Version", JSON: `{
		"type": "object", "description": "A version of the interface.",
		"required": ["name", "major", "status", "released", "deprecated", "sunset", "successor", "changes"],
		"properties": {
			"name": {"type": "string", "examples": ["2026-11-01"]},
			"major": {"type": ["integer", "null"]},
			"status": {"type": "string", "enum": ["upcoming", "active", "deprecated", "retired"]},
			"released": {"type": "string", "format": "date"},
			"deprecated": {"type": ["string", "null"], "format": "date"},
			"sunset": {"type": ["string", "null"], "format": "date"},
			"successor": {"type": ["string", "null"]},
			"changes": {"type": "array", "description": "What a client of this version must change to move to its successor.",
				"items": {"type": "object", "required": ["id", "description", "before", "after"], "properties": {
					"id": {"type": "string"}, "description": {"type": "string"}, "before": {"type": "string"}, "after": {"type": "string"}}}}
		}}`}
	statusSchema = openapi.Schema{Name: "Health", JSON: `{"type": "object", "required": ["status"], "properties": {"status": {"type": "string", "enum": ["ok", "ready"]}}}`}
	indexSchema  = openapi.Schema{Name: "Index", JSON: `{"type": "object", "required": ["_links"], "properties": {"_links": {"type": "object", "additionalProperties": {"type": "object", "required": ["href"], "properties": {"href": {"type": "string"}}}}}}`}
)

// operations describe the routes that are no resources.
func operations() []openapi.Operation {
	events := openapi.Tag{Name: "events", About: "What happened, in order, and what can happen."}
	service := openapi.Tag{Name: "service", About: "What the service says about itself."}
	page := openapi.Media{Type: "text/html", Schema: openapi.Schema{JSON: `{"type": "string"}`}} // for people
	text := openapi.Schema{JSON: `{"type": "string"}`}
	object := openapi.Schema{JSON: `{"type": "object"}`}
	list := func(pattern, collection string, tag openapi.Tag, shows openapi.Schema, parameters ...openapi.Parameter) openapi.Operation {
		return openapi.Operation{Method: http.MethodGet, Pattern: pattern, Kind: resource.List, Collection: collection, Tag: tag, Shows: shows, Parameters: parameters}
	}
	read := func(pattern string, tag openapi.Tag, shows openapi.Schema) openapi.Operation {
		return openapi.Operation{Method: http.MethodGet, Pattern: pattern, Kind: resource.Read, Tag: tag, Shows: shows}
	}
	also := func(op openapi.Operation, media ...openapi.Media) openapi.Operation {
		op.Also = media
		return op
	}
	plain := func(pattern string, media ...openapi.Media) openapi.Operation {
		tag := []openapi.Header{{Name: "ETag"}}
		return openapi.Operation{Method: http.MethodGet, Pattern: pattern, Tag: service, Answers: []openapi.Answer{
			{Status: http.StatusOK, Media: media, Headers: tag}, {Status: http.StatusNotModified, Headers: tag},
		}}
	}
	return []openapi.Operation{
		list("/events", "events", events, eventSchema,
			openapi.Parameter{Name: "type", About: "Only events of this type."},
			openapi.Parameter{Name: "sort", About: "The order; oldest first without it.", Schema: openapi.Schema{JSON: `{"type": "string", "enum": ["id", "-id"]}`}},
			openapi.Parameter{Name: "since", About: "Only events that occurred then or later.", Schema: openapi.Schema{JSON: `{"type": "string", "format": "date-time"}`}}),
		read("/events/{id}", events, eventSchema),
		list("/event-types", "event-types", events, typeSchema),
		read("/event-types/{name}", events, typeSchema),
		also(list("/problems", "problems", service, kindSchema), page),
		also(read("/problems/{name}", service, kindSchema), page),
		also(list("/versions", "versions", service, versionSchema), page),
		also(read("/versions/{name}", service, versionSchema), page),
		also(read("/", service, indexSchema), page),
		{Method: http.MethodGet, Pattern: "/healthz", Tag: service, Shows: statusSchema},
		{Method: http.MethodGet, Pattern: "/readyz", Tag: service, Shows: statusSchema, Problems: []int{503}},
		also(read("/openapi", service, object), openapi.Media{Type: "application/yaml", Schema: text},
			openapi.Media{Type: "application/openapi+json", Schema: object}, openapi.Media{Type: "application/openapi+yaml", Schema: text}),
		{Method: http.MethodGet, Pattern: "/largefile", Kind: resource.Read, Tag: service, Answers: openapi.BytesAnswers("application/octet-stream"),
			Parameters: openapi.BytesParameters(), Problems: []int{416}},
		plain("/docs", page),
		plain("/docs/{file}", openapi.Media{Type: "*/*"}),
		{Method: http.MethodGet, Pattern: "/metrics", Tag: service,
			Answers: []openapi.Answer{{Status: http.StatusOK, Media: []openapi.Media{{Type: "text/plain", Schema: text}}}}},
	}
}
