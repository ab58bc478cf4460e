package paginate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/parley-api/parley/paginate"
	"github.com/parley-api/parley/problem"
)

// A handler parses, resumes, fetches and renders. Here the rows are the
// numbers 1 to 5; a real one would ask its database for Size+1 rows.
func Example() {
	keys, err := paginate.NewKeys(paginate.Key{ID: 1, Secret: [32]byte{31: 1}}) // from a secret store
	if err != nil {
		panic(err)
	}
	list := &paginate.List{Collection: "numbers", Limits: paginate.Limits{Default: 2, Maximum: 3}}
	scope := paginate.Scope{Collection: "numbers", Account: 1, Sort: "id"}
	const last = 5

	handler := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		plan, err := list.Parse(r.URL.RawQuery, nil)
		if err != nil {
			return err
		}
		at, err := plan.Resume(keys, scope, time.Now())
		if err != nil {
			return err
		}
		before := int(at.ID + plan.Offset)
		shown := max(0, min(plan.Size, last-before))
		page := paginate.Page{
			Rows:    shown,
			Item:    func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(before+i+1), 10) },
			HasNext: before+shown < last,
			Next:    paginate.Position{Mark: last, ID: int64(before + shown)},
		}
		links, err := plan.Links(r.URL.EscapedPath(), page, keys, scope, time.Now())
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		_, err = w.Write(plan.Append(nil, page, links))
		return err
	})

	for _, target := range []string{"/numbers?page=2&size=3", "/numbers?page_size=4"} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", target, nil))
		fmt.Println(answer.Code, answer.Body)
	}

	server := httptest.NewServer(handler)
	defer server.Close()
	for n, err := range paginate.All[int](context.Background(), nil, server.URL+"/numbers", nil) {
		fmt.Print(n, " ", err, " ")
	}
	// Output:
	// 200 {"data":[4,5],"pagination":{"page":2,"size":3},"_links":{"self":"/numbers?page=2&size=3","first":"/numbers?page=1&size=3","prev":"/numbers?page=1&size=3"}}
	// 400 {"type":"/problems/invalid-page-size","title":"Invalid page size","status":400,"detail":"page_size must be a whole number from 1 to 3.","instance":"/numbers","parameter":"page_size","maximum":3}
	// 1 <nil> 2 <nil> 3 <nil> 4 <nil> 5 <nil>
}

func ExamplePlan_Resolve() {
	list := &paginate.List{Collection: "tasks"}
	for _, header := range []string{"tasks=0-9", "tasks=-5", "bytes=0-9"} {
		plan, err := list.Parse("", []string{header})
		if err != nil {
			panic(err)
		}
		span, err := plan.Resolve(42)
		if err != nil {
			p := problem.From(err)
			fmt.Println(p.Kind.Status, p.Header.Get("Content-Range"))
			continue
		}
		fmt.Println(206, span.ContentRange())
	}
	// Output:
	// 206 tasks 0-9/42
	// 206 tasks 37-41/42
	// 416 */42
}

func ExampleKeys_Open() {
	current := paginate.Key{ID: 1, Secret: [32]byte{31: 1}}
	keys, err := paginate.NewKeys(current)
	if err != nil {
		panic(err)
	}
	mine := paginate.Scope{Collection: "tasks", Account: 1}
	theirs := paginate.Scope{Collection: "tasks", Account: 2}
	now := time.Now()
	cursor, err := keys.Seal(mine, paginate.Cursor, paginate.Position{Mark: 90, ID: 20}, now.Add(paginate.Lifetime))
	if err != nil {
		panic(err)
	}

	at, err := keys.Open(cursor, mine, paginate.Cursor, now)
	fmt.Println(at.ID, err)
	_, err = keys.Open(cursor, theirs, paginate.Cursor, now)
	fmt.Println(problem.From(err).Kind.Name)
	_, err = keys.Open(cursor, mine, paginate.Cursor, now.Add(paginate.Lifetime))
	fmt.Println(problem.From(err).Kind.Name)
	// Output:
	// 20 <nil>
	// invalid-cursor
	// expired-cursor
}
