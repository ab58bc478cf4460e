package parley

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts what the service does, for Prometheus.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	lost     gauges // of requests to no route
}

// gauges are the counters of one route, found once.
type gauges struct {
	classes [6]prometheus.Counter // by the first digit of the status
	seconds prometheus.Observer
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_http_requests_total", Help: "Requests by route, method and class of status.",
		}, []string{"route", "method", "class"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parley_http_request_seconds", Help: "Time to answer by route and method.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.lost = m.of("none", "any")
	return m
}

// of finds the counters of a route.
func (m *metrics) of(pattern, method string) gauges {
	var g gauges
	for i, class := range [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		g.classes[i] = m.requests.WithLabelValues(pattern, method, class)
	}
	g.seconds = m.seconds.WithLabelValues(pattern, method)
	return g
}

func (m *metrics) observe(v *visit, status int, took time.Duration) {
	g := &m.lost
	if v.match.Value != nil {
		g = &v.match.Value.gauges
	}
	if class := status / 100; class < len(g.classes) {
		g.classes[class].Inc()
	}
	g.seconds.Observe(took.Seconds())
}

// Metrics returns the handler of a listener of its own for metrics. It asks
// for no credentials.
func (a *App) Metrics() http.Handler {
	return promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{})
}
