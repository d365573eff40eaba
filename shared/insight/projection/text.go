package projection

import (
	"strings"
	"time"
	"unicode/utf8"
)

// cut shortens s to at most n bytes of JSON without splitting a character. It counts maxEscape bytes for every escaped
// character.
func cut(s string, n int) string {
	if len(s)*maxEscape <= n {
		return s
	}
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r < ' ' || strings.ContainsRune("\"\\<>&\u2028\u2029\ufffd", r) {
			size = maxEscape
		}
		if n -= size; n < 0 {
			return s[:i]
		}
	}
	return s
}

const maxEscape = len(`\u0000`)

// at returns the time that p points to, in UTC, or the zero time for nil.
func at(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.UTC()
}
