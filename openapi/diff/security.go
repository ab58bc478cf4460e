package diff

import (
	"slices"
	"strings"
)

// security compares the credentials that an operation asks for. Schemes are
// told apart by what they are, not by what they are called.
func (w *walk) security(a, b *operation) {
	old, new := credentials(w.old, a.object), credentials(w.new, b.object)
	if unmet := uncovered(old, new); len(unmet) > 0 {
		w.note("security-tightened", "credentials", phrase(old), phrase(new))
	} else if extra := uncovered(new, old); len(extra) > 0 {
		w.note("security-relaxed", "credentials", phrase(old), phrase(new))
	}
}

// uncovered returns the alternatives of one side with which a client would be
// refused by the other: no alternative there is part of them.
func uncovered(from, by [][]string) [][]string {
	var left [][]string
	for _, have := range from {
		met := slices.ContainsFunc(by, func(need []string) bool {
			return !slices.ContainsFunc(need, func(n string) bool { return !slices.Contains(have, n) })
		})
		if !met {
			left = append(left, have)
		}
	}
	return left
}

// credentials returns the alternatives that suffice for an operation, each a
// sorted list of what it takes. An empty alternative is no credential at all.
func credentials(root, op object) [][]string {
	listed, ok := op["security"].([]any)
	if !ok {
		listed = root.list("security")
	}
	if len(listed) == 0 {
		return [][]string{{}}
	}
	schemes := root.object("components").object("securitySchemes")
	var all [][]string
	for _, entry := range listed {
		need := []string{}
		for name, scopes := range asObject(entry) {
			is := scheme(resolve(root, schemes[name]), name)
			need = append(need, is)
			list, _ := scopes.([]any)
			for _, scope := range list {
				if s, ok := scope.(string); ok {
					need = append(need, is+" with "+s)
				}
			}
		}
		slices.Sort(need)
		all = append(all, need)
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// scheme says what a security scheme is.
func scheme(s object, name string) string {
	switch s.text("type") {
	case "http":
		return strings.ToLower(s.text("scheme"))
	case "apiKey":
		return "key in " + s.text("in") + " " + s.text("name")
	case "openIdConnect":
		return "OpenID Connect"
	case "":
		return name
	}
	return s.text("type")
}

func phrase(alternatives [][]string) string {
	var all []string
	for _, need := range alternatives {
		if len(need) == 0 {
			all = append(all, "none")
			continue
		}
		all = append(all, strings.Join(need, " and "))
	}
	return strings.Join(all, ", or ")
}
