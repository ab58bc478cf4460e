package main

import (
	"slices"
	"strings"
	"testing"
)

// Every setting has its variable, its help and its place in the help.
func TestFlags(t *testing.T) {
	flags := serveFlags()
	if len(flags) < 20 {
		t.Fatalf("got %d flags, want all of them", len(flags))
	}
	last := 0
	for _, flag := range flags {
		want := "PARLEY_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		if !slices.Equal(flag.Envs, []string{want}) {
			t.Errorf("--%s: got variables %q, want %s", flag.Name, flag.Envs, want)
		}
		if len(flag.Tag.Envs) != 0 {
			t.Errorf("--%s: the parser reads the environment itself", flag.Name)
		}
		if !strings.HasSuffix(flag.Help, ".") {
			t.Errorf("--%s: the help %q is no sentence", flag.Name, flag.Help)
		}
		if flag.Group == nil || !slices.Contains(groups, flag.Group.Key) {
			t.Errorf("--%s is in none of the groups %q", flag.Name, groups)
			continue
		}
		if rank(flag) < last {
			t.Errorf("--%s stands after a later group", flag.Name)
		}
		last = rank(flag)
	}
}
