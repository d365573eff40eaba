package outbound

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter reads a Retry-After header (RFC 9110 §10.2.3), seconds or a date, as a wait from now of at most longest. A
// header that is missing or cannot be read is otherwise; a date that has passed is no wait.
func RetryAfter(header http.Header, now time.Time, otherwise, longest time.Duration) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(at.Sub(now), longest))
	}
	return otherwise
}
