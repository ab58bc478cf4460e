package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-api/parley/bench/internal/server"
)

func TestRequests(t *testing.T) {
	const tasks = 3
	ready := &server.Ready{Addr: "127.0.0.1:80", Collection: "/c", ID: "%03d", Token: "Bearer x"}
	for _, o := range single {
		next, random := o.requests(ready, tasks), rand.New(rand.NewPCG(1, 2))
		paths, bodies := make(map[string]bool), make(map[string]bool)
		for range 100 {
			text := next(nil, random)
			in := bufio.NewReader(bytes.NewReader(text))
			r, err := http.ReadRequest(in)
			if err != nil {
				t.Fatalf("%s: %v in\n%s", o.name, err, text)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := in.ReadByte(); err != io.EOF {
				t.Fatalf("%s: bytes behind the body in\n%s", o.name, text)
			}
			if r.Method != o.method || r.Header.Get("Authorization") != "Bearer x" || o != getOne && !json.Valid(body) {
				t.Fatalf("%s: got\n%s", o.name, text)
			}
			paths[r.URL.Path], bodies[string(body)] = true, true
		}
		if o == post {
			paths = map[string]bool{"/c/001": paths["/c"], "/c/002": true, "/c/003": true}
		}
		if len(paths) != tasks || !paths["/c/001"] || !paths["/c/003"] {
			t.Errorf("%s: paths %v, want those of %d tasks", o.name, paths, tasks)
		}
		if o != getOne && len(bodies) < 90 {
			t.Errorf("%s: %d different bodies of 100", o.name, len(bodies))
		}
	}
}

func TestListRequests(t *testing.T) {
	ready := &server.Ready{Addr: "127.0.0.1:80", Collection: "/c", Lists: handLists(1000)}
	for o, queries := range map[operation]int{list: 1, listDeep: pagesDeep} {
		next, random, seen := o.requests(ready, 1000), rand.New(rand.NewPCG(1, 2)), make(map[string]bool)
		for range 1000 {
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(next(nil, random))))
			if err != nil {
				t.Fatal(err)
			}
			seen[r.URL.RawQuery] = true
		}
		if len(seen) != queries {
			t.Errorf("%s: %d queries, want %d", o.name, len(seen), queries)
		}
	}
}

func TestContendersOnly(t *testing.T) {
	for _, c := range []struct {
		why, only, peers string
		want             []string
	}{
		{"one operation of one server", "^GET one parley-sqlite$", "", []string{"parley-sqlite"}},
		{"case does not matter", "patch.*POSTGRES", "", []string{"hand-postgres", "parley-postgres"}},
		{"no peers unless there is a program for them", "pocketbase", "", nil},
		{"peers", "pocketbase", "/p", []string{"pocketbase"}},
	} {
		var got []string
		for _, k := range contenders(&settings{only: regexp.MustCompile("(?i)" + c.only), peers: c.peers}) {
			got = append(got, k.name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.why, got, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		why     string
		figures []*figure
		want    string // the bars that are missed
	}{
		{"nothing was measured but the allocations", nil, ""},
		{"just enough", figures(getOne, 70, 100), ""},
		{"too slow", figures(getOne, 69, 100), "GET one"},
		{"the bar of POST is lower", figures(post, 60, 100), ""},
		{"too slow a POST", figures(post, 59, 100), "POST"},
		{"a list, just enough", figures(list, 75, 100), ""},
		{"too slow a list", figures(list, 74, 100), "LIST"},
		{"too slow in the depth", append(figures(list, 75, 100), figures(listDeep, 67, 0)[0]), "LIST deep"},
		{"too slow by offset", figures(offsetDeep, 0.9, 0)[:1], "LIST offset deep"},
		{"half of what it stands beside was not measured", figures(post, 1, 1)[:1], ""},
	} {
		b := &bench{figures: c.figures, allocations: 25}
		var missed []string
		for _, v := range judge(b) {
			if !v.Pass {
				missed = append(missed, v.Operation)
			}
		}
		if got := strings.Join(missed, " "); got != c.want {
			t.Errorf("%s: missed %q, want %q", c.why, got, c.want)
		}
	}
	enough := figures(post, enoughPosts, 100*enoughPosts)
	enough[0].Name, enough[1].Name = "parley-postgres", "hand-postgres"
	if v := judge(&bench{figures: enough})[0]; !v.Pass {
		t.Errorf("PostgreSQL: %v, want a pass by the rate alone", v)
	}
	if v := judge(&bench{figures: []*figure{{operation: patch, Name: "parley-sqlite", P99: 40.1}}})[0]; v.Pass {
		t.Errorf("PATCH: %v, want a miss", v)
	}
	if v := judge(&bench{allocations: 26})[0]; v.Pass {
		t.Errorf("allocations: %v, want a miss", v)
	}
}

func figures(o operation, service, hand float64) []*figure {
	return []*figure{{operation: o, Name: "parley-sqlite", Rate: service}, {operation: o, Name: "hand-sqlite", Rate: hand}}
}

func TestSettleTakesMedians(t *testing.T) {
	f := &figure{Rounds: []sample{{Rate: 3, P99: 1}, {Rate: 1, P99: 9}, {Rate: 2, P99: 5}}}
	f.settle()
	if f.Rate != 2 || f.P99 != 5 {
		t.Errorf("got %v and %v, want 2 and 5", f.Rate, f.P99)
	}
	f.Rounds = f.Rounds[:2]
	if f.settle(); f.Rate != 2 {
		t.Errorf("of two rounds: got %v, want what is between them", f.Rate)
	}
}

func TestStatOfSelf(t *testing.T) {
	s, err := statOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if s.parent != os.Getppid() {
		t.Errorf("parent %d, want %d", s.parent, os.Getppid())
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (a b) c) S 3 7 7 0 -1 1 2 3 4 5 10 20 30 40 20 0")
	f.Add("7 (x")
	f.Add(")(")
	f.Fuzz(func(t *testing.T, text string) {
		parseStat([]byte(text))
	})
	s, err := parseStat([]byte("7 (a b) c) S 3 7 7 0 -1 1 2 3 4 5 10 20 30 40 20 0"))
	if want := (stat{"a b) c", 3, 30 * tick, 70 * tick}); err != nil || s != want {
		f.Errorf("got %+v, %v; want %+v", s, err, want)
	}
}
