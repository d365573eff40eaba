package fault

import "strings"

// Pointer returns the JSON Pointer (RFC 6901) that descends through these member names and indexes. Without tokens it
// returns "".
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
