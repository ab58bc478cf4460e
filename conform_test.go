package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/parley-api/parley/resource"
	"github.com/parley-api/parley/version"
)

// undescribed are the paths below the mount that files ask for and that the
// description does not have, and why.
var undescribed = map[string]string{
	"/tasks/":         "a trailing slash is another path",
	"/tasks.json":     "an extension is another path",
	"//tasks":         "an empty segment is another path",
	"/tasks//1":       "an empty segment is another path",
	"/tasks/../users": "a dot segment is another path",
	"/Tasks":          "capitals are another path",
	"/api_keys":       "an underscore is another path",
	"/createTask":     "a verb is no resource",
	"/nothing":        "there is nothing",
	"/nothing here":   "there is nothing",
	"/v7/tasks":       "there is no such version",
	"/v01/tasks":      "one spelling of a version",
}

// plainHeaders are those that a description need not list: HTTP itself has
// them, or they speak to browsers about a page for people. So do those that
// begin with Access-Control.
var plainHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Server",
	"Content-Security-Policy", "Referrer-Policy",
}

// descriptions are what services say of themselves, read once each. They are
// safe for concurrent use.
type descriptions struct {
	mu   sync.Mutex
	docs map[string]*openapi3.T // by entity tag
}

func newDescriptions() *descriptions { return &descriptions{docs: make(map[string]*openapi3.T)} }

// of returns the description of a version by the service itself, or nil where
// the version is retired. It does not go over the wire, so that it counts for
// no quota.
func (d *descriptions) of(w *wire, name string) (*openapi3.T, error) {
	if doc, ok := w.described[name]; ok {
		return doc, nil
	}
	doc, err := d.read(w, name)
	if err == nil {
		w.described[name] = doc
	}
	return doc, err
}

func (d *descriptions) read(w *wire, name string) (*openapi3.T, error) {
	r := httptest.NewRequest("GET", "/openapi", nil)
	r.RemoteAddr = "[2001:db8::" + strconv.Itoa(len(w.described)) + "]:1" // a quota of its own
	r.Header.Set("API-Version", name)
	rec := httptest.NewRecorder()
	w.svc.ServeHTTP(rec, r)
	switch rec.Code {
	case 200:
	case 410:
		return nil, nil
	default:
		return nil, fmt.Errorf("GET /openapi answers %d: %s", rec.Code, rec.Body)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := rec.Header().Get("ETag")
	if doc := d.docs[key]; doc != nil {
		return doc, nil
	}
	doc, err := openapi3.NewLoader().LoadFromData(rec.Body.Bytes())
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		return nil, err
	}
	d.docs[key] = doc
	return doc, nil
}

var mountPrefix = regexp.MustCompile(`^(/api)?/(v[01]|202[4-6]-11-01)(/|$)`)

// check validates an answer against the description of its version: that the
// status is described, that the header fields are those that are described,
// and the body.
func (d *descriptions) check(w *wire, s *sent, a *answer) error {
	doc, err := d.of(w, a.header.Get("API-Version"))
	if err != nil {
		return err
	}
	if doc == nil { // a retired version has no description: its errors are those of the latest
		if doc, err = d.of(w, version.BuiltIn().Latest(today).Name); err != nil {
			return err
		}
		return conforms(doc.Components.Schemas["Problem"], s, a)
	}
	path, err := url.PathUnescape(s.path())
	if err != nil {
		return err
	}
	path = "/" + strings.TrimPrefix(mountPrefix.ReplaceAllString(path, "/"), "/")
	item := find(doc, path)
	if item == nil {
		if a.status != 404 && a.status != 429 || undescribed[path] == "" {
			return fmt.Errorf("the path %s is neither described nor in the list of those that are not", path)
		}
		w.seen.outside(path)
		return conforms(doc.Components.Schemas["Problem"], s, a)
	}
	method := s.method
	if method == "HEAD" {
		method = "GET"
	}
	op := item.Operations()[method]
	if op == nil { // OPTIONS and 405 are the same at every path
		if a.status >= 400 {
			return conforms(doc.Components.Schemas["Problem"], s, a)
		}
		return nil
	}
	response := op.Responses.Status(a.status)
	if response == nil {
		return fmt.Errorf("%s does not describe the status", op.OperationID)
	}
	if err := describedHeaders(response.Value, a); err != nil {
		return err
	}
	if a.status < 300 {
		if err := accepted(item, op, s); err != nil {
			return fmt.Errorf("the request was accepted, but %w", err)
		}
	}
	if len(a.body) == 0 {
		return nil
	}
	media := response.Value.Content.Get(a.header.Get("Content-Type"))
	if media == nil {
		return fmt.Errorf("%s does not describe %s", op.OperationID, a.header.Get("Content-Type"))
	}
	return conforms(media.Schema, s, a)
}

