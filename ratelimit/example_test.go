package ratelimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/parley-api/parley/ratelimit"
)

// Each API key may make 60 requests a minute, two at once.
func ExampleHandler() {
	policy, err := ratelimit.Parse("60/1m burst=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := func() time.Time { return time.Unix(1_800_000_000, 0) } // for this example
	limiter := ratelimit.New(policy, &ratelimit.Options{Now: clock})
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") })
	key := func(r *http.Request) string { user, _, _ := r.BasicAuth(); return user }
	server := httptest.NewServer(ratelimit.Handler(limiter, key, hello))
	defer server.Close()

	for range 3 {
		r, _ := http.NewRequest("GET", server.URL, nil)
		r.SetBasicAuth("key-17", "")
		res, err := server.Client().Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		res.Body.Close()
		fmt.Println(res.StatusCode, res.Header.Get(ratelimit.Header))
	}
	// Output:
	// 200 "default";r=1;t=1
	// 200 "default";r=0;t=2
	// 429 "default";r=0;t=2
}

func ExampleParse() {
	for _, s := range []string{"6000/1m", "100/1s burst=100", "off", "6000/60", "6000/1m burst=9000"} {
		policy, err := ratelimit.Parse(s)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(policy)
	}
	// Output:
	// 6000/60s burst=1000
	// 100/1s burst=100
	// off
	// ratelimit: the window after the slash must be a duration with its unit, as in "100/1s", "6000/1m" or "50000/1h"
	// ratelimit: the burst must be from 1 to the quota, 6000
}

func ExampleLimiter_Take() {
	limiter := ratelimit.New(ratelimit.Default(), nil)
	d := limiter.Take("key-17")
	fmt.Println(d.Allowed, d.Left)
	// Output: true 999
}
