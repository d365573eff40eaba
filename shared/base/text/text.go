// Package text shortens texts to the size limits of fields, records and messages, and checks them.
package text

import "unicode/utf8"

// Truncate returns the longest prefix of s that has at most n bytes and ends between two characters.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
