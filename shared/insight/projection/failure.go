package projection

import (
	"errors"
	"fmt"

	"orgops/shared/storage/store"
)

// Failure holds a change that cannot be folded, and why.
type Failure struct {
	Change store.Change
	Err    error
}

// Failures lists the changes that were left out, in their order.
type Failures []Failure

// Err returns one error with the key of each change, nil without a failure.
func (f Failures) Err() error {
	all := make([]error, 0, len(f))
	for _, one := range f {
		all = append(all, fmt.Errorf("fold %s: %w", one.Change.Key, one.Err))
	}
	return errors.Join(all...)
}
