package dispatch_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/parley-api/parley/event"
	"github.com/parley-api/parley/webhook/dispatch"
	"github.com/parley-api/parley/webhook/dispatch/queuetest"
)

// A shop has one endpoint, and bodies made from events.
type shop struct{ endpoint *dispatch.Endpoint }

func (s shop) Endpoint(context.Context, int64) (*dispatch.Endpoint, error) { return s.endpoint, nil }

func (s shop) Body(_ context.Context, d *event.Delivery) ([]byte, error) {
	return fmt.Appendf(nil, `{"webhook-id":%q,"type":%q,"data":%s}`, d.ID(), d.Event.Type, d.Event.Doc), nil
}

// A writer reserves a place, commits the delivery claimed, and hands it over.
func Example() {
	arrived := make(chan struct{})
	consumer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Header.Get("webhook-id"), r.Header.Get("webhook-signature"))
		fmt.Println(string(body))
		close(arrived)
	}))
	defer consumer.Close()

	table := queuetest.NewMemory(nil) // a database, outside of examples
	source := shop{&dispatch.Endpoint{ID: 5, URL: consumer.URL, Enabled: true,
		Sign: func(dst []byte, id string, at int64, body []byte) []byte { return append(dst, "v1,c2lnbmVk"...) },
	}}
	d := dispatch.New(table.Queue(1), source, &dispatch.Options{Fence: 1, Insecure: true})
	go d.Run(context.Background())

	now := time.Now()
	order := event.Delivery{Seq: 12, Endpoint: 5, Account: 1, Born: now.UnixMicro(), Due: now.UnixMicro(),
		Event: &event.Event{Seq: 12, Type: "order.shipped", Doc: []byte(`{"order":1}`)}}
	if d.Reserve(5) {
		order.Fence, order.Due = d.Fence(), now.Add(d.Lease()).UnixMicro()
		table.Insert(order)
		d.Take([]event.Delivery{order})
	} else {
		table.Insert(order)
		d.Wake(5)
	}

	<-arrived
	d.Close(context.Background())
	row, _ := table.Row(12, 5)
	fmt.Println(row.State, row.Attempts[0].Status)
	// Output:
	// msg_000000000000o000000000000k v1,c2lnbmVk
	// {"webhook-id":"msg_000000000000o000000000000k","type":"order.shipped","data":{"order":1}}
	// delivered 200
}

func ExampleCheckURL() {
	for _, url := range []string{"https://hooks.example.com/in", "http://hooks.example.com/in", "https://127.1/in"} {
		fmt.Println(dispatch.CheckURL(url, false))
	}
	// Output:
	// <nil>
	// it must begin with https://
	// a numeric host must be four decimal numbers, or IPv6 in brackets
}
