package console

import "strings"

// A Link is one entry of the overview.
type Link struct {
	Path  string // on this host, beginning with "/"
	Title string
	About string // one sentence; empty leaves it out
	// Key says that the path needs an API key, so that it is listed as a
	// resource and not offered as a link to a browser, which has none. The
	// first of these is the target of the example request.
	Key bool
}

// Index returns the overview, for GET / of a client that prefers HTML. Nil
// links mean those to /docs, /openapi, /versions and /problems. It panics on a
// path that does not begin with "/", or begins with "//" and so leads to
// another host.
func Index(title string, links []Link) Page {
	if links == nil {
		links = doors()
	}
	data := struct {
		frame
		Doors, Locked []Link
		First         string
	}{frame: frame{title, "/"}, First: "/<collection>"}
	for _, l := range links {
		mustBePath(l.Path)
		if !l.Key {
			data.Doors = append(data.Doors, l)
			continue
		}
		data.Locked = append(data.Locked, l)
	}
	if len(data.Locked) > 0 {
		data.First = data.Locked[0].Path
	}
	return render("index", data)
}

func doors() []Link {
	return []Link{
		{Path: "/docs", Title: "Reference", About: "Every operation, with its parameters, bodies and answers, to read and to try."},
		{Path: "/versions", Title: "Versions", About: "Which versions there are, when each ends, and how to move to the next."},
		{Path: "/problems", Title: "Problems", About: "Every error this API answers with: when it happens and what to do."},
		{Path: "/openapi", Title: "OpenAPI description", About: "The reference for programs, as JSON or YAML."},
	}
}

func mustBePath(path string) {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		panic("console: " + path + " is not a path on this host")
	}
}