// accepted validates a request that the service took: its query parameters must
// be described, and its body as well.
func accepted(item *openapi3.PathItem, op *openapi3.Operation, s *sent) error {
	_, raw, _ := strings.Cut(s.target, "?")
	query, err := url.ParseQuery(raw)
	if err != nil {
		return err
	}
	for name := range query {
		if op.Parameters.GetByInAndName("query", name) == nil && item.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("the parameter %s is not described", name)
		}
	}
	if op.RequestBody == nil || s.text == "" {
		return nil
	}
	media := op.RequestBody.Value.Content.Get(s.header.Get("Content-Type"))
	if media == nil {
		return fmt.Errorf("%s is not described", s.header.Get("Content-Type"))
	}
	if media.Schema == nil || strings.HasPrefix(s.header.Get("Content-Type"), resource.TypeForm) {
		return nil // bytes
	}
	var value any
	if err := json.Unmarshal([]byte(s.text), &value); err != nil {
		return err
	}
	return media.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.VisitAsRequest(), openapi3.MultiErrors())
}

// find returns the Path Item of a path: a literal segment before a variable.
func find(doc *openapi3.T, path string) *openapi3.PathItem {
	if item := doc.Paths.Value(path); item != nil {
		return item
	}
	segments := strings.Split(path, "/")
	for pattern, item := range doc.Paths.Map() {
		parts := strings.Split(pattern, "/")
		match := len(parts) == len(segments)
		for i := 0; match && i < len(parts); i++ {
			variable := strings.HasPrefix(parts[i], "{") && segments[i] != ""
			match = variable || parts[i] == segments[i]
		}
		if match {
			return item
		}
	}
	return nil
}

// describedHeaders compares header fields with those of a Response Object, in
// both directions.
func describedHeaders(r *openapi3.Response, a *answer) error {
	var errs []error
	described := slices.Clone(plainHeaders)
	for name, ref := range r.Headers {
		described = append(described, http.CanonicalHeaderKey(name))
		values := a.header.Values(name)
		if len(values) == 0 && ref.Value.Required {
			errs = append(errs, fmt.Errorf("the header %s is missing", name))
		}
		for _, v := range values {
			var value any = v
			if n, err := strconv.ParseFloat(v, 64); err == nil && ref.Value.Schema.Value.Type.Is("integer") {
				value = n
			}
			if err := ref.Value.Schema.Value.VisitJSON(value); err != nil {
				errs = append(errs, fmt.Errorf("the header %s: %s: %w", name, v, err))
			}
		}
	}
	for name := range a.header {
		if !slices.Contains(described, name) && !strings.HasPrefix(name, "Access-Control-") {
			errs = append(errs, fmt.Errorf("the header %s is not described", name))
		}
	}
	return errors.Join(errs...)
}

// conforms validates a body.
func conforms(schema *openapi3.SchemaRef, s *sent, a *answer) error {
	if s.method == "HEAD" || schema == nil || !strings.HasSuffix(strings.Split(a.header.Get("Content-Type"), ";")[0], "json") {
		return nil
	}
	var value any
	if err := json.Unmarshal(a.body, &value); err != nil {
		return err
	}
	return schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse(), openapi3.MultiErrors())
}
