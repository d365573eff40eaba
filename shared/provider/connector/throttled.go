package connector

import (
	"net/http"
	"time"

	"orgops/shared/webhook/outbound"
)

// The waits of a caller that is throttled.
const (
	unstatedWait = 5 * time.Minute // without a readable Retry-After
	longestWait  = 24 * time.Hour
)

// Throttled returns a *ThrottledError for an answer that asks the caller to wait: a 429, or a fault of the server's with
// Retry-After, such as a 503. It returns nil for every other answer. It fits a provider that documents no rules of its own.
func Throttled(resp *http.Response, now time.Time) error {
	switch s := resp.StatusCode; {
	case s == http.StatusTooManyRequests, s >= http.StatusInternalServerError && resp.Header.Get("Retry-After") != "":
		return &ThrottledError{Until: now.Add(outbound.RetryAfter(resp.Header, now, unstatedWait, longestWait)), Failing: IsFailing(resp)}
	}
	return nil
}

// IsFailing reports whether an answer tells of a fault of the server, and not that it has no time.
func IsFailing(resp *http.Response) bool {
	return resp.StatusCode >= http.StatusInternalServerError && resp.StatusCode != http.StatusServiceUnavailable
}
