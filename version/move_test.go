package version

import (
	"strings"
	"testing"
)

func TestMove(t *testing.T) {
	c := BuiltIn().Configure(&Options{Vendor: "acme", BaseURL: "https://a.test"})
	yes := true
	moved, err := c.Move(
		Move{Name: "2025-11-01", Deprecated: on(t, "2026-12-01"), Sunset: on(t, "2027-06-01")},
		Move{Name: "2024-11-01", FallForward: &yes})
	if err != nil {
		t.Fatal(err)
	}
	got := moved.Find("0")
	if day(got.Deprecated) != "2026-12-01" || day(got.Sunset) != "2027-06-01" || got.FallForward {
		t.Errorf("moved to %+v", got)
	}
	if old := moved.Find("2024-11-01"); !old.FallForward || day(old.Sunset) != "2026-11-01" {
		t.Errorf("what a move leaves zero changed: %+v", old)
	}
	if was := c.Find("0"); day(was.Sunset) != "2027-11-01" || was == got {
		t.Error("the receiver changed")
	}
	choice, err := moved.Choose(request("/tasks", "", "application/vnd.acme.v0+json"), on(t, "2026-12-24"))
	if err != nil || choice.Version != got {
		t.Errorf("options were lost: %+v, %v", choice, err)
	}
}

func TestMoveRefuses(t *testing.T) {
	no := false
	for _, tt := range []struct {
		policy Policy
		moves  []Move
		want   string
		why    string
	}{
		{Public, []Move{{Name: "2020-01-01"}}, "no such version", "not in the calendar"},
		{Public, []Move{{Name: "1"}}, "no such version", "a file names versions by name"},
		{Public, []Move{{Name: "2024-11-01"}, {Name: "2024-11-01"}}, "twice", "which of the two?"},
		{Public, []Move{{Name: "2025-11-01", Sunset: on(t, "2027-04-30")}}, "earliest right date is 2027-05-01", "the policy is checked again"},
		{Public, []Move{{Name: "2026-11-01", Deprecated: on(t, "2027-01-01"), Sunset: on(t, "2028-01-01")}}, "no successor", "the newest"},
		{Guarantee, []Move{{Name: "2024-11-01", FallForward: &no}}, "falls forward", "the policy's promise"},
		{"never", nil, "unknown policy", "no such policy"},
	} {
		if _, err := BuiltIn().Revise(tt.policy, tt.moves...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.why, err, tt.want)
		}
	}
}
