package store

import (
	"context"
	"errors"
)

// GateEntity names the entity of a gate's item.
const GateEntity = "gate"

// maxTurns limits how often InTurn plans a commit.
const maxTurns = 256

// InTurn commits the writes that plan returns, one commit through a gate of the company after the other: if another commit came
// through since before plan read, nothing is written and plan is asked again. So what plan counts cannot grow between the count
// and the commit. What makes room needs no turn, neither a deletion nor an expiry.
func (c Company) InTurn(ctx context.Context, gate string, plan func() ([]Op, error)) error {
	key := "GATE#" + gate
	for range maxTurns {
		item, err := c.Get(ctx, key, nil)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		ops, err := plan()
		if err != nil {
			return err
		}
		pass := c.Save(key, GateEntity, item.Version, struct{}{}).Quietly()
		err = c.Commit(ctx, append([]Op{pass}, ops...)...) // the gate comes first, so that its conflict is told
		var conflict *ConflictError
		if !errors.As(err, &conflict) || conflict.Key != key {
			return err
		}
	}
	return ErrConflict
}
