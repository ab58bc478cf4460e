package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}}
	for _, test := range []struct {
		why  string
		info *debug.BuildInfo
		want string
	}{
		{"a build without any record", nil, "devel"},
		{"a release", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: revision}, "v1.2.3"},
		{"a build from a checkout without tags", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: revision}, "devel-0123456789ab"},
		{"a build from no checkout", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel"},
	} {
		if got := versionOf(test.info); got != test.want {
			t.Errorf("%s: got %s, want %s", test.why, got, test.want)
		}
	}
}
