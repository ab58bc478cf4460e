package diff

import (
	"net/url"
	"slices"
	"strings"
)

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace", "query"}

// A walk is one comparison of two OpenAPI descriptions.
type walk struct {
	old, new object // the roots
	ledger   ledger
	steps    int // schemas compared; see schema.go

	where   string           // the operation that is compared
	nodes   map[string]*node // pairs of components that were compared
	current *node            // the pair that is compared; nil between them
	chain   int              // how many pairs led to it
	active  map[string]bool  // pairs of merged schemas that led here
}

func compareAPIs(old, new object) ([]Change, error) {
	w := &walk{old: old, new: new, active: make(map[string]bool)}
	w.basePaths()
	w.endpoints()
	w.webhooks("", old.object("webhooks"), new.object("webhooks"))
	if w.steps >= maxSteps {
		return nil, errDeep
	}
	return w.ledger.changes(), nil
}

// basePaths compares where the service answers. Hosts are left out: a
// description of a test server is compared with that of production.
func (w *walk) basePaths() {
	old, new := bases(w.old), bases(w.new)
	for _, path := range union(old, new) {
		switch {
		case !new[path]:
			w.note("base-path-removed", path, path, strings.Join(slices.Sorted(keys(new)), ", "))
		case !old[path]:
			w.note("base-path-added", path, "", path)
		}
	}
}

func bases(root object) map[string]bool {
	all := make(map[string]bool)
	for _, s := range root.list("servers") {
		server := asObject(s)
		address := server.text("url")
		for name, v := range server.object("variables") {
			address = strings.ReplaceAll(address, "{"+name+"}", asObject(v).text("default"))
		}
		if u, err := url.Parse(address); err == nil {
			all["/"+strings.Trim(u.Path, "/")] = true
		}
	}
	if len(all) == 0 {
		all["/"] = true
	}
	return all
}

// An operation is a method of a path.
type operation struct {
	method, path string // as its own description writes them
	item, object object
}

func (o *operation) name() string { return strings.ToUpper(o.method) + " " + o.path }

// operations returns the operations of paths by method and shape.
func operations(root, paths object) map[string]*operation {
	all := make(map[string]*operation)
	for _, path := range paths.names() {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		item := resolve(root, paths[path])
		for _, method := range methods {
			if op := item.object(method); op != nil {
				all[method+" "+shape(path)] = &operation{method, path, item, op}
			}
		}
	}
	return all
}

// shape is a path without the names of its parameters.
func shape(path string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(path, "{")
		_, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return b.String() + path
		}
		b.WriteString(before + "{}")
		path = after
	}
}

func (w *walk) endpoints() {
	old, new := operations(w.old, w.old.object("paths")), operations(w.new, w.new.object("paths"))
	gone, come := make(map[string]*operation), make(map[string]*operation)
	for _, key := range union(old, new) {
		a, b := old[key], new[key]
		switch {
		case b == nil:
			gone[key] = a
		case a == nil:
			come[key] = b
		default:
			w.where = a.name()
			w.operation(a, b)
		}
	}
	w.where = ""
	for _, key := range slices.Sorted(keys(gone)) {
		a := gone[key]
		if to := successor(a, come); to != "" {
			b := come[to]
			delete(come, to)
			if shape(a.path) == shape(b.path) {
				w.note("method-changed", a.name(), a.name(), b.name())
			} else {
				w.note("endpoint-moved", a.name(), a.name(), b.name())
			}
			continue
		}
		w.note("endpoint-removed", a.name(), a.name(), "")
	}
	for _, key := range slices.Sorted(keys(come)) {
		w.note("endpoint-added", come[key].name(), "", come[key].name())
	}
}

// successor finds what took the place of an operation: the one with its id, or
// with another method the only new one of the path where ids are not used.
func successor(a *operation, come map[string]*operation) string {
	id := a.object.text("operationId")
	found := ""
	for _, key := range slices.Sorted(keys(come)) {
		b := come[key]
		switch other := b.object.text("operationId"); {
		case id != "" && id == other:
			return key
		case id == "" && other == "" && shape(a.path) == shape(b.path):
			if found != "" {
				return ""
			}
			found = key
		}
	}
	return found
}

// operation compares what is there in both.
func (w *walk) operation(a, b *operation) {
	w.deprecation(a.name(), a.object, b.object)
	if old, new := a.object.text("operationId"), b.object.text("operationId"); old != "" && old != new {
		w.note("operation-id-changed", a.name(), old, new)
	}
	w.security(a, b)
	w.parameters(a, b)
	w.requestBody(a.object["requestBody"], b.object["requestBody"])
	w.answers(a.object.object("responses"), b.object.object("responses"))
	w.webhooks(a.name()+" ", callbacks(w.old, a.object), callbacks(w.new, b.object))
}

func (w *walk) deprecation(subject string, a, b object) {
	switch old, new := a.is("deprecated"), b.is("deprecated"); {
	case new && !old:
		w.note("deprecated", subject, "", "")
	case old && !new:
		w.note("undeprecated", subject, "", "")
	}
}

// callbacks returns the path items of an operation's callbacks, by name and
// expression.
func callbacks(root, op object) object {
	all := make(object)
	for name, c := range op.object("callbacks") {
		for expression, item := range resolve(root, c) {
			all[name+" "+expression] = item
		}
	}
	return all
}

// webhooks compares what the service calls. A client receives its body, which
// is therefore compared like a response.
func (w *walk) webhooks(prefix string, olds, news object) {
	old, new := operations(w.old, olds), operations(w.new, news)
	within := w.where
	defer func() { w.where = within }()
	for _, key := range union(old, new) {
		a, b := old[key], new[key]
		switch {
		case b == nil:
			w.note("webhook-removed", prefix+a.path, a.path, "")
		case a == nil:
			w.note("webhook-added", prefix+b.path, "", b.path)
		default:
			w.where = "webhook " + prefix + a.path
			w.deprecation("webhook "+prefix+a.path, a.object, b.object)
			w.bodies(response, resolve(w.old, a.object["requestBody"]), resolve(w.new, b.object["requestBody"]))
			w.where = within
		}
	}
}
