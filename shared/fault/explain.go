package fault

import (
	"errors"
	"strings"
)

// Explain is an error for who typed a command or wrote a request by hand: the detail alone or, where single fields are
// wrong, every problem on one line, each field's name behind prefix. What is no *Error is returned as it is.
func Explain(err error, prefix string) error {
	var f *Error
	if !errors.As(err, &f) {
		return err
	}
	if len(f.Problems) == 0 {
		return errors.New(f.Detail)
	}
	lines := make([]string, 0, len(f.Problems))
	for _, p := range f.Problems {
		lines = append(lines, prefix+strings.TrimPrefix(p.Pointer, "/")+": "+p.Detail)
	}
	return errors.New(strings.Join(lines, "; "))
}
