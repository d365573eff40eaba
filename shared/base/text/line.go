package text

import (
	"strings"
	"unicode"
)

// IsLine reports whether a text is printable, not empty, and without space at its ends.
func IsLine(s string) bool {
	return s != "" && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
