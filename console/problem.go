package console

import (
	"slices"
	"strconv"

	"github.com/parley-api/parley/problem"
)

// Problem returns the page of one kind: when it happens, what to do about it,
// its type and an example of a whole answer. It is the same at any time.
func Problem(k *problem.Kind) Page {
	head, body := sample(k)
	return render("problem", struct {
		frame
		Kind          *problem.Kind
		Class, Reason string
		Head          []string
		Body          []line
	}{
		frame: frame{k.Title + " (" + strconv.Itoa(k.Status) + ")", "/problems"},
		Kind:  k, Class: class(k.Status), Reason: reason(k.Status), Head: head, Body: body,
	})
}

// class says whose problem a status is, in the words of the stylesheet.
func class(status int) string {
	if status >= 500 {
		return "server"
	}
	return "client"
}

type group struct {
	Status int
	Reason string
	Kinds  []*problem.Kind
}

// Problems returns the catalogue of the kinds, grouped by status and within a
// status in the order given. It is the same at any time.
func Problems(kinds []*problem.Kind) Page {
	kinds = slices.Clone(kinds)
	slices.SortStableFunc(kinds, func(a, b *problem.Kind) int { return a.Status - b.Status })
	var groups []group
	for _, k := range kinds {
		if n := len(groups); n == 0 || groups[n-1].Status != k.Status {
			groups = append(groups, group{Status: k.Status, Reason: reason(k.Status)})
		}
		last := &groups[len(groups)-1]
		last.Kinds = append(last.Kinds, k)
	}
	return render("problems", struct {
		frame
		Groups []group
	}{frame{"Problems", "/problems"}, groups})
}
