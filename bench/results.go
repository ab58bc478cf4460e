package main

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// results is what is kept of a run, as JSON.
type results struct {
	Date        string            `json:"date"`
	Machine     machine           `json:"machine"`
	Settings    conditions        `json:"settings"`
	Versions    map[string]string `json:"versions"`
	Servers     []described       `json:"servers"`
	Figures     []*figure         `json:"figures"`
	Allocations float64           `json:"allocations_per_get"`
	Bars        []verdict         `json:"bars"`
}

type machine struct {
	System     string  `json:"system"`
	Kernel     string  `json:"kernel"`
	Processor  string  `json:"processor"`
	Cores      int     `json:"cores"`
	Memory     string  `json:"memory"`
	Filesystem string  `json:"filesystem"`
	Flush      float64 `json:"flush_ms"` // a 4 KiB write and its fsync, the median
}

type conditions struct {
	Tasks       int     `json:"tasks"`
	Connections int     `json:"connections"`
	Warm        float64 `json:"warm_seconds"`
	Seconds     float64 `json:"seconds"`
	Rounds      int     `json:"rounds"`
	Only        string  `json:"only,omitempty"`
	ServerCore  int     `json:"server_core"`
	LoadCore    int     `json:"load_core"`
	Procs       int     `json:"server_gomaxprocs"`
	Quota       string  `json:"quota"`
	Postgres    string  `json:"postgres,omitempty"`
	Pinned      bool    `json:"postgres_on_server_core"`
}

type described struct {
	Name       string `json:"name"`
	About      string `json:"about"`
	Durability string `json:"durability"`
	Conditions string `json:"conditions"`
	Version    string `json:"version,omitempty"`
}

func writeResults(b *bench, verdicts []verdict) error {
	r := results{
		Date: time.Now().UTC().Format(time.RFC3339), Machine: describeMachine(b), Versions: versions(),
		Figures: b.figures, Allocations: b.allocations, Bars: verdicts,
		Settings: conditions{
			Tasks: b.tasks, Connections: b.conns, Warm: b.warm, Seconds: b.seconds, Rounds: b.rounds,
			Only:       strings.TrimPrefix(b.only.String(), "(?i)"),
			ServerCore: serverCore, LoadCore: loadCore, Procs: 1, Quota: limit,
		},
	}
	if b.postgres != nil {
		r.Versions["postgresql"] = b.postgres.version
		r.Settings.Postgres, r.Settings.Pinned = b.postgres.settings, b.postgres.pinned
	}
	for _, c := range b.contenders {
		r.Servers = append(r.Servers, described{c.name, c.about, c.ready.Durability, c.ready.Conditions, c.ready.Version})
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.out, append(text, '\n'), 0o644); err != nil {
		return err
	}
	b.say("wrote %s", b.out)
	return nil
}

// versions are of what the figures depend on.
func versions() map[string]string {
	v := map[string]string{"go": runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			v[s.Key] = s.Value
		}
	}
	for _, d := range info.Deps {
		if slices.Contains([]string{"modernc.org/sqlite", "github.com/jackc/pgx/v5"}, d.Path) {
			v[d.Path] = d.Version
		}
	}
	return v
}

func describeMachine(b *bench) machine {
	m := machine{
		System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(),
		Filesystem: filesystem(b.dir), Flush: milli(b.fsync),
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.Kernel = strings.TrimSpace(string(kernel))
	m.Processor = proc("/proc/cpuinfo", "model name")
	m.Memory = proc("/proc/meminfo", "MemTotal")
	return m
}

// proc finds a value in a file of lines such as "name : value".
func proc(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
