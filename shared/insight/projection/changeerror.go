package projection

import (
	"fmt"

	"orgops/shared/storage/store"
)

// ChangeError reports a change that Fold cannot decode.
type ChangeError struct {
	Change store.Change
	Err    error
}

func (f *ChangeError) Error() string { return fmt.Sprintf("fold %s: %v", f.Change.Key, f.Err) }

// Unwrap returns the cause.
func (f *ChangeError) Unwrap() error { return f.Err }

// Failures returns the failures in the error of Fold, one for each change.
func Failures(err error) (all []*ChangeError) {
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		return nil
	}
	for _, one := range joined.Unwrap() {
		if f, ok := one.(*ChangeError); ok { //nolint:errorlint // as above
			all = append(all, f)
		}
	}
	return all
}
