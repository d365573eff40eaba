package fault

import (
	"errors"
	"strings"
)

// Explain rewrites an *Error for a user of the command line. The new text is the detail. If fields are wrong, the text lists
// every problem on one line instead, with prefix before the name of each field. Explain returns any other error unchanged.
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
