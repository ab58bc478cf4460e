package parley

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts what the service does, for Prometheus.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.Desc
	seconds  *prometheus.Desc
	lost     *traffic   // requests to no route
	all      []*traffic // complete before the first request
}

// bounds are the upper ends of the classes of time.
var bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// traffic is what was counted of one route. It makes metrics when it is asked,
// and is otherwise nothing but numbers: with a dozen objects for each number,
// they would be half of what the collector of garbage has to look at.
type traffic struct {
	pattern, method string
	classes         [6]atomic.Uint64 // by the first digit of the status
	times           [len(bounds) + 1]atomic.Uint64
	total           atomic.Int64 // nanoseconds
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewDesc("parley_http_requests_total", "Requests by route, method and class of status.", []string{"route", "method", "class"}, nil),
		seconds:  prometheus.NewDesc("parley_http_request_seconds", "Time to answer by route and method.", []string{"route", "method"}, nil),
	}
	m.lost = m.of("none", "any")
	m.registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// of makes the numbers of a route.
func (m *metrics) of(pattern, method string) *traffic {
	t := &traffic{pattern: pattern, method: method}
	m.all = append(m.all, t)
	return t
}

func (m *metrics) observe(v *visit, status int, took time.Duration) {
	t := m.lost
	if v.match.Value != nil {
		t = v.match.Value.traffic
	}
	if class := status / 100; class < len(t.classes) {
		t.classes[class].Add(1)
	}
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	t.times[i].Add(1)
	t.total.Add(int64(took))
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.requests
	to <- m.seconds
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, t := range m.all {
		for i, class := range [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"} {
			to <- prometheus.MustNewConstMetric(m.requests, prometheus.CounterValue, float64(t.classes[i].Load()), t.pattern, t.method, class)
		}
		count, upTo := uint64(0), make(map[float64]uint64, len(bounds))
		for i := range t.times {
			if count += t.times[i].Load(); i < len(bounds) {
				upTo[bounds[i].Seconds()] = count
			}
		}
		to <- prometheus.MustNewConstHistogram(m.seconds, count, time.Duration(t.total.Load()).Seconds(), upTo, t.pattern, t.method)
	}
}

// Metrics returns the handler of a listener of its own for metrics. It asks
// for no credentials.
func (a *App) Metrics() http.Handler {
	return promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{})
}
