package projector

import (
	"context"
	"errors"

	"orgops/shared/domain/recommendation"
	"orgops/shared/storage/store"
)

// maxTold limits the recommendations about which the commit of a context tells. Those before it are told in commits of their own.
const maxTold = 20

// tell returns the writes that tell endpoints which recommendations have opened or closed. If they are more than a commit of the
// context may hold, tell commits the first ones itself. What endpoints were told already is written only once, so a fold that is
// repeated after them tells nothing twice.
func tell(ctx context.Context, c store.Company, told []recommendation.Told) ([]store.Op, error) {
	var ops []store.Op
	for _, t := range told {
		var stored recommendation.Told
		item, err := c.Get(ctx, recommendation.ToldKey(t.ID), &stored)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if stored.State.Open() == t.State.Open() && item.Version > 0 {
			continue
		}
		if len(ops) == maxTold {
			if err := c.Commit(store.Patiently(ctx), ops...); err != nil {
				return nil, err
			}
			ops = nil
		}
		op := c.Save(recommendation.ToldKey(t.ID), recommendation.ToldEntity, item.Version, t)
		if at, ends := t.Expires(); ends {
			op = op.Until(at)
		}
		ops = append(ops, op)
	}
	return ops, nil
}
