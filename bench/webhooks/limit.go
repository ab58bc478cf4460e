package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-api/parley/webhook"
)

// limit is the process to be measured against: a loop of signed keep-alive
// POSTs, nothing durable, nothing retried. It prints how many it made in a
// second.
func limit(sink string, connections int, length time.Duration) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}
	secret := webhook.NewSecret()
	body := envelope(0)
	var done atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for range connections {
		wg.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				id, at := "msg_"+strconv.Itoa(i), time.Now().Unix()
				signature, err := webhook.Sign([]webhook.Secret{secret}, id, at, body)
				if err != nil {
					continue
				}
				r, _ := http.NewRequest(http.MethodPost, "http://"+sink+"/ok/0", bytes.NewReader(body))
				r.Header["Content-Type"] = []string{"application/json"}
				r.Header["Webhook-Id"], r.Header["Webhook-Timestamp"] = []string{id}, []string{strconv.FormatInt(at, 10)}
				r.Header["Webhook-Signature"] = []string{signature}
				resp, err := client.Do(r)
				if err != nil {
					continue
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				done.Add(1)
			}
		})
	}
	began := time.Now()
	wg.Wait()
	fmt.Fprintf(os.Stdout, "%.1f\n", float64(done.Load())/time.Since(began).Seconds())
	return nil
}

// pad makes an event's body about 1 KB.
var pad = string(bytes.Repeat([]byte("x"), 850))

// data is the data of an event.
func data(n int) string { return fmt.Sprintf(`{"n":%d,"pad":"%s"}`, n, pad) }

func envelope(n int) []byte {
	return fmt.Appendf(nil, `{"webhook-id":"msg_00000000000000000000000000","type":"load.made","timestamp":"2026-11-15T00:00:00.000000Z","data":%s}`, data(n))
}
