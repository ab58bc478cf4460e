package idempotency

import (
	"errors"
	"testing"

	"github.com/parley-api/parley/problem"
)

func TestCheck(t *testing.T) {
	answer := &Answer{Status: 201}
	for _, c := range []struct {
		why    string
		rec    *Record
		answer *Answer
		kind   *problem.Kind
		wait   int
	}{
		{"an unknown key: do the work", nil, nil, nil, 0},
		{"the same request: its answer", &Record{Print: Print{1}, Answer: answer}, answer, nil, 0},
		{"another request under the key", &Record{Print: Print{2}, Answer: answer}, nil, problem.KeyReused, 0},
		{"another request under the key, itself not answered", &Record{Print: Print{2}}, nil, problem.KeyReused, 0},
		{"the same request, under way elsewhere: not to be run again", &Record{Print: Print{1}}, nil, problem.KeyInUse, 1},
	} {
		got, err := Check(c.rec, Print{1})
		var kind *problem.Kind
		var wait int
		if p, ok := errors.AsType[*problem.Problem](err); ok {
			kind, wait = p.Kind, p.RetryAfter
		}
		if got != c.answer || kind != c.kind || wait != c.wait {
			t.Errorf("%s: got %v, %v (retry after %d)", c.why, got, err, wait)
		}
	}
}
