package dispatch_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
	"github.com/parley-api/parley/webhook/dispatch/queuetest"
)

// hmacSign signs as the scheme v1 does.
func hmacSign(dst []byte, id string, at int64, body []byte) []byte {
	m := hmac.New(sha256.New, []byte("a key of the usual length, 32 b."))
	m.Write(append(strconv.AppendInt(append([]byte(id), '.'), at, 10), '.'))
	m.Write(body)
	return base64.StdEncoding.AppendEncode(append(dst, "v1,"...), m.Sum(nil))
}

// A fixed source has endpoints that all lead to one sink, and one body.
type fixed struct {
	endpoints []dispatch.Endpoint
	body      []byte
}

func newFixed(url string, n int) *fixed {
	f := &fixed{body: bytes.Repeat([]byte("x"), 1024)}
	for i := range n {
		f.endpoints = append(f.endpoints, dispatch.Endpoint{ID: int64(i + 1), URL: url, Enabled: true, Sign: hmacSign})
	}
	return f
}

func (f *fixed) Endpoint(_ context.Context, id int64) (*dispatch.Endpoint, error) {
	return &f.endpoints[id-1], nil
}
func (f *fixed) Body(context.Context, *event.Delivery) ([]byte, error) { return f.body, nil }

// newSink answers 204 to everything.
func newSink(b *testing.B) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// bare sends n signed POSTs over eight kept connections, and nothing else.
func bare(url string, body []byte, n int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for seq := next.Add(1); seq <= int64(n); seq = next.Add(1) {
				id, at := event.DeliveryID(seq, 1), time.Now().Unix()
				q, _ := http.NewRequest("POST", url, bytes.NewReader(body))
				q.Header.Set("Content-Type", "application/json")
				q.Header.Set("webhook-id", id)
				q.Header.Set("webhook-timestamp", strconv.FormatInt(at, 10))
				q.Header.Set("webhook-signature", string(hmacSign(nil, id, at, body)))
				if p, err := client.Do(q); err == nil {
					io.Copy(io.Discard, p.Body)
					p.Body.Close()
				}
			}
		})
	}
	wg.Wait()
}

// through sends n deliveries to the endpoints in turn through a dispatcher
// over a table in memory, at most 512 at a time.
func through(url string, endpoints, n int) {
	places := make(chan struct{}, 512)
	var done sync.WaitGroup
	done.Add(n)
	table := queuetest.NewMemory(nil)
	d := dispatch.New(table.Queue(7), newFixed(url, endpoints), &dispatch.Options{
		Insecure: true, Fence: 7, Log: slog.New(slog.DiscardHandler),
		Observe: func(*event.Delivery, *event.Outcome) {
			<-places
			done.Done()
		},
	})
	go d.Run(context.Background())
	list := make([]event.Delivery, 1)
	for i := range n {
		places <- struct{}{}
		now := time.Now().UnixMicro()
		list[0] = event.Delivery{Seq: int64(i + 1), Endpoint: int64(i%endpoints + 1), Account: 1, Born: now, Due: now}
		if d.Reserve(list[0].Endpoint) {
			list[0].Fence, list[0].Due = 7, now+d.Lease().Microseconds()
			table.Insert(list[0])
			d.Take(list)
			continue
		}
		table.Insert(list[0])
		d.Wake(list[0].Endpoint)
	}
	done.Wait()
	d.Close(context.Background())
}

// BenchmarkSend sets the dispatcher beside a loop that only sends.
func BenchmarkSend(b *testing.B) {
	url := newSink(b)
	body := bytes.Repeat([]byte("x"), 1024)
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		bare(url, body, b.N)
	})
	for _, n := range []int{1, 100} {
		b.Run("dispatcher/endpoints="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			through(url, n, b.N)
		})
	}
}

// BenchmarkRatio measures both in turns: ratio is the dispatcher's rate over
// that of the loop. Run it with -benchtime 1x or a few more.
func BenchmarkRatio(b *testing.B) {
	url := newSink(b)
	body := bytes.Repeat([]byte("x"), 1024)
	const n = 10_000
	var loop, ours time.Duration
	rounds := 0
	for b.Loop() {
		begun := time.Now()
		bare(url, body, n)
		loop += time.Since(begun)
		begun = time.Now()
		through(url, 8, n)
		ours += time.Since(begun)
		rounds++
	}
	b.ReportMetric(float64(loop)/float64(ours), "ratio")
	b.ReportMetric(float64(rounds*n)/ours.Seconds(), "deliveries/s")
}

// still is a queue that is never asked for anything.
type still struct{ dispatch.Queue }

// BenchmarkReserve is what a writer pays for each delivery that it commits.
func BenchmarkReserve(b *testing.B) {
	d := dispatch.New(still{}, newFixed("http://127.0.0.1:1", 1000), &dispatch.Options{Insecure: true})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := int64(i%1000 + 1)
		if d.Reserve(id) {
			d.Release(id)
		}
	}
}

// BenchmarkCheckURL is paid once per change of an endpoint.
func BenchmarkCheckURL(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := dispatch.CheckURL("https://hooks.example.com:8443/incoming/abc?source=parley", false); err != nil {
			b.Fatal(err)
		}
	}
}
