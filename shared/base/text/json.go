package text

import "unicode/utf8"

// maxEscape is the most bytes that encoding/json writes for one byte of text.
const maxEscape = len(`\u0000`)

// TruncateJSON returns the longest prefix of s that takes at most n bytes between the quotes of a JSON string, as
// encoding/json writes it, and ends between two characters.
func TruncateJSON(s string, n int) string {
	if len(s)*maxEscape <= n {
		return s
	}
	for i, r := range s {
		if n -= encoded(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// encoded returns how many bytes encoding/json writes for a character. An invalid byte is read as utf8.RuneError, for which
// it writes an escape.
func encoded(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return len(`\n`)
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return maxEscape
	}
	return utf8.RuneLen(r)
}
