package projection

import (
	"fmt"

	"orgops/shared/storage/store"
)

// Failure reports a change that Fold cannot decode.
type Failure struct {
	Change store.Change
	Err    error
}

func (f *Failure) Error() string { return fmt.Sprintf("fold %s: %v", f.Change.Key, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Failures returns the failures in the error of Fold, one for each change.
func Failures(err error) (all []*Failure) {
	joined, _ := err.(interface{ Unwrap() []error }) //nolint:errorlint // Fold returns the joined failures themselves
	if joined == nil {
		return nil
	}
	for _, one := range joined.Unwrap() {
		if f, ok := one.(*Failure); ok { //nolint:errorlint // as above
			all = append(all, f)
		}
	}
	return all
}
