package byterange_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-api/parley/byterange"
	"github.com/parley-api/parley/problem"
)

func ExampleServe() {
	const text = "To be, or not to be, that is the question."
	server := httptest.NewServer(problem.Handler(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "private, no-cache")
		err := byterange.Serve(w, r, byterange.Content{
			Size: int64(len(text)), ETag: `"act-3"`, ReaderAt: strings.NewReader(text),
		}, nil)
		if _, begun := errors.AsType[*byterange.Interruption](err); begun {
			panic(http.ErrAbortHandler)
		}
		return err
	}))
	defer server.Close()

	for _, header := range []string{"", "bytes=0-4", "bytes=-9", "bytes=99-", "bytes=4-0"} {
		r, _ := http.NewRequest("GET", server.URL, nil)
		if header != "" {
			r.Header.Set("Range", header)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode >= 400 {
			body = nil
		}
		fmt.Printf("%-9s → %d %q %q\n", header, resp.StatusCode, resp.Header.Get("Content-Range"), body)
	}
	// Output:
	//           → 200 "" "To be, or not to be, that is the question."
	// bytes=0-4 → 206 "bytes 0-4/42" "To be"
	// bytes=-9  → 206 "bytes 33-41/42" "question."
	// bytes=99- → 416 "*/42" ""
	// bytes=4-0 → 400 "" ""
}

func ExampleParse() {
	for _, header := range []string{"bytes=0-99,50-149,-1", "lines=1-2", "bytes=1000-"} {
		ranges, err := byterange.Parse(header, 1000, &byterange.Options{Profile: byterange.RFC})
		switch {
		case err != nil:
			fmt.Println(problem.From(err).Kind.Status, problem.From(err).Header.Get("Content-Range"))
		case len(ranges) == 0:
			fmt.Println("the whole")
		}
		for _, r := range ranges {
			fmt.Println(r.ContentRange(1000))
		}
	}
	// Output:
	// bytes 0-149/1000
	// bytes 999-999/1000
	// the whole
	// 416 bytes */1000
}
