package diff

import (
	"cmp"
	"slices"
)

// A Change is one difference, wherever it shows.
type Change struct {
	Rule    Rule
	Subject string   // what has changed: a field such as Task.title, a parameter, an endpoint
	Before  string   // how it was; empty where there is nothing to say or it did not exist
	After   string   // how it is; empty where there is nothing to say or it does not exist
	Where   []string // the operations that show it, sorted; empty where the subject says it
}

// A Report is the outcome of a comparison.
type Report struct {
	Old, New *Document
	Changes  []Change // the worst first, then by rule and subject
}

// Worst returns the worst class among the changes and whether there are any.
func (r *Report) Worst() (Class, bool) {
	if len(r.Changes) == 0 {
		return NonBreaking, false
	}
	return r.Changes[0].Rule.Class, true
}

// Count returns the number of changes of a class.
func (r *Report) Count(class Class) int {
	n := 0
	for i := range r.Changes {
		if r.Changes[i].Rule.Class == class {
			n++
		}
	}
	return n
}

// A finding is a change before it is known where else it shows.
type finding struct{ id, subject, before, after string }

// A ledger gathers findings. The same finding in several operations is one
// change.
type ledger struct {
	where map[finding][]string
}

func (l *ledger) add(f finding, where string) {
	if l.where == nil {
		l.where = make(map[finding][]string)
	}
	places := l.where[f]
	if where != "" && (len(places) == 0 || places[len(places)-1] != where) {
		places = append(places, where)
	}
	l.where[f] = places
}

// changes returns what was found, in the order of a report.
func (l *ledger) changes() []Change {
	all := make([]Change, 0, len(l.where))
	for f, places := range l.where {
		slices.Sort(places)
		all = append(all, Change{Rule: *ruleOf(f.id), Subject: f.subject, Before: f.before, After: f.after, Where: slices.Compact(places)})
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(b.Rule.Class, a.Rule.Class),
			cmp.Compare(a.Rule.ID, b.Rule.ID),
			cmp.Compare(a.Subject, b.Subject),
			cmp.Compare(a.Before, b.Before),
			cmp.Compare(a.After, b.After),
		)
	})
	return all
}
