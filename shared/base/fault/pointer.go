package fault

import (
	"errors"
	"strings"
)

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

// Below returns the problems with the pointer at in front of their own.
func Below(at string, problems []FieldError) []FieldError {
	moved := make([]FieldError, len(problems))
	for n, p := range problems {
		p.Pointer = at + p.Pointer
		moved[n] = p
	}
	return moved
}

// Within returns an error with the pointer at in front of those of its problems. An error without problems stays as it is.
func Within(at string, err error) error {
	var f *Error
	if errors.As(err, &f) {
		f.Problems = Below(at, f.Problems)
	}
	return err
}
