package fault

import (
	"errors"
	"strings"
)

// Explain rewrites an error for a user of the command line: the detail alone or, if fields are wrong, every problem on one
// line, each field's name after prefix. It returns any other error unchanged.
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
