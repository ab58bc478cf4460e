package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// release is set by a build outside a checkout, with
// -ldflags "-X main.release=v1.2.3". Empty means what the toolchain recorded.
var release string

// version prints the version of the program.
type version struct{}

func (version) Run(k *kong.Kong) error {
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintf(k.Stdout, "parley %s (%s %s/%s)\n", versionOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionOf names a build: its release, else its revision, else devel.
func versionOf(info *debug.BuildInfo) string {
	if release != "" {
		return release
	}
	if info == nil {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
