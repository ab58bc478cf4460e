package diff

import (
	"slices"
	"sync"
)

// A Rule is one kind of change and what the contract says of it.
type Rule struct {
	ID      string `json:"id"` // what never changes once it is published
	Class   Class  `json:"class"`
	Row     string `json:"row"`     // of the contract's table, or the paragraph that decides
	Message string `json:"message"` // one sentence
	Advice  string `json:"advice"`  // what a client must change; empty where nothing
}

// Rules returns the catalogue: every rule once, those of OpenAPI first. The
// caller may change what is returned.
func Rules() []Rule {
	return slices.Concat(surfaceRules(), zoneRules(), graphRules())
}

// ruleOf finds a rule by its id. An unknown id is a fault of this package.
func ruleOf(id string) *Rule {
	rule, ok := ruleIndex()[id]
	if !ok {
		panic("diff: no rule has the id " + id)
	}
	return rule
}

var ruleIndex = sync.OnceValue(func() map[string]*Rule {
	index := make(map[string]*Rule)
	for _, rule := range Rules() {
		index[rule.ID] = &rule
	}
	return index
})

// Rows of the contract's table.
const (
	rowRemoveField   = "Remove or rename a response field"
	rowChangeType    = "Change a field type"
	rowRemovePath    = "Remove an endpoint"
	rowSemantics     = "Change HTTP method semantics"
	rowRequire       = "Make an optional request field required"
	rowErrors        = "Change error codes or error shapes"
	rowTighten       = "Tighten validation"
	rowAddField      = "Add an optional response field"
	rowAddRequest    = "Add an optional request field or query parameter"
	rowAddPath       = "Add an endpoint"
	rowRelax         = "Relax a validation constraint"
	rowEnum          = "Add an enum value"
	rowWorks         = "A change is non-breaking when an existing client continues to work unmodified"
	rowGraphAdd      = "GraphQL: adding fields, types, enum values or optional arguments is safe"
	rowGraphRemove   = "GraphQL: removing, renaming or tightening is breaking"
	rowGraphInput    = "GraphQL: a new non-null input field is breaking"
	rowGraphRetire   = "GraphQL: fields are retired with @deprecated and stay selectable"
	rowGraphImplicit = "GraphQL: additive evolution"
)
