package negotiate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-api/parley/negotiate"
	"github.com/parley-api/parley/problem"
)

func ExampleOffers_Choose() {
	offers := negotiate.New("application/json", "application/yaml", "text/html")

	for _, accept := range []string{
		"*/*",
		"text/html, application/xhtml+xml, */*;q=0.8",
		"application/json;q=0, application/*",
		"image/png",
	} {
		mediaType, err := offers.Choose([]string{accept})
		if err != nil {
			p := problem.From(err)
			fmt.Println(p.Kind.Status, p.Allowed)
			continue
		}
		fmt.Println(mediaType)
	}
	// Output:
	// application/json
	// text/html
	// application/yaml
	// 406 [application/json application/yaml text/html]
}

func ExampleContent() {
	create := problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		mediaType, err := negotiate.Content(r, "application/json")
		if err != nil {
			return err
		}
		fmt.Fprintln(w, "decoding", mediaType)
		return nil
	})

	for _, contentType := range []string{"application/json; charset=utf-8", "text/csv"} {
		r := httptest.NewRequest("POST", "/tasks", strings.NewReader(`{"title":"Write it down"}`))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		create.ServeHTTP(w, r)
		fmt.Printf("%d, Accept-Post: %q\n", w.Code, w.Header().Get("Accept-Post"))
	}
	// Output:
	// 200, Accept-Post: ""
	// 415, Accept-Post: "application/json"
}
