package dispatch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	longestRetryAfter = 24 * time.Hour
	retryWindow       = 72 * time.Hour
)

// nextAttempt returns when the next attempt may begin: a delay and its jitter
// after the failure, or later where the consumer asked for that, but not on
// its account later than the window after the delivery was written.
func nextAttempt(failed, born int64, delay, jitter, after time.Duration) int64 {
	due := failed + (delay + jitter).Microseconds()
	asked := failed + min(after, longestRetryAfter).Microseconds()
	return max(due, min(asked, born+retryWindow.Microseconds()))
}

// parseRetryAfter reads the field Retry-After (RFC 9110, 10.2.3), seconds or a
// date. Anything else, and what is past, is 0.
func parseRetryAfter(field string, now time.Time) time.Duration {
	field = strings.Trim(field, " \t")
	if field == "" || len(field) > 64 {
		return 0
	}
	if digits := strings.Trim(field, "0123456789") == ""; digits {
		seconds, err := strconv.ParseInt(field, 10, 64)
		if err != nil || seconds > int64(longestRetryAfter/time.Second) {
			return longestRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), longestRetryAfter))
}

// A verdict is what an answer means for a delivery.
type verdict uint8

const (
	again    verdict = iota // another attempt follows, if the budget has one
	accepted                // delivered
	final                   // dead: another attempt would not change it
)

// judge is the outcome table: 2xx is delivered; 408, 409, 425, 429, 5xx and no
// answer at all are tried again; every other 4xx and any 3xx is final. What is
// no status of HTTP is treated as no answer.
func judge(status int, class string) verdict {
	switch {
	case class != "":
		return again
	case status >= 200 && status <= 299:
		return accepted
	case status == http.StatusRequestTimeout, status == http.StatusConflict,
		status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return again
	case status >= 300 && status <= 499:
		return final
	}
	return again
}
