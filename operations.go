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
	publication = `{
		"type": "object", "description": "An event of an application's own.",
		"required": ["type", "data"], "additionalProperties": false,
		"properties": {
			"type": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Registered at /event-types.", "examples": ["invoice.paid"]},
			"data": {"type": "object", "description": "What happened. It must fit the schema of its type."},
			"timestamp": {"type": ["string", "null"], "format": "date-time", "description": "When it occurred; now by default."}
		}}`
	deliverySchema = openapi.Schema{Name: "Delivery", JSON: `{
		"type": "object", "description": "An event for one endpoint.",
		"required": ["id", "event_id", "endpoint_id", "status", "api_version", "next_attempt_at", "waiting_for", "attempts", "created_at", "_links"],
		"properties": {
			"id": {"type": "string", "pattern": "^msg_[0-9a-v]{26}$", "description": "The webhook-id, the same over all attempts."},
			"event_id": {"type": "string", "pattern": "^evt_[0-9a-v]{13}$"},
			"endpoint_id": {"type": "string", "pattern": "^ep_[0-9a-v]{13}$"},
			"status": {"type": "string", "enum": ["pending", "retrying", "delivered", "dead"]},
			"api_version": {"type": "string", "description": "The version its body is written in."},
			"next_attempt_at": {"type": ["string", "null"], "format": "date-time"},
			"waiting_for": {"type": ["string", "null"], "description": "Why it has not been delivered yet.", "examples": ["lane full 8/8"]},
			"attempts": {"type": "array", "items": {"type": "object",
				"required": ["number", "started_at", "duration_ms", "status_code", "error", "response"],
				"properties": {
					"number": {"type": "integer", "minimum": 1},
					"started_at": {"type": "string", "format": "date-time"},
					"duration_ms": {"type": "number", "minimum": 0},
					"status_code": {"type": ["integer", "null"]},
					"error": {"type": ["string", "null"], "description": "The class of the failure."},
					"response": {"type": "string", "description": "The first 1024 bytes of the answer's body."}}}},
			"created_at": {"type": "string", "format": "date-time"},
			"_links": {"type": "object", "required": ["self", "event", "endpoint"], "additionalProperties": {"$ref": "#/components/schemas/ItemLink"}}
		}}`}
	letterSchema = openapi.Schema{Name: "DeadLetter", JSON: `{
		"type": "object", "description": "A delivery that has failed for good.",
		"required": ["id", "delivery_id", "endpoint_id", "event_id", "reason", "died_at", "_links"],
		"properties": {
			"id": {"type": "string", "pattern": "^dl_[0-9a-v]{26}$"},
			"delivery_id": {"type": "string", "pattern": "^msg_[0-9a-v]{26}$"},
			"endpoint_id": {"type": "string", "pattern": "^ep_[0-9a-v]{13}$"},
			"event_id": {"type": "string", "pattern": "^evt_[0-9a-v]{13}$"},
			"reason": {"type": "string"},
			"died_at": {"type": "string", "format": "date-time"},
			"_links": {"type": "object", "required": ["self", "delivery", "event", "endpoint"], "additionalProperties": {"$ref": "#/components/schemas/ItemLink"}}
		}}`}
	messageSchema = openapi.Schema{Name: "Message", JSON: `{
		"type": "object", "description": "An event as an endpoint gets it.",
		"required": ["webhook-id", "type", "timestamp", "data"],
		"properties": {
			"webhook-id": {"type": "string", "pattern": "^msg_[0-9a-v]{26}$", "description": "The same as in the delivery: drop what you have had."},
			"type": {"type": "string"},
			"timestamp": {"type": "string", "format": "date-time"},
			"sequence": {"type": "integer", "format": "int64"},
			"data": {"type": "object"}
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
	usageSchema = openapi.Schema{Name: "VersionUsage", JSON: `{
		"type": "object", "description": "An account that uses a version or is pinned to it.",
		"required": ["account_id", "name", "pinned", "count", "first_seen", "last_seen", "operations"],
		"properties": {
			"account_id": {"type": "integer", "format": "int64"},
			"name": {"type": ["string", "null"], "description": "Of the account; null where it was deleted."},
			"pinned": {"type": "boolean", "description": "Whether its requests that name no version are served in this one."},
			"count": {"type": "integer", "format": "int64", "description": "How many requests it made."},
			"first_seen": {"type": ["string", "null"], "format": "date-time"},
			"last_seen": {"type": ["string", "null"], "format": "date-time"},
			"operations": {"type": "array", "items": {"type": "object", "required": ["operation", "count", "first_seen", "last_seen"], "properties": {
				"operation": {"type": "string", "examples": ["createTask"]}, "count": {"type": "integer", "format": "int64"},
				"first_seen": {"type": "string", "format": "date-time"}, "last_seen": {"type": "string", "format": "date-time"}}}}
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
	read := func(pattern string, tag openapi.Tag, shows openapi.Schema, parameters ...openapi.Parameter) openapi.Operation {
		return openapi.Operation{Method: http.MethodGet, Pattern: pattern, Kind: resource.Read, Tag: tag, Shows: shows, Parameters: parameters}
	}
	webhooks := openapi.Tag{Name: "deliveries", About: "What was sent where, and what became of it."}
	named := openapi.Parameter{Name: "id", About: "The id of the resource.", Schema: openapi.Schema{JSON: `{"type": "string"}`}}
	moment := openapi.Parameter{Name: "since", About: "Only events that occurred then or later.", Schema: openapi.Schema{JSON: `{"type": "string", "format": "date-time"}`}}
	filters := []openapi.Parameter{
		{Name: "endpoint_id", About: "Only those of this endpoint."},
		{Name: "event_id", About: "Only those of this event."},
		{Name: "sort", About: "The order; oldest first without it.", Schema: openapi.Schema{JSON: `{"type": "string", "enum": ["id", "-id"]}`}},
	}
	made := func(pattern string, tag openapi.Tag, parameters ...openapi.Parameter) openapi.Operation {
		return openapi.Operation{Method: http.MethodPost, Pattern: pattern, Tag: tag, Parameters: append(parameters, openapi.Parameter{Name: "Idempotency-Key"}),
			Answers:  []openapi.Answer{created(deliverySchema, "The delivery.")},
			Problems: []int{400, 404, 409, 422}}
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
			moment),
		read("/events/{id}", events, eventSchema, named),
		publishing(events),
		list("/deliveries", "deliveries", webhooks, deliverySchema, append(filters, openapi.Parameter{Name: "status", About: "Only deliveries that are so.",
			Schema: openapi.Schema{JSON: `{"type": "string", "enum": ["pending", "retrying", "delivered", "dead"]}`}})...),
		read("/deliveries/{id}", webhooks, deliverySchema, named),
		list("/dead-letters", "dead-letters", webhooks, letterSchema, filters...),
		read("/dead-letters/{id}", webhooks, letterSchema, named),
		made("/dead-letters/{id}/redeliveries", webhooks, named),
		made("/webhook-endpoints/{id}/pings", webhooks, openapi.Parameter{Name: "id", About: "The id of the endpoint.", Schema: openapi.Schema{JSON: `{"type": "string", "pattern": "^ep_[0-9a-v]{13}$"}`}}),
		list("/webhook-endpoints/{id}/messages", "messages", webhooks, messageSchema, moment),
		{Method: http.MethodPost, Pattern: "/webhooks/{topic}", Tag: webhooks, Takes: []openapi.Media{{Type: "*/*"}},
			About:    "Takes a delivery of a sender that has signed it: webhook-id, webhook-timestamp and webhook-signature as Standard Webhooks has them. A known webhook-id is answered alike and not kept again.",
			Answers:  []openapi.Answer{{Status: http.StatusOK}},
			Problems: []int{400, 401, 404, 408, 413}},
		list("/event-types", "event-types", events, typeSchema),
		read("/event-types/{name}", events, typeSchema),
		also(list("/problems", "problems", service, kindSchema), page),
		also(read("/problems/{name}", service, kindSchema), page),
		also(list("/versions", "versions", service, versionSchema), page),
		also(read("/versions/{name}", service, versionSchema), page),
		list("/versions/{name}/usage", "usage", service, usageSchema,
			openapi.Parameter{Name: "since", About: "Only requests from then on; pinned accounts are listed in any case.", Schema: openapi.Schema{JSON: `{"type": "string", "format": "date-time"}`}}),
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

// created is the 201 of what is no resource of its own kind.
func created(shows openapi.Schema, about string) openapi.Answer {
	return openapi.Answer{Status: http.StatusCreated, About: about, Headers: []openapi.Header{{Name: "Location"}, {Name: "Idempotency-Replayed"}},
		Media: []openapi.Media{{Type: resource.TypeJSON, Schema: shows}}}
}

// publishing describes POST /events.
func publishing(tag openapi.Tag) openapi.Operation {
	return openapi.Operation{
		Method: http.MethodPost, Pattern: "/events", Tag: tag, Parameters: []openapi.Parameter{{Name: "Idempotency-Key"}},
		About: "Publishes an event of an application's own, or up to 100 of them, all or none. It is stored, and delivered to every endpoint that wants it, before it is answered or never lost after.",
		Takes: []openapi.Media{{Type: resource.TypeJSON, Schema: openapi.Schema{Name: "Publication", JSON: `{"oneOf": [` + publication + `,
			{"type": "array", "minItems": 1, "maxItems": 100, "items": ` + publication + `}]}`}}},
		Answers: []openapi.Answer{created(openapi.Schema{JSON: `{"oneOf": [
			{"$ref": "#/components/schemas/Event"},
			{"type": "object", "required": ["data"], "properties": {"data": {"type": "array", "items": {"$ref": "#/components/schemas/Event"}}}}]}`}, "The event, or the events in data.")},
		Problems: []int{400, 409, 413, 415, 422},
	}
}
