package console

import (
	"testing"
	"time"
)

func TestWhen(t *testing.T) {
	date := time.Date(2027, time.November, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		from time.Duration
		want string
		why  string
	}{
		{-365 * day, "in 365 days", "a year ahead"},
		{-48 * time.Hour, "in 2 days", "two days to the second"},
		{-25 * time.Hour, "in 2 days", "a day that has begun counts"},
		{-24 * time.Hour, "in 1 day", "a day to the second"},
		{-time.Nanosecond, "in 1 day", "the last moment before"},
		{0, "today", "the moment itself"},
		{24*time.Hour - 1, "today", "the end of its day"},
		{24 * time.Hour, "1 day ago", "the day after"},
		{14*day + time.Hour, "14 days ago", "two weeks"},
	} {
		if got := when(date, date.Add(tt.from)); got != tt.want {
			t.Errorf("when at %v is %q, want %q: %s", tt.from, got, tt.want, tt.why)
		}
	}
}
