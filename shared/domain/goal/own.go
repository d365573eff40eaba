package goal

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// Own stands in the place of the provider of a goal that the company made itself. No kind of connector has this name.
const Own = "company"

// MaxOwn limits the open goals of a company's own.
const MaxOwn = 200

// IsOwn reports whether the company made the goal itself.
func (g Goal) IsOwn() bool { return g.Provider == Own }

// Room returns fault.Conflict if a company has as many open goals of its own as it may have.
func Room(ctx context.Context, c store.Company) error {
	n := 0
	for item, err := range c.Items(ctx, store.Query{Prefix: Prefix}) {
		if err != nil {
			return err
		}
		var g Goal
		if item.Decode(&g) == nil && g.IsOwn() && g.State == Open {
			n++
		}
	}
	if n >= MaxOwn {
		return fault.Newf(fault.Conflict, "a company has at most %d open goals of its own; close or delete one first", MaxOwn)
	}
	return nil
}
