package dispatch

import (
	"runtime/metrics"
	"time"
)

// A line is how long the goroutines of the process wait for their turn. The
// runtime counts it; the zero value is ready to use.
type line struct {
	sample [1]metrics.Sample
	before []uint64 // the counts when it was last read
}

// read returns how long nine of ten have waited at most since it was last read;
// the first time, since the process began. Where nobody has waited it is 0.
func (l *line) read() time.Duration {
	l.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(l.sample[:])
	if l.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := l.sample[0].Value.Float64Histogram()
	if l.before == nil {
		l.before = make([]uint64, len(h.Counts))
	}
	wait := passed(h, l.before)
	copy(l.before, h.Counts)
	return wait
}

// passed is the lower end of the bucket in which nine of ten are, of those that
// were counted since.
func passed(h *metrics.Float64Histogram, since []uint64) time.Duration {
	var all, n uint64
	for i := range h.Counts {
		all += h.Counts[i] - since[i]
	}
	for i := range h.Counts {
		if n += h.Counts[i] - since[i]; all > 0 && n*10 >= all*9 {
			return time.Duration(max(0, h.Buckets[i]) * float64(time.Second))
		}
	}
	return 0
}
