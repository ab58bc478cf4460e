package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// The bars.
const (
	maxWhole  = 70.0 // CPU-ms for a GiB, or
	maxTimes  = 1.13 // × standard: 70 was set where standard took 62, and a GiB costs the kernel more elsewhere
	maxOne    = 1.1  // × standard
	maxTen4K  = 0.45
	maxTen64K = 0.3
	maxMemory = 40.0 // MB of RSS, at its peak
)

// A verdict says whether parley clears a bar.
type verdict struct {
	Operation string  `json:"operation"`
	Bar       string  `json:"bar"`
	Value     float64 `json:"value"`
	Ratio     float64 `json:"times_standard,omitempty"` // of the whole, whose value is CPU-ms per GiB
	Pass      bool    `json:"pass"`
}

func (b *bench) find(o operation, name string) *figure {
	for _, f := range b.figures {
		if f.operation == o && f.Name == name {
			return f
		}
	}
	return nil
}

// judge holds the figures against the bars.
func (b *bench) judge() []verdict {
	perGiB := b.perGiB(b.find(whole, "parley"))
	ratio := b.ratio(b.find(whole, "parley"))
	list := []verdict{{whole.name, fmt.Sprintf("≤ %.0f CPU-ms per GiB or ≤ %.4g × standard", maxWhole, maxTimes), perGiB, ratio, perGiB <= maxWhole || ratio <= maxTimes}}
	for _, bar := range []struct {
		o    operation
		most float64
	}{{one64K, maxOne}, {ten4K, maxTen4K}, {ten64K, maxTen64K}} {
		value := b.ratio(b.find(bar.o, "parley"))
		list = append(list, verdict{bar.o.name, fmt.Sprintf("≤ %.4g × standard", bar.most), value, 0, value <= bar.most})
	}
	var peak int64
	for _, o := range actions {
		peak = max(peak, b.find(o, "parley").Peak)
	}
	mb := float64(peak) / 1e6
	return append(list, verdict{"memory", fmt.Sprintf("< %.0f MB of RSS", maxMemory), mb, 0, mb < maxMemory})
}

// perGiB is what a figure of the whole comes to, in CPU-ms.
func (b *bench) perGiB(f *figure) float64 { return f.CPU / 1e3 * (1 << 30) / float64(b.size) }

// ratio holds a figure against that of http.ServeContent, round by round: what
// slows the machine down for a while slows both. It is the median of the rounds.
func (b *bench) ratio(f *figure) float64 {
	standard := b.find(f.operation, "standard")
	each := make([]float64, len(f.CPUs))
	for i := range each {
		each[i] = f.CPUs[i] / standard.CPUs[i]
	}
	return median(each)
}

// print shows the figures and the bars.
func (b *bench) print(w io.Writer, verdicts []verdict) {
	fmt.Fprintf(w, "\n%-14s %-9s %12s %10s %12s %10s\n", "", "", "CPU µs", "requests/s", "× standard", "peak MB")
	for _, f := range b.figures {
		fmt.Fprintf(w, "%-14s %-9s %12.1f %10.1f %12.2f %10.1f\n", f.Operation, f.Name, f.CPU, f.Rate, b.ratio(f), float64(f.Peak)/1e6)
	}
	fmt.Fprintln(w)
	for _, c := range b.contenders {
		fmt.Fprintf(w, "%-9s %s: %s\n", c.name, c.version, c.about)
	}
	fmt.Fprintln(w)
	for _, v := range verdicts {
		word := "MISSED"
		if v.Pass {
			word = "pass"
		}
		fmt.Fprintf(w, "%-6s  %-14s %-42s %.3g", word, v.Operation, v.Bar, v.Value)
		if v.Ratio > 0 {
			fmt.Fprintf(w, " CPU-ms per GiB, %.3g × standard", v.Ratio)
		}
		fmt.Fprintln(w)
	}
}

// results is what is kept of a run, as JSON.
type results struct {
	Date      string            `json:"date"`
	Revision  map[string]string `json:"revision"`
	Machine   map[string]string `json:"machine"`
	Settings  map[string]int64  `json:"settings"`
	Servers   map[string]string `json:"servers"`
	Figures   []*figure         `json:"figures"`
	Bars      []verdict         `json:"bars"`
	Condition string            `json:"condition"`
}

func (b *bench) write(verdicts []verdict) error {
	if b.out == "-" {
		return nil
	}
	r := results{
		Date: time.Now().UTC().Format(time.RFC3339), Revision: revision(), Figures: b.figures, Bars: verdicts,
		Machine: map[string]string{
			"system": runtime.GOOS + "/" + runtime.GOARCH, "cores": fmt.Sprint(runtime.NumCPU()),
			"kernel": proc("/proc/sys/kernel/osrelease", ""), "processor": proc("/proc/cpuinfo", "model name"),
		},
		Settings: map[string]int64{
			"file_bytes": b.size, "requests": int64(b.requests), "wholes": int64(b.wholes),
			"connections": int64(b.conns), "rounds": int64(b.rounds),
		},
		Servers:   map[string]string{},
		Condition: "every server on one core, the load on another, over loopback; the file in the page cache; figures are medians of the rounds",
	}
	for _, c := range b.contenders {
		r.Servers[c.name] = strings.TrimSpace(c.version + " " + c.about)
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(b.out, append(text, '\n'), 0o644)
}

func revision() map[string]string {
	v := map[string]string{"go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				v[s.Key] = s.Value
			}
		}
	}
	return v
}

// proc finds a value in a file of lines such as "name : value"; no name means
// the whole file.
func proc(path, name string) string {
	text, _ := os.ReadFile(path)
	if name == "" {
		return strings.TrimSpace(string(text))
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
