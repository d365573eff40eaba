package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns the wait in a Retry-After header (RFC 9110 §10.2.3), in seconds or as a date, at most longest. Any run of digits is a
// number, however long; a fraction, which some servers send, counts as a second. Of several headers, the longest wait counts.
// RetryAfter returns otherwise if none can be read, and 0 for a past date.
func RetryAfter(header http.Header, now time.Time, otherwise, longest time.Duration) time.Duration {
	most := time.Duration(-1)
	for _, value := range header.Values("Retry-After") {
		value = strings.Trim(value, " \t")
		if seconds, ok := wholeSeconds(value, longest); ok {
			most = max(most, seconds)
		} else if at, err := http.ParseTime(value); err == nil {
			most = max(most, 0, min(at.Sub(now), longest))
		}
	}
	if most < 0 {
		return otherwise
	}
	return most
}

// wholeSeconds reads a number of seconds, at most longest.
func wholeSeconds(value string, longest time.Duration) (wait time.Duration, ok bool) {
	whole, fraction, split := strings.Cut(value, ".")
	if !isDigits(whole) || split && !isDigits(fraction) {
		return 0, false
	}
	seconds, err := strconv.ParseUint(whole, 10, 64)
	if err != nil { // more than 64 bits
		return longest, true
	}
	wait = time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	if strings.Trim(fraction, "0") != "" {
		wait = min(wait+time.Second, longest)
	}
	return wait, true
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
