package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns the wait in a Retry-After header (RFC 9110 §10.2.3), in seconds or as a date, at most longest. Any run of digits is a
// number, however long. It returns otherwise for a missing or invalid header, and 0 for a past date.
func RetryAfter(header http.Header, now time.Time, otherwise, longest time.Duration) time.Duration {
	value := strings.Trim(header.Get("Retry-After"), " \t")
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil { // more than 64 bits
			return longest
		}
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(at.Sub(now), longest))
	}
	return otherwise
}
