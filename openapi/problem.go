package openapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/resource"
)

// A failure is what the problems of one status have in common.
type failure struct {
	status  int
	name    string
	headers []string // besides those of every response
}

// failures are the statuses that operations list as a matter of course.
func failures() []failure {
	return []failure{
		{400, "BadRequest", nil},
		{401, "Unauthorized", []string{"WWW-Authenticate"}},
		{403, "Forbidden", nil},
		{404, "NotFound", nil},
		{405, "MethodNotAllowed", []string{"Allow"}},
		{406, "NotAcceptable", nil},
		{408, "RequestTimeout", nil},
		{409, "Conflict", []string{"Retry-After"}},
		{410, "Gone", []string{"Deprecation", "Link", "Sunset"}},
		{412, "PreconditionFailed", nil},
		{413, "ContentTooLarge", nil},
		{415, "UnsupportedMediaType", []string{"Accept", "Accept-Encoding", "Accept-Patch", "Accept-Post"}},
		{416, "RangeNotSatisfiable", []string{"Accept-Ranges", "Content-Range"}},
		{422, "UnprocessableContent", nil},
		{429, "TooManyRequests", []string{"Retry-After"}},
		{500, "InternalServerError", nil},
		{503, "ServiceUnavailable", []string{"Retry-After"}},
	}
}

// failureOf finds a status, or makes up what is not in the table.
func failureOf(status int) failure {
	all := failures()
	if i := slices.IndexFunc(all, func(f failure) bool { return f.status == status }); i >= 0 {
		return all[i]
	}
	return failure{status: status, name: strings.NewReplacer(" ", "", "-", "", "'", "").Replace(http.StatusText(status))}
}

// problems are the statuses with which an operation can fail.
func (b *builder) problems(op *Operation) []int {
	all := append([]int{400, 429, 500, 503}, op.Problems...)
	if !op.Single {
		all = append(all, 406)
	}
	if !op.Public {
		all = append(all, 401)
		if op.Scope != "" {
			all = append(all, 403)
		}
	}
	if len(variables(op.Pattern)) > 0 {
		all = append(all, 404)
	}
	if len(op.Takes) > 0 {
		all = append(all, 408, 413, 415, 422)
	}
	switch op.Kind {
	case resource.List:
		all = append(all, 412, 416)
	case resource.Read:
		all = append(all, 412)
	case resource.Create:
		all = append(all, 409, 422)
	case resource.Replace, resource.Patch, resource.Remove:
		all = append(all, 409, 412)
	case resource.Act:
		all = append(all, 409, 412, 422)
	}
	if b.info.Version.Successor() != nil {
		all = append(all, 410)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// failure puts the response of a status on the shelf and refers to it.
func (b *builder) failure(status int) (object, error) {
	f := failureOf(status)
	if b.shelf.has(responses, f.name) {
		return ref(responses, f.name), nil
	}
	var content object
	if e := b.info.Errors; e != nil {
		media, err := b.content([]Media{*e})
		if err != nil {
			return nil, err
		}
		content = media
	}
	// What fails before the version is known, or because it is retired, is a
	// problem detail in every version.
	if !content.has(problem.ContentType) && (content == nil || status == 400 || status == 410) {
		media := obj("schema", ref(schemas, "Problem"))
		if examples := b.examples(status); examples != nil {
			media.set("examples", examples)
		}
		content.set(problem.ContentType, media)
	}
	o := obj("description", b.reasons(status), "headers", b.headers(f.headers...), "content", content)
	return ref(responses, f.name), b.shelf.add(responses, f.name, o)
}

// reasons says when a status is answered.
func (b *builder) reasons(status int) string {
	text := http.StatusText(status) + "."
	for _, k := range b.info.Kinds {
		if k.Status == status {
			text += "\n\n`" + k.Type() + "`: " + k.About + " " + k.Remedy
		}
	}
	return text
}

// examples has one problem of each kind with the status.
func (b *builder) examples(status int) object {
	var all object
	for _, k := range b.info.Kinds {
		if k.Status != status {
			continue
		}
		p := k.New(k.About)
		p.Instance = "/path"
		switch k {
		case problem.ValidationFailed:
			p.Errors = []problem.FieldError{{Pointer: "/member", Detail: "is required"}}
		case problem.InvalidPageSize:
			p.Parameter, p.Maximum = "limit", int64(b.info.Limits.Maximum)
		case problem.RateLimited, problem.Unavailable:
			p.RetryAfter = 1
		}
		body, _ := p.MarshalJSON() // strings and integers only: cannot fail
		all.set(k.Name, obj("summary", k.Title, "value", json.RawMessage(body)))
	}
	return all
}

// problemParts is the schema of a problem detail, RFC 9457.
func problemParts() object {
	text := func(about string) object { return obj("type", "string", "description", about) }
	return obj("Problem", obj(
		"type", "object",
		"description", "A problem detail (RFC 9457).",
		"properties", obj(
			"type", obj("type", "string", "format", "uri-reference", "description", "Identifies the kind of problem, and leads to its page."),
			"title", text("A short summary, the same for every problem of the kind."),
			"status", obj("type", "integer", "description", "The HTTP status code.", "minimum", 400, "maximum", 599),
			"detail", text("What is wrong with this request."),
			"instance", obj("type", "string", "format", "uri-reference", "description", "The path of the request."),
			"errors", obj("type", "array", "description", "The members of the body that are wrong.", "items", ref(schemas, "FieldError")),
			"parameter", text("The query parameter or header that is wrong."),
			"maximum", obj("type", "integer", "format", "int64", "description", "The limit that was exceeded."),
			"allowed", obj("type", "array", "description", "What would have been accepted.", "items", obj("type", "string")),
			"retry_after", obj("type", "integer", "description", "Seconds to wait before trying again.", "minimum", 1),
			"request_id", text("Names the request in the log of the service."),
		),
		"required", list{"type", "title", "status", "detail", "instance"},
	), "FieldError", obj(
		"type", "object",
		"description", "What is wrong with one member of a body.",
		"properties", obj(
			"pointer", obj("type", "string", "format", "json-pointer", "description", "The member, as a JSON Pointer (RFC 6901); empty for the whole body."),
			"detail", text("What is wrong with it."),
		),
		"required", list{"pointer", "detail"},
	))
}
