package console

import (
	"strconv"
	"time"
)

const (
	day      = 24 * time.Hour
	longDate = "2\u00a0January\u00a02006" // never broken across lines
)

// ahead returns the days from a moment to a date after it, a day that has begun
// counted as whole.
func ahead(date, at time.Time) int { return int((date.Sub(at) + day - 1) / day) }

// when says how far a date is from a moment: "in 1 day", "today", "3 days ago".
// A day lasts 24 hours from the date's own 00:00.
func when(date, at time.Time) string {
	if at.Before(date) {
		return "in " + count(ahead(date, at))
	}
	if n := int(at.Sub(date) / day); n > 0 {
		return count(n) + " ago"
	}
	return "today"
}

func count(days int) string {
	if days == 1 {
		return "1 day"
	}
	return strconv.Itoa(days) + " days"
}
