package version_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"time"

	"github.com/parley-api/parley/problem"
	"github.com/parley-api/parley/version"
)

func date(year int, month time.Month) time.Time {
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// A handler that serves every version of its API.
func Example() {
	calendar := version.BuiltIn().Configure(&version.Options{BaseURL: "https://api.example.com"})
	now := func() time.Time { return date(2026, time.December) }

	handler := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		at := now()
		choice, err := calendar.Choose(r, at)
		if err != nil {
			return err
		}
		v := choice.Version
		if v == nil {
			v = calendar.Latest(at) // or the account's pin
		}
		calendar.Announce(w.Header(), v, at, choice.Mount, r.URL)
		fmt.Fprintf(w, "%s in %s\n", choice.Path, v)
		return nil
	})

	for _, target := range []string{"/tasks", "/v0/tasks", "/2024-11-01/tasks"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		fmt.Println(target, w.Code, w.Header()["Link"])
	}
	// Output:
	// /tasks 200 []
	// /v0/tasks 200 [<https://api.example.com/v1/tasks>; rel="successor-version" <https://api.example.com/versions/2025-11-01>; rel="deprecation"]
	// /2024-11-01/tasks 410 [<https://api.example.com/v0/tasks>; rel="successor-version" <https://api.example.com/versions/2024-11-01>; rel="deprecation"]
}

// A calendar that would break its promise is not made.
func ExampleNewCalendar() {
	_, err := version.NewCalendar(version.Public,
		version.Version{Name: "2025-01", Major: 1, Released: date(2025, time.January),
			Deprecated: date(2026, time.January), Sunset: date(2026, time.March)},
		version.Version{Name: "2026-01", Major: 2, Released: date(2026, time.January)},
	)
	fmt.Println(err)
	// Output:
	// calendar with policy public: version "2025-01": sunset 2026-03-01 is too early (deprecated 2026-01-01): 6 months of notice from deprecated; the earliest right date is 2026-07-01
}

type Note struct{ Title, Colour string }

type OldNote struct{ Name string }

// What an old shape does not know is kept: lifting sees the value as it was.
func ExampleChange() {
	change := version.Change[OldNote, Note]{
		Down: func(n Note) OldNote { return OldNote{n.Title} },
		Up: func(old OldNote, was *Note) (Note, error) {
			n := Note{Colour: "white"}
			if was != nil {
				n = *was
			}
			n.Title = old.Name
			return n, nil
		},
		Fields: map[string]string{"/name": "/title"},
	}
	fmt.Println(version.Verify(change, slices.Values([]Note{{"a", "red"}, {"", ""}})))

	calendar := version.BuiltIn()
	chain, err := version.NewChain(calendar, reflect.TypeFor[Note](), version.Between("2025-11-01", "2026-11-01", change))
	if err != nil {
		fmt.Println(err)
		return
	}
	v := calendar.Find("0")
	was := Note{"milk", "red"}
	fmt.Printf("%+v\n", chain.Down(v, was))
	next, _ := chain.Up(v, OldNote{"bread"}, was)
	fmt.Printf("%+v\n", next)
	// Output:
	// <nil>
	// {Name:milk}
	// {Title:bread Colour:red}
}
