package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const start, pass, fail = `{"Action":"start","Package":"p"}`, `{"Action":"pass","Package":"p","Elapsed":1}`, `{"Action":"fail","Package":"p","Elapsed":1}`
	for _, c := range []struct {
		why  string
		in   []string
		want string
		ok   bool
	}{{
		why: "a passing test's output is kept out",
		in: []string{start, `{"Action":"run","Package":"p","Test":"T"}`, `{"Action":"output","Package":"p","Test":"T","Output":"noise\n"}`,
			`{"Action":"pass","Package":"p","Test":"T"}`, pass},
		want: "ok      1.00s     1 tests  p\n1 passed, 0 failed, 0 skipped\n",
		ok:   true,
	}, {
		why: "a failing test's output is shown without its frame",
		in: []string{start, `{"Action":"output","Package":"p","Test":"T","Output":"=== RUN   T\n"}`, `{"Action":"output","Package":"p","Test":"T","Output":"got 1, want 2\n"}`,
			`{"Action":"fail","Package":"p","Test":"T"}`, `{"Action":"output","Package":"p","Output":"FAIL\n"}`, fail},
		want: "FAIL p T\ngot 1, want 2\nFAIL    1.00s     1 tests  p\n0 passed, 1 failed, 0 skipped\n",
	}, {
		why:  "a skipped test fails the run and is named",
		in:   []string{start, `{"Action":"skip","Package":"p","Test":"T"}`, pass},
		want: "ok      1.00s     1 tests  p\nSKIP p T\n0 passed, 0 failed, 1 skipped\n",
	}, {
		why:  "a package without tests is no skipped test",
		in:   []string{start, `{"Action":"skip","Package":"p"}`},
		want: "-       0.00s     0 tests  p\n0 passed, 0 failed, 0 skipped\n",
		ok:   true,
	}, {
		why: "what the compiler said is shown",
		in: []string{`{"Action":"build-output","ImportPath":"p [p.test]","Output":"a.go:1: no\n"}`, `{"Action":"build-fail","ImportPath":"p [p.test]"}`,
			start, `{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}`, fail},
		want: "a.go:1: no\nFAIL p\nFAIL    1.00s     0 tests  p\n0 passed, 1 failed, 0 skipped\n",
	}, {
		why: "a test that was running when its package died has failed",
		in: []string{start, `{"Action":"run","Package":"p","Test":"T"}`, `{"Action":"output","Package":"p","Test":"T","Output":"last words\n"}`,
			`{"Action":"output","Package":"p","Output":"killed\n"}`, fail},
		want: "FAIL p T\nlast words\nkilled\nFAIL    1.00s     0 tests  p\n0 passed, 1 failed, 0 skipped\n",
	}, {
		why:  "input that stops in the middle is a failure",
		in:   []string{start, `{"Action":"pass","Package":"p","Test":"T"}`},
		want: "FAIL p: did not end\n1 passed, 1 failed, 0 skipped\n",
	}, {
		why:  "nothing tested is a failure, and a line that is no event is shown",
		in:   []string{"go: cannot find main module"},
		want: "go: cannot find main module\nFAIL no package was tested\n0 passed, 1 failed, 0 skipped\n",
	}} {
		var out strings.Builder
		ok := report(strings.NewReader(strings.Join(c.in, "\n")+"\n"), &out)
		if got := out.String(); got != c.want || ok != c.ok {
			t.Errorf("%s:\ngot  %v\n%swant %v\n%s", c.why, ok, got, c.ok, c.want)
		}
	}
}
